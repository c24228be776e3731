"""How this language says what NumPy and PyTorch have a function or a method for."""

from __future__ import annotations

from collections.abc import Sequence

from symderive.spec import syntax
from symderive.spec.format import to_text
from symderive.spec.parse import parse_expression
from symderive.spec.substitute import substitute

_FORMS = {
    "a + b": "add",
    "a - b": "sub subtract",
    "a * b": "mul multiply",
    "a / b": "div divide true_divide",
    "a // b": "floor_divide",
    "a**b": "pow power float_power",
    "a @ b": "mm bmm mv",
    "a + b @ c": "addmm addmv baddbmm",
    "a @ b.T + c": "linear",
    "-a": "neg negative",
    "1 / a": "reciprocal",
    "abs(a)": "absolute fabs",
    "max(a, b)": "maximum fmax",
    "min(a, b)": "minimum fmin",
    "clamp(a, b, c)": "clip hardtanh",
    "a[b]": "index_select take",
    "log(a) / log(2)": "log2",
    "log(a) / log(10)": "log10",
    "2**a": "exp2",
    "sqrt(a**2 + b**2)": "hypot",
    "log(a + sqrt(a**2 + 1))": "asinh arcsinh",
    "log(a + sqrt(a**2 - 1))": "acosh arccosh",
    "log((1 + a) / (1 - a)) / 2": "atanh arctanh",
    "log(a / (1 - a))": "logit",
    "a / (1 + abs(a))": "softsign",
    "asin(a)": "arcsin",
    "acos(a)": "arccos",
    "atan(a)": "arctan",
    "sqrt((a**2).sum())": "norm",
    "where(b, c, a)": "masked_fill",
    "a > 0": "heaviside",
    "a > b": "gt greater",
    "a >= b": "ge greater_equal",
    "a < b": "lt less",
    "a <= b": "le less_equal",
    "a == b": "eq equal",
    "a != b": "ne not_equal",
    "a and b": "logical_and",
    "a or b": "logical_or",
    "not a": "logical_not",
}
_TYPES = "leave it out: numbers have no types here, and a comparison counts as 0 or 1"
_ALONE = "leave it out: nothing is changed in place"
_PHRASES = {
    _TYPES: "float double half int long bool float32 float64 astype to type type_as array asarray tensor item",
    _ALONE: "clone copy contiguous data cpu cuda numpy ascontiguousarray",
    "a number broadcasts: write 0": "zeros_like",
    "a number broadcasts: write 1": "ones_like",
    'write einsum("ik,kj->ij", a, b)': "tensordot",
    "write None": "newaxis",
    "write the name of the size": "len size",
    "write the product of the sizes, N * C say": "numel nelement",
    "write x[arange(N), t] for the entry of each row at its class id": "gather take_along_dim take_along_axis",
}
_MORE = {"norm": ", with the dims in sum(...) where it is not of all entries"}
_WRITTEN = {name: form for form, names in _FORMS.items() for name in names.split()}
_SAID = {name: phrase for phrase, names in _PHRASES.items() for name in names.split()}

_LETTERS = "abc"
_LONGEST = 60


def instead(name: str, operands: Sequence[syntax.Node] = ()) -> str | None:
    """What to write for a function or a method of another library, with its operands in place where that is short.

    None where it is not known here. The tensor of a method is its first operand.
    """
    if name in _SAID:
        return _SAID[name]
    if name == "grad":
        of = operands[0].id if operands and isinstance(operands[0], syntax.Name) else "x"
        return f"the gradient with respect to {of} is called d{of}"
    form = _WRITTEN.get(name)
    if form is None:
        return None
    tree = parse_expression(form)
    given = dict(zip(_LETTERS, operands, strict=False))
    text = to_text(substitute(tree, given))
    fits = {*syntax.names(tree)} <= given.keys() and len(text) <= _LONGEST
    return f"write {text if fits else form}{_MORE.get(name, '')}"
