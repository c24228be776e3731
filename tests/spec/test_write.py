"""A spec that is written reads back as the same spec."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
import yaml

from symderive import spec as front
from symderive.errors import SpecError
from symderive.spec.model import Equation, Input, Spec
from symderive.spec.parse import parse_expression
from symderive.spec.size_text import size_text
from symderive.spec.sizes import size
from symderive.spec.template import template
from symderive.spec.write import spec_text

FIXTURES = sorted((Path(__file__).parent / "fixtures").glob("*.yaml"))
N, K, H, R = (size(n) for n in "NKHR")

EVERYTHING = """\
name: everything
title: "colons: quotes ' and # signs"
sizes: {N: 3, K: 4, M: 5, '...': [2, 3]}
constants: {s: 2, eps: 1e-5, third: 1/3, minus: -0.5}
inputs:
  x: [N, K]
  on: {shape: [K], range: [-1, 1/3]}
  t: {shape: [N], index: K}
  m: {shape: [N, K], bool: true}
  X: {shape: [N, N], assume: spd}
  z: [..., K // s, K]
  p: {shape: [N, M], assume: [simplex, positive], grad: false}
indices: {h: K // s, r: s, e: N * K}
forward: |
  a[i] = argmax[k](x[i, k])
  b[i, j] = X[i, j] > 0 and not i == j
  c[i] = x[i, a[i]] + x[i, t[i]] + where(b[i, i], 1, 0)
  f[h] = sum[r](on[s * h + r]) + max(on[h], 0)
  g[e] = x[e // K, e % K]
  q[..., h, k] = softmax[k](z[..., h, k]) * on[k] + third
  o[i, k] = pad(x[i + 1, k], -inf) + x[i, k]
  L = sum[i](c[i]) + sum[..., h, k](q[..., h, k]) + logsumexp[i, j : b[i, j]](X[i, j])
output: [L, o, g]
wrt: [x, on, X]
"""


def again(found: Spec) -> Spec:
    text = spec_text(
        found.name,
        found.inputs,
        found.equations,
        outputs=found.outputs,
        wrt=found.wrt,
        sizes=found.sizes,
        constants=found.constants,
        indices=found.indices,
        title=found.title,
        source=found.source,
        notes=found.notes,
    )
    return front.loads(text, found.name)


def same(one: Spec, other: Spec) -> bool:
    plain = {"path": "", "text": "", "reference": (), "claims": (), "bad_claims": (), "cases": ()}
    return replace(one, **plain) == replace(other, **plain)


@pytest.mark.parametrize("path", FIXTURES, ids=[p.stem for p in FIXTURES])
def test_fixtures(path):
    found = front.load(path)
    assert same(again(found), found)


def test_everything():
    found = front.loads(EVERYTHING)
    assert same(again(found), found)
    assert not same(again(replace(found, wrt=("x",))), found)


@pytest.mark.parametrize(
    "title",
    [
        "plain words",
        "a: b",
        "# no",
        "'quoted'",
        '"x"',
        "[N]",
        "ends:",
        " spaces ",
        "on",
        "1",
        "tab\there",
        "é ∂",
        "- x",
        "",
    ],
)
def test_titles(title):
    found = replace(front.loads(EVERYTHING), title=title)
    assert again(found).title == title


def test_what_is_written_is_yaml_that_others_read_alike():
    found = front.loads(EVERYTHING)
    text = spec_text(found.name, found.inputs, found.equations, sizes=found.sizes, indices=found.indices)
    read = yaml.safe_load(text)
    assert read["inputs"]["x"] == ["N", "K"]
    assert read["sizes"]["..."] == [2, 3]


@pytest.mark.parametrize(
    "text",
    [
        "N",
        "H - R + 1",
        "K // 2",
        "(H - R) // 2 + 1",
        "N * K",
        "2 * N",
        "H % 3",
        "-R + H",
        "1 - N + K",
        "N**2",
        "(N + K) // H",
        "3",
    ],
)
def test_sizes_read_back(text):
    sizes = "{N: 10, K: 14, H: 8, R: 2}"
    inputs = f"{{x: [{text}], a: [N, K, H, R]}}"
    found = front.loads(f"name: t\nsizes: {sizes}\ninputs: {inputs}\nforward: L = a[0, 0, 0, 0]\n")
    shape = found.shapes["x"]
    assert front.loads(found.text.replace(f"[{text}]", f"[{size_text(shape[0])}]")).shapes["x"] == shape


def test_ranges_that_reading_would_not_infer_are_declared():
    x = Input("x", (H,))
    one = Equation("y", ("h",), parse_expression("x[2*h] + x[2*h + 1]"), {"h": H // 2})
    two = Equation("u", ("i",), parse_expression("x[i]"), {"i": H})
    text = spec_text("t", [x], [one, two], sizes={"H": 9})
    assert "indices: {h: H // 2}" in text
    assert front.loads(text).equations == (one, two)


def test_a_letter_with_two_ranges_gets_another_letter():
    x = Input("x", (H,))
    one = Equation("y", ("h",), parse_expression("x[2*h] + x[2*h + 1]"), {"h": H // 2})
    two = Equation("u", ("h",), parse_expression("x[h] + sum[k](x[k])"), {"h": H, "k": H})
    three = Equation("v", ("h",), parse_expression("pad(x[h + 1])"), {"h": H})
    read = front.loads(spec_text("t", [x], [one, two, three], sizes={"H": 9}))
    assert [e.shape for e in read.equations] == [(H // 2,), (H,), (H,)]


def test_two_axes_of_one_equation_never_get_one_letter():
    x, z = Input("x", (H, H)), Input("z", (K, K))
    one = Equation("y", ("i", "j"), parse_expression("delta(i, 0) * delta(j, 0) * z[0, 0]"), {"i": H, "j": H})
    two = Equation("u", ("i", "j"), parse_expression("delta(i, 0) * delta(j, 0) * x[0, 0]"), {"i": K, "j": K})
    read = front.loads(spec_text("t", [x, z], [one, two], sizes={"H": 3, "K": 2}))
    assert [e.shape for e in read.equations] == [(H, H), (K, K)]


def test_constants_are_written_exactly():
    found = front.loads(EVERYTHING)
    assert again(found).constants["third"] == Fraction(1, 3)
    assert again(found).constants["eps"] == Fraction(1, 100000)


def test_the_template_is_a_sound_spec():
    found = front.loads(template("my_op"), "my_op")
    assert found.wrt == ("x", "W", "b")
    assert not found.bad_claims
    assert len(found.claims) == 3


@pytest.mark.parametrize("name", ["1x", "a b", "lambda", "", "a/b", "../a"])
def test_the_template_refuses_what_is_no_name(name):
    with pytest.raises(SpecError):
        template(name)


def test_the_template_takes_the_name_of_a_function():
    assert front.loads(template("softmax"), "softmax").name == "softmax"
