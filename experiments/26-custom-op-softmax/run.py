"""Softmax as an op of PyTorch's own, made from ``derivations/softmax.yaml``: trained with, checked, and misused.

``python experiments/26-custom-op-softmax/run.py`` writes ``softmax_op.py``, ``REPORT.md`` and ``loss.png`` here.
"""

from __future__ import annotations

import importlib.util
import platform
import shutil
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import torch
from torch import Tensor

import symderive
from symderive.emit.custom_op import custom_op_module

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from curves import plot  # noqa: E402

STEPS = 200
SPEC = HERE.parent.parent / "derivations" / "softmax.yaml"

warnings.simplefilter("ignore")


def emitted() -> ModuleType:
    """The module that ``symderive emit derivations/softmax.yaml --as custom_op`` writes, imported."""
    path = HERE / "softmax_op.py"
    path.write_text(custom_op_module(symderive.load(SPEC)))
    spec = importlib.util.spec_from_file_location("softmax_op", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["softmax_op"] = module
    spec.loader.exec_module(module)
    return module


def train(softmax: Callable[[Tensor], Tensor]) -> list[float]:
    """The losses of a small network with attention over 12 tokens, whose weights and probabilities are ``softmax``."""
    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, dtype=torch.float64, generator=generator)

    x, t = normal(64, 12, 8), torch.randint(5, (64,), generator=generator)
    x[torch.arange(64), 0, :5] += 2 * torch.eye(5, dtype=torch.float64)[t]
    query, weight = (normal(8) / 3).requires_grad_(), (normal(5, 8) / 3).requires_grad_()
    optimizer = torch.optim.Adam([query, weight], lr=0.03)
    losses = []
    for _ in range(STEPS):
        attended = (softmax(x @ query)[..., None] * x).sum(1)
        probabilities = softmax(attended @ weight.T)
        loss = -probabilities[torch.arange(64), t].log().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def attempt(name: str, action: Callable[[], object]) -> str:
    """A row: what was done, and what came of it."""
    try:
        result = action()
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        return f"| {name} | raises | {_cell(text)} |"
    return f"| {name} | {_cell(str(result))} | |"


def _cell(text: str) -> str:
    lines = " ".join(" ".join(text.split()).replace("|", "\\|").split(" ")[:60])
    return lines


def checks(op: ModuleType) -> list[str]:
    """gradcheck, gradgradcheck, opcheck and compile."""
    z = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)

    def compiled() -> str:
        if not (shutil.which("c++") or shutil.which("g++")):
            return "skipped: no C++ compiler"
        f = torch.compile(op.softmax, fullgraph=True, dynamic=True)
        sizes = ((3, 5), (7, 2), (4, 6, 5))
        errors = [float((f(x) - torch.softmax(x, -1)).abs().max()) for x in (torch.randn(*s) for s in sizes)]
        return f"largest difference at {len(sizes)} shapes: {max(errors):.1e}"

    def registered() -> str:
        found = torch.library.opcheck(op._op, (z,))
        return ", ".join(f"{k}: {v}" for k, v in found.items())

    rows = (
        (
            "`gradcheck`, slow, with forward mode",
            lambda: torch.autograd.gradcheck(op.softmax, (z,), check_forward_ad=True),
        ),
        ("`gradgradcheck`, with forward over reverse", lambda: _second(op, z)),
        ("`torch.library.opcheck`", registered),
        ("`torch.compile(fullgraph=True, dynamic=True)`", compiled),
    )
    return [attempt(name, action) for name, action in rows]


def _second(op: ModuleType, z: Tensor) -> bool:
    return torch.autograd.gradgradcheck(op.softmax, (z,), check_fwd_over_rev=True)


def mistakes(op: ModuleType) -> list[str]:
    """The usual errors, provoked."""
    z = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)

    def twice() -> None:
        loss = op.softmax(z).square().sum()
        loss.backward()
        loss.backward()

    def in_place() -> None:
        y = op.softmax(z)
        loss = y.square().sum()
        with torch.no_grad():
            y.mul_(2)
        loss.backward()

    def no_grad() -> str:
        with torch.no_grad():
            y = op.softmax(z)
        return f"grad_fn={y.grad_fn}, requires_grad={y.requires_grad}"

    def no_grad_backward() -> None:
        with torch.no_grad():
            y = op.softmax(z)
        y.sum().backward()

    rows = (
        ("`y.backward()` of a `y` that is no scalar, without `gradient`", lambda: op.softmax(z).backward()),
        ("`backward()` twice without `retain_graph`", twice),
        ("`y` changed in place before `backward()`, which reads it", in_place),
        ("under `no_grad`", no_grad),
        ("`backward()` of what was computed under `no_grad`", no_grad_backward),
        ("a backward that forgets the sum, `dz = y * dy`, under `gradcheck`", lambda: wrong(op, z)),
        ("forward mode over forward mode", lambda: torch.func.jacfwd(torch.func.jacfwd(op.softmax))(z.detach())),
        (
            "forward mode through the op itself, not the function",
            lambda: torch.func.jvp(op._op, (z.detach(),), (z.detach(),)),
        ),
    )
    return [attempt(name, action) for name, action in rows]


def wrong(op: ModuleType, z: Tensor) -> bool:
    """gradcheck of a softmax with a wrong backward."""

    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(z: Tensor) -> Tensor:
            return op._op(z)

        @staticmethod
        def setup_context(ctx, inputs, output) -> None:
            ctx.save_for_backward(output)

        @staticmethod
        def backward(ctx, dy: Tensor) -> Tensor:
            (y,) = ctx.saved_tensors
            return y * dy

    return torch.autograd.gradcheck(Wrong.apply, (z,))


def main() -> None:
    """Trains, checks, provokes, and writes the report."""
    torch.manual_seed(0)
    op = emitted()
    ours, theirs = train(op.softmax), train(lambda z: torch.softmax(z, -1))
    plot(HERE / "loss.png", ("symderive::softmax", ours), ("torch.softmax", theirs))
    apart = max(abs(a - b) for a, b in zip(ours, theirs, strict=True))
    table = ["| what | result | message |", "| --- | --- | --- |"]
    report = [
        "# Softmax as a custom op",
        "",
        "`softmax_op.py` is what `symderive emit derivations/softmax.yaml --as custom_op` writes. It registers",
        "`symderive::softmax` and exports `softmax`, which stands in for `torch.softmax(z, -1)` below.",
        f"PyTorch {torch.__version__}, {platform.machine()}, CPU.",
        "Made by `python experiments/26-custom-op-softmax/run.py`.",
        "",
        "## Training",
        "",
        f"A network with attention over 12 tokens, {STEPS} steps of Adam in float64, once with each softmax:",
        f"the loss goes from {theirs[0]:.4f} to {theirs[-1]:.4f}, and the two curves are at most {apart:.1e} apart.",
        "",
        "![The two losses and their difference](loss.png)",
        "",
        "## Checks",
        "",
        *table,
        *checks(op),
        "",
        "## The usual errors, provoked",
        "",
        *table,
        *mistakes(op),
        "",
    ]
    (HERE / "REPORT.md").write_text("\n".join(report))
    print("\n".join(report))


if __name__ == "__main__":
    main()
