"""How sizes follow from shapes: every size symbol as an entry of some tensor's shape, or solved from one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sympy import Expr, Integer, Poly, S, Symbol

from symderive.lower.shapes import Shape, has_batch, plain
from symderive.record import record
from symderive.spec.sizes import BATCH_SIZE


@record
class SizeSource:
    """``symbol`` is ``(tensor.shape[axis] - offset) // factor``; axes count from the end.

    For ``BATCH_SIZE``, ``axis`` is the number of axes behind the batch axes instead.
    """

    symbol: Symbol
    tensor: str
    axis: int
    factor: Expr
    offset: Expr


def solve(shapes: Mapping[str, Shape]) -> dict[Symbol, SizeSource]:
    """For each size that the shapes determine, where to read it: plain entries first, then linear ones in turn."""
    found: dict[Symbol, SizeSource] = {}
    entries = [(name, axis, shape[axis]) for name, shape in shapes.items() for axis in range(-len(plain(shape)), 0)]
    for name, shape in shapes.items():
        if has_batch(shape):
            found.setdefault(BATCH_SIZE, SizeSource(BATCH_SIZE, name, len(shape) - 1, S.One, S.Zero))
    pending = sorted(entries, key=lambda e: not e[2].is_Symbol)
    progress = True
    while progress:
        progress = False
        for name, axis, extent in pending:
            source = _linear(name, axis, extent, found)
            if source is not None:
                found[source.symbol] = source
                progress = True
    return found


def _linear(name: str, axis: int, extent: Expr, found: Mapping[Symbol, SizeSource]) -> SizeSource | None:
    """The one symbol of ``extent`` that is not found yet, where the extent is linear in it."""
    unknown = extent.free_symbols - found.keys()
    if len(unknown) != 1:
        return None
    (symbol,) = unknown
    if not extent.is_polynomial(symbol):
        return None
    polynomial = Poly(extent, symbol)
    if polynomial.degree() != 1:
        return None
    factor, offset = polynomial.all_coeffs()
    return SizeSource(symbol, name, axis, factor, offset)


def values(shapes: Mapping[str, Shape], actual: Mapping[str, tuple[int, ...]]) -> dict[Symbol, int | tuple[int, ...]]:
    """The sizes of actual arrays; ``BATCH_SIZE`` has the tuple of batch extents."""
    result: dict[Symbol, int | tuple[int, ...]] = {}
    for symbol, source in solve(shapes).items():
        extents = actual[source.tensor]
        if symbol == BATCH_SIZE:
            result[symbol] = extents[: len(extents) - source.axis]
            continue
        numbers = {s: Integer(v) for s, v in result.items() if isinstance(v, int)}
        factor, offset = (int(e.xreplace(numbers)) for e in (source.factor, source.offset))
        result[symbol] = (extents[source.axis] - offset) // factor
    return result


def symbols(expressions: Iterable[Expr]) -> set[Symbol]:
    """All symbols of several size expressions."""
    return {s for e in expressions for s in e.free_symbols}
