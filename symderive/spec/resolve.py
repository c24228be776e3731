"""A spec's YAML tree -> :class:`symderive.spec.model.Spec`: every name resolved, every index with its range."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache, cached_property, partial
from itertools import chain
from pathlib import Path

from sympy import Expr

from symderive.errors import Span, SpecError
from symderive.spec import syntax as s
from symderive.spec.bounds import size_samples
from symderive.spec.calls import Calls, read_callable
from symderive.spec.claims import parse_lines
from symderive.spec.equations import EquationReader
from symderive.spec.fields import block, prose, scalar, several
from symderive.spec.gradients import check_accumulated_names, check_gradient_names, differentiated
from symderive.spec.inputs import read_inputs
from symderive.spec.model import BadLine, Equation, Input, Spec
from symderive.spec.names import FUNCTION_NAMES, Namespace, name_fault
from symderive.spec.parse import parse_statements
from symderive.spec.reader import Document, Scalar, Value, read_document, read_text, suggestion
from symderive.spec.sections import read_cases, read_constants, read_indices, read_sizes
from symderive.spec.shapes import SizeReader, solvable_sizes
from symderive.spec.size_text import size_text
from symderive.spec.sizes import size_value

KEYS = (
    "name",
    "title",
    "group",
    "source",
    "notes",
    "sizes",
    "constants",
    "inputs",
    "indices",
    "use",
    "forward",
    "output",
    "wrt",
    "reference",
    "claims",
    "cases",
)
REQUIRED = {
    "name": "as in `name: linear_mse`",
    "inputs": "as in `inputs: {x: [N, K]}`",
    "forward": "write `forward: |` and the equations below it, indented",
}


def load(path: str | Path) -> Spec:
    """Read the spec in a file. Raises :class:`SymderiveError` with the place where it cannot be used."""
    return _load(path, ())


def _load(path: str | Path, callers: tuple[str, ...]) -> Spec:
    """Read a spec that the ``callers``, outermost first, call."""
    document = read_document(read_text(path), str(path))
    return _Resolver(document, Path(path).stem, callers).spec()


def loads(text: str, name: str | None = None, path: str = "<spec>") -> Spec:
    """Read a spec from a text. ``name``, where given, is what its ``name`` must be."""
    document = read_document(text, path)
    return _Resolver(document, name).spec()


def with_constants(spec: Spec, constants: Mapping[str, Fraction]) -> Spec:
    """The same spec with other values of some constants, also where shapes depend on them. Raises as :func:`loads`."""
    document = read_document(spec.text, spec.path)
    return _Resolver(document, None, constants=constants).spec()


class _Resolver:
    """Reads the sections of one document, in the order in which they depend on each other."""

    def __init__(
        self,
        document: Document,
        stem: str | None,
        callers: tuple[str, ...] = (),
        constants: Mapping[str, Fraction] | None = None,
    ) -> None:
        self.callers = callers
        self.constants = constants or {}
        self.document = document
        self.stem = stem
        self.fields = document.fields(document.root, KEYS, "the spec")
        self.places = {key.text: key.span for key, _ in document.root.entries}
        self.names = Namespace(document.error)

    def error(self, message: str, span: Span, hint: str | None = None) -> SpecError:
        return self.document.error(message, span, hint)

    def spec(self) -> Spec:
        """The whole spec."""
        self.required()
        name = self.name()
        sizes, places = read_sizes(self.document, self.fields.get("sizes"), self.names)
        constants = read_constants(self.document, self.fields.get("constants"), self.names) | dict(self.constants)
        reader = SizeReader(self.names, constants)
        inputs = read_inputs(self.document, self.fields["inputs"], reader)
        indices = read_indices(self.document, self.fields.get("indices"), self.names, reader)
        equations = EquationReader(self.names, inputs, constants, indices, self.calls(name, indices))
        resolved = equations.read(self.statements("forward"))
        if not resolved:
            raise self.error("there are no equations", self.fields["forward"].span, REQUIRED["forward"])
        outputs = self.outputs(resolved)
        wrt = self.wrt(inputs)
        check_gradient_names(self.names, differentiated(resolved, outputs, wrt), self.tensor_places())
        check_accumulated_names(self.names, resolved, outputs, wrt, self.tensor_places())
        cases = read_cases(self.document, self.fields.get("cases"), sizes)
        extents = _Extents(inputs, resolved, indices)
        self.solvable(extents, places)
        given = [(_numbers(sizes), self.places.get("sizes")), *((_numbers(c), span) for c, span in cases)]
        self.positive(extents, given)
        equations.check(cache(lambda: size_samples(given[0][0], [g for g, _ in given][:20], extents.all)))
        claims, bad = self.claims()
        return Spec(
            name,
            inputs,
            resolved,
            outputs,
            wrt,
            sizes,
            constants,
            indices,
            reference=self.statements("reference"),
            claims=claims,
            bad_claims=bad,
            cases=tuple(case for case, _ in cases),
            title=prose(self.document, self.fields.get("title"), "title"),
            group=prose(self.document, self.fields.get("group"), "group"),
            source=prose(self.document, self.fields.get("source"), "source"),
            notes=prose(self.document, self.fields.get("notes"), "notes"),
            path=self.document.path,
            text=self.document.source,
            calls=equations.made,
        )

    # -- single keys -------------------------------------------------------------------------------------------

    def required(self) -> None:
        for key, hint in REQUIRED.items():
            value = self.fields.get(key)
            if value is None or (isinstance(value, Scalar) and not value.text.strip()):
                what = f"the key '{key}' is missing" if value is None else f"'{key}' is empty"
                span = self.document.root.span if value is None else value.span
                raise self.error(what, Span(span.line, span.column, span.line, span.column + 1), hint)

    def name(self) -> str:
        entry = scalar(self.document, self.fields["name"], "name")
        fault = name_fault(entry.text)
        if fault and entry.text not in FUNCTION_NAMES:
            raise self.error(*_with_span(fault, entry.span))
        if self.stem is not None and entry.text != self.stem:
            message = f"the name '{entry.text}' is not that of the file, '{self.stem}'"
            raise self.error(message, entry.span, "rename one of them")
        return entry.text

    def calls(self, name: str, indices: Mapping[str, Expr]) -> Calls:
        """The specs under ``use``, read. Raises where they call each other in a circle."""
        if (value := self.fields.get("use")) is None:
            return Calls(self.names, {})
        callers = (*self.callers, name)
        stems = {item.text: item.span for item in several(self.document, value, "an entry of 'use'")}
        for stem, span in stems.items():
            if stem in callers:
                cycle = " -> ".join((*callers[callers.index(stem) :], stem))
                raise self.error(f"specs that call each other in a circle: {cycle}", span, "write one of them out")
        read = partial(_load, callers=callers)
        return Calls(self.names, read_callable(stems, self.document.path, read, self.names), declared=indices)

    def statements(self, key: str) -> tuple[s.Statement, ...]:
        value = self.fields.get(key)
        if value is None:
            return ()
        entry = block(self.document, value, key)
        return () if entry.is_null else parse_statements(entry.text, entry.origin)

    def claims(self) -> tuple[tuple[s.Statement, ...], tuple[BadLine, ...]]:
        value = self.fields.get("claims")
        if value is None:
            return (), ()
        entry = block(self.document, value, "claims")
        return ((), ()) if entry.is_null else parse_lines(entry.text, entry.origin)

    def outputs(self, equations: tuple[Equation, ...]) -> tuple[str, ...]:
        value = self.fields.get("output")
        if value is None:
            return (equations[-1].tensor,)
        defined = [e.tensor for e in equations]
        found = self.chosen(value, "output", defined, "a tensor that `forward` defines")
        if not found:
            raise self.error("there is no output", value.span, f"as in `output: {defined[-1]}`")
        return found

    def wrt(self, inputs: tuple[Input, ...]) -> tuple[str, ...]:
        value = self.fields.get("wrt")
        if value is None:
            return tuple(i.name for i in inputs if i.is_real and i.grad)
        found = self.chosen(value, "wrt", [i.name for i in inputs], "an input")
        for given in inputs:
            if given.name in found and not given.is_real:
                what = "truth values" if given.boolean else "integers"
                raise self.error(
                    f"'{given.name}' holds {what}, so it has no gradient", value.span, "remove it from `wrt`"
                )
        return found

    def chosen(self, value: Value, key: str, known: list[str], what: str) -> tuple[str, ...]:
        """A list of names out of ``known``."""
        found: list[str] = []
        for item in several(self.document, value, f"an entry of '{key}'"):
            if item.text not in known:
                hint = suggestion(item.text, known) or f"known: {', '.join(known)}"
                raise self.error(f"'{item.text}' in '{key}' is not {what}", item.span, hint)
            if item.text in found:
                raise self.error(f"'{item.text}' stands twice in '{key}'", item.span)
            found.append(item.text)
        return tuple(found)

    def tensor_places(self) -> dict[str, Span]:
        return {name: span for name, (role, span) in self.names.roles.items() if role == "tensor"}

    # -- sizes -------------------------------------------------------------------------------------------------

    def solvable(self, extents: _Extents, places: Mapping[str, Span]) -> None:
        """Raise where a size that is used cannot be found from the shapes of the inputs."""
        known = solvable_sizes(e for e, _, _ in extents.inputs)
        used = {symbol.name for extent in extents.computed for symbol in extent.free_symbols} - {s.BATCH}
        for equation in extents.equations:
            names = {n.id for n in equation.right.walk() if isinstance(n, s.Name)}
            used |= {n for n in names if self.names.role(n) == "size"}
        for name in places:
            if name in used - known:
                message = f"the size '{name}' cannot be found from the shapes of the inputs"
                raise self.error(message, places[name], "make it an axis of an input, or an integer constant")

    def positive(self, extents: _Extents, given: list[tuple[dict[str, int], Span | None]]) -> None:
        """Raise where an axis or a range has less than one entry at the sizes that the spec gives."""
        derived = {e: (e, what, span) for e, what, span in chain(extents.inputs, extents.others) if e.args}
        for sizes, place in given:
            for extent, what, span in derived.values():
                value = self.extent(extent, sizes, what, span)
                if value < 1:
                    at = ", ".join(f"{n.name} = {sizes[n.name]}" for n in sorted(extent.free_symbols, key=str))
                    message = f"{what} has {size_text(extent)} = {value} entries at {at}; at least 1 is needed"
                    raise self.error(message, span, f"see the sizes of line {place.line}" if place else None)

    def extent(self, extent: Expr, sizes: Mapping[str, int], what: str, span: Span) -> int:
        try:
            return size_value(extent, sizes)
        except (ValueError, ZeroDivisionError, TypeError):
            raise self.error(f"{what}, {size_text(extent)}, has no value at the sizes of this spec", span) from None


def _numbers(sizes: Mapping[str, int | tuple[int, ...]]) -> dict[str, int]:
    """The sizes that are single numbers, without the batch axes."""
    return {name: value for name, value in sizes.items() if isinstance(value, int)}


class _Extents:
    """Every extent of a spec, with words for it and its place."""

    def __init__(self, inputs: tuple[Input, ...], equations: tuple[Equation, ...], indices: Mapping[str, Expr]) -> None:
        self.equations = equations
        self.declared = indices
        self.inputs = [(e, f"an axis of '{i.name}'", i.span) for i in inputs for e in i.shape]
        self.classes = [(i.index, f"the range of '{i.name}'", i.span) for i in inputs if i.index is not None]

    @cached_property
    def others(self) -> list[tuple[Expr, str, Span]]:
        """The class ids, and the ranges of the indices of each equation."""
        return [*self.classes, *self._ranges()]

    def _ranges(self) -> Iterator[tuple[Expr, str, Span]]:
        for equation in self.equations:
            for name, extent in equation.ranges.items():
                yield extent, f"the index '{name}'", equation.span

    @cached_property
    def computed(self) -> set[Expr]:
        """The extents that a computation needs: all but the number of classes of integers."""
        return {e for e, _, _ in chain(self.inputs, self._ranges())} | set(self.declared.values())

    @cached_property
    def all(self) -> set[Expr]:
        """Every extent once."""
        return {e for e, _, _ in chain(self.inputs, self.others)} | set(self.declared.values())


def _with_span(fault: tuple[str, str], span: Span) -> tuple[str, Span, str]:
    return fault[0], span, fault[1]
