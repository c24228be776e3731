"""The ``inputs`` of a spec: shapes, and what is known of the values."""

from __future__ import annotations

from fractions import Fraction

from sympy import Expr, Integer

from symderive.errors import Span, SpecError
from symderive.spec import syntax as s
from symderive.spec.fields import flag, mapping, scalar, several, wrong
from symderive.spec.model import Input
from symderive.spec.ranges import equal_sizes
from symderive.spec.reader import Document, Mapping, Scalar, Sequence, Value, suggestion
from symderive.spec.shapes import SizeReader, exact_number
from symderive.spec.size_text import shape_text
from symderive.spec.sizes import BATCH_SIZE

MAX_AXES = 32

KEYS = ("shape", "grad", "index", "bool", "range", "assume")

ASSUMPTIONS = {
    "positive": 0,
    "nonnegative": 0,
    "nonzero": 0,
    "unit": 0,
    "binary": 0,
    "one_hot": 1,
    "simplex": 1,
    "symmetric": 2,
    "spd": 2,
}
"""Each assumption and the number of last axes that it speaks of."""

_SHAPE_HINT = "a shape is a list of sizes, such as [N, K]; [] is a scalar"


class InputReader:
    """Reads the entries of ``inputs``."""

    def __init__(self, document: Document, sizes: SizeReader) -> None:
        self.document = document
        self.sizes = sizes

    def _error(self, message: str, span: Span, hint: str | None = None) -> SpecError:
        return self.document.error(message, span, hint)

    def read(self, key: Scalar, value: Value) -> Input:
        """One input; ``value`` is its shape or its mapping."""
        name = key.text
        if isinstance(value, Sequence):
            return Input(name, self._shape(value, name), span=key.span)
        if not isinstance(value, Mapping):
            raise wrong(self.document, value, f"the shape of '{name}' must be a list", _SHAPE_HINT)
        fields = self.document.fields(value, KEYS, f"the input '{name}'")
        if "shape" not in fields:
            raise self._error(f"the input '{name}' has no shape", key.span, _SHAPE_HINT)
        shape = self._shape(fields["shape"], name)
        index = self._index(fields, name)
        boolean = flag(self.document, fields["bool"], "bool") if "bool" in fields else False
        if index is not None and boolean:
            raise self._error(f"the input '{name}' is both an index and a bool", key.span, "keep one of them")
        grad = flag(self.document, fields["grad"], "grad") if "grad" in fields else True
        if "grad" in fields and grad and (boolean or index is not None):
            raise self._error(f"'{name}' is not real, so it has no gradient", fields["grad"].span, "remove grad: true")
        values = self._values(fields["range"], name) if "range" in fields else None
        assume = self._assume(fields["assume"], name, shape) if "assume" in fields else ()
        return Input(name, shape, grad, index, boolean, values, assume, span=key.span)

    def _shape(self, value: Value, name: str) -> tuple[Expr, ...]:
        """A list of size expressions, the first of which may be ``...``."""
        if not isinstance(value, Sequence):
            raise wrong(self.document, value, f"the shape of '{name}' must be a list", _SHAPE_HINT)
        if len(value.items) > MAX_AXES:
            raise self._error(f"'{name}' has {len(value.items):,} axes; at most {MAX_AXES}", value.span)
        shape: list[Expr] = []
        for item in value.items:
            entry = scalar(self.document, item, f"a size in the shape of '{name}'", _SHAPE_HINT)
            if entry.text.strip() == s.BATCH:
                if shape:
                    raise self._error("'...' must stand first in a shape", entry.span, "as in [..., K]")
                shape.append(BATCH_SIZE)
            else:
                extent = self.sizes.read(entry)
                if isinstance(extent, Integer) and extent < 1:
                    raise self._error(f"an axis of '{name}' has {extent} entries", entry.span, "at least 1 is needed")
                shape.append(extent)
        return tuple(shape)

    def _index(self, fields: dict[str, Value], name: str) -> Expr | None:
        if "index" not in fields:
            return None
        entry = scalar(self.document, fields["index"], f"the index of '{name}'", "a size C: integers in 0..C-1")
        extent = self.sizes.read(entry)
        if isinstance(extent, Integer) and extent < 1:
            raise self._error(f"'{name}' would hold integers in 0..{extent - 1}", entry.span, "at least 1 is needed")
        return extent

    def _values(self, value: Value, name: str) -> tuple[Fraction, Fraction]:
        hint = "a range is a list of two numbers, such as [-1, 1]"
        if not isinstance(value, Sequence) or len(value.items) != 2:
            raise self._error(f"the range of '{name}' must be two numbers", value.span, hint)
        low, high = (exact_number(scalar(self.document, i, "a bound", hint), "a bound") for i in value.items)
        if low >= high:
            raise self._error(f"the range of '{name}' is empty: {low} is not below {high}", value.span)
        return low, high

    def _assume(self, value: Value, name: str, shape: tuple[Expr, ...]) -> tuple[str, ...]:
        found = []
        for item in several(self.document, value, "an assumption"):
            if item.text not in ASSUMPTIONS:
                hint = suggestion(item.text, ASSUMPTIONS) or f"the assumptions are {', '.join(ASSUMPTIONS)}"
                raise self._error(f"unknown assumption '{item.text}'", item.span, hint)
            last = shape[len(shape) - ASSUMPTIONS[item.text] :] if ASSUMPTIONS[item.text] <= len(shape) else None
            if last is None or BATCH_SIZE in last:
                axes = "one axis" if ASSUMPTIONS[item.text] == 1 else "two axes"
                raise self._error(f"'{item.text}' needs {axes}, which '{name}' does not have", item.span)
            if len(last) == 2 and not equal_sizes(*last):
                message = f"'{item.text}' needs a square matrix, but '{name}' ends in {shape_text(last)}"
                raise self._error(message, item.span)
            if item.text not in found:
                found.append(item.text)
        return tuple(found)


def read_inputs(document: Document, value: Value, sizes: SizeReader) -> tuple[Input, ...]:
    """All inputs, in order; their names are declared as tensors."""
    entries = mapping(document, value, "inputs", "as in `inputs: {x: [N, K]}`")
    if entries is None or not entries.entries:
        raise document.error("there are no inputs", value.span, "as in `inputs: {x: [N, K]}`")
    for key, _ in entries.entries:
        sizes.names.declare(key.text, "tensor", key.span)
    reader = InputReader(document, sizes)
    return tuple(reader.read(key, item) for key, item in entries.entries)
