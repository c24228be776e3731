"""Plans as typed functions of tensors, which do no work for results that nobody asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sympy import Symbol

from symderive.emit.module import Body, signature
from symderive.emit.printer import BATCH_SIZE, IDENTIFIERS, size_identifier
from symderive.emit.share import Sharer, is_trivial
from symderive.emit.statements import WIDTH, Writer, comment, wrapped
from symderive.emit.torch import TorchPrinter
from symderive.lower import plan as p

STEP = " " * 4


@dataclass
class GuardedWriter(Writer):
    """Writes each assignment under the condition that one of the results that it serves is wanted."""

    flags: Mapping[str, str] = field(default_factory=dict)
    """The name of the condition of each output; empty where all are always wanted."""
    fresh: frozenset[str] = frozenset()
    """Assignments that must not be a view of an input: they are copied where they would be."""
    owned: frozenset[str] = frozenset()
    """Results of a Function's forward: forward mode wants a view among them laid out as its tangent is."""
    kept: frozenset[str] = frozenset()
    """Inputs of a Function that it saves, which it must not give back as they are."""
    given_back: set[str] = field(default_factory=set)

    def lines(self) -> list[str]:
        """The lines of all assignments, those under one condition together."""
        groups = Sharer(self.plan, self.namer, self._named).groups()
        assigns = [a for g in groups for a in g.assigns]
        serves = _serves(assigns, self.plan.outputs)
        lines: list[str] = []
        last = ""
        for group in groups:
            shown = list(comment(group.comment, WIDTH - self.indent)) if group.comment else []
            for assign in group.assigns:
                condition = self._condition(serves[assign.name])
                if condition and condition != last:
                    lines += when("if", condition, WIDTH - 4)
                lines += [STEP + line if condition else line for line in (*shown, *self._lines(assign))]
                last, shown = condition, []
        return lines

    def _lines(self, assign: p.Assign) -> Iterator[str]:
        for part in self._fitting(assign):
            lines = list(self._assignment(part))
            if part.name in self.fresh and may_alias(part.value):
                lines.append(f"{self.printer.name(part.name)} = {self.printer.name(part.name)}.clone()")
            elif part.name in self.owned and isinstance(part.value, p.Permute | p.Slice | p.ConvWeight):
                lines.append(f"{self.printer.name(part.name)} = {self.printer.name(part.name)}.contiguous()")
            elif part.name in self.owned and isinstance(part.value, p.Ref) and self._is_taken(part.value.name):
                statement = f"{self.printer.name(part.name)} = {self.printer.name(part.value.name)}"
                lines = [line.replace(statement, f"{statement}.clone()") for line in lines]
            yield from lines

    def _is_taken(self, name: str) -> bool:
        """Whether a result must not be this tensor itself: it is saved, or another result."""
        taken = name in self.kept or name in self.plan.outputs or name in self.given_back
        self.given_back.add(name)
        return taken

    def _condition(self, outputs: set[str]) -> str:
        if not self.flags or outputs >= self.flags.keys():
            return ""
        return " or ".join(self.flags[o] for o in self.flags if o in outputs)


def may_alias(node: p.Node) -> bool:
    """Whether the value may share memory with an input: a name, or a view of one."""
    while isinstance(node, p.Reshape | p.Permute | p.Expand | p.Slice | p.Unfold | p.Diagonal | p.BroadcastTo):
        node = node.value
    return is_trivial(node) and not isinstance(node, p.Scalar)


def _serves(assigns: Sequence[p.Assign], outputs: Iterable[str]) -> dict[str, set[str]]:
    """For every assignment the outputs that it is computed for."""
    found: dict[str, set[str]] = {a.name: set() for a in assigns}
    for output in outputs:
        found.setdefault(output, set()).add(output)
    for assign in reversed(assigns):
        for node in p.walk(assign.value):
            if isinstance(node, p.Ref) and node.name in found:
                found[node.name] |= found[assign.name]
    return found


class Kernel:
    """One function: ``given`` tensors, then ``optional`` ones, of which at least one is a tensor and others None."""

    def __init__(
        self,
        plan: p.Plan,
        names: Mapping[str, str],
        given: Sequence[p.Ref],
        optional: Sequence[p.Ref] = (),
        *,
        flags: Mapping[str, str] | None = None,
        fresh: bool = False,
        returned: bool = False,
        kept: Iterable[str] = (),
    ) -> None:
        self.plan, self.names, self.flags = plan, names, dict(flags or {})
        if len(optional) == 1:
            given, optional = (*given, *optional), ()
        self.optional = tuple(optional)
        self.fresh = frozenset(plan.outputs if fresh else ())
        self.owned = frozenset(plan.outputs if returned else ())
        self.kept = frozenset(kept)
        read = {n.name for a in plan.assignments for n in p.walk(a.value) if isinstance(n, p.Ref)}
        self._write([r for r in given if r.name in read])
        lacking = self.sizes
        if lacking and len(given) > len(self.given):
            self._write(given)
            if len(self.sizes) == len(lacking):
                self._write([r for r in given if r.name in read])

    def _write(self, given: Sequence[p.Ref]) -> None:
        """The code, which reads sizes off these tensors: those that only tell sizes are needed where no other does."""
        first = [r.name for r in (*given, *self.optional) if r.kind == "real"]
        shapes = {r.name: r.shape for r in given}
        self.body = GuardedBody(
            self.plan,
            shapes,
            self.names,
            first[:1],
            flags=self.flags,
            fresh=self.fresh,
            owned=self.owned,
            kept=self.kept,
        )
        self.zeros = self._zeros(given)
        self.sizes = self.body.missing()
        """Sizes that no shape of ``given`` tells: integer parameters."""
        self.code = [*self._none(), *self.body.lines(), *self.zeros, *self.body.shown()]
        words = set(re.findall(r"\w+", "\n".join(line.partition("#")[0] for line in self.code)))
        self.given = tuple(r for r in given if self.names[r.name] in words)

    def _zeros(self, given: Sequence[p.Ref]) -> list[str]:
        """The lines that put zeros in place of optional tensors that are None."""
        lines = []
        real = [r.name for r in given if r.kind == "real"]
        like = self.names[real[0]] if real else "like"
        for ref in self.optional:
            name, extents = self.names[ref.name], self.body.printer.separate(ref.shape)
            lines += [f"if {name} is None:", f"{STEP}{name} = {like}.new_zeros({', '.join(extents)})"]
        if lines and not real:
            each = ", ".join(self.names[r.name] for r in self.optional)
            lines.insert(0, f"like = next(t for t in ({each}) if t is not None)")
        return lines

    def _none(self) -> list[str]:
        """``dx = dW = None``: what is not computed."""
        if len(self.flags) < 2:
            return []
        return nothing([self.names[o] for o in self.plan.outputs], 4)

    @property
    def parameters(self) -> list[str]:
        """The parameters with their types."""
        flags = [f"{f}: bool" for f in self.flags.values()] if len(self.flags) > 1 else []
        given = [f"{self.names[r.name]}: Tensor" for r in self.given]
        sizes = [f"{self.symbol(s)}: {size_type(self.symbol(s))}" for s in self.sizes]
        return [*flags, *given, *sizes, *(f"{self.names[r.name]}: Tensor | None" for r in self.optional)]

    def arguments(self, symbols: Mapping[Symbol, str] | None = None, **other: str) -> list[str]:
        """The arguments of a call where every tensor has its own name; ``other`` names replace some."""
        tensors = [other.get(r.name, self.names[r.name]) for r in self.given]
        flags = [other.get(f, f) for f in self.flags.values()] if len(self.flags) > 1 else []
        sizes = [(symbols or {}).get(s, self.symbol(s)) for s in self.sizes]
        return [*flags, *tensors, *sizes, *(other.get(r.name, self.names[r.name]) for r in self.optional)]

    def symbol(self, size: Symbol) -> str:
        """The identifier of a size, or of the batch extents."""
        return size_identifier(size, self.names)

    @property
    def constants(self) -> list[str]:
        """The named constants that the code mentions."""
        return [s.name for s in self.body.printer.symbols if s.name in self.plan.constants]

    def text(self, name: str, doc: str) -> str:
        """The function's text."""
        outputs = [self.names[o] for o in self.plan.outputs]
        made = [self.plan.refs[o] for o in self.plan.outputs]
        some = " | None" if len(self.flags) > 1 else ""
        returns = f"tuple[{', '.join([f'Tensor{some}'] * len(outputs))}]" if len(outputs) > 1 else "Tensor"
        shown = signature((*self.given, *self.optional), made)
        lines = [*head(name, self.parameters, returns), *docstring(doc, shown)]
        lines += [STEP + line for line in self.code]
        return "\n".join([*lines, *(STEP + line for line in listing("return", outputs, 4))])


class GuardedBody(Body):
    """The lines of a kernel; sizes that only the zeros mention are read, too."""

    def __init__(
        self,
        plan: p.Plan,
        tensors: Mapping[str, p.Shape],
        names: Mapping[str, str],
        like: Sequence[str],
        *,
        flags: Mapping[str, str],
        fresh: frozenset[str],
        owned: frozenset[str],
        kept: frozenset[str],
    ) -> None:
        self.flags = flags if len(flags) > 1 else {}
        self.fresh, self.owned, self.kept = fresh, owned, kept
        super().__init__(plan, tensors, names, TorchPrinter, like)

    def write(self, plan: p.Plan, taken: Iterable[str]) -> list[str]:
        """The statements, each under its condition."""
        from symderive.emit.share import Namer

        indent = 8 if self.flags else 4
        named = Namer(taken)
        return GuardedWriter(plan, self.printer, named, indent, self.flags, self.fresh, self.owned, self.kept).lines()

    def lines(self, also: Iterable[Symbol] = ()) -> list[str]:
        """The lines that read sizes."""
        return self.reader.lines([*self.needed(), *also])

    def shown(self) -> list[str]:
        """The statements and what they rely on."""
        return [*self.printer.prologue(), *self.statements]


def size_type(name: str) -> str:
    """The type of a size by its identifier: of the batch extents there are any number."""
    return "tuple[int, ...]" if name == IDENTIFIERS[BATCH_SIZE] else "int"


def head(name: str, parameters: Sequence[str], returns: str = "") -> list[str]:
    """``def name(x: Tensor) -> Tensor:``, one parameter a line where it is long."""
    if len(returns) > WIDTH - 12:
        returns = f"tuple[{returns.removeprefix('tuple[').partition(',')[0]}, ...]"
    arrow = f" -> {returns}" if returns else ""
    line = f"def {name}({', '.join(parameters)}){arrow}:"
    if len(line) <= WIDTH - 4:
        return [line]
    return [f"def {name}(", *(f"{STEP}{q}," for q in parameters), f"){arrow}:"]


def docstring(summary: str, *more: str, indent: str = STEP) -> list[str]:
    """A docstring: one line, or a summary and further lines."""
    first = wrapped(f'"""{summary}', WIDTH - len(indent) - 3, "", "")
    rest = [line for text in more if text for line in ("", *wrapped(text, WIDTH - len(indent), "", STEP))]
    lines = [*first, *rest, '"""'] if rest or len(first) > 1 else [f'{first[0]}"""']
    return [indent + line if line else "" for line in lines]


def unpacking(items: Sequence[str], source: str) -> list[str]:
    """``x, _ = inputs``."""
    line = f"{target(items)} = {source}"
    return [line] if len(line) <= WIDTH - 8 else ["(", *(f"{STEP}{i}," for i in items), f") = {source}"]


def listing(start: str, items: Sequence[str], indent: int) -> list[str]:
    """``return x, y``, one item a line in parentheses where that is long."""
    line = f"{start} {', '.join(items)}"
    if len(line) <= WIDTH - indent:
        return [line]
    if set(items) == {"None"}:
        return [f"{start} (None,) * {len(items)}"]
    return [f"{start} (", *(f"{STEP}{i}," for i in items), ")"]


def nothing(names: Sequence[str], indent: int) -> list[str]:
    """``x = y = None``, in several lines where that is long."""
    lines = [""]
    for name in names:
        if len(f"{lines[-1]}{name} = None") > WIDTH - indent:
            lines.append("")
        lines[-1] += f"{name} = "
    return [f"{line}None" for line in lines]


def when(start: str, test: str, width: int) -> list[str]:
    """``if test:``, over several lines where it is long."""
    if len(f"{start} {test}:") <= width:
        return [f"{start} {test}:"]
    joint = " and " if " and " in test else " or "
    first, *rest = test.split(joint)
    return [f"{start} (", f"{STEP}{first}", *(f"{STEP}{joint.strip()} {r}" for r in rest), "):"]


def target(items: Sequence[str]) -> str:
    """``x, y``, or ``(x,)``."""
    return f"({items[0]},)" if len(items) == 1 else ", ".join(items)


def assignment(target: str, function: str, arguments: Sequence[str], indent: int = 8) -> list[str]:
    """``target = function(arguments)``; ``return`` is a target, too."""
    room = WIDTH - indent
    start = f"{target} " if target == "return" else f"{target} = " if target else ""
    if len(start) > WIDTH // 2 and ", " in target:
        return [*assignment("found", function, arguments, indent), *unpacking(target.split(", "), "found")]
    line = f"{start}{function}({', '.join(arguments)})"
    if len(line) <= room:
        return [line]
    inner = f"{STEP}{', '.join(arguments)}"
    if len(inner) <= room:
        return [f"{start}{function}(", inner, ")"]
    return [f"{start}{function}(", *(f"{STEP}{a}," for a in arguments), ")"]
