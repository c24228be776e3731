"""How far the op is from PyTorch in the very dtype: reported beside the error against float64, and not judged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from torch import Tensor

from symderive.check.cells import Cell
from symderive.check.devices import to_numpy
from symderive.check.ops import OpError
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
