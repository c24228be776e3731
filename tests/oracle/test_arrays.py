from __future__ import annotations

import re
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from symderive.check.arrays import ArrayError, Interpreter
from symderive.check.arrays_exact import ExactArrays
from symderive.check.exact import EXACT
from symderive.check.floats import FLOAT
from symderive.errors import SpecError
from symderive.spec.functions import FUNCTIONS
from symderive.spec.parse import parse_expression, parse_statements

torch = pytest.importorskip("torch")

from symderive.check.arrays_torch import TorchArrays, run_reference  # noqa: E402

RNG = np.random.default_rng(3)
SIZES = {"N": 3, "K": 4, "J": 5, "C": 6}
TENSORS = {
    "x": RNG.standard_normal((3, 4)),
    "W": RNG.standard_normal((5, 4)),
    "dy": RNG.standard_normal((3, 5)),
    "v": RNG.standard_normal(4),
    "u": RNG.standard_normal(3),
    "s": RNG.standard_normal((4, 4)) + 4 * np.eye(4),
    "z": RNG.standard_normal((2, 3, 4)),
    "t": np.array([5, 0, 2]),
    "m": np.array([True, False, True]),
}
CONSTANTS = {"eps": Fraction(1, 8)}


def exact_value(text, domain=FLOAT, batch=0):
    tensors = {k: np.array(a.tolist(), dtype=object) for k, a in TENSORS.items()}
    value = Interpreter(ExactArrays(domain), tensors, SIZES, CONSTANTS, batch).evaluate(parse_expression(text))
    return np.array(np.vectorize(float, otypes=[float])(value) if np.size(value) else value)


def torch_value(text, batch=0):
    tensors = {k: torch.from_numpy(a) for k, a in TENSORS.items()}
    backend = TorchArrays(tensors["x"])
    value = Interpreter(backend, tensors, SIZES, CONSTANTS, batch).evaluate(parse_expression(text))
    return backend.tensor(value).numpy()


BOTH = [
    "dy @ W", "dy.T @ x", "x @ v", "u @ x", "v @ v", "z @ v", "u @ z", "z @ s", "x.mT", "v.T", "(W.T @ dy.T).T",
    "x.sum()", "x.sum(0)", "x.sum(-1, keepdim=True)", "z.sum((0, 2))", "z.mean(1)", "x.mean()", "z.amax((0, 1))",
    "x.amin(1)", "x.amax(-1, keepdim=True)", "x.prod(0)", "x.logsumexp(1)", "logsumexp(x, -1)", "x.max()", "x.min()",
    "x[:, None] * W[None, :]", "x[0]", "x[..., None]", "z[:, 1:, 0]", "x[-1, 2]", "x[:, 0] + u", "W[t[2]]",
    "x.argmax(1)",
    "outer(u, v)", "diag(v)", "diag(s)", "trace(s)", "eye(N)", "ones(N) @ dy", "ones(N, K)", "zeros(K)",
    'einsum("nk,jk->nj", x, W)', 'einsum("ii->i", s)', 'einsum("ii", s)', 'einsum("nk->kn", x)', 'einsum("n,k", u, v)',
    'einsum("...k,jk->...j", z, W)', 'einsum("nk,nk->", x, x)', "one_hot(t, C)", "one_hot(t, C).T @ dy",
    "softmax(x, 1)", "log_softmax(x, 0)", "softmax(z, -1)", "x.softmax(-1)", "s.inv()", "inv(s)", "det(s)", "logdet(s)",
    "solve(s, s + 1)", "solve(s, s[0])", "cholesky(s @ s.T)", "(s @ s.T).cholesky()",
    "where(x > 0, x, 0)", "where(x > 0 and x < 1, 1, 0) * x", "(x > 0) * x", "max(x, 0)", "min(x, v)",
    "clamp(x, -1, 1)",
    "x.clamp(min=0)", "x / N", "2 / N * x", "x**2", "1 / x", "-x + eps", "x * pi", "sqrt(2) * x", "x.exp()",
    "x.T.reshape(-1)",
    "z.permute(2, 0, 1)", "z.transpose(0, 1)", "x.unsqueeze(1)", "x.cumsum(1)", "x.flip(0)", "tril(s)", "triu(s, 1)",
    "(2 * u[:, None] * x).sum(0)", "x.shape[0] * x", "stop(x)", "cat((x, W), 0)", "x.expand(2, -1, -1)", "not m[0]",
    "z.diagonal(0, 1, 2)", "s.diagonal(1)",
    "where(m, u, 0)", "x // 1", "x % 1", "0 <= u < 1", "s.diagonal().sum()",
    "(x - x.mean(1)[:, None])",
]  # fmt: skip


@pytest.mark.parametrize("text", BOTH)
def test_both_backends_agree(text):
    with np.errstate(all="ignore"):
        expected = torch_value(text)
    value = exact_value(text)
    assert value.shape == expected.shape
    np.testing.assert_allclose(value, expected.astype(float), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_function_of_the_language(name):
    text = f"{name}(abs(x) / 4)"
    np.testing.assert_allclose(exact_value(text), torch_value(text), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("backend", [exact_value, torch_value], ids=["exact", "torch"])
@pytest.mark.parametrize(("text", "shape"), [("z.sum(...)", (4,)), ("z.mean(..., keepdim=True)", (1, 1, 4))])
def test_batch_axes(backend, text, shape):
    value = backend(text, batch=2)
    assert value.shape == shape
    np.testing.assert_allclose(backend("x.sum(...)", batch=0), TENSORS["x"])


def test_exact_arrays_are_exact():
    A = np.array([[Fraction(1, 3), Fraction(2)], [Fraction(5, 7), Fraction(1, 2)]], dtype=object)
    run = Interpreter(ExactArrays(EXACT), {"A": A})
    mean = (Fraction(1, 3) + 2 + Fraction(5, 7) + Fraction(1, 2)) / 4
    assert run.evaluate(parse_expression("A @ A.inv()")).tolist() == [[1, 0], [0, 1]]
    assert run.evaluate(parse_expression("A.mean()")) == mean


@pytest.mark.parametrize(
    ("text", "message"),
    [("dy @ W.T", r"\[3, 5\] and \[4, 5\] do not fit"), ("x + u", r"\[3, 4\] and \[3\] do not fit"), ("z.T", "mT"),
     ("x.sum(2)", "axis 2"), ("x @ 2", "@ needs"), ("outer(x, u)", "two vectors"), ("x.sum(0, foo=1)", "foo="),
     ("det(x)", "square")],
)  # fmt: skip
def test_shapes_that_do_not_fit(text, message):
    with pytest.raises(ArrayError, match=message):
        exact_value(text)
    with pytest.raises(ArrayError):
        torch_value(text)


FORBIDDEN = [
    "x.numpy()", "x.tolist()", "x.apply_(1)", "x.add_(1)", "x.__class__", "x.data", "F.dropout(x)", "F.torch",
    "torch.load(x)",
    "load(x)", "eval(x)", "x.register_hook(x)", "F.relu(x, inplace=True)", "F.embedding(t, W, max_norm=1)",
    "x.backward()",    "x.grad_fn", "x.to(x)", "F.__class__", "open(x)", "x.__getattribute__(x)", "q", "F",
]  # fmt: skip


@pytest.mark.parametrize("text", FORBIDDEN)
def test_nothing_off_the_list_is_called(text):
    try:
        statements = parse_statements(f"y = {text}")
    except SpecError:
        return
    with pytest.raises(SpecError) as caught:
        run_reference(statements, {k: torch.from_numpy(a) for k, a in TENSORS.items()}, SIZES, CONSTANTS)
    assert caught.value.location is not None
    assert caught.value.location.span.line == 1


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(SpecError) as caught:
        torch_value("x.sumn(0)")
    assert "did you mean sum?" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [("torch.einsum('nk->k', x)", "torch.einsum is not", r"write einsum\("), ("np.exp(x)", "np.exp is", r"write exp\("),
     ("torch.inverse(A)", "torch.inverse", r"write x\.inverse\("), ("math.pi * x", "math.pi", "write pi"),
     ("torch.nn.functional.linear(x, W)", "torch.nn.functional.linear is not", r"write F\.linear\("),
     ("torch.linalg.lu(x)", "torch.linalg.lu is not array form", "no library"),
     ("F.where(x, x, x)", "F.where is not allowed", r"write where\("),
     ("einsum2(x)", "einsum2", "did you mean einsum")],
)  # fmt: skip
def test_a_library_before_a_name_is_told_how_to_write_it(text, message, hint):
    with pytest.raises(SpecError, match=message) as caught:
        torch_value(text)
    assert re.search(hint, caught.value.hint)


def test_a_reference_keeps_dtype_and_gradients():
    x = torch.randn(3, 4, dtype=torch.float32, requires_grad=True)
    statements = parse_statements("y = F.layer_norm(x, [K], eps=eps) * ones(K)\nL = 0.5 * (y * y).sum()")
    values = run_reference(statements, {"x": x}, SIZES, CONSTANTS)
    assert values["L"].dtype == torch.float32
    values["L"].backward()
    assert x.grad is not None


def test_torch_is_imported_only_by_its_backend():
    code = "import sys; import symderive.check.arrays_exact, symderive.check.sample; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
