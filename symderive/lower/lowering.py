"""``lower``: index equations become a plan of array operations."""

from __future__ import annotations

import keyword
from collections.abc import Mapping

from sympy import Expr

from symderive.algebra import nodes
from symderive.algebra.digits import split_by_digits
from symderive.algebra.program import Equation, Program
from symderive.algebra.systems import is_triangular
from symderive.lower import access, elementwise, plan, reduction, stretches
from symderive.lower.axes import arrange, batch_first, shape_of, spread
from symderive.lower.context import Lowering
from symderive.lower.plan import Assign, Plan, Ref
from symderive.lower.schedule import schedule
from symderive.lower.stable import stable
from symderive.spec.functions import BINDERS, FUNCTIONS, STRUCTURAL

_MODULES = (access, elementwise, reduction)
"""What registers the operations of each kind of node."""

_ARRAY_FORM = "F np torch special outer diag trace einsum one_hot ones eye pi inf D delta pad ctx saved grad"
_RESERVED = frozenset((*FUNCTIONS, *BINDERS, *STRUCTURAL, *keyword.kwlist, *_ARRAY_FORM.split()))
"""Names that no helper may have."""


def lower(program: Program, sizes: Mapping[str, int | tuple[int, ...]] | None = None) -> Plan:
    """The plan of ``program``; ``sizes`` (by default the author's) decide in which order products are taken.

    The plan's assignments are the program's equations that its outputs need, in order, and helpers for what is used
    more than once. Raises :class:`UnsupportedError` where an expression has no array operation.
    """
    ctx = Lowering(program.sizes if sizes is None else sizes)
    inputs = []
    for spec in program.inputs:
        kind: plan.Kind = "boolean" if spec.boolean else "real" if spec.index is None else "integer"
        ref = Ref(spec.name, spec.shape, kind)
        inputs.append(ref)
        ctx.tensors[spec.name] = ctx.graph.intern(ref)
        ctx.enlarge_limit(spec.shape)
        if spec.index is not None:
            ctx.ranges[spec.name] = spec.index
        if spec.triangular:
            ctx.triangular.add(spec.name)
    needed = _needed(program)
    for equation in program.equations:
        ctx.enlarge_limit(equation.shape)
    given = [i.shape for i in program.inputs] + [e.shape for e in program.equations if e.tensor in needed]
    ctx.sizes = {symbol for shape in given for extent in shape for symbol in extent.free_symbols}
    roots = [_assignment(e, ctx) for e in program.equations if e.tensor in needed]
    assignments = schedule(roots, _taken_names(program))
    return Plan(program.name, tuple(inputs), tuple(assignments), program.outputs, dict(program.constants))


def _needed(program: Program) -> set[str]:
    needed = set(program.outputs)
    for equation in reversed(program.equations):
        if equation.tensor in needed:
            needed |= {a.tensor for a in equation.right.atoms(nodes.Access)}
    return needed


def _assignment(equation: Equation, ctx: Lowering) -> Assign:
    right, digits = split_by_digits(stable(equation.right), equation.indices)
    axes = batch_first(d for i in equation.indices for d in digits.get(i, (i,)))
    ctx.begin(axes)
    value = stretches.lowered(right, axes, ctx) or ctx.lower(right)
    value = spread(ctx.graph, arrange(ctx.graph, value, axes), axes)
    node = value.node
    if digits:
        node = ctx.graph.reshape(node, shape_of(batch_first(equation.indices)))
    if isinstance(node, plan.Scalar):
        node = ctx.graph.full((), node.value)
    if not _is_discrete(right, node.kind):
        node = ctx.graph.cast(node, "real")
    ref = Ref(equation.tensor, node.shape, node.kind)
    ctx.tensors[equation.tensor] = ctx.graph.intern(ref)
    if is_triangular(equation):
        ctx.triangular.add(equation.tensor)
    if isinstance(right, nodes.ArgMax | nodes.ArgMin):
        ctx.ranges[equation.tensor] = right.bound[0].extent
    return Assign(equation.tensor, node)


def _is_discrete(right: Expr, kind: plan.Kind) -> bool:
    """Whether a tensor holds class ids or truth values, rather than real numbers that happen to be whole."""
    if kind == "boolean":
        return isinstance(right, nodes.Condition | nodes.Any | nodes.All | nodes.Access)
    return kind == "integer" and isinstance(right, nodes.ArgMax | nodes.ArgMin | nodes.Access)


def _taken_names(program: Program) -> set[str]:
    names = {*_RESERVED, *program.reserved, *(i.name for i in program.inputs), *(e.tensor for e in program.equations)}
    names |= {str(s) for shape in program.shapes.values() for e in shape for s in e.free_symbols}
    names |= {str(c) for c in program.constants}
    for equation in program.equations:
        names |= {i.name for i in equation.right.atoms(nodes.Index) if i.name}
        names |= {i.name for i in equation.indices}
    return names
