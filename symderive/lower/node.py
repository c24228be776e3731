"""What every expression of a plan is, and those of single entries: names, numbers, element-wise work.

Kinds: arithmetic that mixes a truth value or an integer with a :class:`Scalar` that is not an integer would take
its dtype from nowhere, so such an operand has to be :class:`Cast` to real first.
"""

from __future__ import annotations

from typing import Literal

from sympy import Expr, S

from symderive.errors import InternalError
from symderive.lower import shapes
from symderive.lower.shapes import Shape
from symderive.record import record
from symderive.spec.functions import FUNCTIONS

Kind = Literal["real", "integer", "boolean"]

COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
LOGIC = ("and", "or", "not")
ARITHMETIC = ("add", "sub", "mul", "div", "neg", "pow", "floordiv", "mod", "maximum", "minimum", "clamp", "where")
INTEGRAL = frozenset(ARITHMETIC) - {"div", "pow"} | {"abs", "sign", "square", "relu"}
"""Functions that make an integer of integers."""
ARITIES: dict[str, range] = (
    dict.fromkeys(
        (*COMPARISONS, "add", "sub", "mul", "div", "pow", "floordiv", "mod", "maximum", "minimum"), range(2, 3)
    )
    | dict.fromkeys(("and", "or"), range(2, 1000))
    | dict.fromkeys(("neg", "not"), range(1, 2))
    | dict.fromkeys(("where", "clamp"), range(3, 4))
    | {row.name: row.arity for row in FUNCTIONS.values()}
)
"""The functions that :class:`Map` knows, and the numbers of their arguments."""

REDUCE_OPS = ("sum", "mean", "prod", "amax", "amin", "logsumexp", "any", "all", "argmax", "argmin")
SCAN_OPS = ("sum", "prod", "amax", "amin", "logsumexp")
NORMALISE_OPS = ("softmax", "log_softmax")
GROUP_OPS = ("amax", "amin", "logsumexp", "softmax")
MATRIX_OPS = {"inv": 2, "det": 0, "logdet": 0, "cholesky": 2}
"""Functions of square matrices, with the number of axes of what they give for one."""
SOLVE_FORMS = ("general", "lower", "upper")


class Node:
    """An array expression. A subclass is a frozen dataclass and says in ``_infer`` what shape and kind it has."""

    shape: Shape
    kind: Kind

    def __post_init__(self) -> None:
        shape, kind = self._infer()
        object.__setattr__(self, "shape", shapes.sizes(shape))
        object.__setattr__(self, "kind", kind)

    def _infer(self) -> tuple[Shape, Kind]:
        raise NotImplementedError

    @property
    def rank(self) -> int:
        """The number of axes behind the batch axes."""
        return len(shapes.plain(self.shape))

    @property
    def has_batch(self) -> bool:
        """Whether the first axes are the batch axes."""
        return shapes.has_batch(self.shape)


def member(value: str, known: tuple[str, ...]) -> None:
    """That ``value`` is one of the ``known`` names."""
    if value not in known:
        raise InternalError(f"{value!r} is none of {', '.join(known)}")


# --- leaves


@record
class Ref(Node):
    """The value of an input or of an earlier assignment."""

    name: str
    shape: Shape = ()
    kind: Kind = "real"

    def _infer(self) -> tuple[Shape, Kind]:
        return self.shape, self.kind


@record
class Scalar(Node):
    """A Python number: an expression over sizes, named constants, ``pi``, ``oo``; ``BATCH_SIZE`` is a number here."""

    value: Expr

    def _infer(self) -> tuple[Shape, Kind]:
        return (), "integer" if self.value.is_integer else "real"


@record
class Arange(Node):
    """The integers 0, 1, ..., extent - 1."""

    extent: Expr

    def _infer(self) -> tuple[Shape, Kind]:
        return (self.extent,), "integer"


@record
class Full(Node):
    """An array of one number, ``value``, an expression as in :class:`Scalar`; ``of`` is its kind."""

    extents: Shape
    value: Expr = S.Zero
    of: Kind = "real"

    def _infer(self) -> tuple[Shape, Kind]:
        return self.extents, self.of


@record
class Eye(Node):
    """The identity matrix."""

    extent: Expr

    def _infer(self) -> tuple[Shape, Kind]:
        return (self.extent, self.extent), "real"


# --- element-wise


@record
class Map(Node):
    """``function`` applied entry by entry to arguments that broadcast as in NumPy."""

    function: str
    args: tuple[Node, ...]

    def _infer(self) -> tuple[Shape, Kind]:
        if len(self.args) not in ARITIES.get(self.function, ()):
            raise InternalError(f"no function {self.function!r} of {len(self.args)} arguments")
        shape = shapes.broadcast(*(a.shape for a in self.args))
        if self.function in COMPARISONS or self.function in LOGIC:
            if self.function in LOGIC and any(a.kind != "boolean" for a in self.args):
                raise InternalError(f"{self.function!r} of something that is no condition")
            return shape, "boolean"
        values = self.args[1:] if self.function == "where" else self.args
        return shape, _result_kind(self.function, values)


def _result_kind(function: str, values: tuple[Node, ...]) -> Kind:
    kinds = {v.kind for v in values}
    if function == "where":
        return next(k for k in ("real", "integer", "boolean") if k in kinds)  # type: ignore[return-value]
    if "boolean" in kinds and not (function == "mul" and any(is_real_array(v) for v in values)):
        raise InternalError(f"{function!r} of a truth value: cast it to real")
    if kinds == {"integer"} and (function in INTEGRAL or (function == "pow" and _is_power(values[1]))):
        return "integer"
    if not any(is_real_array(v) for v in values) and not all(isinstance(v, Scalar) for v in values):
        raise InternalError(f"{function!r} makes a real of integers: cast them to real")
    return "real"


def is_real_array(value: Node) -> bool:
    """Whether ``value`` has a dtype that makes others real."""
    return value.kind == "real" and not isinstance(value, Scalar)


def _is_power(value: Node) -> bool:
    return isinstance(value, Scalar) and bool(value.value.is_nonnegative)


@record
class Cast(Node):
    """The same values as another kind; a truth value is 0 or 1. A real has the dtype of the real inputs."""

    value: Node
    to: Kind = "real"

    def _infer(self) -> tuple[Shape, Kind]:
        return self.value.shape, self.to
