"""Putting expressions in place of names in a syntax tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from symderive.spec import syntax as s


def substitute(node: s.Node, values: Mapping[str, s.Node]) -> s.Node:
    """``node`` with the expressions in place of the names. Indices that binders of ``node`` bind are not looked at:
    the caller sees to it that none of them is among the names or in the values."""
    result = _substituted(node, values)
    assert isinstance(result, s.Node)
    return result


def _substituted(value: object, values: Mapping[str, s.Node]) -> object:
    if isinstance(value, s.Name):
        return values.get(value.id, value)
    if isinstance(value, tuple):
        return tuple(_substituted(v, values) for v in value)
    if isinstance(value, s.Node):
        parts: dict[str, Any] = {f.name: _substituted(getattr(value, f.name), values) for f in fields(value)}
        return type(value)(**parts)
    return value


def rename(node: s.Node, letters: Mapping[str, str]) -> s.Node:
    """``node`` with other letters for some indices, also where a binder binds them."""
    result = _renamed(node, letters)
    assert isinstance(result, s.Node)
    return result


def _renamed(value: object, letters: Mapping[str, str]) -> object:
    if isinstance(value, s.Name):
        return replace(value, id=letters.get(value.id, value.id))
    if isinstance(value, tuple):
        return tuple(_renamed(v, letters) for v in value)
    if isinstance(value, s.Node):
        parts: dict[str, Any] = {f.name: _renamed(getattr(value, f.name), letters) for f in fields(value)}
        if isinstance(value, s.Binder):
            parts["indices"] = tuple(letters.get(i, i) for i in value.indices)
        return type(value)(**parts)
    return value


def replace_node(node: s.Node, old: s.Node, new: s.Node) -> s.Node:
    """``node`` with ``new`` in place of every part that equals ``old``."""
    result = _replaced(node, old, new)
    assert isinstance(result, s.Node)
    return result


def _replaced(value: object, old: s.Node, new: s.Node) -> object:
    if value == old:
        return new
    if isinstance(value, tuple):
        return tuple(_replaced(v, old, new) for v in value)
    if isinstance(value, s.Node):
        parts: dict[str, Any] = {f.name: _replaced(getattr(value, f.name), old, new) for f in fields(value)}
        return type(value)(**parts)
    return value
