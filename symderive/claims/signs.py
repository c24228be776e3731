"""Between which numbers an expression lies, as it is written: a sum of squares and eps needs no look at where it is 0.

Interval arithmetic over exact numbers (Moore, *Interval Analysis*, 1966), and what extrema say of what they are taken
of. Of what it does not know, it says that it may be anything.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from symderive.claims.borders import Border
from symderive.claims.extrema import over_term
from symderive.claims.world import gradient_names
from symderive.spec import model, syntax
from symderive.spec.folding import fold
from symderive.spec.names import NUMBER_NAMES

if TYPE_CHECKING:
    from symderive.claims.trial import Trial

Bounds = tuple[Any, Any]
"""The least and the largest number that something may be: exact ones, or infinite."""

INF = math.inf
ANY: Bounds = (-INF, INF)
UP: Bounds = (0, INF)
UNIT: Bounds = (0, 1)
TWO_SIDED: Bounds = (-1, 1)

_FIXED: Mapping[str, Bounds] = {
    "exp": UP, "softplus": UP, "abs": UP, "square": UP, "rsqrt": UP, "cosh": (1, INF), "norm": UP,
    "sigmoid": UNIT, "softmax": UNIT, "delta": UNIT, "one_hot": UNIT, "eye": UNIT, "any": UNIT, "all": UNIT,
    "sin": TWO_SIDED, "cos": TWO_SIDED, "tanh": TWO_SIDED, "erf": TWO_SIDED, "sign": TWO_SIDED,
    "log_softmax": (-INF, 0), "log_sigmoid": (-INF, 0),
}  # fmt: skip
"""Where the values of functions lie, whatever they are taken of: called, as methods or as binders."""

_ASSUMED: Mapping[str, Bounds] = {
    "positive": UP, "nonnegative": UP, "unit": UNIT, "simplex": UNIT, "binary": UNIT, "one_hot": UNIT,
}  # fmt: skip
"""What a spec says of inputs."""

_EXTREMA = ("max", "min", "amax", "amin")


class Signs:
    """Tells which signs what stands in a claim may have."""

    def __init__(self, trial: Trial) -> None:
        spec = trial.spec
        helpers = ((h.name, h.statement.sides[0]) for h in trial.court.helpers)
        self.spec = spec
        self.made: dict[str, list[syntax.Node]] = {}
        for name, node in (*((e.tensor, e.right) for e in spec.equations), *helpers):
            self.made.setdefault(name, []).append(node)
        self.redefined = {h.name for h in trial.court.helpers}
        self.known: dict[str, Bounds] = dict.fromkeys(gradient_names(spec), ANY) | dict.fromkeys(spec.sizes, (1, INF))
        self.known |= {i.name: _of_input(i) for i in spec.inputs} | {n: (v, v) for n, v in spec.constants.items()}
        self.known |= dict.fromkeys(NUMBER_NAMES, UP)
        self.library = "F" not in {*self.known, *self.made}
        self.known |= dict.fromkeys(self.redefined & self.known.keys(), ANY)

    def of(self, borders: Iterable[Border]) -> Iterator[Border]:
        """Borders with those of their signs that they may have, without the ones that have none of them."""
        for border in borders:
            if signs := self._possible(border):
                yield border if signs == border.signs else replace(border, signs=signs)

    def _possible(self, border: Border) -> tuple[int, ...]:
        if border.step is not None or border.axis is not None:
            return border.signs
        low, high = self.bounds(border.node)
        return tuple(s for s in border.signs if (low < 0 if s < 0 else high > 0 if s > 0 else low <= 0 <= high))

    def bounds(self, node: syntax.Node) -> Bounds:
        """Between which numbers an expression lies."""
        match node:
            case syntax.Number(value=value):
                return value, value
            case syntax.Name(id=name) | syntax.Access(tensor=name):
                return self._of_name(name)
            case syntax.Unary(op=op, operand=operand):
                return self.bounds(operand) if op == "+" else _negative(self.bounds(operand))
            case syntax.Binary(op=op, left=left, right=right):
                return self._of_binary(op, left, right)
            case syntax.Call(function=op, arguments=operands) if operands:
                return self._of_call(op, operands)
            case syntax.Method(value=syntax.Name(id="F"), name=op, arguments=(_, *_) as operands) if self.library:
                return self._of_call(op, operands)
            case syntax.Method(name=op, value=value):
                return self._of_call(op, (value,)) if op == "sqrt" else self._of_method(op, value)
            case syntax.Binder(op=op, condition=condition, body=body):
                return _FIXED.get(op) or _reduced(op, self.bounds(body), condition is not None)
            case syntax.Attribute(name="T", value=value) | syntax.Subscript(value=value):
                return self.bounds(value)
        return UNIT if isinstance(node, syntax.Compare | syntax.Logical | syntax.Not) else ANY

    def _all(self, nodes: Iterable[syntax.Node]) -> list[Bounds]:
        return [self.bounds(n) for n in nodes]

    def _of_method(self, op: str, value: syntax.Node) -> Bounds:
        return _FIXED.get(op) or _reduced(op, self.bounds(value), may_be_empty=False)

    def _of_call(self, op: str, operands: tuple[syntax.Node, ...]) -> Bounds:
        if op in _FIXED:
            return _FIXED[op]
        if op == "sqrt":
            return _root(self.bounds(operands[0]))
        if op == "where":
            return _union(self._all(operands[1:]))
        if op in ("sum", "mean", "prod", *_EXTREMA) and len(operands) == 1:
            return _reduced(op, self.bounds(operands[0]), may_be_empty=False)
        if op in ("max", "min"):
            return _extreme(op, self._all(operands))
        if op == "clamp" and len(operands) == 3:
            x, low, high = self._all(operands)
            return _extreme("min", [_extreme("max", [x, low]), high])
        if op == "relu":
            return _extreme("max", [self.bounds(operands[0]), (0, 0)])
        return ANY

    def _of_binary(self, op: str, left: syntax.Node, right: syntax.Node) -> Bounds:
        a, b = self.bounds(left), self.bounds(right)
        if op == "**":
            return _power(a, fold(right))
        if op == "*" and left == right:
            return UP
        if op == "-":
            low, high = _sum(a, _negative(b))
            low = max(low, 0) if self._is_over(left, right) else low
            return low, min(high, 0) if self._is_over(right, left) else high
        if op == "@":
            return UP if a[0] >= 0 and b[0] >= 0 else ANY
        rule = _RULES.get(op)
        return ANY if rule is None else rule(a, b)

    def _is_over(self, a: syntax.Node, b: syntax.Node) -> bool:
        """Whether ``a`` is a maximum over what ``b`` is one of, or ``b`` a minimum over what ``a`` is one of."""
        maximum = over_term("max", a, b, self.spec, self.redefined)
        return maximum or over_term("min", b, a, self.spec, self.redefined)

    def _of_name(self, name: str) -> Bounds:
        """Where a tensor, a helper or a constant lies, by all that defines it; an index is never negative."""
        if name not in self.known:
            self.known[name] = ANY  # while it is looked at
            self.known[name] = _union(self._all(self.made[name])) if name in self.made else UP
        return self.known[name]


def _of_input(tensor: model.Input) -> Bounds:
    """What a spec says of an input."""
    if tensor.range:
        return tensor.range
    if not tensor.is_real:
        return UNIT if tensor.boolean else UP
    return next((_ASSUMED[a] for a in tensor.assume if a in _ASSUMED), ANY)


# Arithmetic


def _negative(a: Bounds) -> Bounds:
    return -a[1], -a[0]


def _added(x: Any, y: Any) -> Any:
    """The sum of two ends; an exact number may be too large for a float."""
    return x if abs(x) == INF else y if abs(y) == INF else x + y


def _sum(a: Bounds, b: Bounds) -> Bounds:
    return _added(a[0], b[0]), _added(a[1], b[1])


def _times(x: Any, y: Any) -> Any:
    """The product of two ends, of which 0 and infinity make 0: so are all products of 0 and a number."""
    if x == 0 or y == 0:
        return 0
    return (INF if (x > 0) == (y > 0) else -INF) if INF in (abs(x), abs(y)) else x * y


def _product(a: Bounds, b: Bounds) -> Bounds:
    ends = [_times(x, y) for x, y in itertools.product(a, b)]
    return min(ends), max(ends)


def _quotient(a: Bounds, b: Bounds) -> Bounds:
    if b[1] <= 0 and b != (0, 0):
        return _quotient(_negative(a), _negative(b))
    if b[0] < 0 or b == (0, 0):
        return ANY
    low, high = (INF if n == 0 else 0 if n == INF else Fraction(1) / Fraction(n) for n in b)
    return _product(a, (high, low))


def _root(a: Bounds) -> Bounds:
    """A root is no smaller than its argument below 1, and no smaller than 1 above."""
    return max(0, min(a[0], 1)), max(1, a[1]) if a[1] > 0 else 0


def _power(a: Bounds, exponent: Fraction | None) -> Bounds:
    if exponent is not None and exponent > 0 and a[0] >= 0 and a[1] <= 1:
        return UNIT
    return UP if a[0] >= 0 or (exponent is not None and exponent % 2 == 0) else ANY


def _union(several: list[Bounds]) -> Bounds:
    return (min(a[0] for a in several), max(a[1] for a in several)) if several else ANY


def _extreme(op: str, several: list[Bounds]) -> Bounds:
    pick = max if op in ("max", "amax") else min
    return pick(a[0] for a in several), pick(a[1] for a in several)


def _reduced(op: str, a: Bounds, may_be_empty: bool) -> Bounds:
    """Where a reduction of numbers that lie there lies; of nothing the largest is minus infinity."""
    low, high = a
    if op in ("sum", "prod"):
        if op == "prod" and low >= 0 and high <= 1:
            return UNIT
        return (0 if low >= 0 else -INF), (0 if high <= 0 and op == "sum" else INF)
    if op in _EXTREMA:
        is_max = op in ("max", "amax")
        return (-INF if may_be_empty and is_max else low), (INF if may_be_empty and not is_max else high)
    return a if op in ("mean", "unsqueeze", "squeeze", "flatten") else ANY


_RULES: Mapping[str, Callable[[Bounds, Bounds], Bounds]] = {"+": _sum, "*": _product, "/": _quotient}
