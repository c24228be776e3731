"""Whether an expression is an extremum over what another is one of: ``m[n] - x[n, k]`` is never negative."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sympy import Expr

from symderive.claims.lines import names_in
from symderive.spec import model, syntax

_METHODS = {"max": ("max", "amax"), "min": ("min", "amin")}


def over_term(
    op: str, extremum: syntax.Node, term: syntax.Node, spec: model.Spec, redefined: Collection[str] = ()
) -> bool:
    """Whether ``extremum`` is the ``op`` of expressions of which ``term`` is one, by its text or by its equation.

    Of the tensors that are ``redefined``, the equations say nothing.
    """
    match extremum:
        case syntax.Method(value=value, name=name, keywords=keywords):
            kept = any(k in ("keepdim", "keepdims") and v == syntax.Keyword(True) for k, v in keywords)
            return name in _METHODS[op] and kept and value == term
        case syntax.Binder(op=own, condition=None) if own == op:
            return _is_term(extremum, term, {}, spec, spec.indices)
        case syntax.Access(tensor=tensor, indices=places):
            equation = next((e for e in spec.equations if e.tensor == tensor), None)
            if equation is None or len(equation.indices) != len(places):
                return False
            right = equation.right
            known = not {tensor, *names_in(right)} & set(redefined)
            if known and isinstance(right, syntax.Binder) and right.op == op and right.condition is None:
                return _is_term(right, term, dict(zip(equation.indices, places, strict=True)), spec, equation.ranges)
    return False


def _is_term(
    binder: syntax.Binder,
    term: syntax.Node,
    places: Mapping[str, syntax.Node],
    spec: model.Spec,
    ranges: Mapping[str, Expr],
) -> bool:
    """Whether a term is the body of a binder at ``places``, and at some values of the bound indices."""
    for access in (n for n in binder.body.walk() if isinstance(n, syntax.Access)):
        for axis, position in enumerate(access.indices):
            bound = names_in(position) & set(binder.indices)
            if bound and not (isinstance(position, syntax.Name) and _is_whole(position.id, access, axis, spec, ranges)):
                return False
    return _fits(binder.body, term, {**places, **dict.fromkeys(binder.indices)})


def _is_whole(index: str, access: syntax.Access, axis: int, spec: model.Spec, ranges: Mapping[str, Expr]) -> bool:
    """Whether an index runs over the whole axis of a tensor in which it stands."""
    shape = spec.shapes.get(access.tensor)
    return shape is not None and len(shape) > axis and ranges.get(index, shape[axis]) == shape[axis]


def _fits(pattern: syntax.Node, node: syntax.Node, given: dict[str, syntax.Node | None]) -> bool:
    """Whether an expression is a pattern with its indices replaced, those that are not ``given`` yet by anything."""
    if isinstance(pattern, syntax.Name) and pattern.id in given:
        if given[pattern.id] is None:
            given[pattern.id] = node
        return given[pattern.id] == node
    if not isinstance(pattern, syntax.Access | syntax.Name | syntax.Binary | syntax.Unary | syntax.Number):
        return False
    own = [[getattr(n, f, None) for f in ("tensor", "id", "op", "value")] for n in (pattern, node)]
    inside = pattern.children(), node.children()
    if type(pattern) is not type(node) or own[0] != own[1] or len(inside[0]) != len(inside[1]):
        return False
    return all(_fits(a, b, given) for a, b in zip(*inside, strict=True))
