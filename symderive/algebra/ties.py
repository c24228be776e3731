"""Which entries are the largest: what is compared is computed once.

The gradient of ``y = max_k f_k`` asks where ``f_k == y``. Where f takes more than one rounding, it may come out
otherwise when it is computed again, in another order or fused, and then no entry were the largest. So the backward
names f, takes the maximum of that, and compares the two, which are the same numbers.

Where f is read at a place that has been put in for k, as the 0 of an axis of length 1, it no longer looks like what
the maximum is taken of. Then the op is derived anew with f as a tensor of the forward, which the backward reads.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from sympy import Expr, S

from symderive.algebra.letters import Letters
from symderive.algebra.nodes import Access, Binder, Eq, Index, Max, Min, Where, free_indices
from symderive.algebra.program import Equation, Program
from symderive.algebra.recognise import Definition, unify
from symderive.algebra.terms import depends, is_rounded_once, transform_opened


@dataclass
class _Namer:
    """Gives names to what is compared with its own maximum."""

    letters: Letters
    taken: set[str]
    equations: list[Equation] = field(default_factory=list)
    known: list[tuple[Definition, Definition]] = field(default_factory=list)

    def rule(self, node: Expr) -> Expr:
        """``f_k == max_i f_i`` in terms of tensors of their own."""
        if not isinstance(node, Eq):
            return node
        for body, best in (node.args, node.args[::-1]):
            if not isinstance(best, Max | Min):
                continue
            for entries, extreme in self.known:
                found, most = entries.match(body), extreme.match(best)
                if found is not None and most is not None:
                    return Eq(found, most)
            if (made := self._define(body, best)) is not None:
                return made
        return node

    def _define(self, body: Expr, best: Binder) -> Expr | None:
        pattern, opened = best.open()
        inner = pattern.args[1] if isinstance(pattern, Where) else pattern
        binding = next(unify(inner, body, set(opened), {}), None)
        if is_rounded_once(body) or binding is None or any(not isinstance(v, Index) for v in binding.values()):
            return None
        along = [binding[i] for i in opened if i in binding]
        outer = sorted(free_indices(best), key=lambda i: (i.name, i.level))
        if len(along) != len(opened) or any(depends(best, [i]) for i in along):
            return None
        places = [*outer, *along]
        used: dict[str, Expr] = {}
        named: dict[Index, Index] = {}
        for index in places:
            letter = self.letters.choose(index.extent, used)
            used[letter] = index.extent
            named[index] = Index(letter, index.extent)
        own = [named[i] for i in places]
        entries, extreme = self._name("entries"), self._name("largest" if isinstance(best, Max) else "smallest")
        read = Access(entries, *own)
        condition = pattern.xreplace(dict(zip(opened, along, strict=True))).xreplace(named)
        masked = Where(condition.args[0], read, condition.args[2]) if isinstance(condition, Where) else read
        bound = [named[i] for i in along]
        first = Equation(entries, tuple(own), body.xreplace(named))
        second = Equation(extreme, tuple(own[: len(outer)]), type(best).over(masked, bound))
        self.equations += [first, second]
        most = Access(extreme, *second.indices)
        self.known.append(
            (
                Definition(frozenset(own), first.right, read),
                Definition(frozenset(second.indices), best.xreplace(named), most),
            )
        )
        return Eq(Access(entries, *places), Access(extreme, *outer))

    def _name(self, word: str) -> str:
        return free_name(word, self.taken)


def free_name(word: str, taken: set[str]) -> str:
    """``word``, numbered where that is taken, and taken from now on."""
    name = next(n for n in (word, *(f"{word}{k}" for k in range(2, 99))) if n not in taken)
    taken.add(name)
    return name


def has_unnamed_ties(program: Program) -> bool:
    """Whether anything that takes more than one rounding is compared with a maximum that is not named."""
    return any(
        isinstance(best, Max | Min) and not is_rounded_once(body)
        for equation in program.equations
        for tie in equation.right.atoms(Eq)
        for body, best in (tie.args, tie.args[::-1])
    )


def with_named_ties(program: Program, letters: Letters, taken: set[str]) -> Program:
    """The program in which what is compared with its own maximum is a tensor, computed before it is read."""
    if not any(e.right.atoms(Max, Min) for e in program.equations):
        return program
    namer = _Namer(letters, taken)
    rewritten: list[Equation] = []
    for equation in program.equations:
        right = transform_opened(equation.right, namer.rule)
        rewritten += [*namer.equations, replace(equation, right=right)]
        namer.equations.clear()
    return replace(program, equations=tuple(rewritten))


def with_named_entries(program: Program, letters: Letters, inner: Collection[str]) -> Program:
    """The program in which what a maximum is taken of is a tensor, in equations of ``inner`` tensors.

    Where a place of that tensor is put in for the index of the maximum, its entry there is still read as an entry.
    """
    taken = {*letters.taken, *program.shapes, *(f"d{t}" for t in program.shapes)}
    made: list[Equation] = []
    for equation in program.equations:
        apart = _Apart(letters, taken, equation)
        right = transform_opened(equation.right, apart.rule) if equation.tensor in inner else equation.right
        made += [*apart.equations, replace(equation, right=right)]
    return replace(program, equations=tuple(made))


@dataclass
class _Apart:
    """Makes an equation of what each maximum in an equation is taken of."""

    letters: Letters
    taken: set[str]
    user: Equation
    equations: list[Equation] = field(default_factory=list)

    def rule(self, node: Expr) -> Expr:
        """``max_k f_k`` as ``max_k entries_k``; a mask stays, and what it hides is not computed."""
        if not isinstance(node, Max | Min):
            return node
        body, opened = node.open()
        masked = isinstance(body, Where) and bool(body.args[2].is_infinite)
        value = body.args[1] if masked else body
        if is_rounded_once(value):
            return node
        read = self._entries(Where(body.args[0], value, S.Zero) if masked else value)
        return type(node).over(Where(body.args[0], read, body.args[2]) if masked else read, opened)

    def _entries(self, value: Expr) -> Access:
        own = self.user.indices
        places = sorted(
            free_indices(value), key=lambda i: (not i.is_batch, own.index(i) if i in own else len(own), i.name, i.level)
        )
        used = {i.name: i.extent for i in places if i in own}
        named: dict[Index, Index] = {}
        for index in places:
            letter = index.name if index in own else self.letters.choose(index.extent, used)
            used[letter] = index.extent
            named[index] = Index(letter, index.extent)
        name = free_name("entries", self.taken)
        self.taken |= {f"d{name}"}
        self.equations.append(Equation(name, tuple(named.values()), value.xreplace(named)))
        return Access(name, *places)


def with_extremes_again(backward: Program, forward: Program, own: Collection[str], taken: set[str]) -> Program:
    """The backward that takes the maximum of the ``own`` entries itself, of the very numbers that it compares with it.

    A maximum that the forward has taken may have been rounded otherwise, in another dtype or fused.
    """
    known: dict[str, Equation] = {}
    for equation in forward.equations:
        if isinstance(equation.right, Max | Min):
            body = equation.right.body
            if isinstance(body, Where) and not body.args[0].atoms(Eq):  # of one entry that is picked none is taken
                body = body.args[1]
            if isinstance(body, Access) and body.tensor in own:
                known[equation.tensor] = equation
    made: dict[str, Equation] = {}

    def again(read: Expr) -> Expr:
        if not isinstance(read, Access) or read.tensor not in known:
            return read
        equation = known[read.tensor]
        if equation.tensor not in made:
            word = "largest" if isinstance(equation.right, Max) else "smallest"
            made[equation.tensor] = replace(equation, tensor=free_name(word, taken))
        return Access(made[equation.tensor].tensor, *read.indices)

    def rule(node: Expr) -> Expr:
        return Eq(*map(again, node.args)) if isinstance(node, Eq) else node

    rewritten = [replace(e, right=transform_opened(e.right, rule)) for e in backward.equations]
    return replace(backward, equations=(*made.values(), *rewritten))
