"""The calls that emitted code contains, one row each: their parameters, and how they look as mathematics."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from symderive.emit.latex_names import verbatim
from symderive.emit.latex_tex import brackets, cases, is_tall, parentheses, subscript, with_foot
from symderive.errors import UnsupportedError
from symderive.lower.node import GROUP_OPS
from symderive.record import record
from symderive.spec.functions import FUNCTIONS

if TYPE_CHECKING:
    from symderive.emit.code_expressions import ExpressionCodegen

BIG = {"sum": r"\sum", "prod": r"\prod", "amax": r"\max", "amin": r"\min", "argmax": r"\arg\max", "argmin": r"\arg\min"}
WORDS = {"mean": r"\mathrm{mean}", "logsumexp": r"\mathrm{logsumexp}", "any": r"\mathrm{any}", "all": r"\mathrm{all}"}
ALONG = {"softmax": r"\mathrm{softmax}", "log_softmax": r"\log \mathrm{softmax}"}
ALONG |= {name: rf"\mathrm{{{name}}}" for name in ("cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "squeeze")}
PAIRS = {"maximum": r"\max", "minimum": r"\min"}
HEADS = {"diag_embed": r"\mathrm{diag}", "det": r"\det", "logdet": r"\log\det", "flatten": r"\mathrm{vec}"}
HEADS |= {"cholesky": r"\mathrm{chol}"}
HEADS |= {"arange": r"\mathrm{arange}", "numel": r"\mathrm{numel}"}

_OPEN, _PRODUCT, _CALL, _POWER, _ATOM = 95, 100, 111, 119, 1000
LEVELS: dict[str, int] = {
    **dict.fromkeys(BIG, _OPEN),
    **dict.fromkeys(("amax", "amin", "argmax", "argmin"), 85),
    "where": 80,
    "addcmul": 90,
    **dict.fromkeys(("_scaled", "mul"), _PRODUCT),
    "expm1": 90,
    "square": _POWER,
    "rsqrt": _POWER,
    "inv": _POWER,
    **dict.fromkeys(("solve", "solve_triangular"), _PRODUCT),
    **dict.fromkeys(("sqrt", "abs", "floor", "einsum", "eye", "new_zeros", "new_ones", "new_full", "full"), _ATOM),
}
"""How tightly the LaTeX of a call binds, on latexify's scale, where it is not that of a function."""


def level_of(name: str) -> int:
    """How tightly the LaTeX of a call binds, on latexify's scale."""
    return LEVELS.get(name, _CALL)


@record
class Arguments:
    """The arguments of one call: by parameter, and those of a list that takes any number."""

    node: ast.Call
    name: str
    bound: Mapping[str, ast.expr]
    rest: tuple[ast.expr, ...]

    def __getitem__(self, parameter: str) -> ast.expr:
        if parameter not in self.bound:
            raise UnsupportedError(f"`{ast.unparse(self.node)}` lacks {parameter}")
        return self.bound[parameter]

    def only(self, *parameters: str) -> None:
        """Raise where something is given that would not be written."""
        if extra := [name for name in self.bound if name not in parameters]:
            raise UnsupportedError(f"`{ast.unparse(self.node)}`: {extra[0]} has no LaTeX")


Writer = Callable[["ExpressionCodegen", Arguments], str]


def _applied(head: str, *texts: str) -> str:
    return head + parentheses(", ".join(texts))


def _axis(gen: ExpressionCodegen, dims: ast.expr | None) -> str:
    if dims is None:
        return r"\text{all}"
    if isinstance(dims, ast.Tuple):
        word = "axis" if len(dims.elts) == 1 else "axes"
        return rf"\text{{{word} }} " + ", ".join(gen.visit(item) for item in dims.elts)
    return rf"\text{{axis }} {gen.visit(dims)}"


def _flag(arguments: Arguments, name: str) -> bool:
    """A keyword that is written True or False."""
    value = arguments.bound.get(name)
    if value is not None and not (isinstance(value, ast.Constant) and isinstance(value.value, bool)):
        raise UnsupportedError(f"`{ast.unparse(arguments.node)}`: {name} is neither True nor False")
    return isinstance(value, ast.Constant) and bool(value.value)


def _reduction(gen: ExpressionCodegen, a: Arguments) -> str:
    scripts = rf"_{{{_axis(gen, a.bound.get('dim'))}}}" + (r"^{\text{keep}}" if _flag(a, "keepdim") else "")
    if a.name in WORDS:
        return _applied(WORDS[a.name] + scripts, gen.operand(a["input"]))
    body = a["input"]
    text = (
        gen.visit(body)
        if gen.level(body) == _OPEN and not isinstance(body, ast.BinOp)
        else gen.operand(body, _PRODUCT + 1)
    )
    return f"{BIG[a.name]}{scripts} {text}"


def _along(gen: ExpressionCodegen, a: Arguments) -> str:
    return _applied(rf"{ALONG[a.name]}_{{{_axis(gen, a['dim'])}}}", gen.operand(a["input"]))


def _pair(gen: ExpressionCodegen, a: Arguments) -> str:
    return _applied(PAIRS[a.name], gen.operand(a["input"]), gen.operand(a["other"]))


def _headed(gen: ExpressionCodegen, a: Arguments) -> str:
    return _applied(HEADS[a.name], gen.operand(a["input"]))


def _row(gen: ExpressionCodegen, a: Arguments) -> str:
    """An element-wise function, as its row in the function table prints."""
    name = a.name
    if "approximate" in a.bound:
        if ast.unparse(a["approximate"]) != "'tanh'":
            raise UnsupportedError(f"`{ast.unparse(a.node)}`: approximate is not known")
        name = "gelu_tanh"
    row = FUNCTIONS[name]
    least = _ATOM if name == "square" else 0
    texts = [gen.operand(a["input"], least), *(gen.visit(a[p]) for p in row.parameters[1:])]
    pattern = gen.notation.pattern(name)
    if is_tall(texts[0]):
        pattern = pattern.replace("(", r"\left(").replace(")", r"\right)")
    return pattern.format(*texts)


def _fused(gen: ExpressionCodegen, a: Arguments) -> str:
    """``addcmul(x, a, b)`` is ``x + a * b``; with ``value=-1``, ``x - a * b``."""
    sign: ast.operator = ast.Add()
    if "value" in a.bound:
        if ast.unparse(a["value"]) != "-1":
            raise UnsupportedError(f"`{ast.unparse(a.node)}`: this value is not known")
        sign = ast.Sub()
    product = ast.BinOp(left=a["tensor1"], op=ast.Mult(), right=a["tensor2"])
    return gen.visit(ast.BinOp(left=a["input"], op=sign, right=product))


def _scaled(gen: ExpressionCodegen, a: Arguments) -> str:
    """``_scaled(x, factor)`` and ``x.mul_(factor)`` are ``x * factor``."""
    return gen.visit(ast.BinOp(left=a["input"], op=ast.Mult(), right=a["other"]))


def _where(gen: ExpressionCodegen, a: Arguments) -> str:
    return cases([(gen.operand(a["input"], 81), gen.visit(a["condition"])), (gen.operand(a["other"], 81), "")])


def _clamp(gen: ExpressionCodegen, a: Arguments) -> str:
    value, low, high = gen.operand(a["input"]), a.bound.get("min"), a.bound.get("max")
    if low is not None and high is not None:
        return _applied(r"\mathrm{clamp}", value, gen.operand(low), gen.operand(high))
    if low is None and high is None:
        raise UnsupportedError(f"`{ast.unparse(a.node)}` has no bound")
    bound = low if low is not None else high
    return _applied(r"\max" if low is not None else r"\min", value, gen.operand(bound)) if bound else value


def _same(gen: ExpressionCodegen, a: Arguments) -> str:
    """A cast: the same number; a condition is 0 or 1."""
    return gen.operand(a["input"], _PRODUCT) if _is_condition(a["input"]) else gen.visit(a["input"])


def _is_condition(node: ast.expr) -> bool:
    from symderive.emit.code_expressions import is_condition

    return is_condition(node)


def _shape(gen: ExpressionCodegen, sizes: tuple[ast.expr, ...]) -> str:
    if len(sizes) == 1 and isinstance(sizes[0], ast.Tuple):
        sizes = tuple(sizes[0].elts)
    parts = [r"\cdots" if isinstance(size, ast.Starred) else gen.operand(size, _PRODUCT) for size in sizes]
    return r" \times ".join(parts)


def _reshape(gen: ExpressionCodegen, a: Arguments) -> str:
    shape = _shape(gen, a.rest)
    return _applied(rf"\mathrm{{{a.name}}}" + (f"_{{{shape}}}" if shape else ""), gen.operand(a["input"]))


def _filled(gen: ExpressionCodegen, a: Arguments) -> str:
    """New arrays of one number, whose dtype and device are those of the receiver."""
    sign = {"new_zeros": r"\mathbf{0}", "new_ones": r"\mathbf{1}"}[a.name]
    shape = _shape(gen, a.rest)
    return f"{sign}_{{{shape}}}" if shape else sign[-2]


def _full(gen: ExpressionCodegen, a: Arguments) -> str:
    value, shape = a["fill_value"], _shape(gen, (a["size"],))
    if isinstance(value, ast.Constant) and isinstance(value.value, bool):
        return rf"\mathbf{{{int(value.value)}}}_{{{shape}}}"
    return gen.operand(value, _ATOM) + (rf" \cdot \mathbf{{1}}_{{{shape}}}" if shape else "")


def _eye(gen: ExpressionCodegen, a: Arguments) -> str:
    return f"I_{{{gen.visit(a['input'])}}}"


def _inverse(gen: ExpressionCodegen, a: Arguments) -> str:
    return f"{gen.operand(a['input'], _ATOM)}^{{-1}}"


def _solution(gen: ExpressionCodegen, a: Arguments) -> str:
    return f"{gen.operand(a['input'], _ATOM)}^{{-1}} {gen.operand(a['right'], _PRODUCT)}"


def _einsum(gen: ExpressionCodegen, a: Arguments) -> str:
    """The sum that the rule says, over the entries of the operands."""
    rule = a["rule"]
    if not isinstance(rule, ast.Constant) or "->" not in str(rule.value):
        raise UnsupportedError(f"`{ast.unparse(a.node)}` has no rule with an arrow")
    inputs, output = (side.replace(" ", "").replace("...", "…") for side in str(rule.value).split("->"))
    scripts = inputs.split(",")
    if len(scripts) != len(a.rest):
        raise UnsupportedError(f"`{ast.unparse(a.node)}` has not as many operands as its rule")
    parts = [
        with_foot(gen.operand(operand, _POWER), subscript(_letters(letters)))
        for operand, letters in zip(a.rest, scripts, strict=True)
    ]
    summed = [letter for letter in dict.fromkeys("".join(scripts)) if letter not in output]
    total = (rf"\sum_{{{', '.join(_letters(''.join(summed)))}}} " if summed else "") + " ".join(parts)
    return rf"{brackets(total)}_{{{subscript(_letters(output))}}}" if output else brackets(total)


def _letters(text: str) -> list[str]:
    return [r"\ldots" if letter == "…" else letter for letter in text]


def _transpose(gen: ExpressionCodegen, a: Arguments) -> str:
    return _applied(
        rf"\mathrm{{{a.name}}}_{{{', '.join(_value(gen, axis) for axis in a.rest)}}}", gen.operand(a["input"])
    )


def _titled(gen: ExpressionCodegen, a: Arguments) -> str:
    """A function that is written as its name with all that it is given."""
    parameters = CALLS[a.name][0]
    texts = [_value(gen, a.bound[p]) for p in parameters if p in POSITIONAL and p in a.bound]
    texts += [_value(gen, item) for item in a.rest]
    named = [key for key in a.bound if key not in POSITIONAL and key != "axis"]
    texts += [rf"{verbatim(key)} = {_value(gen, a[key])}" for key in named]
    axis = rf"_{{{_axis(gen, a['axis'])}}}" if "axis" in parameters else ""
    return _applied(rf"\mathrm{{{TITLES[a.name]}}}{axis}", *texts)


def _value(gen: ExpressionCodegen, node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        return rf"\mathrm{{{node.value}}}"
    return gen.visit(node)


def _extremum(gen: ExpressionCodegen, a: Arguments) -> str:
    return _applied(rf"\{a.name.split()[-1]}", *(gen.operand(number) for number in a.rest))


NUMBERS = {"max": "python max", "min": "python min"}
"""Python's own functions, which emitted code uses for sizes, and their names in the table."""

TITLES = {
    "index_add": "IndexAdd",
    "scatter_add": "ScatterAdd",
    "index_put": "IndexPut",
    **{f"_grouped_{op}": f"group{op}" for op in GROUP_OPS},
    "gather": "gather",
    "pad": "pad",
    "unfold": "unfold",
    "fold": "fold",
    "roll": "roll",
    "flip": "flip",
    "diagonal": "diagonal",
    "cat": "cat",
    "stack": "stack",
    **{f"conv{n}d": f"conv{n}d" for n in (1, 2, 3)},
    **{f"conv_transpose{n}d": f"convtranspose{n}d" for n in (1, 2, 3)},
}
"""Functions that have no sign of their own."""

POSITIONAL = frozenset(("input", "index", "source", "weight", "bias", "widths", "indices"))
"""Parameters that are written without their names."""

_CONV = ("input", "weight", "bias", "stride", "padding", "output_padding", "groups", "dilation")

CALLS: dict[str, tuple[tuple[str, ...], Writer]] = {
    **{name: (("input", *row.parameters[1:]), _row) for name, row in FUNCTIONS.items()},
    "gelu": (("input", "approximate"), _row),
    "softplus": (("input", "threshold"), _row),  # a threshold says where to round, not what to compute
    **dict.fromkeys((*BIG, *WORDS), (("input", "dim", "keepdim"), _reduction)),
    **dict.fromkeys(ALONG, (("input", "dim"), _along)),
    **dict.fromkeys(PAIRS, (("input", "other"), _pair)),
    **dict.fromkeys(HEADS, (("input",), _headed)),
    **dict.fromkeys(NUMBERS.values(), (("*numbers",), _extremum)),
    "where": (("condition", "input", "other"), _where),
    "addcmul": (("input", "tensor1", "tensor2", "value"), _fused),
    **dict.fromkeys(("_scaled", "mul"), (("input", "other"), _scaled)),
    "clamp": (("input", "min", "max"), _clamp),
    "to": (("input", "dtype"), _same),
    **dict.fromkeys(("long", "bool", "contiguous", "clone"), (("input",), _same)),
    **dict.fromkeys(("reshape", "expand"), (("input", "*sizes"), _reshape)),
    **dict.fromkeys(("new_zeros", "new_ones"), (("like", "*sizes"), _filled)),
    "new_full": (("like", "size", "fill_value"), _full),
    "full": (("size", "fill_value"), _full),
    "eye": (("input",), _eye),
    "inv": (("input",), _inverse),
    "solve": (("input", "right"), _solution),
    "solve_triangular": (("input", "right", "upper"), _solution),
    "einsum": (("rule", "*operands"), _einsum),
    **dict.fromkeys(("transpose", "permute", "movedim"), (("input", "*axes"), _transpose)),
    "flip": (("input", "*axes"), _titled),
    "roll": (("input", "*shifts"), _titled),
    "unfold": (("input", "*sizes"), _titled),
    "diagonal": (("input", "dim1", "dim2"), _titled),
    "pad": (("input", "widths", "value"), _titled),
    **dict.fromkeys(("cat", "stack"), (("input", "axis"), _titled)),
    "gather": (("input", "axis", "index"), _titled),
    **dict.fromkeys(("index_add", "scatter_add"), (("input", "axis", "index", "source"), _titled)),
    **{f"_grouped_{op}": (("input", "axis", "index", "count"), _titled) for op in GROUP_OPS},
    "index_put": (("input", "indices", "source", "accumulate"), _titled),
    **{f"conv{n}d": (_CONV, _titled) for n in (1, 2, 3)},
    **{f"conv_transpose{n}d": (_CONV, _titled) for n in (1, 2, 3)},
}
"""What may be called: its parameters in order, a starred one taking the rest, and what writes it."""
