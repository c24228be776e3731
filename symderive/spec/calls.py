"""Calling other specs: ``a[i, j] = linear(x, W, b)[i, j]``.

A call is put out into the equations of the called spec, with the caller's tensors in place of its inputs, its sizes
solved from their shapes, and names of its own for its other tensors. A call made twice is made once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import field, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from sympy import Expr

from symderive.catalogue import folder
from symderive.errors import NOWHERE, Span, SpecError
from symderive.record import record
from symderive.spec import syntax as s
from symderive.spec.format import to_text
from symderive.spec.functions import FUNCTIONS
from symderive.spec.model import Call, Equation, Shape, Spec
from symderive.spec.names import FUNCTION_NAMES, Namespace
from symderive.spec.ranges import equal_sizes
from symderive.spec.reader import suggestion
from symderive.spec.scope import INTEGER, Tensor
from symderive.spec.size_text import shape_text, size_syntax
from symderive.spec.sizes import BATCH_SIZE

LETTERS = "ijklmnpqrstuvwabcdefgh"
CALL_LIMIT = 64
"""Calls in one spec, those in called specs included: a call is put out, so each costs equations."""


@record
class Definition:
    """One equation that a call is put out into, with the ranges of its indices."""

    statement: s.Statement
    ranges: Mapping[str, Expr]


Key = tuple[str, tuple[str, ...]]
"""A called spec and the tensors that it is given."""


@record
class Calls:
    """The specs that one spec may call, and the calls that it has made; ``declared`` are the caller's letters."""

    names: Namespace
    specs: Mapping[str, Spec]
    made: dict[Key, Call] = field(default_factory=dict)
    named: dict[Key, dict[str, tuple[str, tuple[str, ...]]]] = field(default_factory=dict)
    """Of each call, the names that the caller gives to outputs, with the letters for their axes."""
    declared: Mapping[str, Expr] = field(default_factory=dict)

    def error(self, message: str, span: Span, hint: str | None = None) -> SpecError:
        """An error about a call."""
        return self.names.error(message, span, hint)

    def put_out(
        self, statement: s.Statement, tensors: Mapping[str, Tensor]
    ) -> tuple[list[Definition], s.Statement | None]:
        """The equations that the statement's calls stand for, and the statement that reads their outputs.

        A statement that does nothing but name an output of a call is the called spec's own equation under that name.
        """
        if not self.specs:
            return [], statement
        definitions: list[Definition] = []
        call, output, _ = self._call(statement.right, tensors)
        if call is not None:
            name = self._output(call, self.specs[call.function], output)
            made = self._callee(call, tensors, definitions)
            if name in made.letters and made.names[name] == _left(statement.left)[0]:
                return definitions, None
        sides = tuple(self._expand(side, tensors, definitions) for side in statement.sides)
        return definitions, replace(statement, sides=sides)

    def note(self, statements: Iterable[s.Statement]) -> None:
        """Note which statements do nothing but name an output of a call: the first for each of them."""
        for statement in statements:
            call, output, items = self._call(statement.right, {}) if self.specs else (None, None, ())
            name, letters = _left(statement.left)
            if call is None or _names(items) != letters:
                continue
            outputs = self.specs[call.function].outputs
            which = output.name if output is not None else outputs[0]
            if which in outputs and (output is not None or len(outputs) == 1):
                key = (call.function, _names(call.arguments))
                self.named.setdefault(key, {}).setdefault(which, (name, letters))

    def _expand(self, node: s.Node, tensors: Mapping[str, Tensor], out: list[Definition]) -> s.Node:
        call, output, items = self._call(node, tensors)
        if call is not None:
            which = self._output(call, self.specs[call.function], output)
            callee = self._callee(call, tensors, out, {which: _names(items)})
            name = callee.names[which]
            return s.Access(name, items, span=node.span) if items else s.Name(name, span=node.span)
        return rebuilt(node, lambda n: self._expand(n, tensors, out))

    def _call(
        self, node: s.Node, tensors: Mapping[str, Tensor]
    ) -> tuple[s.Call | None, s.Attribute | None, tuple[s.Node, ...]]:
        """The call of a spec that a node reads an entry of, the output that it names, and the entry."""
        items: tuple[s.Node, ...] = ()
        value = node
        if isinstance(value, s.Subscript):
            items, value = value.items, value.value
        output = value if isinstance(value, s.Attribute) else None
        called = output.value if output is not None else value
        if not isinstance(called, s.Call) or called.function not in self.specs:
            return None, None, ()
        if not items and output is None and called.function in FUNCTIONS and not _takes_tensors(called, tensors):
            return None, None, ()  # relu(x[i]) is the function, relu(x)[i] the spec
        return called, output, items

    def _output(self, call: s.Call, spec: Spec, output: s.Attribute | None) -> str:
        if output is None:
            if len(spec.outputs) > 1:
                hint = f"say which: {call.function}(...).{spec.outputs[0]}"
                raise self.error(f"{call.function} has {len(spec.outputs)} outputs", call.span, hint)
            return spec.outputs[0]
        if output.name not in spec.outputs:
            hint = suggestion(output.name, spec.outputs) or f"its outputs: {', '.join(spec.outputs)}"
            raise self.error(f"{call.function} has no output '{output.name}'", output.span, hint)
        return output.name

    def _callee(
        self,
        call: s.Call,
        tensors: Mapping[str, Tensor],
        out: list[Definition],
        read: Mapping[str, tuple[str, ...]] | None = None,
    ) -> Call:
        """The call, made if it was not; ``read`` has the letters at which an output is read, if they are known."""
        given = self._arguments(call, tensors)
        key = (call.function, given)
        if key not in self.made:
            if len(self.made) >= CALL_LIMIT:
                raise self.error(f"more than {CALL_LIMIT} calls of other specs", call.span, "split the spec")
            spec = self.specs[call.function]
            sizes, lead = self._sizes(call, spec, [tensors[a] for a in given])
            names = {i.name: a for i, a in zip(spec.inputs, given, strict=True)}
            named = self.named.get(key, {})
            for equation in spec.equations:
                if equation.tensor in named:
                    names[equation.tensor] = named[equation.tensor][0]
                else:
                    names[equation.tensor] = self._new_name(f"{call.function}_{equation.tensor}", call.span)
            letters = {o: own for o, own in (read or {}).items() if all(own) and len({*own}) == len(own)}
            letters |= {output: own for output, (_, own) in named.items()}
            made = self.made[key] = Call(spec, sizes, lead, names, letters)
            out.extend(put_out(made, spec.equations, self.names.taken, self.declared, call.span))
        return self.made[key]

    def _arguments(self, call: s.Call, tensors: Mapping[str, Tensor]) -> tuple[str, ...]:
        spec = self.specs[call.function]
        wanted = ", ".join(i.name for i in spec.inputs)
        if len(call.arguments) != len(spec.inputs) or call.keywords:
            number = len(call.arguments) + len(call.keywords)
            message = f"{call.function} takes {len(spec.inputs)} tensors, not {number}"
            raise self.error(message, call.span, f"in this order: {call.function}({wanted})")
        found = []
        for argument, wanted_input in zip(call.arguments, spec.inputs, strict=True):
            if not isinstance(argument, s.Name) or argument.id not in tensors:
                hint = "give a name of its own to what is computed: an equation before this one"
                raise self.error("an argument of a spec is the name of a whole tensor", argument.span, hint)
            kind = tensors[argument.id].kind
            if (wanted_input.index is not None) != (kind == INTEGER):
                what = "integers" if wanted_input.index is not None else "real numbers"
                message = f"'{wanted_input.name}' of {call.function} holds {what}, and '{argument.id}' does not"
                raise self.error(message, argument.span)
            found.append(argument.id)
        return tuple(found)

    def _sizes(self, call: s.Call, spec: Spec, given: list[Tensor]) -> tuple[dict[Expr, Expr], Shape]:
        """The called spec's sizes in the caller's, and the axes that its ``...`` stands for."""
        sizes: dict[Expr, Expr] = {}
        lead: Shape | None = None
        for wanted, tensor, argument in zip(spec.inputs, given, call.arguments, strict=True):
            batched = wanted.shape[:1] == (BATCH_SIZE,)
            own = wanted.shape[1:] if batched else wanted.shape
            extra = len(tensor.shape) - len(own)
            if extra < 0 or (extra and not batched):
                raise self._misfit(call, wanted.name, wanted.shape, tensor, argument.span)
            if batched:
                if lead is not None and not _same_shape(lead, tensor.shape[:extra]):
                    message = f"the leading axes {shape_text(tensor.shape[:extra])} of '{tensor.name}' are not those of"
                    raise self.error(f"{message} the argument before, {shape_text(lead)}", argument.span)
                lead = tensor.shape[:extra]
            for axis, extent in zip(own, tensor.shape[extra:], strict=True):
                if axis.is_Symbol and axis not in sizes:
                    sizes[axis] = extent
                elif not equal_sizes(axis.xreplace(sizes), extent):
                    raise self._misfit(call, wanted.name, wanted.shape, tensor, argument.span)
        return sizes, lead or ()

    def _misfit(self, call: s.Call, name: str, shape: Shape, tensor: Tensor, span: Span) -> SpecError:
        message = f"'{tensor.name}' has the shape {shape_text(tensor.shape)}"
        return self.error(f"{message}, which does not fit {name} {shape_text(shape)} of {call.function}", span)

    def _new_name(self, wanted: str, span: Span) -> str:
        """A name that nothing has yet."""
        candidates = (wanted, *(f"{wanted}_{n}" for n in range(2, CALL_LIMIT + 2)))
        name = next(c for c in candidates if self.names.role(c) is None)
        self.names.declare(name, "tensor", span)
        return name


def read_callable(
    stems: Mapping[str, Span], path: str, read: Callable[[Path], Spec], names: Namespace
) -> dict[str, Spec]:
    """The specs of the names under ``use``: beside the file, then in the catalogue."""
    found = {}
    for name, span in stems.items():
        places = [Path(path).parent / f"{name}.yaml", folder() / f"{name}.yaml"]
        place = next((p for p in places if p.is_file()), None)
        if place is None:
            known = sorted({p.stem for f in (Path(path).parent, folder()) if f.is_dir() for p in f.glob("*.yaml")})
            hint = suggestion(name, known) or "specs are looked up beside this file, then in the catalogue"
            raise names.error(f"there is no spec '{name}' to use", span, hint)
        found[name] = read(place)
    return found


def _takes_tensors(call: s.Call, tensors: Mapping[str, Tensor]) -> bool:
    return all(isinstance(a, s.Name) and a.id in tensors and tensors[a.id].shape for a in call.arguments)


def _same_shape(a: Shape, b: Shape) -> bool:
    return len(a) == len(b) and all(equal_sizes(x, y) for x, y in zip(a, b, strict=True))


def _left(left: s.Node) -> tuple[str, tuple[str, ...]]:
    """The tensor of a left side and the names of its indices."""
    return (left.tensor, _names(left.indices)) if isinstance(left, s.Access) else (to_text(left), ())


def _names(nodes: tuple[s.Node, ...]) -> tuple[str, ...]:
    """The names that stand there; ``...`` is one, and what is no name is none."""
    return tuple(s.BATCH if isinstance(n, s.Batch) else n.id if isinstance(n, s.Name) else "" for n in nodes)


def rebuilt(node: s.Node, change: Callable[[s.Node], s.Node]) -> s.Node:
    """The node with its children changed."""
    parts: dict[str, Any] = {f.name: _each(getattr(node, f.name), change) for f in fields(node)}
    return type(node)(**parts)


def _each(value: object, change: Callable[[s.Node], s.Node]) -> object:
    if isinstance(value, s.Node):
        return change(value)
    return tuple(_each(v, change) for v in value) if isinstance(value, tuple) else value


# -- the called spec's equations in the caller's words ---------------------------------------------------------------


def put_out(
    call: Call,
    equations: Iterable[Equation],
    taken: Collection[str],
    declared: Mapping[str, Expr],
    span: Span = NOWHERE,
) -> Iterator[Definition]:
    """Equations over the called spec's tensors and sizes in the caller's words.

    ``taken`` names are no letters, and those that are ``declared`` have one range everywhere.
    """
    for equation in equations:
        writer = _Rewriter(call, equation, taken, declared)
        indices = tuple(writer.places(equation.indices))
        name = call.names[equation.tensor]
        left: s.Node = s.Access(name, indices, span=span) if indices else s.Name(name, span=span)
        right = writer.write(equation.right)
        yield Definition(s.Statement(left, (right,), span=span), writer.ranges)


class _Rewriter:
    """Writes one equation of a called spec with the caller's tensors, sizes and letters."""

    def __init__(self, callee: Call, equation: Equation, taken: Collection[str], declared: Mapping[str, Expr]) -> None:
        self.callee = callee
        self.declared = declared
        self.letters: dict[str, str] = {}
        self.ranges: dict[str, Expr] = {}
        self.taken = {*taken, *FUNCTION_NAMES}
        wanted = self._wanted(equation)
        self.lead = [self._leading(n, extent, wanted) for n, extent in enumerate(callee.lead)]
        for letter in (*equation.indices, *equation.ranges):
            if letter != s.BATCH and letter not in self.letters:
                self._take(letter, wanted.get(letter, letter), equation.ranges[letter].xreplace(dict(callee.sizes)))

    def _wanted(self, equation: Equation) -> dict[str, str]:
        """The caller's letters for axes of the outputs that it names; the equation's own axes come first."""
        known = {e.tensor: e for e in self.callee.spec.equations}
        wanted: dict[str, str] = {}
        for output, letters in sorted(self.callee.letters.items(), key=lambda item: item[0] != equation.tensor):
            ranges = known[output].ranges
            axes: list[str] = []
            for index in known[output].indices:
                axes += [_batch_key(n) for n in range(len(self.callee.lead))] if index == s.BATCH else [index]
            for axis, letter in zip(axes, letters, strict=False):
                if axis not in equation.ranges or equation.ranges[axis] == ranges[axis]:
                    wanted.setdefault(axis, letter)
        return wanted

    def _take(self, key: str, wanted: str, extent: Expr) -> str:
        candidates = (wanted, *LETTERS, *(f"i{n}" for n in range(1, 99)))
        free = (c for c in candidates if c not in self.taken and c not in self.ranges)
        letter = next(c for c in free if equal_sizes(self.declared.get(c, extent), extent))
        self.letters[key] = letter
        self.ranges[letter] = extent
        return letter

    def _leading(self, place: int, extent: Expr, wanted: Mapping[str, str]) -> s.Node:
        if extent == BATCH_SIZE:
            return s.Batch()
        key = _batch_key(place)
        return s.Name(self._take(key, wanted.get(key, LETTERS[place]), extent))

    def places(self, indices: tuple[str, ...]) -> Iterator[s.Node]:
        """Index positions by name, the batch axes spelled out."""
        for index in indices:
            if index == s.BATCH:
                yield from self.lead
            else:
                yield s.Name(self.letters[index])

    def write(self, node: s.Node) -> s.Node:
        """The node in the caller's words."""
        if isinstance(node, s.Name):
            return self._name(node)
        if isinstance(node, s.Access):
            indices = (w for i in node.indices for w in (self.lead if isinstance(i, s.Batch) else [self.write(i)]))
            return s.Access(self.callee.names[node.tensor], tuple(indices), span=node.span)
        if isinstance(node, s.Binder):
            return self._binder(node)
        return rebuilt(node, self.write)

    def _name(self, node: s.Name) -> s.Node:
        if node.id in self.letters:
            return s.Name(self.letters[node.id], span=node.span)
        if node.id in self.callee.names:
            return s.Name(self.callee.names[node.id], span=node.span)
        if node.id in self.callee.spec.constants:
            return _number(self.callee.spec.constants[node.id])
        known = {str(symbol): extent for symbol, extent in self.callee.sizes.items()}
        return size_syntax(known[node.id]) if node.id in known else node

    def _binder(self, node: s.Binder) -> s.Node:
        indices: list[str] = []
        for index in node.indices:
            if index == s.BATCH:
                indices += [s.BATCH if isinstance(i, s.Batch) else i.id for i in self.lead]  # type: ignore[attr-defined]
            else:
                indices.append(self.letters[index])
        body = self.write(node.body)
        if not indices:
            return body  # over no axes at all
        condition = None if node.condition is None else self.write(node.condition)
        more = tuple(self.write(e) for e in node.more)
        return s.Binder(node.op, tuple(indices), condition, body, more, span=node.span)


def _batch_key(place: int) -> str:
    return f"{s.BATCH}{place}"


def _number(value: Fraction) -> s.Node:
    number = s.Number(abs(value))
    return number if value >= 0 else s.Unary("-", number)
