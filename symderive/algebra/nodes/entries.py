"""Entries of tensors and what is computed from them entry by entry."""

from __future__ import annotations

from typing import ClassVar

from sympy import Add, Expr, Integer, Pow, S
from sympy.core.assumptions import _assume_defined, as_property
from sympy.core.symbol import Str
from sympy.printing.str import StrPrinter


class Node(Expr):
    """A real scalar of our own making."""

    is_commutative = True
    is_extended_real = True
    head: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        """What a class does not say of its nodes is not known of any: SymPy would look for reasons, node by node."""
        super().__init_subclass__()
        for fact in _assume_defined - cls.default_assumptions.keys():
            setattr(cls, as_property(fact), None)

    def __new__(cls, *args: Expr) -> Expr:
        return Expr.__new__(cls, *args)

    def _sympystr(self, printer: StrPrinter) -> str:
        return f"{self.head or type(self).__name__}({', '.join(printer._print(a) for a in self.args)})"


class Access(Node):
    """``x[i, k]``: one entry of the tensor named by the first argument."""

    def __new__(cls, tensor: str | Str, *indices: Expr | int) -> Expr:
        name = tensor if isinstance(tensor, Str) else Str(tensor)
        return Expr.__new__(cls, name, *(Integer(i) if isinstance(i, int) else i for i in indices))

    @property
    def tensor(self) -> str:
        """The tensor's name."""
        return self.args[0].name

    @property
    def indices(self) -> tuple[Expr, ...]:
        """The integer expressions in its index positions."""
        return self.args[1:]

    def _sympystr(self, printer: StrPrinter) -> str:
        return f"{self.tensor}[{', '.join(printer._print(a) for a in self.indices)}]"


class Pad(Node):
    """``pad(x[f], value)``: the access where it lies in range, else the value."""

    def __new__(cls, access: Expr, value: Expr = S.Zero) -> Expr:
        return Expr.__new__(cls, access, value)


class FloorDiv(Node):
    """``a // b`` of integers, rounded down."""

    is_integer = True

    def __new__(cls, a: Expr, b: Expr) -> Expr:
        if a.is_Integer and b.is_Integer:
            return Integer(int(a) // int(b))
        if b is S.One:
            return a
        if a is S.NegativeOne and b.is_positive:
            return a
        whole, rest = _divided(a, b)
        if whole is not S.Zero:
            return whole + FloorDiv(rest, b)
        return S.Zero if a is S.Zero else Expr.__new__(cls, a, b)


class Mod(Node):
    """``a % b`` of integers, with the sign of b."""

    is_integer = True

    def __new__(cls, a: Expr, b: Expr) -> Expr:
        if a.is_Integer and b.is_Integer:
            return Integer(int(a) % int(b))
        if b is S.One:
            return S.Zero
        rest = _divided(a, b)[1]
        return rest if rest is S.Zero else Expr.__new__(cls, rest, b)


def _divided(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """``a = b * whole + rest``, by the terms of a that are multiples of b."""
    whole: Expr = S.Zero
    rest: Expr = S.Zero
    for term in Add.make_args(a):
        quotient = term / b
        if quotient.is_integer and not quotient.atoms(Pow):
            whole += quotient
        else:
            rest += term
    return whole, rest


class Stop(Node):
    """``stop(x)``: the value of x, with no gradient."""


class Maximum(Node):
    """``max(a, b)`` of two numbers; each side has one half of the derivative at a tie."""


class Minimum(Node):
    """``min(a, b)`` of two numbers; each side has one half of the derivative at a tie."""


class Clamp(Node):
    """``clamp(x, lo, hi)``; the derivative is 1 at both ends."""


class Apply(Node):
    """An element-wise function by its name in :data:`symderive.spec.functions.FUNCTIONS`, applied to its arguments.

    Only functions that SymPy does not have under the same conventions: ``exp log sin ... erf`` and powers are
    SymPy's own, so that SymPy differentiates and combines them.
    """

    def __new__(cls, name: str | Str, *arguments: Expr) -> Expr:
        return Expr.__new__(cls, name if isinstance(name, Str) else Str(name), *arguments)

    @property
    def function(self) -> str:
        """The name of the function."""
        return self.args[0].name

    @property
    def arguments(self) -> tuple[Expr, ...]:
        """What it is applied to."""
        return self.args[1:]

    def _sympystr(self, printer: StrPrinter) -> str:
        return f"{self.function}({', '.join(printer._print(a) for a in self.arguments)})"
