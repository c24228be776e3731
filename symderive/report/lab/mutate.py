"""A spec with a constant left out of its forward: the mistake of forgetting a half, or of a sum for a mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from typing import Any

from symderive.spec import syntax as s
from symderive.spec.model import Spec


def without_constant(spec: Spec) -> tuple[int, Spec] | None:
    """The position of the last equation with a constant factor, and the spec without that factor; None without one."""
    known = {*spec.constants, *(n for n in spec.sizes if isinstance(spec.sizes[n], int))}
    for position in reversed(range(len(spec.equations))):
        equation = spec.equations[position]
        changed, right = _rewrite(equation.right, partial(_dropped, known=known))
        if changed:
            equations = list(spec.equations)
            equations[position] = replace(equation, right=right)
            return position, replace(spec, equations=tuple(equations), reference=(), claims=(), bad_claims=())
    return None


def _dropped(node: s.Node, known: set[str]) -> s.Node | None:
    """``a`` for ``a / 2``, ``2 * a`` or ``a * scale``, and ``sum`` for ``mean``; None for anything else."""
    if isinstance(node, s.Binder) and node.op == "mean":
        return replace(node, op="sum")
    if not isinstance(node, s.Binary):
        return None
    if node.op in ("/", "*") and _is_factor(node.right, known) and not _is_factor(node.left, known):
        return node.left
    if node.op == "*" and _is_factor(node.left, known) and not _is_factor(node.right, known):
        return node.right
    return None


def _is_factor(node: s.Node, known: set[str]) -> bool:
    """Whether a node is a number other than 0 and 1, or a name of a constant or size, or made of these."""
    if isinstance(node, s.Number):
        return node.value not in (0, 1)
    if isinstance(node, s.Name):
        return node.id in known
    parts = list(node.children())
    return isinstance(node, s.Binary | s.Unary | s.Call) and bool(parts) and all(_constant(p, known) for p in parts)


def _constant(node: s.Node, known: set[str]) -> bool:
    return isinstance(node, s.Number) or _is_factor(node, known)


Drop = Callable[[s.Node], "s.Node | None"]


def _rewrite(node: s.Node, drop: Drop) -> tuple[bool, s.Node]:
    """The first change that ``drop`` makes, outermost first; index positions and exponents are left alone."""
    if (made := drop(node)) is not None:
        return True, made
    if isinstance(node, s.Access) or (isinstance(node, s.Binary) and node.op == "**"):
        return False, node
    for part in fields(node):
        value = getattr(node, part.name)
        if part.name in ("span", "condition"):
            continue
        if isinstance(value, s.Node):
            changed, made = _rewrite(value, drop)
            if changed:
                return True, _with(node, part.name, made)
        elif isinstance(value, tuple):
            for n, item in enumerate(value):
                if isinstance(item, s.Node):
                    changed, made = _rewrite(item, drop)
                    if changed:
                        return True, _with(node, part.name, (*value[:n], made, *value[n + 1 :]))
    return False, node


def _with(node: s.Node, name: str, value: Any) -> s.Node:
    changes: dict[str, Any] = {name: value}
    return replace(node, **changes)
