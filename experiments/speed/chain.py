"""A spec of any depth: a chain of linear layers with a relu between them and the mean squared error at the end."""

from __future__ import annotations

import sys


def chain(layers: int) -> str:
    """The text of the spec of ``layers`` linear layers, all of width D."""
    inputs = [f"  W{n}: [D, D]\n  b{n}: [D]" for n in range(1, layers + 1)]
    return "\n".join(
        [
            f"name: chain{layers}",
            f"title: A chain of {layers} linear layers",
            "sizes: {N: 16, D: 32}",
            "inputs:",
            "  h0: [N, D]",
            *inputs,
            "  t: {shape: [N, D], grad: false}",
            "forward: |",
            *(line for n in range(1, layers + 1) for line in _layer(n, layers)),
            "  L = mean[i, j]((y[i, j] - t[i, j])**2)",
            "",
        ]
    )


def _layer(n: int, layers: int) -> list[str]:
    out = "y" if n == layers else f"a{n}"
    linear = f"  {out}[i, j] = sum[k](h{n - 1}[i, k] * W{n}[j, k]) + b{n}[j]"
    return [linear] if n == layers else [linear, f"  h{n}[i, j] = relu(a{n}[i, j])"]


if __name__ == "__main__":
    sys.stdout.write(chain(int(sys.argv[1])))
