"""Bad input gets a message that names the place, in a moment, whatever it is."""

from __future__ import annotations

import time

import pytest

HEAD = "name: bad\nsizes: {N: 4, K: 3}\ninputs:\n  x: [N, K]\n  w: [K]\n"


def forward(*lines: str) -> str:
    return HEAD + "forward: |\n" + "".join(f"  {line}\n" for line in lines)


BAD = {
    "unknown_key": (forward("y[n] = sum[k](x[n, k])") + "refrence: |\n  y = x.sum(-1)\n", "reference"),
    "tab": (HEAD + "forward: |\n\ty[n] = sum[k](x[n, k])\n", "tab"),
    "duplicate": (forward("y[n] = sum[k](x[n, k])", "y[n] = 1"), "bad.yaml:8:"),
    "two_ranges": (forward("y[n] = sum[k](x[n, k] * x[k, n])"), "bad.yaml:7:"),
    "unbound": (forward("y[n] = x[n, k]"), "bad.yaml:7:"),
    "rank": (forward("y[n] = x[n]"), "bad.yaml:7:"),
    "function": (forward("y[n] = sum[k](sigmiod(x[n, k]))"), "sigmoid"),
    "range": (forward("y[n] = x[n, 0] + x[n + 1, 0]"), "n + 1"),
    "size_zero": (forward("y[n] = x[n, 0]").replace("N: 4", "N: 0"), "bad.yaml:2:"),
    "size_negative": (forward("y[n] = x[n, 0]").replace("N: 4", "N: -4"), "bad.yaml:2:"),
    "reserved": (forward("sum[n] = x[n, 0]"), "sum"),
    "empty": ("", "bad.yaml"),
    "binary": ("\x00\x01\x02\x7f" * 50, "bad.yaml"),
    "large": ("# " + "x" * 10_000_000, "bad.yaml"),
    "nested": (forward("y[n] = " + "(" * 10_000 + "x[n, 0]" + ")" * 10_000), "bad.yaml"),
    "alias_bomb": (
        "a: &a [x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"{c}: &{c} [{', '.join([f'*{p}'] * 9)}]\n" for p, c in zip("abcdefgh", "bcdefghi", strict=True)),
        "bad.yaml",
    ),
}


@pytest.mark.parametrize("command", ["derive", "check", "emit"])
@pytest.mark.parametrize("fault", BAD)
def test_bad_input_is_2_and_names_the_place(fault, command, run, tmp_path):
    text, message = BAD[fault]
    (tmp_path / "bad.yaml").write_text(text)
    start = time.monotonic()
    result = run(command, "bad.yaml")
    assert time.monotonic() - start < 20
    said = result.stderr + (result.stdout if command == "check" else "")
    assert result.returncode == 2, said[:500]
    assert message in said
    assert "Traceback" not in said
    assert "internal fault" not in said
    assert len(said) < 2000


def test_a_reference_that_calls_something_else_is_refused(run, tmp_path):
    (tmp_path / "bad.yaml").write_text(
        forward("y[n] = sum[k](x[n, k])") + "reference: |\n  y = torch.load('x.pt').sum(-1)\n"
    )
    result = run("check", "bad.yaml", "--quick")
    assert result.returncode != 0
    assert "load" in result.stdout
    assert "internal fault" not in result.stdout


def test_a_file_that_cannot_be_read(run, tmp_path):
    (tmp_path / "bad.yaml").mkdir()
    assert run("derive", "bad.yaml").returncode == 2
