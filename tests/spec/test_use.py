"""Specs that call specs: the call is put out into the called spec's equations."""

from __future__ import annotations

import pytest

from symderive.errors import SpecError
from symderive.spec import load, loads
from symderive.spec.format import to_text
from symderive.spec.write import equation_statement

CELL = """
name: cell
sizes: {N: 2, H: 3}
constants: {forget: 1.5}
inputs: {g: [N, H], c0: [N, H]}
output: [h, c]
forward: |
  c[n, j] = sigmoid(g[n, j] + forget) * c0[n, j] / H
  h[n, j] = tanh(c[n, j])
"""


def equations(spec):
    return [to_text(equation_statement(e)) for e in spec.equations]


def caller(forward, use, inputs="{x: [B, M], y: [B, M], v: [M]}"):
    lines = "".join(f"  {line}\n" for line in forward)
    return f"name: top\nsizes: {{B: 2, M: 3}}\nuse: [{', '.join(use)}]\ninputs: {inputs}\nforward: |\n{lines}"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "cell.yaml").write_text(CELL)
    return tmp_path


def read(folder, text):
    path = folder / "top.yaml"
    path.write_text(text)
    return load(path)


def test_a_call_that_is_named_is_the_called_equation_under_that_name():
    spec = loads(caller(["r[b, m] = relu(x)[b, m]", "L = mse(r, y)"], ["relu", "mse"]), "top")
    assert equations(spec) == ["r[b, m] = relu(x[b, m])", "L = mean[i, j]((r[i, j] - y[i, j])**2)"]


def test_sizes_constants_and_names_are_the_callers(folder):
    spec = read(folder, caller(["z[b, m] = cell(x, y).h[b, m] * cell(x, y).c[b, m] + v[m]"], ["cell"]))
    assert equations(spec) == [
        "cell_c[b, m] = sigmoid(x[b, m] + 1.5) * y[b, m] / M",
        "cell_h[b, m] = tanh(cell_c[b, m])",
        "z[b, m] = cell_h[b, m] * cell_c[b, m] + v[m]",
    ]


def test_batch_axes_take_the_callers_axes():
    spec = loads(caller(["s[b, m] = softmax(x)[b, m]", "q[m] = softmax(v)[m]"], ["softmax"]), "top")
    assert equations(spec) == ["s[b, m] = softmax[m](x[b, m])", "q[m] = softmax[m](v[m])"]


def test_a_function_of_the_same_name_stays_a_function():
    spec = loads(caller(["r[b, m] = relu(x[b, m]) + relu(y)[b, m]"], ["relu"]), "top")
    assert equations(spec)[-1] == "r[b, m] = relu(x[b, m]) + relu_y[b, m]"


def test_a_cycle_is_printed(tmp_path):
    for own, other in (("one", "two"), ("two", "one")):
        text = f"name: {own}\nsizes: {{N: 2}}\nuse: [{other}]\ninputs: {{x: [N]}}\nforward: |\n  y[i] = {other}(x)[i]\n"
        (tmp_path / f"{own}.yaml").write_text(text)
    with pytest.raises(SpecError, match="circle: one -> two -> one"):
        load(tmp_path / "one.yaml")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("z[b, m] = cell(x, y)[b, m]", "cell has 2 outputs"),
        ("z[b, m] = cell(x, y).k[b, m]", "cell has no output 'k'"),
        ("z[b, m] = cell(x).h[b, m]", "cell takes 2 tensors, not 1"),
        ("z[b, m] = cell(x, v).h[b, m]", r"'v' has the shape \[M\], which does not fit c0 \[N, H\] of cell"),
        ("z[b, m] = cell(x, x + y).h[b, m]", "an argument of a spec is the name of a whole tensor"),
        ("z[b, m] = cell(x, y).h[b]", "2 axes"),
        ("z[b, m] = cells(x, y).h[b, m]", "array form|unknown"),
    ],
)
def test_errors(folder, line, message):
    with pytest.raises(SpecError, match=message):
        read(folder, caller([line], ["cell"]))


def test_a_spec_that_is_not_there(folder):
    with pytest.raises(SpecError, match="there is no spec 'cells' to use") as caught:
        read(folder, caller(["z[b, m] = x[b, m]"], ["cells"]))
    assert "cell" in (caught.value.hint or "")
