"""The sizes at which a spec is checked: small and pairwise different, square, the author's, and sizes of 0 and 1."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping

from sympy import Expr

from symderive.check.oracle import extent_of, shape_of
from symderive.errors import SpecError
from symderive.spec import syntax
from symderive.spec.model import Spec
from symderive.spec.sizes import BATCH_SIZE
from symderive.spec.syntax import BATCH

Sizes = dict[str, "int | tuple[int, ...]"]

POOL = (3, 5, 2, 7, 4, 11, 13, 6, 8, 9, 10)
"""Small sizes, primes first: unequal primes hide neither a transpose nor a reshape, and 2 hides a missing term."""

SMALL_BATCHES: tuple[tuple[int, ...], ...] = ((), (2,), (4, 2))
"""The batch axes that are drawn: none, one and two."""

TRIES = 4000


def names(spec: Spec) -> list[str]:
    """The named sizes of a spec, in the order of its inputs' shapes; batch axes are none of them.

    Those that are no axis follow: numbers of classes.
    """
    return list(_of_axes(spec) | dict.fromkeys(n for n in spec.sizes if n != BATCH))


def _of_axes(spec: Spec) -> dict[str, None]:
    """The sizes that an axis has."""
    found: dict[str, None] = {}
    for part in (*spec.shapes.values(), spec.indices.values()):
        for extent in part:
            found.update(dict.fromkeys(sorted(s.name for s in extent.free_symbols if s != BATCH_SIZE)))
    return found


def has_batch(spec: Spec) -> bool:
    """Whether any tensor has batch axes."""
    return any(BATCH_SIZE in shape for shape in spec.shapes.values())


def valid(spec: Spec, sizes: Mapping[str, int | tuple[int, ...]], least: int = 1) -> bool:
    """Whether every axis and every range is at least ``least`` at these sizes."""
    return _valid(list(_extents(spec)), sizes, least)


def _valid(extents: list[Expr], sizes: Mapping[str, int | tuple[int, ...]], least: int = 1) -> bool:
    """Plain sizes are looked up first: SymPy is asked only where they all hold."""
    try:
        plain = [sizes[n.name] for n in extents if n.is_Symbol and n != BATCH_SIZE]
        if any(isinstance(n, int) and n < least for n in plain):
            return False
        return all(extent_of(n, sizes) >= least for n in extents if not n.is_Symbol)
    except (KeyError, TypeError):
        return False


def _extents(spec: Spec) -> Iterator[Expr]:
    seen: dict[Expr, None] = {}
    for shape in spec.shapes.values():
        seen.update(dict.fromkeys(shape))
    for equation in spec.equations:
        seen.update(dict.fromkeys(equation.ranges.values()))
    seen.update(dict.fromkeys(spec.indices.values()))
    return iter(seen)


def small(spec: Spec) -> Sizes | None:
    """Pairwise different small sizes, of the fewest input entries; None where no such sizes are valid.

    A size that no axis has is 2, so that of a few class ids some are equal.
    """
    axes = len(_of_axes(spec))
    others = (2,) * (len(names(spec)) - axes)
    return _cheapest(spec, ((*values, *others) for values in _values(axes))) or author(spec)


def tiny(spec: Spec) -> Sizes | None:
    """Sizes of 2 to 4, equal ones among them, of the fewest input entries: for what costs much an entry."""
    return _cheapest(spec, itertools.product((2, 3, 4), repeat=len(names(spec)))) or small(spec)


def _cheapest(spec: Spec, candidates: Iterator[tuple[int, ...]]) -> Sizes | None:
    """Of the first candidates, the valid sizes at which the inputs have the fewest entries."""
    wanted = names(spec)
    extents = list(_extents(spec))
    tried: list[tuple[int, Sizes]] = []
    for values in itertools.islice(candidates, TRIES):
        sizes: Sizes = dict(zip(wanted, values, strict=True))
        tried.append((_plain_entries(spec, sizes), sizes))
    tried.sort(key=lambda t: t[0])
    return next((sizes for _, sizes in tried if _valid(extents, sizes)), None)


def _plain_entries(spec: Spec, sizes: Sizes) -> int:
    """About how many entries all inputs have; a computed extent counts as the largest size in it."""
    total = 0
    for tensor in spec.inputs:
        count = 1
        for n in tensor.shape:
            parts = [v for s in n.free_symbols if isinstance(v := sizes.get(s.name, 1), int)]
            count *= max(parts, default=1)
        total += count
    return total


def _values(count: int) -> Iterator[tuple[int, ...]]:
    """Different sizes for ``count`` names: of the first few of the pool, without 2 as long as that suffices."""
    few = [n for n in POOL if n != 2] if count < 3 else list(POOL)
    return itertools.permutations(few[: count + 2], count)


def square(spec: Spec) -> Sizes | None:
    """All sizes equal: a transposed operand then has the right shape. None with fewer than two sizes."""
    wanted = names(spec)
    if len(wanted) < 2:
        return None
    for n in (3, 4, 5, 6, 8):
        sizes: Sizes = dict.fromkeys(wanted, n)
        if valid(spec, sizes):
            return sizes
    return None


def author(spec: Spec, replaced: Mapping[str, int | tuple[int, ...]] | None = None) -> Sizes | None:
    """The sizes that the spec gives, some of them replaced; None where it lacks one that it needs."""
    sizes: Sizes = {k: tuple(v) if isinstance(v, tuple | list) else v for k, v in spec.sizes.items()}
    known = (*names(spec), BATCH)
    for name in replaced or ():
        if name not in known:
            raise SpecError(f"{spec.name} has no size {name!r}", hint=f"its sizes are {', '.join(names(spec))}")
    sizes |= replaced or {}
    if valid(spec, sizes):
        return sizes
    if replaced:
        raise SpecError(f"{spec.name} cannot have the sizes {shown(sizes)}: a range would be empty")
    return None


def degenerate(spec: Spec) -> list[Sizes]:
    """For each size, the small sizes with that one 0 and that one 1, where the spec allows it; batch axes of 0 too.

    A size that others are computed from (an extent ``T - R + 1``) is not 0, as a window would lie outside of
    everything, nor is one that index positions mention, or that ``argmax`` searches.
    """
    base = small(spec)
    if base is None:
        return []
    found = []
    for name in names(spec):
        for n in (1, 0) if _stands_alone(spec, name) else (1,):
            sizes = base | {name: n}
            if valid(spec, sizes, least=min(n, 1)) and _classes(spec, sizes):
                found.append(sizes)
    if has_batch(spec):
        found += [base | {BATCH: (0,)}, base | {BATCH: (1, 1)}]
    return found


def _stands_alone(spec: Spec, name: str) -> bool:
    """Whether every extent that a size occurs in is that size."""
    shifts = {n.id for e in spec.equations for n in _positions(e.right) if isinstance(n, syntax.Name)}
    if name in shifts:
        return False
    picked = [e.ranges[i] for e in spec.equations for b in _searches(e.right) for i in b.indices]
    return all(n.is_Symbol or name not in {s.name for s in n.free_symbols} for n in _extents(spec)) and all(
        name not in {s.name for s in n.free_symbols} for n in picked
    )


def _positions(node: syntax.Node) -> Iterator[syntax.Node]:
    """All that stands in index positions."""
    accesses = (n for n in node.walk() if isinstance(n, syntax.Access))
    return (part for access in accesses for index in access.indices for part in index.walk())


def _searches(node: syntax.Node) -> Iterator[syntax.Binder]:
    """Where something is searched for, which must have something to find."""
    return (n for n in node.walk() if isinstance(n, syntax.Binder) and n.op in ("argmax", "argmin"))


def _classes(spec: Spec, sizes: Sizes) -> bool:
    """Whether there are classes wherever there are class ids."""
    return all(
        extent_of(i.index, sizes) > 0 or 0 in shape_of(i.shape, sizes) for i in spec.inputs if i.index is not None
    )


def entries(spec: Spec, sizes: Mapping[str, int | tuple[int, ...]]) -> int:
    """How many entries all inputs have at these sizes."""
    return sum(math.prod(shape_of(i.shape, sizes)) for i in spec.inputs)


def terms(spec: Spec, sizes: Mapping[str, int | tuple[int, ...]]) -> int:
    """How many terms evaluating the forward entry by entry takes."""
    return sum(math.prod(extent_of(r, sizes) for r in e.ranges.values()) for e in spec.equations)


def footprint(spec: Spec, sizes: Mapping[str, int | tuple[int, ...]]) -> int:
    """A rough count of bytes that checking takes: every tensor of the forward in float64, some ten times over."""
    return 80 * sum(math.prod(shape_of(shape, sizes)) for shape in spec.shapes.values())


def shown(sizes: Mapping[str, int | tuple[int, ...]]) -> str:
    """``N=2 K=64``."""
    return " ".join(f"{k}={_compact(v)}" for k, v in sizes.items())


def _compact(value: int | tuple[int, ...]) -> str:
    return str(value) if isinstance(value, int) else "x".join(map(str, value)) or "()"
