"""The element-wise functions of the language, one row each: everything that a view of a program needs to know.

A row gives a definition in the language itself, from which the derivative is derived, or names a primitive that
SymPy differentiates. Adding a function is adding a row.
"""

from __future__ import annotations

from symderive.record import record


@record
class Function:
    """One element-wise function.

    ``parameters`` name the arguments, ``defaults`` are the texts of the last ones. ``definition`` is an expression
    of the language in the parameters; a primitive has none and is differentiated by SymPy under ``sympy``.
    ``mp`` is the mpmath name of a primitive. ``torch`` and ``numpy`` are format strings over the arguments that
    compute it stably; ``array`` is the array form and ``latex`` the LaTeX, likewise. ``kinks`` are expressions at
    whose zeros the function is not smooth (``"floor"``: at every integer, ``"round"``: at every half-integer).
    """

    name: str
    torch: str
    numpy: str
    latex: str
    definition: str | None = None
    sympy: str | None = None
    mp: str | None = None
    parameters: tuple[str, ...] = ("x",)
    defaults: tuple[str, ...] = ()
    kinks: tuple[str, ...] = ()

    @property
    def arity(self) -> range:
        """The numbers of arguments that it takes."""
        most = len(self.parameters)
        return range(most - len(self.defaults), most + 1)


def _primitive(name: str, latex: str, *, torch: str = "", numpy: str = "", sympy: str = "", mp: str = "") -> Function:
    return Function(
        name,
        torch or f"torch.{name}({{0}})",
        numpy or f"np.{name}({{0}})",
        latex,
        sympy=sympy or name,
        mp=mp or name,
    )


_ROWS = (
    _primitive("exp", r"\exp({0})"),
    _primitive("log", r"\log({0})"),
    _primitive("sqrt", r"\sqrt{{{0}}}"),
    _primitive("sin", r"\sin({0})"),
    _primitive("cos", r"\cos({0})"),
    _primitive("tan", r"\tan({0})"),
    _primitive("asin", r"\arcsin({0})", numpy="np.arcsin({0})"),
    _primitive("acos", r"\arccos({0})", numpy="np.arccos({0})"),
    _primitive("atan", r"\arctan({0})", numpy="np.arctan({0})"),
    _primitive("sinh", r"\sinh({0})"),
    _primitive("cosh", r"\cosh({0})"),
    _primitive("tanh", r"\tanh({0})"),
    _primitive("erf", r"\mathrm{{erf}}({0})", numpy="special.erf({0})"),
    Function(
        "erfc",
        "torch.erfc({0})",
        "special.erfc({0})",
        r"\mathrm{{erfc}}({0})",
        definition="1 - erf(x)",
    ),
    Function(
        "abs",
        "{0}.abs()",
        "np.abs({0})",
        r"\left|{0}\right|",
        definition="where(x > 0, x, where(x < 0, -x, 0))",
        kinks=("x",),
    ),
    Function(
        "sign",
        "{0}.sign()",
        "np.sign({0})",
        r"\mathrm{{sign}}({0})",
        definition="where(x > 0, 1, where(x < 0, -1, 0))",
        kinks=("x",),
    ),
    Function(
        "floor",
        "{0}.floor()",
        "np.floor({0})",
        r"\left\lfloor {0} \right\rfloor",
        kinks=("floor",),
    ),
    Function(
        "round",
        "{0}.round()",
        "np.round({0})",
        r"\mathrm{{round}}({0})",
        kinks=("round",),
    ),
    Function("square", "{0}.square()", "np.square({0})", "{0}^2", definition="x**2"),
    Function("rsqrt", "torch.rsqrt({0})", "1 / np.sqrt({0})", r"\frac{{1}}{{\sqrt{{{0}}}}}", definition="1 / sqrt(x)"),
    Function("log1p", "torch.log1p({0})", "np.log1p({0})", r"\log(1 + {0})", definition="log(1 + x)"),
    Function("expm1", "torch.expm1({0})", "np.expm1({0})", r"\exp({0}) - 1", definition="exp(x) - 1"),
    Function(
        "sigmoid",
        "torch.sigmoid({0})",
        "special.expit({0})",
        r"\sigma({0})",
        definition="1 / (1 + exp(-x))",
    ),
    Function(
        "softplus",
        "F.softplus({0}, threshold=40)",  # past its own 20 it returns x, which is 2e-9 off
        "np.logaddexp(0, {0})",
        r"\mathrm{{softplus}}({0})",
        definition="log(1 + exp(x))",
    ),
    Function(
        "logsigmoid",
        "F.logsigmoid({0})",
        "-np.logaddexp(0, -({0}))",
        r"\log\sigma({0})",
        definition="-log(1 + exp(-x))",
    ),
    Function(
        "relu",
        "torch.relu({0})",
        "np.maximum({0}, 0)",
        r"\mathrm{{ReLU}}({0})",
        definition="where(x > 0, x, 0)",
        kinks=("x",),
    ),
    Function(
        "leaky_relu",
        "F.leaky_relu({0}, {1})",
        "np.where({0} > 0, {0}, {1} * {0})",
        r"\mathrm{{LeakyReLU}}_{{{1}}}({0})",
        definition="where(x > 0, x, s * x)",
        parameters=("x", "s"),
        defaults=("0.01",),
        kinks=("x",),
    ),
    Function(
        "elu",
        "F.elu({0}, {1})",
        "np.where({0} > 0, {0}, {1} * np.expm1(np.minimum({0}, 0)))",
        r"\mathrm{{ELU}}_{{{1}}}({0})",
        definition="where(x > 0, x, s * expm1(x))",
        parameters=("x", "s"),
        defaults=("1",),
        kinks=("x",),
    ),
    Function(
        "gelu",
        "F.gelu({0})",
        "{0} * (0.5 * special.erfc(-({0}) / math.sqrt(2)))",
        r"\mathrm{{GELU}}({0})",
        definition="x * (1 + erf(x / sqrt(2))) / 2",
    ),
    Function(
        "gelu_tanh",
        'F.gelu({0}, approximate="tanh")',
        "0.5 * {0} * (1 + np.tanh(math.sqrt(2 / np.pi) * ({0} + 0.044715 * {0} ** 3)))",
        r"\mathrm{{GELU}}_{{\tanh}}({0})",
        definition="x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))) / 2",
    ),
    Function("silu", "F.silu({0})", "{0} * special.expit({0})", r"\mathrm{{SiLU}}({0})", definition="x * sigmoid(x)"),
    Function(
        "mish",
        "F.mish({0})",
        "{0} * np.tanh(np.logaddexp(0, {0}))",
        r"\mathrm{{Mish}}({0})",
        definition="x * tanh(softplus(x))",
    ),
)

FUNCTIONS: dict[str, Function] = {row.name: row for row in _ROWS}

REDUCTIONS = ("sum", "mean", "prod", "max", "min", "logsumexp", "any", "all", "argmax", "argmin")
"""Binders that bind their indices."""

NORMALISERS = ("softmax", "log_softmax")
"""Binders that keep the index that they normalise over free."""


@record
class MatrixFunction:
    """A function of a matrix that is named by its row and its column index.

    ``kept`` are the positions of those of the two indices that stay free. ``operands`` are what stands in the
    parentheses: a right side, after the matrix, is named by the row index.
    """

    name: str
    kept: tuple[int, ...]
    operands: tuple[str, ...] = ("the matrix",)


MATRIX = {
    row.name: row
    for row in (
        MatrixFunction("inv", (0, 1)),
        MatrixFunction("det", ()),
        MatrixFunction("logdet", ()),
        MatrixFunction("solve", (1,), ("the matrix", "the right side")),
        MatrixFunction("cholesky", (0, 1)),
    )
}
"""Binders over the two indices of a matrix.

``solve[i, j](A[i, j], b[i])`` is the x of ``sum[j](A[i, j] * x[j]) = b[i]``: the row i is bound, the column j is kept.
``cholesky[i, j](A[i, j])`` is the lower triangular L with ``L @ L.T = (A + A.T) / 2``, which is A where A is symmetric.
"""

BINDERS = (*REDUCTIONS, *NORMALISERS, *MATRIX)


def kept(op: str, indices: tuple[str, ...]) -> tuple[str, ...]:
    """The indices of a binder that stay free outside of it."""
    if op in NORMALISERS:
        return indices
    return tuple(indices[n] for n in MATRIX[op].kept) if op in MATRIX and len(indices) == 2 else ()


def counted(arity: range) -> str:
    """``1 argument``, ``1 or 2 arguments``."""
    return f"{' or '.join(map(str, arity))} argument{'' if arity == range(1, 2) else 's'}"


STRUCTURAL = {"where": 3, "max": 2, "min": 2, "clamp": 3, "delta": 2, "stop": 1}
"""Calls that are not element-wise functions of one number, with their number of arguments; ``pad`` takes 1 or 2."""
