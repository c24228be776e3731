"""Which devices there are, and moving numbers between them and NumPy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor

DTYPES: dict[str, torch.dtype] = {name: getattr(torch, name) for name in ("float64", "float32", "bfloat16", "float16")}
"""The dtypes that are checked, by name."""

DEVICES = ("cpu", "cuda", "mps", "xpu", "meta")
"""The devices that are checked where there is one; ``meta`` has shapes and dtypes only, and is always there."""

LACKING = {("mps", "float64"): "mps has no float64"}
"""Dtypes that a kind of device does not have."""


def missing(device: str) -> str:
    """Why a device cannot be used; empty where it can."""
    kind = device.partition(":")[0]
    if kind in ("cpu", "meta"):
        return ""
    backend = torch.backends.mps if kind == "mps" else getattr(torch, kind, None)
    if backend is None or not hasattr(backend, "is_available"):
        return f"torch knows no device {device}"
    return "" if backend.is_available() else f"no {kind} device on this machine"


def present() -> list[str]:
    """The devices of this machine."""
    return [d for d in DEVICES if not missing(d)]


def environment() -> dict[str, Any]:
    """What results were measured with."""
    return {"torch": torch.__version__, "numpy": np.__version__, "devices": [d for d in present() if d != "meta"]}


def to_torch(array: np.ndarray, dtype: str, device: str) -> Tensor:
    """Real numbers in ``dtype``; class ids stay int64 and truth values bool."""
    tensor = torch.as_tensor(np.array(array, copy=True))
    if tensor.is_floating_point():
        tensor = tensor.to(DTYPES[dtype])
    return tensor.to(device)


def to_numpy(tensor: Tensor) -> np.ndarray:
    """The numbers in float64 (or integers, or truth values), on the CPU."""
    tensor = tensor.detach().to("cpu")
    return (tensor.to(torch.float64) if tensor.is_floating_point() else tensor).numpy()


def rounded(point: Mapping[str, np.ndarray], dtype: str) -> dict[str, np.ndarray]:
    """The point as the dtype holds it, back in float64: what all computations in comparison start from."""
    return {name: to_numpy(to_torch(a, dtype, "cpu")) if a.dtype.kind == "f" else a for name, a in point.items()}


@contextmanager
def full_precision() -> Iterator[None]:
    """No TF32: float32 means float32 in matrix products and convolutions, as the bound has it."""
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    before, matmul.allow_tf32 = matmul.allow_tf32, False
    kept = {"enabled": cudnn.enabled, "benchmark": cudnn.benchmark, "deterministic": cudnn.deterministic}
    try:
        # PyTorch's own test tools forbid to set these flags otherwise
        with cudnn.flags(**kept, allow_tf32=False):
            yield
    finally:
        matmul.allow_tf32 = before
