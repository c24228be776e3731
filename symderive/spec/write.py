"""Parts of a spec -> the text of a spec file, which reads back as the same spec."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from sympy import Expr

from symderive.spec import syntax as s
from symderive.spec.format import number_text, to_text
from symderive.spec.model import Call, Equation, Input, Shape, Spec
from symderive.spec.ranges import equal_sizes
from symderive.spec.size_text import shape_text, size_text
from symderive.spec.substitute import rename

_PLAIN = re.compile(r"[A-Za-z0-9(][^:#{}\[\],&*!|>'\"%@`\n\t\\]*[^:#{}\[\],&*!|>'\"%@`\s\\]\Z|[A-Za-z0-9]\Z")
_LETTERS = "ijklmnpqrstuvwabcefghoxyz"


def spec_text(
    name: str,
    inputs: Iterable[Input],
    equations: Iterable[Equation],
    *,
    outputs: Iterable[str] = (),
    wrt: Iterable[str] = (),
    sizes: Mapping[str, int | tuple[int, ...]] | None = None,
    constants: Mapping[str, Fraction] | None = None,
    indices: Mapping[str, Expr] | None = None,
    title: str = "",
    source: str = "",
    notes: str = "",
) -> str:
    """The text of a spec file. Ranges that reading would not infer are declared under ``indices``.

    Where one letter would need two declared ranges, the later equation gets another letter.
    """
    inputs, equations = tuple(inputs), tuple(equations)
    taken = {i.name for i in inputs} | {e.tensor for e in equations} | set(sizes or {}) | set(constants or {})
    equations, declared = declare_ranges(inputs, equations, dict(indices or {}), taken)
    lines = [f"name: {name}"]
    lines += [
        f"{key}: {_quote(text)}" for key, text in (("title", title), ("source", source), ("notes", notes)) if text
    ]
    if sizes:
        lines.append(f"sizes: {{{', '.join(_size_item(n, v) for n, v in sizes.items())}}}")
    if constants:
        lines.append(f"constants: {{{', '.join(f'{n}: {number_text(v)}' for n, v in constants.items())}}}")
    lines += ["inputs:", *(f"  {i.name}: {_input(i)}" for i in inputs)]
    if declared:
        lines.append(f"indices: {{{', '.join(f'{n}: {size_text(e)}' for n, e in declared.items())}}}")
    lines += ["forward: |", *(f"  {to_text(equation_statement(e))}" for e in equations)]
    for key, names in (("output", tuple(outputs)), ("wrt", tuple(wrt))):
        if names:
            lines.append(f"{key}: [{', '.join(names)}]")
    return "\n".join(lines) + "\n"


def forward_statements(spec: Spec) -> list[s.Statement]:
    """The forward with a call of another spec as one line for each of its outputs: ``a[i, j] = linear(x, W, b)[i, j]``.

    Of what a call computes, the outputs alone are shown: see :func:`inner_equations`.
    """
    outputs = {name: (call, o) for call in spec.calls for o, name in call.outputs.items()}
    inner = {e.tensor for e in inner_equations(spec)}
    shown = []
    for equation in spec.equations:
        if equation.tensor in outputs:
            shown.append(_call_statement(equation, *outputs[equation.tensor]))
        elif equation.tensor not in inner:
            shown.append(equation_statement(equation))
    return shown


def inner_equations(spec: Spec, read: Collection[str] | None = None) -> list[Equation]:
    """What the calls of a spec compute on the way to their outputs; of that, if told, what ``read`` needs."""
    inner = [e for call in spec.calls for e in call.equations if e.tensor not in call.outputs.values()]
    if read is None:
        return inner
    wanted = set(read)
    for equation in reversed(inner):
        if equation.tensor in wanted:
            wanted |= {n.tensor for n in equation.right.walk() if isinstance(n, s.Access)}
            wanted |= {n.id for n in equation.right.walk() if isinstance(n, s.Name)}
    return [e for e in inner if e.tensor in wanted]


def _call_statement(equation: Equation, call: Call, output: str) -> s.Statement:
    left = equation_statement(equation).left
    value: s.Node = s.Call(call.spec.name, tuple(s.Name(name) for name in call.inputs.values()))
    if len(call.spec.outputs) > 1:
        value = s.Attribute(value, output)
    return s.Statement(left, (s.Subscript(value, left.indices) if isinstance(left, s.Access) else value,))


def equation_statement(equation: Equation) -> s.Statement:
    """The equation as it is written."""
    indices = tuple(s.Batch() if i == s.BATCH else s.Name(i) for i in equation.indices)
    left = s.Access(equation.tensor, indices) if indices else s.Name(equation.tensor)
    return s.Statement(left, (equation.right,), span=equation.span)


def _quote(text: str) -> str:
    return text if _PLAIN.match(text) else json.dumps(text, ensure_ascii=False)


def _size_item(name: str, value: int | tuple[int, ...]) -> str:
    if isinstance(value, tuple):
        return f"'...': [{', '.join(map(str, value))}]"
    return f"{name}: {value}"


def _input(given: Input) -> str:
    shape = shape_text(given.shape)
    parts = []
    if given.index is not None:
        parts.append(f"index: {size_text(given.index)}")
    if given.boolean:
        parts.append("bool: true")
    if not given.grad:
        parts.append("grad: false")
    if given.range is not None:
        parts.append(f"range: [{', '.join(number_text(v) for v in given.range)}]")
    if given.assume:
        parts.append(f"assume: [{', '.join(given.assume)}]")
    return f"{{{', '.join([f'shape: {shape}', *parts])}}}" if parts else shape


# -- ranges ----------------------------------------------------------------------------------------------------


def declare_ranges(
    inputs: Iterable[Input], equations: Iterable[Equation], declared: dict[str, Expr], taken: set[str]
) -> tuple[tuple[Equation, ...], dict[str, Expr]]:
    """The equations, some with other letters, and the ranges to declare so that reading finds the same ranges."""
    equations = tuple(equations)
    shapes = {i.name: i.shape for i in inputs} | {e.tensor: e.shape for e in equations}
    letters = {i for e in equations for i in e.ranges} | set(declared)
    done: list[Equation] = []
    missing: dict[str, Expr] = {}
    everywhere: dict[str, list[Expr]] = {}
    for equation in equations:
        for index, extent in equation.ranges.items():
            everywhere.setdefault(index, []).append(extent)
    for equation in equations:
        renamed: dict[str, str] = {}
        for index, extent in equation.ranges.items():
            if index == s.BATCH or _infers(equation, index, extent, shapes, declared):
                continue
            if all(equal_sizes(extent, other) for other in everywhere[index]) and index not in declared:
                missing[index] = extent
                continue
            used = {*equation.ranges, *renamed.values()}
            fresh = next((n for n, e in missing.items() if equal_sizes(e, extent) and n not in used), None)
            fresh = fresh or next(c for c in _names() if c not in letters and c not in taken)
            letters.add(fresh)
            missing[fresh] = extent
            renamed[index] = fresh
        done.append(rename_indices(equation, renamed) if renamed else equation)
    return tuple(done), {**declared, **missing}


def _names() -> Iterator[str]:
    yield from _LETTERS
    number = 1
    while True:
        yield f"i{number}"
        number += 1


def _infers(
    equation: Equation, index: str, extent: Expr, shapes: Mapping[str, Shape], declared: Mapping[str, Expr]
) -> bool:
    """Whether reading the equation gives ``index`` this extent without a declaration of its own."""
    if index in declared:
        return equal_sizes(declared[index], extent)
    padded = {id(n.arguments[0]) for n in equation.right.walk() if isinstance(n, s.Call) and n.function == "pad"}
    uses: dict[bool, list[Expr]] = {True: [], False: []}
    for node in equation.right.walk():
        if isinstance(node, s.Access) and node.tensor in shapes:
            for position, axis in zip(node.indices, shapes[node.tensor], strict=False):
                if isinstance(position, s.Name) and position.id == index:
                    uses[id(node) in padded].append(axis)
    found = uses[False] or uses[True]
    return bool(found) and all(equal_sizes(f, extent) for f in found)


def rename_indices(equation: Equation, letters: Mapping[str, str]) -> Equation:
    """The equation with other letters for some of its indices."""
    return replace(
        equation,
        indices=tuple(letters.get(i, i) for i in equation.indices),
        right=rename(equation.right, letters),
        ranges={letters.get(i, i): e for i, e in equation.ranges.items()},
    )
