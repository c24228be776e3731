"""Specs that call a catalogue spec: each of its free real inputs is computed first, and its outputs are used after."""

from __future__ import annotations

import string

from symderive.spec import load, loads
from symderive.spec.size_text import shape_text, size_text
from symderive.spec.sizes import BATCH_SIZE


def caller(path):
    """A spec that calls the spec in a file on inputs that it scales, and weighs its outputs."""
    spec = load(path)
    lines, arguments, inputs = [], [], []
    for given in spec.inputs:
        inputs.append(f"  {given.name}: {_declared(given)}")
        free = given.is_real and given.grad and not given.assume
        arguments.append(f"{given.name}_in" if free else given.name)
        if free:
            own = _letters(given.shape)
            lines.append(f"{_entry(arguments[-1], own)} = 3 * {_entry(given.name, own)} / 2")
    call = f"{spec.name}({', '.join(arguments)})"
    results = []
    for number, output in enumerate(spec.outputs):
        own = _letters(spec.shapes[output])
        read = call if len(spec.outputs) == 1 else f"{call}.{output}"
        bracket = f"[{', '.join(own)}]" if own else ""
        results.append(f"result{number}")
        lines.append(f"{_entry(results[-1], own)} = sin({read}{bracket} / 3)")
    sizes = ", ".join(f"'{n}': {list(v) if isinstance(v, tuple) else v}" for n, v in spec.sizes.items())
    constants = ", ".join(f"{n}: {v}" for n, v in spec.constants.items())
    text = (
        f"name: caller\nsizes: {{{sizes}}}\nconstants: {{{constants}}}\nuse: [{spec.name}]\ninputs:\n"
        + "\n".join(inputs)
        + "\nforward: |\n"
        + "".join(f"  {line}\n" for line in lines)
        + f"output: [{', '.join(results)}]\n"
    )
    return loads(text, "caller", str(path.parent / "caller.yaml"))


def _declared(given):
    said = [f"shape: {shape_text(given.shape)}"]
    said += ["grad: false"] if not given.grad else []
    said += [f"index: {size_text(given.index)}"] if given.index is not None else []
    said += ["bool: true"] if given.boolean else []
    said += [f"range: [{given.range[0]}, {given.range[1]}]"] if given.range else []
    said += [f"assume: [{', '.join(given.assume)}]"] if given.assume else []
    return f"{{{', '.join(said)}}}"


def _letters(shape):
    letters = [2 * letter for letter in string.ascii_lowercase]
    return ["..." if extent == BATCH_SIZE else letter for extent, letter in zip(shape, letters, strict=False)]


def _entry(name, letters):
    return f"{name}[{', '.join(letters)}]" if letters else name
