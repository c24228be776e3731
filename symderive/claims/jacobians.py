"""Formulas of ``D(y[i], x[k])``, derived: the gradient of one entry of ``y``, whose place is given by class ids."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from symderive.claims.lines import Line, names_in
from symderive.claims.trees import in_letters, map_nodes, number
from symderive.claims.world import gradient_names
from symderive.spec import model, syntax

if TYPE_CHECKING:
    from symderive.algebra.derive import Formulas
    from symderive.algebra.program import Derivation

LONGEST = 500
"""Nodes of an expression beyond which a formula of a Jacobian is not looked for: a page long, nobody reads it."""

ENTRY = "entry_"
"""The entry of ``y`` as a tensor; ``entry_0`` is its place along the first axis."""


def jacobian_statement(spec: model.Spec, derivation: Derivation | Formulas, line: Line) -> syntax.Statement | None:
    """The derived formula of a claim's left side ``D(y[i], x[k])``, in its letters; None where there is none.

    ``y`` is a tensor of the forward or a gradient that has a formula, and all indices are letters.
    """
    left = line.statement.left
    letters = _letters(line)
    if letters is None or not isinstance(left, syntax.Call):
        return None
    upper, lower = left.arguments
    own = _with_gradients(spec, derivation, _name(upper)) if _name(upper) not in spec.shapes else spec
    if own is None or (_plain(_name(upper)) not in own.shapes and _name(upper) not in own.shapes):
        return None
    of = _name(upper) if _name(upper) in spec.shapes else _plain(_name(upper))
    entry = _of_entry(own, of, _name(lower))
    named = {*spec.shapes, *map(_plain, gradient_names(spec)), ENTRY}
    unnamed = {e.tensor for e in entry.equations} - named
    right = _right(entry, _name(lower), letters, unnamed)
    return None if right is None else replace(line.statement, sides=(right,))


def _letters(line: Line) -> tuple[str, ...] | None:
    """The indices of the left side, where all are letters."""
    names = tuple(i.id for i in line.indices or () if isinstance(i, syntax.Name))
    return names if len(names) == len(line.indices or ()) else None


def _name(node: syntax.Node) -> str:
    return node.tensor if isinstance(node, syntax.Access) else node.id if isinstance(node, syntax.Name) else ""


def _plain(gradient: str) -> str:
    """A gradient's name where it is a tensor like others, which has a gradient itself."""
    return f"own_{gradient}"


def _with_gradients(spec: model.Spec, derivation: Derivation | Formulas, upper: str) -> model.Spec | None:
    """The spec with the equation of a gradient, and of those it reads; upstreams are inputs."""
    from symderive.algebra.derive import spec_letters
    from symderive.algebra.unbuild import resolved

    letters = spec_letters(spec, derivation.forward)
    found: list[model.Equation] = []
    needed = {upper}
    for equation in reversed(derivation.display.equations):
        if equation.tensor in needed:
            found.insert(0, resolved(equation, letters))
            needed |= names_in(found[0].right)
    given = [n for n in spec.outputs if any(f"d{n}" in names_in(e.right) for e in found)]
    inputs = (*spec.inputs, *(model.Input(_plain(f"d{n}"), spec.shapes[n]) for n in given))
    names = {n: _plain(n) for n in (*gradient_names(spec), *(e.tensor for e in found)) if n not in spec.shapes}
    equations = [replace(e, tensor=names.get(e.tensor, e.tensor), right=renamed(e.right, names)) for e in found]
    taken = {i.name for i in inputs}
    kept = [e for e in equations if e.tensor not in taken and e.tensor not in spec.shapes]
    return replace(spec, inputs=inputs, equations=(*spec.equations, *kept), calls=())


def renamed(node: syntax.Node, names: Mapping[str, str]) -> syntax.Node:
    """The expression with tensors renamed."""

    def change(inner: syntax.Node) -> syntax.Node:
        if isinstance(inner, syntax.Access):
            return replace(inner, tensor=names.get(inner.tensor, inner.tensor))
        return replace(inner, id=names.get(inner.id, inner.id)) if isinstance(inner, syntax.Name) else inner

    return map_nodes(node, change)


def _of_entry(spec: model.Spec, upper: str, lower: str) -> model.Spec:
    """The spec whose output is one entry of ``upper``, to be differentiated by ``lower``."""
    shape = spec.shapes[upper]
    places = tuple(model.Input(f"{ENTRY}{n}", (), index=extent) for n, extent in enumerate(shape))
    right: syntax.Node = syntax.Name(upper)
    if places:
        right = syntax.Access(upper, tuple(syntax.Name(p.name) for p in places))
    equations = [e for e in spec.equations if e.tensor != lower]
    cut = () if len(equations) == len(spec.equations) else (model.Input(lower, spec.shapes[lower]),)
    entry = model.Equation(ENTRY, (), right, {})
    return replace(
        spec,
        inputs=(*spec.inputs, *cut, *places), equations=(*equations, entry), outputs=(ENTRY,), wrt=(lower,), calls=(),
    )  # fmt: skip


def _right(spec: model.Spec, lower: str, letters: tuple[str, ...], unnamed: Collection[str]) -> syntax.Node | None:
    """The derived right side in the letters of the claim, with nothing in it that a claim could not name."""
    back = {_plain(n): n for n in gradient_names(spec)}
    gradient = _in_one(spec, f"d{lower}", unnamed)
    left = gradient.left.indices if isinstance(gradient.left, syntax.Access) else ()
    ranked = len(letters) - len(left)
    if ranked < 0:
        return None
    names = {n.id: letter for n, letter in zip(left, letters[ranked:], strict=True) if isinstance(n, syntax.Name)}
    places = {f"{ENTRY}{n}": letter for n, letter in enumerate(letters[:ranked])}
    right = in_letters(gradient.right, {**names, **places}, {*spec.shapes, *spec.sizes, *spec.constants})
    return _without_ones(renamed(right, back), letters)


def _without_ones(node: syntax.Node, letters: tuple[str, ...]) -> syntax.Node:
    """The expression without the deltas of an index and itself; in the others the letters stand in order."""

    def change(inner: syntax.Node) -> syntax.Node:
        match inner:
            case syntax.Call("delta", (a, b)) if a == b:
                return number(1)
            case syntax.Call("delta", (syntax.Name(id=a), syntax.Name(id=b))) if {a, b} <= set(letters):
                pair = sorted((a, b), key=letters.index)
                return replace(inner, arguments=tuple(map(syntax.Name, pair)))
            case syntax.Binary("*", syntax.Number(value=1), other) | syntax.Binary("*", other, syntax.Number(value=1)):
                return other
        return inner

    return map_nodes(node, change)


def _in_one(spec: model.Spec, name: str, unnamed: Collection[str]) -> syntax.Statement:
    """A derived gradient in one equation, which reads no adjoint and none of the ``unnamed`` tensors.

    Raises :class:`UnsupportedError` where that is too long.
    """
    from symderive.algebra.derive import Sweep, formulas, spec_letters
    from symderive.algebra.inline import put
    from symderive.algebra.simplify import of_at_most, simplify
    from symderive.algebra.unbuild import statement

    with of_at_most(LONGEST):
        derivation = formulas(spec)
        letters = spec_letters(spec, derivation.forward)
        equation = next(e for e in derivation.display.equations if e.tensor == name)
        right = equation.right
        for helper in reversed(derivation.display.equations):
            if helper.tensor not in (name, *spec.shapes):
                right = put(right, helper)
        known = Sweep(derivation.forward, spec.wrt, letters).knowledge
        right = simplify(right, known).expression
    for helper in reversed(derivation.forward.equations):
        if helper.tensor in unnamed or helper.tensor not in spec.shapes:
            right = put(right, helper)
    return statement(replace(equation, right=right), letters)
