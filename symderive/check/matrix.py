"""The matrix of checks: which kinds there are, and in which dtypes, on which devices and at which sizes each runs.

A new kind of check is a module under ``kinds`` and a row here.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from symderive.check import sizes as sizing
from symderive.check.cells import Cell
from symderive.check.devices import DEVICES, DTYPES, LACKING, missing
from symderive.check.kinds.autograd import check_autograd
from symderive.check.kinds.claim import check_claims
from symderive.check.kinds.gradcheck import check_gradcheck
from symderive.check.kinds.layout import check_layout
from symderive.check.kinds.oracle import check_oracle
from symderive.check.kinds.reference import check_reference
from symderive.check.kinds.stability import check_stability
from symderive.check.ops_kinds import CHECKS, check_kind
from symderive.check.results import CheckResult
from symderive.check.subject import Subject
from symderive.errors import SpecError
from symderive.spec.model import Spec
from symderive.spec.syntax import BATCH

ALL = tuple(DTYPES)
NUMERIC = tuple(d for d in DEVICES if d != "meta")


@dataclass(frozen=True)
class Kind:
    """One kind of check. ``sizes`` are labels of :func:`size_sets`; ``quick`` ones run under ``--quick``, too."""

    name: str
    function: Callable[[Subject, Cell], Iterator[CheckResult]]
    dtypes: tuple[str, ...]
    devices: tuple[str, ...]
    sizes: tuple[str, ...]
    quick_dtypes: tuple[str, ...]
    quick: tuple[str, ...]


KINDS = (
    Kind("reference", check_reference, ALL, NUMERIC, ("small", "batch", "author", "case"), ALL[:2], ("small",)),
    Kind(
        "oracle", check_oracle, ALL[:1], ("cpu",), ("small", "square", "batch", "author", "case"), ALL[:1], ("author",)
    ),
    Kind(
        "autograd", check_autograd, ALL, DEVICES, ("small", "square", "batch", "author", "case"), ALL[:2], ("author",)
    ),
    Kind("gradcheck", check_gradcheck, ALL[:1], NUMERIC, ("small", "batch"), ALL[:1], ("small",)),
    Kind("stability", check_stability, ALL[:2], NUMERIC, ("tiny",), ALL[:1], ("tiny",)),
    Kind("layout", check_layout, ALL[:2], NUMERIC, ("small",), ALL[1:2], ("small",)),
    Kind("claim", check_claims, (), (), (), (), ()),
)
"""The kinds of check of functions, in the order in which they run."""

OP_KINDS = tuple(Kind(name, check_kind(name), ALL[:1], ("cpu",), ("small",), (), ()) for name in CHECKS)
"""The kinds of check of emitted ops, which run after those; none is quick."""


@dataclass(frozen=True)
class Options:
    """What to run. ``sizes`` replaces some of the author's; ``max_memory`` is in bytes."""

    dtypes: tuple[str, ...] = ALL
    devices: tuple[str, ...] = DEVICES
    sizes: Mapping[str, int | tuple[int, ...]] | None = None
    seed: int = 0
    runs: int = 1
    quick: bool = False
    max_memory: int | None = None
    required: tuple[str, ...] = ()
    kinds: tuple[str, ...] = tuple(k.name for k in (*KINDS, *OP_KINDS))


def options(
    dtypes: Sequence[str] | None, devices: Sequence[str] | None, required: Sequence[str], **rest: object
) -> Options:
    """Options, their names checked: an unknown dtype or device is an error that lists those there are."""
    _known("dtype", dtypes or (), ALL)
    _known("device", [d.partition(":")[0] for d in (*(devices or ()), *required)], DEVICES)
    wanted = tuple(dict.fromkeys((*(devices or DEVICES), *required)))
    return Options(tuple(dtypes or ALL), wanted, required=tuple(required), **rest)  # type: ignore[arg-type]


def _known(what: str, names: Sequence[str], known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            raise SpecError(f"there is no {what} {name!r}", hint=f"the {what}s are {', '.join(known)}")


@dataclass(frozen=True)
class Planned:
    """A cell and the kind that it belongs to, or a row that says why there is none."""

    kind: Kind
    cell: Cell
    instead: CheckResult | None = None


def plan(spec: Spec, chosen: Options) -> list[Planned]:
    """All cells of a spec, in order."""
    found: list[Planned] = []
    sets = size_sets(spec, chosen)
    for kind in (*KINDS, *OP_KINDS):
        if kind.name in chosen.kinds:
            found.extend(_cells(spec, kind, sets, chosen))
    return found


def _cells(spec: Spec, kind: Kind, sets: list[tuple[str, sizing.Sizes]], chosen: Options) -> Iterator[Planned]:
    seed = zlib.crc32(f"{spec.name} {chosen.seed}".encode())
    if not kind.sizes:
        yield Planned(kind, Cell(kind.name, "", "", {}, "", seed))
        return
    labels = kind.quick if chosen.quick else kind.sizes
    dtypes = [d for d in (kind.quick_dtypes if chosen.quick else kind.dtypes) if d in chosen.dtypes]
    if chosen.quick and not labels:
        return
    if not dtypes:
        yield _instead(kind, "", "", f"{kind.name} runs in {' and '.join(kind.dtypes)} only")
        return
    for device in chosen.devices:
        if device.partition(":")[0] not in kind.devices:
            continue
        if reason := missing(device):
            status = "fail" if device in chosen.required else "skip"
            yield _instead(kind, "", device, reason if status == "skip" else f"required, but {reason}", status)
            continue
        for sizes in _distinct(s for label, s in sets if label in labels):
            label = next(name for name, s in sets if name in labels and s == sizes)
            for dtype in dtypes:
                yield _cell(spec, kind, Cell(kind.name, dtype, device, sizes, label, seed), chosen)


def _distinct(sets: Iterable[sizing.Sizes]) -> list[sizing.Sizes]:
    """The sizes, each once."""
    found: list[sizing.Sizes] = []
    for sizes in sets:
        if sizes not in found:
            found.append(sizes)
    return found


def _cell(spec: Spec, kind: Kind, cell: Cell, chosen: Options) -> Planned:
    reason = LACKING.get((cell.device.partition(":")[0], cell.dtype), "")
    need = sizing.footprint(spec, cell.sizes)
    if chosen.max_memory is not None and need > chosen.max_memory:
        reason = f"needs about {need / 2**20:.2g} MiB, more than was allowed"
    return Planned(kind, cell, cell.result(kind.name, "skip", reason) if reason else None)


def _instead(kind: Kind, dtype: str, device: str, reason: str, status: str = "skip") -> Planned:
    cell = Cell(kind.name, dtype, device, {}, "", 0)
    row = CheckResult(kind.name, "gradients", status, dtype or None, device or None, detail=reason)  # type: ignore[arg-type]
    return Planned(kind, cell, row)


def size_sets(spec: Spec, chosen: Options) -> list[tuple[str, sizing.Sizes]]:
    """The sizes to check at, with their labels; tiny ones, and the author's, may be the same as others."""
    found: list[tuple[str, sizing.Sizes]] = []
    batched = sizing.has_batch(spec)

    def add(label: str, sizes: sizing.Sizes | None) -> None:
        if sizes is not None and all(sizes != known for other, known in found if other != "tiny"):
            found.append((label, sizes))

    small = sizing.small(spec)
    if small is not None:
        first, *others = sizing.SMALL_BATCHES[1:] if batched else ((),)
        add("small", small | {BATCH: first} if batched else small)
        for batch in (*others, ()) if batched else ():
            add("batch", small | {BATCH: batch})
    square = sizing.square(spec)
    if square is not None:
        add("square", square | {BATCH: (2,)} if batched else square)
    tiny = sizing.tiny(spec)
    if tiny is not None:
        found.append(("tiny", tiny | {BATCH: (2,)} if batched else tiny))
    author = sizing.author(spec, chosen.sizes)
    add("author", author)
    for case in spec.cases:
        add("case", {k: tuple(v) if isinstance(v, tuple | list) else v for k, v in case.items()})
    if author is not None and all(label != "author" for label, _ in found):
        found.append(("author", author))
    return found
