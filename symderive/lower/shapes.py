"""Shape rules of array operations: what shape comes out, or an :class:`InternalError` that says why nothing does.

A shape is a tuple of SymPy size expressions. Its first entry may be ``BATCH_SIZE``, which stands for any number of
leading axes; it counts as *one* axis here, so axis -2 of ``(BATCH_SIZE, K)`` is all batch axes together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from sympy import Expr, Integer, Max, Min, Mul, S, Symbol, expand, floor

from symderive.errors import InternalError
from symderive.spec.sizes import BATCH_SIZE

Shape = tuple[Expr, ...]

ROWS = Symbol("...rows", integer=True, nonnegative=True)
"""The extent of *one* axis into which all batch axes were flattened; in number it equals ``BATCH_SIZE``."""


def sizes(entries: Iterable[Expr | int]) -> Shape:
    """The entries as SymPy expressions."""
    return tuple(Integer(e) if isinstance(e, int) else e for e in entries)


_PROBES = (7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47)
"""Sizes at which two expressions that expanding cannot tell equal are compared."""


@lru_cache(maxsize=4096)
def same_size(a: Expr, b: Expr) -> bool:
    """Whether two size expressions are equal for all sizes: by expanding, else by their values at a few sizes."""
    if a == b or expand(a - b) == 0:
        return True
    symbols = sorted(a.free_symbols | b.free_symbols, key=str)
    if not symbols:
        return False
    if (a - b).has(Max, Min) and not _same_where_small(a, b, symbols):
        return False
    return all(
        same_value(a, b, {s: Integer(_PROBES[(n + shift) % len(_PROBES)] + 2 * shift * n) for n, s in enumerate(order)})
        for shift in range(8)
        for order in (symbols, symbols[::-1])  # a max(0, A - B) shows itself in one order only
    )


def _same_where_small(a: Expr, b: Expr, symbols: Sequence[Expr]) -> bool:
    """Whether two size expressions agree where one size is 1, 2 or 3: max(0, R - 2) is not R - 2 at R = 1."""
    large = {s: Integer(_PROBES[n % len(_PROBES)]) for n, s in enumerate(symbols)}
    return all(same_value(a, b, {**large, s: Integer(n)}) for s in symbols for n in (1, 2, 3))


def same_value(a: Expr, b: Expr, values: dict[Expr, Integer]) -> bool:
    """Whether two size expressions agree at one choice of the sizes."""
    return bool(a.xreplace(values) == b.xreplace(values))


def same_shape(a: Shape, b: Shape) -> bool:
    """Whether two shapes are equal for all sizes."""
    return len(a) == len(b) and all(same_size(p, q) for p, q in zip(a, b, strict=True))


def show(shape: Shape) -> str:
    """A shape as a comment prints it: ``[..., N, K]``."""
    return f"[{', '.join('...' if e == BATCH_SIZE else str(e) for e in shape)}]"


def has_batch(shape: Shape) -> bool:
    """Whether the shape starts with batch axes."""
    return bool(shape) and shape[0] == BATCH_SIZE


def plain(shape: Shape) -> Shape:
    """The shape without its batch axes."""
    return shape[1:] if has_batch(shape) else shape


def front(shape: Shape) -> Shape:
    """``(BATCH_SIZE,)`` where the shape has batch axes, else ``()``."""
    return shape[:1] if has_batch(shape) else ()


def check_axis(shape: Shape, axis: int, batch: bool = False) -> int:
    """``axis`` itself, a negative number that names an axis of ``shape``; a batch axis only where ``batch`` is set."""
    rank = len(shape if batch else plain(shape))
    if not -rank <= axis <= -1:
        raise InternalError(f"axis {axis} is not one of {show(shape)}")
    return axis


def check_axes(shape: Shape, axes: Sequence[int], batch: bool = False) -> None:
    """That ``axes`` are different axes of ``shape``."""
    for axis in axes:
        check_axis(shape, axis, batch)
    if len(set(axes)) != len(axes):
        raise InternalError(f"axes {axes} name one twice")


def broadcast(*shapes: Shape) -> Shape:
    """NumPy's broadcast of several shapes: aligned at the end, an extent of 1 stretches.

    Batch axes align with batch axes only: two shapes that both have them must have as many axes behind them, and
    the axes of a shape without them must not reach into them.
    """
    with_batch = {len(s) for s in shapes if has_batch(s)}
    rank = max((len(s) for s in shapes), default=0)
    without = max((len(s) for s in shapes if not has_batch(s)), default=0)
    if len(with_batch) > 1 or (with_batch and without >= rank):
        raise InternalError(f"batch axes do not line up: {', '.join(map(show, shapes))}")
    result: list[Expr] = []
    for axis in range(-rank, 0):
        extents = [s[axis] for s in shapes if len(s) >= -axis and s[axis] != 1]
        if any(not same_size(e, extents[0]) for e in extents):
            raise InternalError(f"shapes do not broadcast: {', '.join(map(show, shapes))}")
        result.append(extents[0] if extents else S.One)
    return tuple(result)


def permuted(shape: Shape, order: Sequence[int]) -> Shape:
    """The axes behind the batch, in a new order: ``(-1, -2)`` transposes a matrix."""
    check_axes(shape, order)
    if len(order) != len(plain(shape)):
        raise InternalError(f"order {order} leaves out an axis of {show(shape)}")
    return (*front(shape), *(shape[a] for a in order))


def expanded(shape: Shape, axes: Sequence[int]) -> Shape:
    """The shape with axes of extent 1 inserted, so that they are the ``axes`` of the result."""
    rank = len(plain(shape)) + len(axes)
    check_axes((S.One,) * rank, axes)
    rest = iter(plain(shape))
    return (*front(shape), *(S.One if a in axes else next(rest) for a in range(-rank, 0)))


def reduced(shape: Shape, axes: Sequence[int], keepdim: bool) -> Shape:
    """The shape without ``axes``, or with 1 in their place; the batch axes cannot be kept as 1."""
    check_axes(shape, axes, batch=True)
    if keepdim and has_batch(shape) and -len(shape) in axes:
        raise InternalError("batch axes are reduced without keepdim")
    kept = [(a, e) for a, e in zip(range(-len(shape), 0), shape, strict=True)]
    if keepdim:
        return tuple(S.One if a in axes else e for a, e in kept)
    return tuple(e for a, e in kept if a not in axes)


def count(shape: Shape) -> Expr:
    """The number of entries, where ``BATCH_SIZE`` is the number of batch entries."""
    return Mul(*(BATCH_SIZE if e == ROWS else e for e in shape))


def reshaped(shape: Shape, target: Shape) -> Shape:
    """``target``, which must have as many entries. Batch axes stay, or become one axis of extent ``ROWS``."""
    if has_batch(target) and not has_batch(shape):
        raise InternalError(f"{show(shape)} has no batch axes to keep in {show(target)}")
    if not same_size(count(shape), count(target)):
        raise InternalError(f"{show(shape)} cannot be reshaped to {show(target)}")
    return target


def matmul(a: Shape, b: Shape) -> Shape:
    """The shape of ``a @ b``: vectors, matrices and stacks of matrices as in NumPy.

    A left operand ``(BATCH_SIZE, K)`` is a batch of rows, and needs a right operand that is one matrix or vector.
    """
    rows = has_batch(a) and len(a) == 2
    if not a or not b or len(plain(b)) < min(2, len(b)) or not plain(a) or (rows and (has_batch(b) or len(b) > 2)):
        raise InternalError(f"no matrix product of {show(a)} and {show(b)}")
    inner = b[-2] if len(b) > 1 else b[-1]
    if not same_size(a[-1], inner):
        raise InternalError(f"inner extents differ in {show(a)} @ {show(b)}")
    if rows:
        return (*a[:-1], *b[1:])
    stacked = broadcast((*a[:-2], S.One, S.One), (*b[:-2], S.One, S.One))[:-2]
    return (*stacked, *a[-2:-1], *(b[-1:] if len(b) > 1 else ()))


def einsum(equation: str, shapes: Sequence[Shape]) -> Shape:
    """The shape of an einsum; batch axes are written ``...``, first, and are never summed."""
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    extents: dict[str, Expr] = {}
    if not arrow or len(terms) != len(shapes):
        raise InternalError(f"einsum {equation!r} does not fit {len(shapes)} operands")
    for term, shape in zip(terms, shapes, strict=True):
        letters = term.removeprefix("...")
        if term.startswith("...") != has_batch(shape) or len(letters) != len(plain(shape)):
            raise InternalError(f"einsum {equation!r}: {term!r} does not fit {show(shape)}")
        for letter, extent in zip(letters, plain(shape), strict=True):
            if not same_size(extents.setdefault(letter, extent), extent):
                raise InternalError(f"einsum {equation!r}: {letter!r} has two extents")
    if right.startswith("...") != any(has_batch(s) for s in shapes):
        raise InternalError(f"einsum {equation!r} sums over the batch axes: flatten them first")
    letters = right.removeprefix("...")
    if len(set(letters)) != len(letters) or not set(letters) <= extents.keys():
        raise InternalError(f"einsum {equation!r}: bad output")
    return (*((BATCH_SIZE,) if right.startswith("...") else ()), *(extents[c] for c in letters))


def conv_extent(extent: Expr, kernel: Expr, stride: Expr, padding: Expr, dilation: Expr) -> Expr:
    """How many windows fit: ``(extent + 2 padding - dilation (kernel - 1) - 1) // stride + 1``."""
    return floor((extent + 2 * padding - dilation * (kernel - 1) - 1) / stride) + 1
