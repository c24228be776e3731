"""The Python interface."""

from __future__ import annotations

import subprocess
import sys

import pytest

import symderive


def test_the_interface_needs_no_torch_before_a_check():
    code = (
        "import sys, symderive\n"
        "spec = symderive.load('linear_mse')\n"
        "d = symderive.derive(spec)\n"
        "W = d.gradients['W']\n"
        "W.array, W.latex(), W.latex('array'), d.torch, d.numpy, d.json(), d.latex(), d.markdown(), d.spec_text\n"
        "assert spec.judge('dW = dy.T @ x').ok\n"
        "assert 'torch' not in sys.modules\n"
        "assert symderive.check(spec, dtypes=['float64'], quick=True).ok\n"
        "assert 'torch' in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_check_can_be_called_whether_or_not_its_package_is_imported():
    for first in ("", "import symderive.check.results", "from symderive import check"):
        code = f"import symderive\n{first}\nassert callable(symderive.check)"
        subprocess.run([sys.executable, "-c", code], check=True)


def test_gradients_in_every_form():
    gradient = symderive.derive("linear").gradients["W"]
    assert str(gradient) == gradient.array == "dW = dy.T @ x"
    assert gradient.index == "dW[j, k] = sum[i](dy[i, j] * x[i, k])"
    assert gradient.shape == ("J", "K")
    assert gradient.saves == ("x",)
    assert gradient._repr_latex_() == f"$${gradient.latex()}$$"
    assert gradient.steps[0].rule == "chain_rule"


def test_a_gradient_without_array_form_says_so():
    gradient = symderive.derive("conv1d").gradients["x"]
    assert gradient.array is None
    with pytest.raises(symderive.SymderiveError, match="no array form"):
        gradient.latex("array")


def test_judging_gives_the_verdict_and_why():
    spec = symderive.load("softmax")
    assert spec.judge("dz = y * (dy - (dy * y).sum(-1, keepdim=True))").verdict == "right"
    wrong = spec.judge("dz = y * (1 - y) * dy")
    assert (wrong.ok, wrong.verdict, wrong.diagnosis.kind) == (False, "wrong", "missing_cross_terms")
    assert "cross terms" in str(wrong)
    both = spec.judge("dz = y * (dy - (dy * y).sum(-1, keepdim=True))\ndz = -dy")
    assert [r.verdict for r in both] == ["right", "wrong"]
    assert both.verdict == "wrong"


def test_someones_own_op_is_checked():
    import torch

    spec = symderive.load("relu")
    assert symderive.check(spec, op=torch.relu, quick=True).ok
    assert not symderive.check(spec, op=lambda x: torch.where(x > 0, x, 0.01 * x), quick=True).ok


def test_an_unknown_attribute_is_an_error():
    with pytest.raises(AttributeError, match="integrate"):
        symderive.integrate  # noqa: B018


def test_the_second_order_is_the_gradient_of_the_gradient():
    second = symderive.derive("mse", order=2)
    assert second.spec.name == "mse_grad"
    assert second.spec.judge("dy = 2 * grad_L / (N * J) * dgrad_y").ok
    assert second.spec.judge("dgrad_L = 2 * (dgrad_y * (y - t)).mean()").ok
