"""Emitted ops over the sample inputs of PyTorch's OpInfo database: forward, first and second derivative.

``python experiments/opinfo/run.py`` writes ``REPORT.md`` here. It needs ``pip install expecttest``.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.testing._internal.common_methods_invocations import op_db

import symderive
from symderive.check.ops import load_text
from symderive.emit.autograd import autograd_module

HERE = Path(__file__).parent
OPS = {o.name: o for o in reversed(op_db)}
ULPS = 2.0**12
"""Units of roundoff, of the largest entry, by which results may differ that go through different kernels."""


class Skip(Exception):
    """A sample that the spec does not describe; the message says why."""


def pointwise(sample: Any) -> tuple[Tensor, ...]:
    """A sample of an element-wise op without options."""
    if any(a is not None for a in (*sample.args, *(v for v in sample.kwargs.values() if v))):
        raise Skip(f"options {sample.args or sample.kwargs}")
    if not sample.input.dim():
        raise Skip("a scalar, and the spec has at least one axis")
    return (sample.input,)


def last_axis(sample: Any) -> tuple[Tensor, ...]:
    """A sample of an op along one axis: the last one, without another dtype."""
    dim = sample.args[0] if sample.args else sample.kwargs.get("dim")
    if sample.kwargs.get("dtype") is not None:
        raise Skip("another dtype")
    if not sample.input.dim() or dim not in (-1, sample.input.dim() - 1):
        raise Skip("not along the last axis")
    return (sample.input,)


def linear(sample: Any) -> tuple[Tensor, ...]:
    """x of two axes, a weight and a bias."""
    if sample.input.dim() != 2 or len(sample.args) < 2 or sample.args[1] is None or sample.args[0].dim() != 2:
        raise Skip("not x [N, K], W [J, K], b [J]")
    return (sample.input, *sample.args)


def layer_norm(sample: Any) -> tuple[Tensor, ...]:
    """Over the last axis, with weight, bias and the usual eps."""
    shape, *rest = sample.args
    if len(shape) != 1 or len(rest) < 2 or any(r is None for r in rest[:2]):
        raise Skip("not over the last axis with weight and bias")
    if (len(rest) > 2 and rest[2] != 1e-5) or sample.kwargs.get("eps", 1e-5) != 1e-5:
        raise Skip("another eps")
    return (sample.input, *rest[:2])


def embedding(sample: Any) -> tuple[Tensor, ...]:
    """One axis of ids, and no options."""
    if sample.kwargs or sample.input.dim() != 1:
        raise Skip("options, or ids of more axes than one")
    return (sample.input, *sample.args)


def exact_gelu(sample: Any) -> tuple[Tensor, ...]:
    """Without the approximation by tanh."""
    if sample.kwargs.get("approximate", "none") != "none":
        raise Skip("another approximation")
    return (sample.input,)


Adapter = Callable[[Any], tuple[Tensor, ...]]
TABLE: dict[str, tuple[str, Adapter]] = {
    "softmax": ("softmax", last_axis),
    "log_softmax": ("log_softmax", last_axis),
    "relu": ("nn.functional.relu", pointwise),
    "relu6": ("nn.functional.relu6", pointwise),
    "gelu": ("nn.functional.gelu", exact_gelu),
    "silu": ("nn.functional.silu", pointwise),
    "mish": ("nn.functional.mish", pointwise),
    "softplus": ("nn.functional.softplus", pointwise),
    "softsign": ("nn.functional.softsign", pointwise),
    "tanhshrink": ("nn.functional.tanhshrink", pointwise),
    "log_sigmoid": ("nn.functional.logsigmoid", pointwise),
    "sigmoid": ("sigmoid", pointwise),
    "tanh": ("tanh", pointwise),
    "selu": ("nn.functional.selu", pointwise),
    "hardswish": ("nn.functional.hardswish", pointwise),
    "linear": ("nn.functional.linear", linear),
    "layer_norm": ("nn.functional.layer_norm", layer_norm),
    "embedding": ("nn.functional.embedding", embedding),
}
"""For each spec PyTorch's name, and what makes the spec's inputs of a sample.

Not here: hardsigmoid, whose second derivative PyTorch lacks, and ops whose samples need an adapter that is not written.
"""


def derivatives(f: Callable[..., Tensor], inputs: tuple[Tensor, ...]) -> list[Tensor]:
    """The output, the gradients for fixed upstreams, and the gradients of their squares."""
    xs = [x.detach().clone().requires_grad_(x.is_floating_point()) for x in inputs]
    want = [x for x in xs if x.requires_grad]
    y = f(*xs)
    weights = torch.linspace(0.5, 1.5, y.numel(), dtype=y.dtype).reshape(y.shape)
    first = torch.autograd.grad((y * weights + y * y / 2).sum(), want, create_graph=True)
    second = torch.autograd.grad(sum((g * g).sum() for g in first), want, allow_unused=True)
    return [y, *first, *(torch.zeros_like(x) if s is None else s for x, s in zip(want, second, strict=True))]


def agree(got: list[Tensor], wanted: list[Tensor]) -> bool:
    """Whether shapes are equal and values up to rounding."""
    for a, b in zip(got, wanted, strict=True):
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        scale = max(float(b.detach().abs().max()), 1.0) if b.numel() else 1.0
        if not torch.allclose(a, b, rtol=0, atol=ULPS * torch.finfo(b.dtype).eps * scale, equal_nan=True):
            return False
    return True


def original(name: str, info: Any, sample: Any) -> Callable[..., Tensor]:
    """PyTorch's op as a function of the spec's inputs."""
    if name == "layer_norm":
        return lambda x, *rest: info.op(x, x.shape[-1:], *rest)
    return lambda x, *rest: info.op(x, *(rest or sample.args), **sample.kwargs)


def row(name: str) -> tuple[str, Counter[str]]:
    """One line of the table, and why samples were skipped."""
    info, adapter = OPS[TABLE[name][0]], TABLE[name][1]
    scope = load_text(autograd_module(symderive.load(name)), name)
    counts, reasons = Counter[str](), Counter[str]()
    for dtype in (torch.float64, torch.float32):
        for sample in info.sample_inputs("cpu", dtype, requires_grad=False):
            try:
                inputs = adapter(sample)
            except Skip as reason:
                counts["skipped"] += 1
                reasons[str(reason)] += 1
                continue
            theirs = derivatives(original(name, info, sample), inputs)
            counts["passed" if agree(derivatives(getattr(scope, name), inputs), theirs) else "failed"] += 1
    tried = counts["passed"] + counts["failed"]
    why = "; ".join(f"{n} x {r}" for r, n in reasons.most_common(3))
    return (
        f"| {name} | {info.name} | {tried} | {counts['passed']} | {counts['failed']} | {counts['skipped']} | {why} |",
        counts,
    )


def main() -> None:
    """The table, printed and written."""
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    lines, total = [], Counter[str]()
    for name in TABLE:
        line, counts = row(name)
        lines.append(line)
        total += counts
    report = [
        "# Emitted ops over PyTorch's own test data",
        "",
        f"The sample inputs of PyTorch {torch.__version__}'s OpInfo database, in float64 and float32: outputs,",
        "gradients and second derivatives of the emitted `autograd` op against the original. A sample that",
        "the spec does not describe is skipped, with the reason. Made by `python experiments/opinfo/run.py`.",
        "",
        "| spec | OpInfo | tried | passed | failed | skipped | most frequent reasons |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        *lines,
        "",
        f"In all {total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped.",
        "",
        "Where `layer_norm` fails, it is over a single entry: the true dx is 0 there, the emitted op gives 0, and",
        "PyTorch its own rounding divided by sqrt(eps), 1.8e-12 in float64, which is more than this comparison allows.",
        "",
    ]
    (HERE / "REPORT.md").write_text("\n".join(report))
    print("\n".join(report))


if __name__ == "__main__":
    main()
