"""Functions of matrices, and systems of equations."""

from __future__ import annotations

from collections.abc import Sequence

from sympy import Expr, S

from symderive.algebra import nodes
from symderive.algebra.nodes import Index
from symderive.algebra.systems import System, system_of
from symderive.lower import access, plan
from symderive.lower.axes import Labelled, batch_first, spread, without
from symderive.lower.context import Lowering, lower_node
from symderive.lower.product import Product

_OPS: dict[type, str] = {
    nodes.Inverse: "inv",
    nodes.Cholesky: "cholesky",
    nodes.Det: "det",
    nodes.LogDet: "logdet",
}


def lower_matrix(e: nodes.MatrixBinder, ctx: Lowering) -> Labelled:
    """A function of a matrix: a number, or a matrix read at a row and a column."""
    body, pair = e.open()
    if isinstance(e, nodes.Cholesky):
        body = _symmetric_part(body, pair)
    value = _matrix(body, pair, ctx)
    node = ctx.graph.intern(plan.Matrix(_OPS[type(e)], value.node))
    if not e.at:
        return Labelled(node, value.axes[:-2])
    return access.read(Labelled(node, value.axes), dict(zip(pair, e.at, strict=True)), ctx)


for _node in _OPS:
    lower_node.register(_node)(lower_matrix)


def _matrix(body: Expr, pair: Sequence[Index], ctx: Lowering) -> Labelled:
    value = ctx.lower(body)
    rest = without(value.axes, pair)
    value = spread(ctx.graph, value, (*rest, *pair))
    return Labelled(ctx.graph.cast(value.node, "real"), value.axes)


def _symmetric_part(body: Expr, pair: Sequence[Index]) -> Expr:
    """``(A + A.T) / 2``; what is symmetric as it is written stays as it is."""
    p, q = pair
    swapped = body.xreplace({p: q, q: p})
    return body if swapped == body else (body + swapped) / 2


def solved(product: Product, ctx: Lowering) -> Product | None:
    """``sum[b](inv(A)[a, b] * f[b])`` solves ``A x = f``: the product with x in place of what makes it."""
    system = None if product.masks else system_of(product.factors, product.bound)
    if system is None:
        return None
    solution = nodes.Sum.over(system.inverse * system.right, [system.summed])
    ctx.remember(solution, _solution(system, ctx))
    return Product(list(system.bound), product.number, [solution, *system.rest])


def _solution(system: System, ctx: Lowering) -> Labelled:
    """The x of a system. One axis of the right side is its columns; all others, and the matrix's, are stacked."""
    body = system.inverse.body.xreplace(dict(zip(system.inverse.bound, system.pair, strict=True)))
    matrix = _matrix(body, (system.summed, system.kept), ctx)
    right = ctx.lower(system.right)
    own = without(right.axes, (system.summed,))
    columns = [i for i in own if i not in matrix.axes and not i.is_batch]
    column = (max(columns, key=ctx.extent),) if columns else ()
    stack = batch_first(dict.fromkeys((*without(own, column), *matrix.axes[:-2])))
    matrix = spread(ctx.graph, matrix, (*stack, system.summed, system.kept))  # torch's vmap wants one stack of both
    right = spread(ctx.graph, right, (*stack, system.summed, *column))
    node = ctx.graph.cast(right.node, "real")
    padded = bool(stack) and not column
    if padded:
        node = ctx.graph.expand(node, [-1])
    node = ctx.graph.intern(plan.Solve(matrix.node, node, _form(body, system, ctx)))
    if padded:
        rank = len([i for i in stack if not i.is_batch]) + 2
        node = ctx.graph.slice(node, (*(None for _ in range(rank - 1)), plan.At(S.Zero)))
    return Labelled(node, (*stack, system.kept, *column))


def _form(body: Expr, system: System, ctx: Lowering) -> str:
    """Which triangle is all there is to the matrix that is solved with."""
    last: tuple[Expr, ...] = ()
    if isinstance(body, nodes.Cholesky):
        last = body.at
    elif isinstance(body, nodes.Access) and body.tensor in ctx.triangular:
        last = body.indices[-2:]
    return {(system.summed, system.kept): "lower", (system.kept, system.summed): "upper"}.get(last, "general")
