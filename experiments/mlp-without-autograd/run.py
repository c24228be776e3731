"""A two-layer classifier of scikit-learn's digits, trained with emitted functions only, and once more with autograd.

``python experiments/mlp-without-autograd/run.py`` writes ``REPORT.md`` and ``losses.png`` here.
"""

from __future__ import annotations

import platform
import sys
from pathlib import Path
from types import ModuleType

import torch
import torch.nn.functional as F
from torch import Tensor

import symderive
from symderive.check.ops import load_text

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from curves import plot  # noqa: E402

STEPS = 200
HIDDEN = 32
RATE = 0.5

Parameters = list[Tensor]


def emitted(name: str) -> ModuleType:
    """The module that ``symderive emit NAME`` writes, imported."""
    return load_text(symderive.derive(symderive.load(name)).torch, name)


def digits() -> tuple[Tensor, Tensor]:
    """1797 images of 8 x 8 pixels in [0, 1], and which digit each shows."""
    from sklearn.datasets import load_digits

    data = load_digits()
    return torch.from_numpy(data.data / 16.0), torch.from_numpy(data.target).long()


def start() -> Parameters:
    """W1, b1, W2 and b2 in float64."""
    generator = torch.Generator().manual_seed(0)
    shapes = ((HIDDEN, 64), (HIDDEN,), (10, HIDDEN), (10,))
    return [torch.randn(*s, dtype=torch.float64, generator=generator) / s[-1] ** 0.5 for s in shapes]


def without_autograd(x: Tensor, t: Tensor) -> tuple[list[float], Parameters]:
    """Gradient descent by the emitted ``forward`` and ``backward`` of linear, relu and cross_entropy."""
    linear, relu, cross_entropy = (emitted(n) for n in ("linear", "relu", "cross_entropy"))
    w1, b1, w2, b2 = start()
    losses = []
    with torch.no_grad():
        for _ in range(STEPS):
            a, saved_a = linear.forward(x, w1, b1)
            h, saved_h = relu.forward(a)
            z, saved_z = linear.forward(h, w2, b2)
            loss, saved_loss = cross_entropy.forward(z, t)
            losses.append(loss.item())
            (dz,) = cross_entropy.backward(saved_loss, torch.ones((), dtype=torch.float64))
            dh, dw2, db2 = linear.backward(saved_z, dz)
            (da,) = relu.backward(saved_h, dh)
            _, dw1, db1 = linear.backward(saved_a, da)
            for parameter, gradient in ((w1, dw1), (b1, db1), (w2, dw2), (b2, db2)):
                parameter.sub_(RATE * gradient)
    return losses, [w1, b1, w2, b2]


def with_autograd(x: Tensor, t: Tensor) -> tuple[list[float], Parameters]:
    """The same by PyTorch's ops and autograd."""
    parameters = [p.requires_grad_() for p in start()]
    w1, b1, w2, b2 = parameters
    losses = []
    for _ in range(STEPS):
        loss = F.cross_entropy(F.linear(F.relu(F.linear(x, w1, b1)), w2, b2), t)
        losses.append(loss.item())
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.sub_(RATE * gradient)
    return losses, [p.detach() for p in parameters]


def accuracy(x: Tensor, t: Tensor, parameters: Parameters) -> float:
    w1, b1, w2, b2 = parameters
    return float(((F.relu(x @ w1.T + b1) @ w2.T + b2).argmax(1) == t).double().mean())


def main() -> None:
    """Trains both, compares them, and writes the report."""
    x, t = digits()
    train, test = slice(0, 1400), slice(1400, None)
    ours, mine = without_autograd(x[train], t[train])
    theirs, own = with_autograd(x[train], t[train])
    plot(HERE / "losses.png", ("emitted functions", ours), ("autograd", theirs))
    rows = []
    for name, a, b in zip(("W1", "b1", "W2", "b2"), mine, own, strict=True):
        rows.append(f"| {name} | {list(a.shape)} | {float(b.abs().max()):.3f} | {float((a - b).abs().max()):.1e} |")
    apart = max(abs(a - b) for a, b in zip(ours, theirs, strict=True))
    report = [
        "# A classifier trained without autograd",
        "",
        f"64 pixels, {HIDDEN} hidden units, relu, 10 digits: scikit-learn's digits, 1400 images to train on",
        f"and 397 to test, {STEPS} steps of gradient descent with all of them in float64.",
        "Once every gradient comes from the emitted `backward` of `linear`, `relu` and `cross_entropy`,",
        "under `no_grad`; once from autograd.",
        f"PyTorch {torch.__version__}, {platform.machine()}, CPU.",
        "Made by `python experiments/mlp-without-autograd/run.py`.",
        "",
        f"The loss goes from {ours[0]:.4f} to {ours[-1]:.4f}; the two curves are at most {apart:.1e} apart.",
        f"Of the test images {accuracy(x[test], t[test], mine):.1%} are recognised"
        f" (by the parameters that autograd found: {accuracy(x[test], t[test], own):.1%}).",
        "",
        "![The two losses and their difference](losses.png)",
        "",
        f"The parameters after {STEPS} steps:",
        "",
        "| parameter | shape | largest entry | largest difference |",
        "| --- | --- | --- | --- |",
        *rows,
        "",
    ]
    (HERE / "REPORT.md").write_text("\n".join(report))
    print("\n".join(report))


if __name__ == "__main__":
    main()
