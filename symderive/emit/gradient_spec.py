"""The gradient of a spec as a spec: the forward that it reads, then the backward, with ``grad_x`` for ``dx``."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace

from symderive.algebra.derive import spec_letters
from symderive.algebra.program import Derivation
from symderive.algebra.readable import with_batch_count
from symderive.algebra.unbuild import resolved
from symderive.spec import model, syntax
from symderive.spec.write import spec_text

PREFIX = "grad_"


def gradient_spec(derivation: Derivation) -> str:
    """The text of the spec ``<name>_grad``, whose outputs are the gradients: it reads back and can be derived again."""
    spec = derivation.spec
    letters = spec_letters(spec, derivation.forward)
    computed = derivation.forward.shapes
    program = with_batch_count(derivation.backward, letters.taken)
    backward = [resolved(e, letters) for e in program.equations if e.tensor not in computed]
    names = _new_names(derivation, backward)
    upstreams = [model.Input(names[u], spec.shapes[o]) for u, o in zip(derivation.upstreams, spec.outputs, strict=True)]
    written = {e.tensor: e for e in spec.equations}
    given = [written.get(e.tensor) or resolved(e, letters) for e in derivation.forward.equations]
    forward = _read_by(given, backward)
    inputs = [*_kept(spec, [*forward, *backward]), *upstreams]
    return spec_text(
        f"{spec.name}_grad",
        inputs,
        [*forward, *(rename_tensors(e, names) for e in backward)],
        outputs=[names[f"d{w}"] for w in spec.wrt],
        wrt=[i.name for i in inputs if i.name in spec.wrt or i in upstreams],
        sizes=spec.sizes,
        constants=spec.constants,
        indices=spec.indices,
        title=f"Gradient of: {spec.title}" if spec.title else "",
        source=f"derived from {spec.name}",
    )


def rename_tensors(equation: model.Equation, names: Mapping[str, str]) -> model.Equation:
    """The equation with other names for some tensors."""
    right = _renamed(equation.right, names)
    assert isinstance(right, syntax.Node)
    return replace(equation, tensor=names.get(equation.tensor, equation.tensor), right=right)


def _renamed(value: object, names: Mapping[str, str]) -> object:
    if isinstance(value, tuple):
        return tuple(_renamed(v, names) for v in value)
    if not isinstance(value, syntax.Node):
        return value
    parts = {f.name: _renamed(getattr(value, f.name), names) for f in fields(value)}
    if isinstance(value, syntax.Access):
        parts["tensor"] = names.get(value.tensor, value.tensor)
    elif isinstance(value, syntax.Name):
        parts["id"] = names.get(value.id, value.id)
    return type(value)(**parts)  # type: ignore[arg-type]


def _new_names(derivation: Derivation, backward: Iterable[model.Equation]) -> dict[str, str]:
    """``dx`` becomes ``grad_x``, for the upstreams and everything that the backward defines; of a gradient, which has
    a ``grad_x`` of its own, ``grad2_x``."""
    spec = derivation.spec
    derived = [*derivation.upstreams, *(e.tensor for e in backward)]
    taken = {*spec.shapes, *derivation.forward.shapes, *spec.constants, *spec.sizes}
    names: dict[str, str] = {}
    for old in derived:
        name = old.removeprefix("d")
        candidates = itertools.chain([PREFIX + name], (f"{PREFIX[:-1]}{n}_{name}" for n in itertools.count(2)))
        names[old] = next(c for c in candidates if c not in taken)
        taken.add(names[old])
    return names


def _reads(equation: model.Equation) -> set[str]:
    parts = list(equation.right.walk())
    entries = {n.tensor for n in parts if isinstance(n, syntax.Access)}
    return entries | {n.id for n in parts if isinstance(n, syntax.Name)}


def _read_by(forward: Iterable[model.Equation], backward: Iterable[model.Equation]) -> list[model.Equation]:
    """The equations of the forward that the backward needs, directly or through others."""
    wanted = set().union(*(_reads(e) for e in backward))
    needed = []
    for equation in reversed(list(forward)):
        if equation.tensor in wanted:
            needed.append(equation)
            wanted |= _reads(equation)
    return needed[::-1]


def _kept(spec: model.Spec, equations: Iterable[model.Equation]) -> list[model.Input]:
    """The inputs that the gradient reads, and those that alone tell a size."""
    read = set().union(*(_reads(e) for e in equations))
    kept = [i for i in spec.inputs if i.name in read]
    known = {s for i in kept for n in i.shape for s in n.free_symbols}
    for given in spec.inputs:
        symbols = {s for n in given.shape for s in n.free_symbols}
        if given not in kept and not symbols <= known:
            kept.append(given)
            known |= symbols
    return sorted(kept, key=spec.inputs.index)
