"""Array form in PyTorch, for references: only what is written in these tables can be called.

A spec file comes from anyone. Its reference is interpreted, and reaches torch through literal lists of pure functions;
none of them reads files, runs code, draws random numbers or changes a tensor in place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from symderive.check.arrays import Interpreter
from symderive.check.floats import FLOAT
from symderive.check.numbers import COMPARISONS
from symderive.errors import Location, SpecError
from symderive.spec import syntax

if TYPE_CHECKING:
    import torch

LIBRARY = frozenset(
    """
    linear bilinear embedding embedding_bag one_hot conv1d conv2d conv3d conv_transpose1d conv_transpose2d
    conv_transpose3d avg_pool1d avg_pool2d avg_pool3d max_pool1d max_pool2d max_pool3d adaptive_avg_pool1d
    adaptive_avg_pool2d adaptive_max_pool1d adaptive_max_pool2d lp_pool1d lp_pool2d unfold fold pad interpolate
    pixel_shuffle pixel_unshuffle channel_shuffle relu relu6 elu selu celu gelu silu mish leaky_relu prelu hardtanh
    hardswish hardsigmoid softplus softsign softshrink hardshrink tanhshrink threshold logsigmoid sigmoid tanh
    glu softmax softmin log_softmax
    layer_norm rms_norm group_norm batch_norm instance_norm local_response_norm normalize
    scaled_dot_product_attention cosine_similarity pairwise_distance pdist
    mse_loss l1_loss smooth_l1_loss huber_loss cross_entropy nll_loss kl_div binary_cross_entropy
    binary_cross_entropy_with_logits poisson_nll_loss gaussian_nll_loss hinge_embedding_loss margin_ranking_loss
    soft_margin_loss multi_margin_loss multilabel_soft_margin_loss cosine_embedding_loss triplet_margin_loss
    """.split()  # noqa: SIM905
)
"""Functions of ``torch.nn.functional`` that a reference may call."""

METHODS = frozenset(
    """
    sum mean prod amax amin max min var std norm logsumexp softmax log_softmax argmax argmin any all cumsum cumprod
    logcumsumexp reshape view transpose swapaxes movedim permute unsqueeze squeeze flatten unflatten expand expand_as
    repeat repeat_interleave contiguous t flip roll diagonal diag diag_embed trace tril triu unfold narrow select chunk
    split unbind gather index_select take_along_dim masked_fill scatter_add index_add where
    exp exp2 expm1 log log2 log10 log1p sqrt rsqrt square abs sign sin cos tan asin acos atan sinh cosh tanh sigmoid
    relu erf erfc floor ceil round trunc neg reciprocal pow clamp clip maximum minimum
    add sub mul div matmul mm bmm mv dot outer inner addmm
    inverse det logdet detach clone long int float double bool eq ne lt le gt ge logical_and logical_or logical_not
    """.split()  # noqa: SIM905
)
"""Tensor methods that a reference may call; :class:`TorchArrays` adds a few of the language's own."""

FORBIDDEN_KEYWORDS = ("inplace", "out", "max_norm")
"""Arguments that would change a tensor."""

ATTRIBUTES = ("T", "mT", "shape", "ndim", "values", "indices")

_SAME = (
    "exp log log1p expm1 sqrt rsqrt abs sign sin cos tan asin acos atan sinh cosh tanh sigmoid erf erfc floor round "
    "square"
)
_FUNCTIONAL = "logsigmoid softplus relu leaky_relu elu gelu silu mish"
_TORCH = (
    "outer trace det logdet cumsum flip roll tril triu matmul dot cat stack movedim cross cdist norm maximum minimum"
)


class TorchArrays:
    """The backend over torch tensors; numbers made on the way take the dtype and device of ``like``."""

    name = "torch"
    pi, inf = FLOAT.pi, FLOAT.inf

    def __init__(self, like: torch.Tensor | None = None) -> None:
        import torch

        self.torch = torch
        self.F = torch.nn.functional
        self.like = torch.zeros(()) if like is None else like
        self._functions = self._table()

    def number(self, value: Fraction | int) -> float | int:
        """A Python number, which takes the dtype of the tensor that it meets."""
        return FLOAT.number(value)

    def unary(self, op: str, a: Any) -> Any:
        """``-a`` or ``+a``."""
        return -a if op == "-" else a

    def binary(self, op: str, a: Any, b: Any) -> Any:
        """torch's arithmetic."""
        if op == "@":
            return a @ b
        if self.is_tensor(a) or self.is_tensor(b):
            return _OPERATORS[op](a, b)
        return getattr(FLOAT, _NUMBERS[op])(a, b)

    def compare(self, op: str, a: Any, b: Any) -> Any:
        """torch's comparison."""
        return COMPARISONS[op](a, b)

    def logical(self, op: str, operands: Sequence[Any]) -> Any:
        """``and``, ``or`` and ``not`` of truth values."""
        truths = [self.tensor(o).bool() for o in operands]
        if op == "not":
            return ~truths[0]
        result = truths[0]
        for truth in truths[1:]:
            result = result & truth if op == "and" else result | truth
        return result

    def subscript(self, a: Any, items: tuple[Any, ...]) -> Any:
        """torch's indexing."""
        return a[items[0]] if isinstance(a, tuple | list) else a[items]

    def attribute(self, a: Any, name: str) -> Any:
        """``.T`` of vectors and matrices, ``.mT``, ``.shape``; ``.values`` of ``.max(dim)``."""
        if name == "T":
            if a.ndim > 2:
                raise ValueError(".T is for matrices: .mT swaps the last two axes")
            return a.T if a.ndim == 2 else a
        if name == "shape":
            return tuple(a.shape)
        return getattr(a, name) if name in ATTRIBUTES else None

    def function(self, name: str) -> Callable[..., Any]:
        """A function of the language."""
        return self._functions[name]

    def library(self, name: str) -> Callable[..., Any]:
        """A function of ``torch.nn.functional``."""
        if name not in LIBRARY:
            raise KeyError(name)
        found: Callable[..., Any] = getattr(self.F, name)
        return found

    def method(self, name: str) -> Callable[..., Any]:
        """A tensor method, as a function of the tensor."""
        if name in self._own_methods:
            return self._own_methods[name]
        if name not in METHODS:
            raise KeyError(name)
        return lambda a, *arguments, **keywords: getattr(self.tensor(a), name)(*arguments, **keywords)

    def known(self, what: str) -> Iterable[str]:
        """The names on a list."""
        lists: dict[str, Iterable[str]] = {
            "function": self._functions,
            "library": LIBRARY,
            "method": METHODS | self._own_methods.keys(),
            "attribute": ATTRIBUTES,
        }
        return tuple(lists[what])

    def is_tensor(self, a: Any) -> bool:
        """Whether a value is a tensor rather than a Python number."""
        return isinstance(a, self.torch.Tensor)

    def tensor(self, a: Any) -> Any:
        """The value as a tensor."""
        if self.is_tensor(a) or isinstance(a, tuple):
            return a
        if isinstance(a, bool):
            return self.torch.tensor(a, device=self.like.device)
        return self.torch.tensor(a, dtype=self.like.dtype, device=self.like.device)

    def made(self, a: Any) -> Any:
        """A new tensor in the dtype and on the device of the inputs."""
        return a.to(dtype=self.like.dtype, device=self.like.device)

    def _elementwise(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """torch's function of tensors, ours of Python numbers: ``sqrt(2)``."""

        def call(*arguments: Any, **keywords: Any) -> Any:
            if any(self.is_tensor(a) for a in arguments):
                return function(self.tensor(arguments[0]), *arguments[1:], **keywords)
            return FLOAT.functions[name](*arguments)

        return call

    def _pair(self, function: Callable[..., Any], numbers: Callable[..., Any]) -> Callable[..., Any]:
        def call(a: Any, b: Any) -> Any:
            if self.is_tensor(a) or self.is_tensor(b):
                return function(self.tensor(a), self.tensor(b))
            return numbers(a, b)

        return call

    def _clamp(self, x: Any, low: Any = None, high: Any = None, **keywords: Any) -> Any:
        low, high = keywords.pop("min", low), keywords.pop("max", high)
        if self.is_tensor(low) != self.is_tensor(high) and None not in (low, high):
            low, high = self.tensor(low), self.tensor(high)
        return self.torch.clamp(self.tensor(x), low, high, **keywords)

    def _diag(self, a: Any) -> Any:
        return self.torch.diag(a) if a.ndim <= 2 else self.torch.diagonal(a, dim1=-2, dim2=-1)

    def _axis(self, name: str) -> Callable[..., Any]:
        """A reduction that may be called as a function, ``sum(x, 0)``; with no axis, over all of them."""
        function = getattr(self.torch, name)

        def call(a: Any, *dims: Any, **keywords: Any) -> Any:
            a = self.tensor(a)
            if not dims and "dim" not in keywords and name == "logsumexp":
                return function(a, tuple(range(a.ndim)))
            return function(a, *dims, **keywords)

        return call

    def _batch_sum(self, name: str) -> Callable[..., Any]:
        """A reduction whose list of axes may be empty, which to torch would mean all of them."""

        def call(a: Any, *dims: Any, **keywords: Any) -> Any:
            if dims[:1] == ((),):
                return a
            return getattr(self.tensor(a), name)(*dims, **keywords)

        return call

    def _solve(self, a: Any, b: Any) -> Any:
        """``solve(A, B)``: B is a vector if it has one axis, else columns."""
        a, b = self.tensor(a), self.tensor(b)
        columns = b.unsqueeze(-1) if b.ndim == 1 else b
        more = a.ndim - columns.ndim
        found = self.torch.linalg.solve(a, columns.reshape(*[1] * more, *columns.shape) if more > 0 else columns)
        return found.squeeze(-1) if b.ndim == 1 else found

    @property
    def _own_methods(self) -> dict[str, Callable[..., Any]]:
        reductions = {name: self._batch_sum(name) for name in ("sum", "mean", "amax", "amin")}
        return reductions | {
            "inv": self.torch.linalg.inv,
            "cholesky": self.torch.linalg.cholesky,
            "clamp": self._clamp,
            "softplus": self.F.softplus,
        }

    def _table(self) -> dict[str, Callable[..., Any]]:
        t, made, like = self.torch, self.made, self.like
        table = {name: self._elementwise(name, getattr(t, name)) for name in _SAME.split()}
        table |= {name: self._elementwise(name, getattr(self.F, name)) for name in _FUNCTIONAL.split()}
        table |= {name: getattr(t, name) for name in _TORCH.split()}
        table |= {name: self._axis(name) for name in ("sum", "mean", "prod", "amax", "amin", "logsumexp")}
        return table | {
            "gelu_tanh": self._elementwise("gelu_tanh", lambda x: self.F.gelu(x, approximate="tanh")),
            "softmax": t.softmax,
            "log_softmax": t.log_softmax,
            "where": lambda c, a, b: t.where(self.tensor(c).bool(), a, b),
            "max": self._pair(t.maximum, FLOAT.maximum),
            "min": self._pair(t.minimum, FLOAT.minimum),
            "clamp": self._clamp,
            "stop": lambda x: x.detach(),
            "delta": lambda i, j: made(self.tensor(i) == self.tensor(j)),
            "diag": self._diag,
            "inv": t.linalg.inv,
            "solve": self._solve,
            "cholesky": t.linalg.cholesky,
            "einsum": t.einsum,
            "one_hot": lambda t, num_classes: made(self.F.one_hot(t, num_classes)),
            "ones": lambda *shape: t.ones(*shape, dtype=like.dtype, device=like.device),
            "zeros": lambda *shape: t.zeros(*shape, dtype=like.dtype, device=like.device),
            "eye": lambda *shape: t.eye(*shape, dtype=like.dtype, device=like.device),
            "arange": lambda *ends: t.arange(*ends, device=like.device),
        }


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "**": lambda a, b: a**b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
}
_NUMBERS = {"+": "add", "-": "sub", "*": "mul", "/": "div", "**": "power", "//": "floordiv", "%": "modulo"}


def run_reference(
    statements: Sequence[syntax.Statement],
    inputs: Mapping[str, torch.Tensor],
    sizes: Mapping[str, int | tuple[int, ...]],
    constants: Mapping[str, Fraction],
) -> dict[str, torch.Tensor]:
    """What the lines of a reference define over ``inputs``, by name. Raises :class:`SpecError` with the place."""
    real = next((a for a in inputs.values() if a.is_floating_point()), None)
    backend = TorchArrays(real)
    plain = {name: n for name, n in sizes.items() if name != syntax.BATCH}
    extents = sizes.get(syntax.BATCH, ())
    batch = 1 if isinstance(extents, int) else len(extents)
    _refuse_keywords(statements)
    defined = Interpreter(backend, dict(inputs), plain, constants, batch).run(statements)
    return {name: backend.tensor(value) for name, value in defined.items()}


def _refuse_keywords(statements: Sequence[syntax.Statement]) -> None:
    for node in (n for s in statements for n in s.walk() if isinstance(n, syntax.Call | syntax.Method)):
        for name, value in node.keywords:
            if name in FORBIDDEN_KEYWORDS:
                raise SpecError(f"{name}= is not allowed here", Location("", value.span))
