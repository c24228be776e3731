"""Which accesses can leave their axis: the decision is the one that trying every index at many sizes gives."""

from __future__ import annotations

import itertools

import pytest

from symderive import spec as front
from symderive.errors import SpecError

# position, range of i, extent of the axis: whether 0 <= position < extent for all i and all sizes with ranges >= 1
POSITIONS = [
    ("i", "N", "N"),
    ("i + 1", "N", "N"),
    ("i + 1", "N", "N + 1"),
    ("i + 1", "N - 1", "N"),
    ("N - 1 - i", "N", "N"),
    ("N - i", "N", "N"),
    ("2*i", "N", "2*N"),
    ("2*i + 1", "N", "2*N"),
    ("2*i + 2", "N", "2*N"),
    ("2*i + 1", "N // 2", "N"),
    ("2*i + 1", "(N + 1) // 2", "N"),
    ("3*i + 2", "(N - 3) // 3 + 1", "N"),
    ("3*i + 3", "(N - 3) // 3 + 1", "N"),
    ("i // 2", "N", "N"),
    ("i // 2", "2*N", "N"),
    ("i // 2", "2*N + 1", "N"),
    ("i % N", "N*M", "N"),
    ("i // N", "N*M", "M"),
    ("i // M", "N*M", "M"),
    ("i % 3", "N", "3"),
    ("i % 3", "N", "2"),
    ("(i + 1) % N", "N", "N"),
    ("(i - 1) % N", "N", "N"),
    ("i - i // 2", "N", "N"),
    ("i + i // 2", "N", "N"),
    ("2*i - i", "N", "N"),
    ("i*i", "N", "N*N"),
    ("i*i", "N", "N"),
    ("i + j", "N", "N + M - 1"),
    ("i + j", "N", "N + M - 2"),
    ("i - j + M - 1", "N", "N + M - 1"),
    ("i*M + j", "N", "N*M"),
    ("i*M + j", "N", "N*M - 1"),
    ("j*N + i", "N", "N*M"),
    ("min(i + 1, N - 1)", "N", "N"),
    ("max(i - 1, 0)", "N", "N"),
    ("max(i - 1, -1)", "N", "N"),
    ("clamp(i + j - 1, 0, N - 1)", "N", "N"),
    ("where(i > 0, i - 1, 0)", "N", "N"),
    ("where(i > 1, i - 2, 1)", "N", "N"),
    ("(i < 2) + 0", "N", "2"),
    ("abs(i - j)", "N", "N + M - 1"),
    ("i**2", "N", "N**2"),
]


def truth(position: str, run: str, extent: str) -> bool:
    """Whether the position stays inside, by trying; Python itself evaluates these texts, which stand above."""
    names = {"clamp": lambda x, low, high: min(max(x, low), high), "where": lambda c, a, b: a if c else b}
    for n, m in itertools.product(range(1, 9), repeat=2):
        sizes = {"N": n, "M": m, **names}
        last, axis = eval(run, sizes), eval(extent, sizes)
        if last < 1 or axis < 1:
            continue
        for i, j in itertools.product(range(last), range(m)):
            if not 0 <= eval(position, {**sizes, "i": i, "j": j}) < axis:
                return False
    return True


@pytest.mark.parametrize(("position", "run", "extent"), POSITIONS)
def test_decision(position, run, extent):
    text = (
        "name: t\nsizes: {N: 12, M: 13}\n"
        f"inputs: {{x: [{extent}], a: [N], b: [M]}}\nindices: {{i: {run}, j: M}}\n"
        f"forward: y[i, j] = x[{position}] + 0 * i * j\n"
    )
    if truth(position, run, extent):
        assert front.loads(text).equations
    else:
        with pytest.raises(SpecError, match="can leave the range"):
            front.loads(text)


def test_both_answers_occur():
    answers = [truth(*row) for row in POSITIONS]
    assert 10 < sum(answers) < len(answers) - 10


INTEGERS = {
    "class ids of the axis": ("y[i] = x[t[i]]", True),
    "class ids one too far": ("y[i] = x[t[i] + 1]", False),
    "class ids under a remainder": ("y[i] = x[(t[i] + 1) % N]", True),
    "argmax over the axis": ("y[i] = x[argmax[k](x[k])] + x[i]", True),
    "argmax over another axis": ("y[i] = x[argmax[k](v[k])] + x[i]", False),
    "integers defined above": ("a[i] = t[i] // 2\ny[i] = x[a[i]]", True),
    "integers defined above, too far": ("a[i] = t[i] + i\ny[i] = x[a[i]]", False),
    "chosen by argmax above": ("a = argmax[k](x[k])\ny[i] = x[a] + x[i]", True),
    "chosen over another axis above": ("a = argmax[k](v[k])\ny[i] = x[a] + x[i]", False),
    "a permutation defined above": ("a[i] = N - 1 - i + 0 * t[i]\ny[i] = x[a[a[i]]]", True),
    "padded": ("y[i] = pad(x[i + 1]) + x[i]", True),
    "unpadded inside a padded position": ("y[i] = pad(x[t[i + 1]]) + x[i]", False),
    "maximum of class ids": ("y[i] = x[max[k](t[k])] + x[i]", True),
    "sum of class ids": ("y[i] = x[sum[k](t[k])] + x[i]", False),
}


@pytest.mark.parametrize(("forward", "inside"), INTEGERS.values(), ids=INTEGERS.keys())
def test_integer_tensors(forward, inside):
    lines = "".join(f"  {line}\n" for line in forward.split("\n"))
    text = (
        f"name: t\nsizes: {{N: 3, M: 5}}\ninputs: {{x: [N], v: [M], t: {{shape: [N], index: N}}}}\nforward: |\n{lines}"
    )
    if inside:
        assert front.loads(text).equations
    else:
        with pytest.raises(SpecError, match="can leave the range"):
            front.loads(text)
