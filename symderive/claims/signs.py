"""What cannot be negative as it is written: a sum of squares and eps needs no look at where it would be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from symderive.spec import model, syntax
from symderive.spec.folding import fold

if TYPE_CHECKING:
    from symderive.claims.trial import Trial

_ALWAYS = {"exp", "sigmoid", "softplus", "softmax", "abs", "square", "relu", "sqrt", "rsqrt", "cosh", "norm"}
"""What is nowhere negative, called, as a method or as a binder."""

_KEEPING = {"sum", "mean", "prod", "max", "min"}
"""What is not negative where none of what it is taken of is."""

_ASSUMED = {"positive", "nonnegative", "unit", "simplex", "binary", "one_hot"}
"""What a spec says of inputs that are not negative."""


class Signs:
    """Tells what of a claim cannot be negative; of what it does not know, it says that it can."""

    def __init__(self, trial: Trial) -> None:
        spec = trial.spec
        helpers = ((h.name, h.statement.sides[0]) for h in trial.court.helpers)
        self.made: dict[str, list[syntax.Node]] = {}
        for name, node in (*((e.tensor, e.right) for e in spec.equations), *helpers):
            self.made.setdefault(name, []).append(node)
        self.known = {i.name: _is_assumed(i) for i in spec.inputs} | {n: v >= 0 for n, v in spec.constants.items()}

    def nonnegative(self, node: syntax.Node) -> bool:
        """Whether an expression is nowhere negative."""
        match node:
            case syntax.Number(value=value):
                return value >= 0
            case syntax.Name(id=name) | syntax.Access(tensor=name):
                return self._is_name(name)
            case syntax.Binary(op=op, left=left, right=right):
                return self._is_binary(op, left, right)
            case syntax.Call(function="where", arguments=(_, *branches)):
                return self._are(branches)
            case syntax.Call(function=op, arguments=operands):
                return op in _ALWAYS or (op in _KEEPING and self._are(operands))
            case syntax.Method(name=op, value=value):
                return op in _ALWAYS or (op in _KEEPING and self.nonnegative(value))
            case syntax.Binder(op=op, condition=condition, body=body):
                empty = op == "max" and condition is not None  # of nothing, it is -inf
                return op in _ALWAYS or (op in _KEEPING and not empty and self.nonnegative(body))
            case syntax.Attribute(name="T", value=value) | syntax.Subscript(value=value):
                return self.nonnegative(value)
        return isinstance(node, syntax.Compare | syntax.Logical | syntax.Not)

    def _are(self, nodes: Iterable[syntax.Node]) -> bool:
        return all(self.nonnegative(n) for n in nodes)

    def _is_binary(self, op: str, left: syntax.Node, right: syntax.Node) -> bool:
        if op == "**":
            power = fold(right)
            return self.nonnegative(left) or (power is not None and power % 2 == 0)
        if op == "*" and left == right:
            return True
        return op in ("+", "*", "/", "@") and self._are((left, right))

    def _is_name(self, name: str) -> bool:
        """Whether a tensor, a helper or a constant is nowhere negative, by all that defines it."""
        if name not in self.known:
            self.known[name] = False  # while it is looked at
            self.known[name] = name in self.made and self._are(self.made[name])
        return self.known[name]


def _is_assumed(tensor: model.Input) -> bool:
    """Whether a spec says of an input that it is not negative."""
    low = tensor.range[0] if tensor.range else -1
    return not tensor.is_real or low >= 0 or bool(_ASSUMED & set(tensor.assume))
