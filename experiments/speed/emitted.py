"""The emitted forward and backward against autograd of the same op."""

from __future__ import annotations

import importlib.util
import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import torch
import torch.nn.functional as F
from timing import Row, interleaved, shown

import symderive

SPECS = Path(__file__).parents[2] / "derivations"
SCALE, EPS = 0.125, 1e-5
Function = Callable[..., torch.Tensor]


@dataclass(frozen=True)
class Case:
    """An op at real sizes. ``baseline`` is what autograd differentiates; ``native`` is PyTorch's op, shown beside."""

    spec: str
    shapes: dict[str, tuple[int, ...]]
    baseline: Function
    allowed: float
    against: str
    native: Function | None = None
    classes: int = 0


def _softmax(z: torch.Tensor) -> torch.Tensor:
    e = (z - z.amax(-1, keepdim=True).detach()).exp()
    return e / e.sum(-1, keepdim=True)


def _layer_norm(x: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor) -> torch.Tensor:
    centred = x - x.mean(-1, keepdim=True)
    return centred * torch.rsqrt((centred * centred).mean(-1, keepdim=True) + EPS) * gamma + beta


def _attention(Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
    i = torch.arange(len(Q))
    S = torch.where(i[None, :] <= i[:, None], Q @ K.T * SCALE, -torch.inf)
    return _softmax(S) @ V


def _native_attention(Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(Q[None, None], K[None, None], V[None, None], is_causal=True, scale=SCALE)[
        0, 0
    ]


CASES = (
    Case("linear", {"x": (512, 1024), "W": (1024, 1024), "b": (1024,)}, F.linear, 1.05, "autograd of F.linear"),
    Case(
        "cross_entropy",
        {"z": (4096, 1000), "t": (4096,)},
        F.cross_entropy,
        1.0,
        "autograd of F.cross_entropy",
        classes=1000,
    ),
    Case("softmax", {"z": (4096, 1000)}, _softmax, 0.7, "autograd of primitives", lambda z: F.softmax(z, -1)),
    Case(
        "layer_norm",
        {"x": (4096, 1024), "gamma": (1024,), "beta": (1024,)},
        _layer_norm,
        0.6,
        "autograd of primitives",
        lambda x, gamma, beta: F.layer_norm(x, gamma.shape, gamma, beta, EPS),
    ),
    Case(
        "attention",
        {"Q": (1024, 64), "K": (1024, 64), "V": (1024, 64)},
        _attention,
        0.8,
        "autograd of primitives",
        _native_attention,
    ),
)


def rows(repeats: int) -> list[Row]:
    """One row for each case."""
    return [_row(case, repeats) for case in CASES]


def _row(case: Case, repeats: int) -> Row:
    inputs = draw(case)
    module = _module(case.spec)
    upstream = torch.randn_like(case.baseline(*inputs))

    def emitted() -> tuple[torch.Tensor, ...]:
        _, saved = module.forward(*inputs)
        return module.backward(saved, upstream)

    def autograd(function: Function) -> Callable[[], tuple[torch.Tensor, ...]]:
        leaves = [x.detach().requires_grad_(x.is_floating_point()) for x in inputs]
        real = [x for x in leaves if x.requires_grad]
        return lambda: torch.autograd.grad(function(*leaves), real, upstream)

    baseline = autograd(case.baseline)
    _agree(case.spec, emitted(), baseline())
    things = [emitted, baseline] + ([autograd(case.native)] if case.native else [])
    measured, yardstick, *native = interleaved(repeats, *things, warm=3)
    beside = f"native {shown(statistics.median(native[0]))}" if native else ""
    sizes = "x".join(str(n) for n in next(iter(case.shapes.values())))
    return Row(f"emitted {case.spec}, {sizes}", measured, yardstick, case.against, case.allowed, beside)


def draw(case: Case) -> list[torch.Tensor]:
    """The inputs of a case."""
    generator = torch.Generator().manual_seed(0)
    return [
        torch.randint(case.classes, shape, generator=generator)
        if name == "t"
        else torch.randn(shape, generator=generator)
        for name, shape in case.shapes.items()
    ]


def _agree(name: str, emitted: tuple[torch.Tensor, ...], autograd: tuple[torch.Tensor, ...]) -> None:
    for ours, theirs in zip(emitted, autograd, strict=True):
        if not torch.allclose(ours, theirs, rtol=1e-3, atol=1e-4):
            sys.exit(f"{name}: the emitted gradient differs from autograd's, so its time says nothing")


def _module(name: str) -> ModuleType:
    """The module that ``emit --as functions`` writes for a spec of the catalogue."""
    text = symderive.derive(symderive.load(SPECS / f"{name}.yaml")).torch
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"emitted_{name}.py"
        path.write_text(text)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module
