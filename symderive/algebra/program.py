"""A program is a list of index equations; a derivation is a program, its gradients and the steps to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from functools import cached_property
from typing import Protocol

from sympy import Expr, Rational

from symderive.algebra.nodes import Index
from symderive.algebra.terms import tensors
from symderive.record import record
from symderive.spec import model, syntax
from symderive.spec.write import equation_statement


@record
class Equation:
    """``tensor[indices] = right`` over the algebra's nodes; ``indices`` are named and free in ``right``."""

    tensor: str
    indices: tuple[Index, ...]
    right: Expr

    @property
    def shape(self) -> tuple[Expr, ...]:
        """The shape of the tensor that it defines."""
        return tuple(i.extent for i in self.indices)


@record
class Program:
    """Inputs and equations in order. ``constants`` gives the values of the symbols of named constants.

    ``reserved`` are names of tensors that it does not read: what helps to compute it is called otherwise.
    """

    name: str
    inputs: tuple[model.Input, ...]
    equations: tuple[Equation, ...]
    outputs: tuple[str, ...]
    sizes: Mapping[str, int | tuple[int, ...]] = field(default_factory=dict)
    constants: Mapping[str, Rational] = field(default_factory=dict)
    reserved: tuple[str, ...] = ()

    def put(self, values: Mapping[Expr, Expr]) -> Program:
        """The program with expressions put in place of others."""
        if not values:
            return self
        equations = tuple(replace(e, right=e.right.xreplace(dict(values))) for e in self.equations)
        return replace(self, equations=equations)

    @cached_property
    def read(self) -> set[str]:
        """The tensors that its equations read."""
        return set().union(*(tensors(e.right) for e in self.equations))

    @cached_property
    def shapes(self) -> dict[str, tuple[Expr, ...]]:
        """The shape of every tensor."""
        return {i.name: i.shape for i in self.inputs} | {e.tensor: e.shape for e in self.equations}


@record
class Step:
    """One step of a derivation: the named ``rule``, what it says in ``text``, and the equation before and after it."""

    rule: str
    text: str
    before: syntax.Statement
    after: syntax.Statement


@record
class Gradient:
    """The gradient ``d<wrt>``, in the form that formulas print. What it takes work to tell is worked out when asked."""

    wrt: str
    tensor: str
    telling: Telling = field(repr=False)

    @cached_property
    def equations(self) -> tuple[Equation, ...]:
        """The backward equations that it needs, its own last."""
        return self.telling.needed(self.tensor)

    @cached_property
    def index(self) -> syntax.Statement:
        """Its own equation as syntax."""
        return self.telling.statement(self.tensor)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The steps that lead to its equation."""
        return self.telling.steps(self.tensor)

    @cached_property
    def saves(self) -> tuple[str, ...]:
        """The forward tensors and inputs that its equations read."""
        return self.telling.reads(self.tensor)

    @property
    def zero(self) -> bool:
        """Whether the outputs do not depend on the input at all."""
        return self.telling.is_zero(self.tensor)


class Telling(Protocol):
    """What can be told of an adjoint by its name."""

    def needed(self, tensor: str) -> tuple[Equation, ...]:
        """The backward equations that it needs, its own last."""

    def statement(self, tensor: str) -> syntax.Statement:
        """Its equation as syntax."""

    def write(self, equation: Equation) -> syntax.Statement:
        """Any equation as syntax."""

    def steps(self, tensor: str) -> tuple[Step, ...]:
        """The steps that lead to its equation."""

    def told(self) -> tuple[str, ...]:
        """Every adjoint that its steps speak of, in order."""

    def reads(self, tensor: str) -> tuple[str, ...]:
        """The forward tensors and inputs that its equations read."""

    def is_zero(self, tensor: str) -> bool:
        """Whether it is identically zero."""


@record
class Derivation:
    """The gradients of a program. ``backward`` computes them all from ``upstreams``, ``saved`` and nothing else.

    ``forward`` is the program as it is computed: what the spec says, in stable form. ``backward.inputs`` are the
    upstreams ``d<output>`` and the ``saved`` tensors; its ``outputs`` are the gradients in the order of ``wrt``.
    ``display`` is ``backward`` as formulas print it: the upstream of a sole scalar output is 1. ``built`` is the
    forward before it is put into stable form.
    """

    spec: model.Spec
    forward: Program
    backward: Program
    display: Program
    upstreams: tuple[str, ...]
    saved: tuple[str, ...]
    gradients: Mapping[str, Gradient]
    telling: Telling = field(repr=False)
    built: Program = field(repr=False)

    @cached_property
    def read(self) -> frozenset[str]:
        """Every tensor that the gradients read."""
        return frozenset(t for g in self.gradients.values() for t in g.saves)

    def as_written(self, program: Program) -> dict[str, syntax.Statement]:
        """The equations of a program that are the spec's own, in the words of the spec."""
        built = {e.tensor: e.right for e in self.built.equations}
        same = {e.tensor for e in program.equations if built.get(e.tensor) == e.right}
        return {e.tensor: equation_statement(e) for e in self.spec.equations if e.tensor in same}

    @cached_property
    def introduced(self) -> tuple[syntax.Statement, ...]:
        """The equations of the forward that the spec does not have: what the backward reads in place of more."""
        known = self.built.shapes
        return tuple(self.telling.write(e) for e in self.forward.equations if e.tensor not in known)

    @cached_property
    def named(self) -> tuple[str, ...]:
        """What only the formulas of the gradients have a name for: what goes into a function, say."""
        told = {*self.intermediate, *(g.tensor for g in self.gradients.values())}
        return tuple(e.tensor for e in self.display.equations if e.tensor not in told)

    @cached_property
    def intermediate(self) -> dict[str, tuple[Step, ...]]:
        """The steps to each gradient of an intermediate tensor, ``dy``, by its name, in order.

        Those that were put into the gradients that use them are among them: their equations stand in the steps only.
        """
        own = {g.tensor for g in self.gradients.values()}
        return {tensor: self.telling.steps(tensor) for tensor in self.telling.told() if tensor not in own}
