"""A program is a list of index equations; a derivation is a program, its gradients and the steps to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sympy import Expr, Rational

from symderive.algebra.nodes import Index
from symderive.spec import model, syntax


@dataclass(frozen=True)
class Equation:
    """``tensor[indices] = right`` over the algebra's nodes; ``indices`` are named and free in ``right``."""

    tensor: str
    indices: tuple[Index, ...]
    right: Expr

    @property
    def shape(self) -> tuple[Expr, ...]:
        """The shape of the tensor that it defines."""
        return tuple(i.extent for i in self.indices)


@dataclass(frozen=True)
class Program:
    """Inputs and equations in order. ``constants`` gives the values of the symbols of named constants."""

    name: str
    inputs: tuple[model.Input, ...]
    equations: tuple[Equation, ...]
    outputs: tuple[str, ...]
    sizes: Mapping[str, int | tuple[int, ...]] = field(default_factory=dict)
    constants: Mapping[str, Rational] = field(default_factory=dict)

    @property
    def shapes(self) -> dict[str, tuple[Expr, ...]]:
        """The shape of every tensor."""
        return {i.name: i.shape for i in self.inputs} | {e.tensor: e.shape for e in self.equations}


@dataclass(frozen=True)
class Step:
    """One step of a derivation: the named ``rule``, what it says in ``text``, and the equation before and after it."""

    rule: str
    text: str
    before: syntax.Statement
    after: syntax.Statement


@dataclass(frozen=True)
class Gradient:
    """The gradient ``d<wrt>``. ``equations`` are the backward equations that it alone needs, its own last.

    ``index`` is its own equation as syntax; ``saves`` are the forward tensors and inputs that its formulas read.
    ``zero`` says that the outputs do not depend on the input at all.
    """

    wrt: str
    tensor: str
    equations: tuple[Equation, ...]
    index: syntax.Statement
    steps: tuple[Step, ...]
    saves: tuple[str, ...]
    zero: bool = False


@dataclass(frozen=True)
class Derivation:
    """The gradients of a program. ``backward`` computes them all from ``upstreams``, ``saved`` and nothing else.

    ``forward`` is the program as it is computed: what the spec says, in stable form. ``backward.inputs`` are the
    upstreams ``d<output>`` and the ``saved`` tensors; its ``outputs`` are the gradients in the order of ``wrt``.
    ``display`` is ``backward`` as formulas print it: the upstream of a sole scalar output is 1.
    ``intermediate`` has the steps to each gradient of an intermediate tensor, ``dy``, by its name.
    """

    spec: model.Spec
    forward: Program
    backward: Program
    display: Program
    upstreams: tuple[str, ...]
    saved: tuple[str, ...]
    gradients: Mapping[str, Gradient]
    intermediate: Mapping[str, tuple[Step, ...]] = field(default_factory=dict)
