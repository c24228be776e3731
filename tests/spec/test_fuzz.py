"""Broken specs: whatever is read, only an error that a user can mend comes out, and soon."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from symderive import spec as front
from symderive.errors import InternalError, SymderiveError

SPECS = [p.read_text() for p in sorted((Path(__file__).parent / "fixtures").glob("*.yaml"))]
PIECES = (
    *"()[]{}:,=+-*/<>%@.'\"#&!|?\n\t \0",
    *(
        "...",
        "**",
        "//",
        "==",
        "sum[i](",
        "softmax[k](",
        "inv[i, j](",
        "pad(",
        "where(",
        "argmax[k](x[k])",
        "1e5",
        "-inf",
    ),
    *(
        "\n  ",
        "&a",
        "*a",
        "!!str",
        "% 0",
        "// 0",
        "sizes:",
        "- ",
        "<<: ",
        "1/3",
        "9" * 50,
        "\u2028",
        "é",
        "y[i]",
        ".T",
        "not ",
    ),
)


def mutate(draw: random.Random, text: str) -> str:
    for _ in range(draw.choice([1, 1, 2, 4])):
        start = draw.randrange(len(text) + 1)
        end = min(len(text), start + draw.choice([0, 1, 5, 20]))
        lines = text.split("\n")
        text = draw.choice(
            [
                text[:start] + draw.choice(PIECES) + text[end:],
                text[:start] + text[end:],
                text[:start] + text[start:end] * draw.choice([2, 40, 2000]) + text[end:],
                "\n".join(draw.sample(lines, len(lines))),
                "\n".join([*lines[: start % len(lines)], draw.choice(lines), *lines[start % len(lines) :]]),
            ]
        )
    return text


def read(text: str) -> bool:
    """Whether the text is a spec; fails where reading it ends in anything but an error for the user, or is slow."""
    start = time.process_time()
    try:
        front.loads(text)
        return True
    except InternalError:
        raise
    except SymderiveError as error:
        return not str(error)
    finally:
        assert time.process_time() - start < 2 * _slowness()


@pytest.mark.parametrize("seed", range(10))
def test_mutated_specs(seed):
    draw = random.Random(seed)
    sound = [read(mutate(draw, draw.choice(SPECS))) for _ in range(60)]
    assert 0 < sum(sound) < len(sound)


@pytest.mark.parametrize("seed", range(4))
def test_random_bytes(seed, tmp_path):
    draw = random.Random(seed)
    for _ in range(100):
        path = tmp_path / "t.yaml"
        path.write_bytes(draw.randbytes(draw.randrange(300)))
        with pytest.raises(SymderiveError):
            front.load(path)


def _inputs(shape: str) -> str:
    return f"name: t\nsizes: {{A: 3, B: 4, C: 5, D: 6}}\ninputs: {{x: [A, B, C, D], y: [{shape}]}}\nforward: L = 1\n"


HEAVY = {
    "values": "a: [" + "x, " * 200_000 + "]",
    "keys": "{" + "".join(f"k{i}: 1, " for i in range(60_000)) + "}",
    "a long value": "name: " + "x " * 400_000,
    "lines of a value": "name: x\n" + "  x\n" * 200_000,
    "product of sums": _inputs("*".join(["(A + B + C + D)"] * 60)),
    "power of a power": _inputs("((((A**8)**8)**8)**8)**8"),
    "power of a sum": _inputs("(A + B + C + D)**400"),
    "large power": _inputs("9**9999"),
    "many axes": _inputs(", ".join(["A"] * 5_000)),
    "quotients": _inputs("//".join(["A"] * 150)),
    "equations": "name: t\ninputs: {x: [3]}\nforward: |\n" + "".join(f"  y{i} = x[0] + {i}\n" for i in range(4_000)),
    "suspect positions": "name: t\nsizes: {N: 3}\ninputs: {x: [N]}\nindices: {i: N, j: N}\nforward: |\n"
    + "".join(f"  y{i}[i, j] = x[i - i // 2 + j // 2 - j // 2] + x[j*j - j*j]\n" for i in range(700)),
    "powers in a position": "name: t\nsizes: {N: 3}\ninputs: {x: [N]}\nindices: {i: N}\nforward: y[i] = x["
    + "(" * 90
    + "i"
    + "**16)" * 90
    + "]\n",
    "squares in a position": "name: t\nsizes: {N: 3}\ninputs: {x: [N]}\nforward: y[i] = x[i] + x["
    + "square(" * 90
    + "i"
    + ")" * 90
    + " % N]\n",
    "power of a constant": "name: t\nconstants: {c: 9**999999999}\ninputs: {x: [3]}\nforward: L = 1\n",
    "tower of constants": "name: t\nconstants: {c: 9**9**9**9}\ninputs: {x: [3]}\nforward: L = 1\n",
    "cases": "name: t\nsizes: {N: 3}\ninputs: {x: [N]}\nforward: y[i] = x[i]\ncases: [" + "{N: 4}, " * 3_000 + "]\n",
    "claims": "name: t\ninputs: {x: [3]}\nforward: y[i] = x[i]\nclaims: |\n" + "  (\n" * 60_000,
}


@pytest.mark.parametrize("text", HEAVY.values(), ids=HEAVY.keys())
def test_heavy_specs_end_soon(text):
    read(text)


def _slowness() -> float:
    """How much slower than a 2020s desktop this machine is just now; a plain loop is the yardstick."""
    start = time.process_time()
    sum(i * i for i in range(200_000))
    return max(1.0, (time.process_time() - start) / 0.02)
