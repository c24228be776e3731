"""Random programs over a few tensors: every node of the algebra in every place that it may stand."""

from __future__ import annotations

import random

import sympy
from sympy import Integer, Rational, S, oo

from symderive.algebra import nodes
from symderive.algebra.nodes import Access, Index
from symderive.algebra.program import Equation, Program
from symderive.spec.model import Input
from symderive.spec.sizes import BATCH_SIZE, size

SIZES = {"I": 2, "J": 3, "K": 4}
_LETTERS = {"I": "ia", "J": "jb", "K": "kc"}
_EXTENTS = {n: size(n) for n in SIZES}


class Maker:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.batch = self.rng.random() < 0.3
        self.inputs: dict[str, Input] = {}
        self.fresh = 0

    def program(self) -> Program:
        equations: list[Equation] = []
        self.done: list[Equation] = equations
        for n in range(self.rng.choice((1, 1, 2))):
            left = self.some(list(SIZES), self.rng.choice((0, 1, 2, 2, 3)))
            indices = [Index(_LETTERS[s][0], _EXTENTS[s]) for s in left]
            if self.batch and self.rng.random() < 0.7:
                indices.insert(0, Index("...", BATCH_SIZE))
            equations.append(Equation(f"y{n}", tuple(indices), self.make(4, tuple(indices))))
        if self.batch:
            self.inputs["z_s"] = Input("z_s", (BATCH_SIZE,))
        outputs = tuple(e.tensor for e in equations)
        return Program("random", tuple(self.inputs.values()), tuple(equations), outputs, SIZES)

    def some(self, things: list, count: int) -> list:
        return self.rng.sample(things, min(count, len(things)))

    # --- leaves

    def tensor(self, indices: tuple[Index, ...], classes: str = "") -> sympy.Expr:
        """A tensor read plainly at some of the indices, the batch first."""
        chosen = self.some([i for i in indices if not i.is_batch], self.rng.choice((1, 1, 2, 3)))
        chosen = [i for i in indices if i.is_batch and self.rng.random() < 0.6] + chosen
        shape = tuple(i.extent for i in chosen)
        label = "".join("s" if i.is_batch else str(i.extent).lower() for i in chosen)
        name = f"{'t' + classes if classes else self.rng.choice('xw')}_{label}"
        self.inputs[name] = Input(name, shape, index=_EXTENTS[classes] if classes else None)
        return Access(name, *chosen)

    def leaf(self, indices: tuple[Index, ...]) -> sympy.Expr:
        kind = self.rng.random()
        if kind < 0.7:
            return self.tensor(indices)
        if kind < 0.8:
            return self.odd_access(indices)
        if kind < 0.87 and any(not i.is_batch for i in indices):
            return self.rng.choice([i for i in indices if not i.is_batch])
        if kind < 0.93 and self.done and (ready := self.earlier(indices)) is not None:
            return ready
        return self.rng.choice((Integer(2), Rational(1, 3), S.NegativeOne, size("K")))

    def earlier(self, indices: tuple[Index, ...]) -> sympy.Expr | None:
        equation = self.rng.choice(self.done)
        places = []
        for own in equation.indices:
            fitting = [i for i in indices if i.extent == own.extent]
            if not fitting:
                return None
            places.append(self.rng.choice(fitting))
        return Access(equation.tensor, *places)

    def odd_access(self, indices: tuple[Index, ...]) -> sympy.Expr:
        """A matrix read at places that are not two different indices."""
        rows, columns = (self.rng.choice(list(SIZES)) for _ in range(2))
        name = f"m_{rows.lower()}{columns.lower()}"
        self.inputs[name] = Input(name, (_EXTENTS[rows], _EXTENTS[columns]))
        places = [self.place(indices, rows), self.place(indices, columns)]
        access = Access(name, *(p for p, _ in places))
        if all(inside for _, inside in places):
            return access
        return nodes.Pad(access, self.rng.choice((S.Zero, S.One)))

    def place(self, indices: tuple[Index, ...], extent: str) -> tuple[sympy.Expr, bool]:
        """An integer expression, and whether it lies in the extent."""
        plain = [i for i in indices if not i.is_batch]
        same = [i for i in plain if i.extent == _EXTENTS[extent]]
        choice = self.rng.random()
        if same and choice < 0.4:
            return self.rng.choice(same), True
        if same and choice < 0.5:
            return _EXTENTS[extent] - 1 - self.rng.choice(same), True
        if same and choice < 0.6:
            return nodes.Mod(self.rng.choice(same) + self.rng.choice((1, -1, 2)), _EXTENTS[extent]), True
        if plain and choice < 0.7:
            return self.tensor(tuple(indices), extent), True
        if plain and choice < 0.95:
            chosen = self.some(plain, self.rng.choice((1, 2)))
            place = sum((self.rng.choice((1, 1, 2, -1)) * i for i in chosen), Integer(self.rng.choice((0, -1, 1))))
            return place, False
        return Integer(0), True

    # --- everything else

    def make(self, depth: int, indices: tuple[Index, ...]) -> sympy.Expr:
        if depth == 0 or self.rng.random() < 0.12:
            return self.leaf(indices)
        return self.rng.choice(
            (self.add, self.mul, self.mul, self.sum, self.sum, self.function, self.branch, self.reduce, self.pick)
        )(depth - 1, indices)

    def add(self, depth, indices):
        terms = [self.make(depth, indices) for _ in range(self.rng.choice((2, 2, 3)))]
        return sum(self.rng.choice((1, 1, -1, 2, Rational(1, 2))) * t for t in terms)

    def mul(self, depth, indices):
        factors = [self.make(depth, indices) for _ in range(self.rng.choice((2, 2, 3)))]
        if self.rng.random() < 0.2:
            factors.append(1 / (2 + self.make(depth, indices) ** 2))
        return sympy.Mul(*factors)

    def function(self, depth, indices):
        inner = self.make(depth, indices)
        return self.rng.choice(
            (
                sympy.tanh,
                lambda x: nodes.Apply("sigmoid", x),
                lambda x: nodes.Apply("relu", x),
                lambda x: sympy.sqrt(1 + x**2),
                lambda x: (1 + x**2) ** Rational(-1, 2),
                lambda x: sympy.log(1 + x**2),
                lambda x: sympy.exp(sympy.tanh(x)) - 1,
                lambda x: 1 - sympy.erf(x),
                lambda x: nodes.Maximum(x, S.Half),
                lambda x: nodes.Clamp(x, S.NegativeOne, S.One),
                lambda x: nodes.Stop(x) ** 2,
            )
        )(inner)

    def branch(self, depth, indices):
        other = self.rng.choice((S.Zero, S.Zero, self.make(depth, indices)))
        return nodes.Where(self.condition(depth, indices), self.make(depth, indices), other)

    def condition(self, depth, indices):
        plain = [i for i in indices if not i.is_batch]
        kind = self.rng.random()
        if len(plain) > 1 and kind < 0.4:
            a, b = self.some(plain, 2)
            return self.rng.choice((nodes.Le, nodes.Lt, nodes.Eq, lambda p, q: nodes.Not(nodes.Eq(p, q))))(a, b)
        if plain and kind < 0.6:
            i = self.rng.choice(plain)
            return nodes.Eq(i, self.tensor(indices, str(i.extent)))
        if kind < 0.7 and depth:
            return nodes.And(self.condition(depth - 1, indices), self.condition(depth - 1, indices))
        if kind < 0.8 and depth:
            return nodes.Or(self.condition(depth - 1, indices), nodes.Lt(self.leaf(indices), S.Half))
        return nodes.Lt(self.make(max(0, depth - 1), indices), self.leaf(indices))

    def bound(self, indices: tuple[Index, ...], batch: bool = True) -> Index:
        if batch and self.batch and not any(i.is_batch for i in indices) and self.rng.random() < 0.4:
            return Index("...", BATCH_SIZE)
        self.fresh += 1
        return Index(f"q{self.fresh}", _EXTENTS[self.rng.choice(list(SIZES))])

    def within(self, indices: tuple[Index, ...], new: list[Index]) -> tuple[Index, ...]:
        return tuple(sorted((*indices, *new), key=lambda i: not i.is_batch))

    def sum(self, depth, indices):
        new = [self.bound(indices)]
        if self.rng.random() < 0.4:
            new.append(self.bound(self.within(indices, new)))
        body = self.make(depth, self.within(indices, new))
        if self.rng.random() < 0.3:
            body = self.make(depth, self.within(indices, new)) * body * self.tensor(self.within(indices, new))
        if self.rng.random() < 0.2:
            body = nodes.Where(self.condition(depth, self.within(indices, new)), body, S.Zero)
        scale = 1 / new[0].extent if self.rng.random() < 0.3 else S.One
        return scale * nodes.Sum.over(body, new)

    def reduce(self, depth, indices):
        new = [self.bound(indices)]
        inside = self.within(indices, new)
        body = self.make(depth, inside)
        kind = self.rng.choice(("max", "min", "lse", "prod", "any", "softmax", "argmax", "masked"))
        if kind == "max":
            return nodes.Max.over(body, new)
        if kind == "min":
            return nodes.Min.over(body, new)
        if kind == "lse":
            return nodes.LogSumExp.over(sympy.tanh(body), new)
        if kind == "prod":
            return nodes.Prod.over(sympy.tanh(body), new)
        if kind == "any":
            return nodes.Any.over(self.condition(depth, inside), new)
        if kind == "argmax" and not new[0].is_batch:
            return nodes.ArgMax.over(self.tensor(inside), new)
        if kind == "masked":
            test = self.condition(depth, inside)
            return nodes.Sum.over(nodes.Where(test, body, S.Zero), new) + nodes.LogSumExp.over(
                nodes.Where(
                    nodes.Or(test, nodes.Le(new[0], S.Zero) if not new[0].is_batch else S.One), sympy.tanh(body), -oo
                ),
                new,
            )
        free = [i for i in indices if i.extent == new[0].extent]
        if free and not (new[0].is_batch):
            again = body.xreplace({new[0]: free[0]}) if free[0] not in nodes.free_indices(body) else None
            if again is not None:
                return sympy.exp(again - nodes.LogSumExp.over(body, new))
        return nodes.Max.over(body, new)

    def pick(self, depth, indices):
        """A delta under a sum, or beside other terms."""
        plain = [i for i in indices if not i.is_batch]
        if not plain:
            return self.make(depth, indices)
        i = self.rng.choice(plain)
        if self.rng.random() < 0.6:
            new = self.bound(indices)
            inside = self.within(indices, [new])
            rest = tuple(j for j in inside if j != i or self.rng.random() < 0.3)
            place = self.tensor(tuple(j for j in inside if j != i) or inside, str(i.extent))
            if i in nodes.free_indices(place):
                return self.make(depth, indices)
            return nodes.Sum.over(nodes.Eq(i, place) * self.make(depth, rest), [new])
        others = tuple(j for j in indices if j != i)
        if not any(not j.is_batch for j in others):
            return self.make(depth, indices)
        place = self.tensor(others, str(i.extent))
        return self.make(depth, indices) - nodes.Eq(i, place) * self.make(depth, others)
