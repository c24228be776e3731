"""The range of every index of an equation: declared, or inferred from the axes that it runs over alone."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping

from sympy import Expr, floor

from symderive.errors import Span, SpecError
from symderive.spec import syntax as s
from symderive.spec.format import to_text
from symderive.spec.functions import MATRIX
from symderive.spec.model import Shape
from symderive.spec.scope import Scope, Use
from symderive.spec.size_text import size_text
from symderive.spec.sizes import BATCH_SIZE, same_size, size_value


def infer_ranges(
    scope: Scope,
    indices: Iterable[tuple[str, Span]],
    declared: Mapping[str, Expr],
    letters: Callable[[], Mapping[str, Expr]],
) -> dict[str, Expr]:
    """The extent of each of ``indices``. Raises where an index has two ranges, or none.

    An access that is padded may be left by its index, so it gives a range only where no other access does.
    ``letters`` gives the ranges that letters have in the whole of ``forward``, for an index without one here.
    """
    ranges: dict[str, Expr] = {}
    for name, span in indices:
        if name == s.BATCH:
            ranges[name] = BATCH_SIZE
        elif name in declared:
            ranges[name] = declared[name]
        elif name not in ranges:
            ranges[name] = _inferred(scope, name, span, letters)
    for binder in scope.binders:
        if binder.op in MATRIX:
            _square(scope, binder, ranges)
    return ranges


def _inferred(scope: Scope, name: str, span: Span, letters: Callable[[], Mapping[str, Expr]]) -> Expr:
    uses = [u for u in scope.uses if u.index == name]
    uses = [u for u in uses if not u.padded] or uses
    if not uses and name in letters():
        return letters()[name]
    if not uses:
        raise scope.error(
            f"the range of the index '{name}' cannot be inferred: it stands alone in no index position here",
            span,
            f"declare it: `indices: {{{name}: {_proposal(scope, name)}}}`",
        )
    first = uses[0]
    for use in uses[1:]:
        if not equal_sizes(first.extent, use.extent):
            raise _two_ranges(scope, first, use)
    return first.extent


def letter_ranges(
    statements: Iterable[s.Statement], shapes: Mapping[str, Shape], declared: Mapping[str, Expr]
) -> dict[str, Expr]:
    """The range of each letter that has just one in all the equations, as far as their accesses tell.

    Reads the syntax only: a name in a position is taken for an index, so look up only names that are.
    """
    statements = tuple(statements)
    found: dict[str, Expr] = {}
    for _ in range(2):  # the second time with the letters that the first has found
        known: dict[str, tuple[Expr | None, ...]] = dict(shapes)
        everywhere: dict[str, list[Expr]] = {}
        for statement in statements:
            here = _plain_uses(statement.right, known) | dict(declared)
            for letter, extent in here.items():
                everywhere.setdefault(letter, []).append(extent)
            if isinstance(statement.left, s.Access):
                names = (n.id if isinstance(n, s.Name) else s.BATCH for n in statement.left.indices)
                known[statement.left.tensor] = tuple(
                    BATCH_SIZE if n == s.BATCH else here.get(n, found.get(n)) for n in names
                )
        found = {n: e[0] for n, e in everywhere.items() if all(equal_sizes(e[0], other) for other in e[1:])}
    return found


def _plain_uses(node: s.Node, shapes: Mapping[str, tuple[Expr | None, ...]]) -> dict[str, Expr]:
    """The extents of the axes over which names run alone."""
    padded = {id(n.arguments[0]) for n in node.walk() if isinstance(n, s.Call) and n.function == "pad" and n.arguments}
    first: dict[str, Expr] = {}
    for access in node.walk():
        if isinstance(access, s.Access) and id(access) not in padded:
            for position, extent in zip(access.indices, shapes.get(access.tensor, ()), strict=False):
                if isinstance(position, s.Name) and extent is not None:
                    first.setdefault(position.id, extent)
    return first


def _proposal(scope: Scope, name: str) -> str:
    """The extent of an axis over which the index runs in some way, else a word that stands for one."""
    for access, _ in scope.accesses:
        for position, extent in zip(access.indices, scope.tensors[access.tensor].shape, strict=True):
            if any(isinstance(n, s.Name) and n.id == name for n in position.walk()):
                return size_text(extent)
    return next((n for n, (role, _) in scope.names.roles.items() if role == "size"), "3")


def _two_ranges(scope: Scope, first: Use, second: Use) -> SpecError:
    place = f"line {first.span.line}, column {first.span.column}"
    return scope.error(
        f"the index '{second.index}' has two ranges: {size_text(first.extent)} in {to_text(first.access)} ({place}) "
        f"and {size_text(second.extent)} in {to_text(second.access)}",
        second.span,
        "use another letter for one of them, or correct a shape",
    )


def _square(scope: Scope, binder: s.Binder, ranges: Mapping[str, Expr]) -> None:
    rows, columns = (ranges[i] for i in binder.indices)
    if not equal_sizes(rows, columns):
        i, j = binder.indices
        ranges_text = f"{i} runs over {size_text(rows)} and {j} over {size_text(columns)}"
        message = f"'{binder.op}' takes a square matrix, but {ranges_text}"
        raise scope.error(message, binder.span)


def equal_sizes(a: Expr, b: Expr) -> bool:
    """Whether two size expressions agree: by expanding them, else at many sizes (``floor`` has no normal form)."""
    if same_size(a, b):
        return True
    names = sorted(x.name for x in a.free_symbols | b.free_symbols)
    if not names or (not a.has(floor) and not b.has(floor)):
        return False
    draw = random.Random(0)
    try:
        for _ in range(200):
            sizes = {n: draw.randint(1, 60) for n in names}
            if size_value(a, sizes) != size_value(b, sizes):
                return False
    except (ValueError, ZeroDivisionError, TypeError):
        return False
    return True
