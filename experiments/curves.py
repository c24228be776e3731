"""Two loss curves that should lie on each other, and their difference, as a plot."""

from __future__ import annotations

from pathlib import Path


def plot(path: Path, ours: tuple[str, list[float]], theirs: tuple[str, list[float]]) -> None:
    """Writes the plot of two curves, each with its label."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (above, below) = pyplot.subplots(2, 1, sharex=True, figsize=(6, 5))
    above.plot(theirs[1], label=theirs[0], linewidth=3, alpha=0.4)
    above.plot(ours[1], label=ours[0], linestyle="--")
    above.set_ylabel("loss")
    above.legend()
    below.plot([abs(a - b) for a, b in zip(ours[1], theirs[1], strict=True)])
    below.set_ylabel("difference")
    below.set_xlabel("step")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
