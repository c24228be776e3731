"""Parts of emitted modules that are the same for every op, and their test of themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from sympy import Integer, Symbol

from symderive.algebra.second_order import Differentiable
from symderive.emit.autograd_kernels import STEP, assignment, docstring
from symderive.lower import plan as p
from symderive.spec import model
from symderive.spec.sizes import BATCH_SIZE

WITHOUT_AUTOCAST = '''\
def _autocasts(device: str) -> bool:
    """Whether autocast is on; some devices have none, as meta."""
    return torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)


def _without_autocast(method: Callable[..., Any]) -> Callable[..., Any]:
    """Runs a method outside autocast: its tensors have the dtype that they should have already."""

    @functools.wraps(method)
    def run(*args: Any) -> Any:
        device = next((a.device.type for a in args if isinstance(a, Tensor)), "cpu")
        if not _autocasts(device):
            return method(*args)
        with torch.autocast(device, enabled=False):
            return method(*args)

    return run'''

NESTED = '''\
def _refuse_forward_over_forward() -> None:
    """Raises in forward over forward mode: a Function's jvp would lose the outer tangents."""
    levels = torch._C._functorch.get_interpreter_stack() or ()
    forward = [x for x in levels if x.key() == torch._C._functorch.TransformType.Jvp]
    if forward[1:]:
        raise RuntimeError(
            "{name} does not support forward mode over forward mode; "
            "take torch.func.hessian (forward over reverse) or jacrev over jacfwd instead"
        )'''

COMPILED = '''\
def _apply(*inputs: Tensor) -> Any:
    """``{cls}``, for all but compiled code."""
    return {cls}.apply(*inputs)


def _inside_transform() -> bool:
    """Whether a transform of torch.func is at work.

    Then a compiled graph takes ``_apply`` as a whole: taken apart, the Function loses its backward.
    """
    if torch._C._functorch.maybe_current_level() is None:
        return False
    torch._dynamo.allow_in_graph(_apply)
    return True


# as torch.compiler.assume_constant_result says it, whose import takes seconds
_inside_transform._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _is_compiled() -> bool:
    """Whether torch.compile or torch.export traces this call, not inside of a transform."""
    return torch.compiler.is_compiling() and not _inside_transform()'''
"""How a Function is applied in compiled code."""

ALONE = """\
_other = torch._library.custom_ops.OPDEFS.get("{address}")
_place = __name__ if _other is None else _other._init_fn.__module__
if _place != __name__:
    raise RuntimeError(
        f"{address} is registered by the module {{_place}}, "
        "and would be overwritten: emit one of the two with another --namespace"
    )"""

_GUARD = '''\
_autograd = torch._library.autograd.make_autograd_impl(_op._opoverload, _op)


def _without_forward_mode(keyset: Any, *inputs: Tensor) -> Any:
    """Raises in forward mode, where an op of torch.library would lose the tangents."""
    forward_ad = torch.autograd.forward_ad
    if forward_ad._is_fwd_grad_enabled() and any(
        forward_ad.unpack_dual(x).tangent is not None for x in inputs
    ):
{refusal}
    return _autograd(keyset, *inputs)


_library = torch.library.Library("{namespace}", "FRAGMENT")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # torch says that this overrides a kernel: it should
{override}'''


def guard(namespace: str, op: str, name: str) -> str:
    """The lines that have an op without forward mode say so; ``name`` is the function that has one."""
    message = f'"{namespace}::{op} has no forward mode: call the function {name} instead"'
    refusal = assignment("", "raise RuntimeError", [message], 8)
    arguments = [f'"{op}"', "_without_forward_mode", '"Autograd"', "with_keyset=True", "allow_override=True"]
    lines = {
        "refusal": "\n".join(STEP * 2 + line for line in refusal),
        "override": "\n".join(STEP + line for line in assignment("", "_library.impl", arguments, 4)),
    }
    return _GUARD.format(namespace=namespace, **lines)


_CAST = '''\
def _cast(*tensors: Tensor) -> tuple[Tensor, ...]:
    """The tensors, under autocast {what}."""
    device = tensors[0].device.type
    if not _autocasts(device):
        return tensors
{lines}'''

CAST = {
    "lower": _CAST.format(
        what="in its dtype, as matrix products take them",
        lines="""\
    dtype = torch.get_autocast_dtype(device)
    real = (torch.float16, torch.bfloat16, torch.float32)
    return tuple(t.to(dtype) if t.dtype in real else t for t in tensors)""",
    ),
    "float32": _CAST.format(
        what="at least in float32, as losses and norms take them",
        lines="""\
    narrow = (torch.float16, torch.bfloat16)
    return tuple(t.float() if t.dtype in narrow else t for t in tensors)""",
    ),
    "widest": _CAST.format(
        what="in the widest of their dtypes, as element-wise ops take them",
        lines="""\
    dtypes = (t.dtype for t in tensors if t.is_floating_point())
    widest = functools.reduce(torch.promote_types, dtypes)
    return tuple(t.to(widest) if t.is_floating_point() else t for t in tensors)""",
    ),
}
"""What autocast does to the inputs of an op, by its :func:`precision`."""

_WIDE_FUNCTIONS = frozenset(
    (
        *("exp", "expm1", "log", "log1p", "pow", "rsqrt", "reciprocal", "softplus"),
        *("acos", "asin", "cosh", "sinh", "tan", "erf", "erfc"),
    )
)
"""Element-wise functions that autocast keeps in float32."""


def precision(op: Differentiable, plan: p.Plan) -> str:
    """Where autocast computes an op of this forward, as it treats ops of its kind.

    Matrix products are taken to the lower precision; losses, and what accumulates or grows fast, to float32; anything
    else stays in the widest dtype of its inputs.
    """
    nodes = [n for a in plan.assignments for n in p.walk(a.value)]
    if any(isinstance(n, p.MatMul | p.Einsum | p.Conv | p.ConvTranspose) for n in nodes):
        return "lower" if all(plan.refs[o].shape for o in op.spec.outputs) else "float32"
    return "float32" if any(map(_is_wide, nodes)) else "widest"


def _is_wide(node: p.Node) -> bool:
    if isinstance(node, p.Reduce):
        return node.op in ("sum", "mean", "prod", "logsumexp") and node.kind == "real"
    if isinstance(node, p.Map):
        return node.function in _WIDE_FUNCTIONS and node.kind == "real"
    return isinstance(node, p.Normalise | p.Grouped | p.Scan | p.Matrix | p.Solve)


_SAMPLES = {
    "positive": "torch.rand({shape}, {like}) + 0.5",
    "nonnegative": "torch.rand({shape}, {like})",
    "nonzero": "torch.rand({shape}, {like}) + 0.5",
    "unit": "torch.rand({shape}, {like}) * 0.8 + 0.1",
    "simplex": "torch.randn({shape}, {like}).softmax(-1)",
    "binary": "torch.rand({shape}, {like}).round()",
    "one_hot": "torch.eye({last}, {like})[torch.randint({last}, ({front}))]",
    "spd": "torch.eye({last}, {like}) + torch.full(({shape}), 0.1, {like})",
    "symmetric": "torch.eye({last}, {like}) + torch.full(({shape}), 0.1, {like})",
}
"""Code that draws an input with an assumption."""


REGISTERED = ("torch.library.opcheck(_op, tuple(x.detach() for x in inputs))", "torch.library.opcheck(_op, inputs)")
"""What else is verified of an op that is registered."""


def verification(op: Differentiable, name: str, more: Sequence[str] = ()) -> str:
    """``_verify`` and the lines that run it; ``more`` are checks of its ``inputs``."""
    spec = op.spec
    values = small_sizes(spec)
    arguments = [sample(i, values, i.name in spec.wrt) for i in spec.inputs]
    lines = [
        "def _verify() -> None:",
        *docstring("Holds first and second derivatives, in reverse and in forward mode, against finite differences."),
        f"{STEP}torch.manual_seed(0)",
        f"{STEP}inputs = (",
        *(f"{STEP * 2}{a},  # {i.name}" for a, i in zip(arguments, spec.inputs, strict=True)),
        f"{STEP})",
        *(STEP + x for x in assignment("", "torch.autograd.gradcheck", [name, "inputs", "check_forward_ad=True"])),
        *(
            STEP + x
            for x in assignment("", "torch.autograd.gradgradcheck", [name, "inputs", "check_fwd_over_rev=True"])
        ),
        *(f"{STEP}{line}" for line in more),
        f'{STEP}print("first and second derivatives of {name} agree with differences")',
        "",
        "",
        'if __name__ == "__main__":',
        f"{STEP}_verify()",
    ]
    return "\n".join(lines)


def sample(given: model.Input, values: Mapping[Symbol, Integer], grad: bool) -> str:
    """Code for an input's value in float64."""
    shape = [str(e.xreplace(dict(values))) for e in given.shape if e != BATCH_SIZE]
    shape = ["3", *shape] if given.shape and given.shape[0] == BATCH_SIZE else shape
    shown = ", ".join(shape) or "()"
    if given.index is not None:
        return (
            f"torch.randint({given.index.xreplace(dict(values))}, ({', '.join(shape)}{',' if len(shape) == 1 else ''}))"
        )
    if given.boolean:
        return f"torch.rand({shown}) > 0.5"
    like = "dtype=torch.float64" + (", requires_grad=True" if grad else "")
    if given.range is not None:
        low, high = (float(v) for v in given.range)
        text = f"torch.rand({shown}, dtype=torch.float64) * {high - low:.6g} + {low:.6g}"
    else:
        known = next((a for a in given.assume if a in _SAMPLES), None)
        text = "torch.randn({shape}, {like})" if known is None else _SAMPLES[known]
        pieces = {"shape": shown, "last": shape[-1] if shape else "1", "front": ", ".join([*shape[:-1], ""])}
        plain = known is None
        text = text.format(**pieces, like=like if plain else "dtype=torch.float64")
        if plain:
            return text
    return f"({text}).requires_grad_()" if grad else text


def small_sizes(spec: model.Spec) -> dict[Symbol, Integer]:
    """Small sizes at which every tensor has entries; different ones where that is possible."""
    symbols = _symbols(spec)
    shapes = [e for shape in spec.shapes.values() for e in shape if e != BATCH_SIZE]
    shapes += [e for q in spec.equations for e in q.ranges.values() if e != BATCH_SIZE]
    author = {s: int(v) for s in symbols if isinstance(v := spec.sizes.get(s.name, 2), int)}
    for values in _choices(symbols, author):
        if all(_positive(e, values) for e in shapes):
            return values
    return {s: Integer(v) for s, v in author.items()}


def _choices(symbols: list[Symbol], author: Mapping[Symbol, int]) -> Iterator[dict[Symbol, Integer]]:
    for base in (2, 4, 6, 8):
        yield {s: Integer(min(base + n % 3, max(author.get(s, 9), 1))) for n, s in enumerate(symbols)}
    if len(symbols) <= 4:
        for each in product((2, 3, 4, 5, 8), repeat=len(symbols)):
            yield {s: Integer(v) for s, v in zip(symbols, each, strict=True)}


def _symbols(spec: model.Spec) -> list[Symbol]:
    found = {s for i in spec.inputs for e in i.shape for s in e.free_symbols}
    found |= {s for i in spec.inputs if i.index is not None for s in i.index.free_symbols}
    return sorted((s for s in found if s != BATCH_SIZE), key=str)


def _positive(extent: object, values: Mapping[Symbol, Integer]) -> bool:
    value = extent.xreplace(dict(values))  # type: ignore[attr-defined]
    return bool(value.is_number and value >= 1)
