"""PyTorch beside the op: how far it is in the very dtype, which is reported only, and how exact it is itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from torch import Tensor

from symderive.check.cells import Cell
from symderive.check.devices import to_numpy
from symderive.check.ops import OpError
from symderive.check.rounding import ROUNDING
from symderive.errors import SymderiveError

Note = Callable[[str, Tensor, str], str]
Compute = Callable[[str, str], "dict[str, Tensor]"]


def same_dtype(cell: Cell, compute: Compute) -> tuple[Note, str]:
    """A function that words the difference for a target, and the dtype in which PyTorch was run.

    What has no kernel in a low precision runs in float32, on the same values.
    """
    values: dict[str, Any] = {}
    used = ""
    for dtype in dict.fromkeys((cell.dtype, "float32")):
        try:
            values, used = compute(dtype, cell.device), dtype
            break
        except (OpError, SymderiveError):
            continue

    def note(target: str, got: Tensor, dtype: str) -> str:
        if target not in values or cell.dtype == "float64" or got.shape != values[target].shape or not got.numel():
            return ""
        with np.errstate(all="ignore"):
            apart = np.abs(to_numpy(got).astype(np.float64) - to_numpy(values[target]).astype(np.float64))
        finite = apart[np.isfinite(apart)]
        return f"{finite.max() if finite.size else 0:.2g} from PyTorch in {dtype}"

    return note, used


def own_noise(compute: Callable[[str], dict[str, Tensor]], true: Mapping[str, Tensor]) -> dict[str, float]:
    """What PyTorch's own float64 results may be off by, in the way in which the reference happens to compute.

    That is measured: by what it is off by in float32, the largest of all entries, scaled to float64's roundoff, and
    twice that, as one sample of rounding errors may be luckier than another.
    """
    scale = 2 * ROUNDING["float64"].unit / ROUNDING["float32"].unit
    try:
        single = compute("float32")
    except (OpError, SymderiveError):
        return dict.fromkeys(true, 0.0)
    found = {}
    for name, tensor in true.items():
        with np.errstate(all="ignore"):
            apart = np.abs(to_numpy(single[name]).astype(np.float64) - to_numpy(tensor).astype(np.float64))
        finite = apart[np.isfinite(apart)]
        found[name] = float(finite.max(initial=0.0)) * scale
    return found
