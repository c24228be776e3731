"""Terms that are missing: the claim is the gradient without what flows along some paths of the forward."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from symderive.check.closures import TAG
from symderive.check.floats import FLOAT
from symderive.check.objects import floats
from symderive.claims.compare import close_in_scale
from symderive.claims.desk import SHARE, Desk, Finding
from symderive.claims.expansion import in_full
from symderive.claims.points import Point
from symderive.claims.trees import map_nodes
from symderive.claims.world import World
from symderive.spec import model, syntax
from symderive.spec.format import to_text

MOST_PATHS = 400

CUT = 10
"""What it takes to differentiate an equation of a recorded forward without some paths, in nodes of candidates."""


class Paths:
    """The forward with every occurrence of a tensor labelled, so that the flow through it can be cut."""

    def __init__(self, spec: model.Spec, points: Sequence[Point]) -> None:
        self.spec = spec
        self.places: dict[str, tuple[str, syntax.Node, str]] = {}
        self.equations = tuple(replace(e, right=self._tagged(e)) for e in spec.equations)
        self.worlds = [self._world(p) for p in points]

    def _tagged(self, equation: model.Equation) -> syntax.Node:
        integers = {i.name for i in self.spec.inputs if not i.is_real}
        tensors = set(self.spec.shapes) - integers
        bound = set(equation.ranges)

        def change(node: syntax.Node) -> syntax.Node:
            tensor = (
                node.tensor if isinstance(node, syntax.Access) else node.id if isinstance(node, syntax.Name) else ""
            )
            if tensor not in tensors or (isinstance(node, syntax.Name) and tensor in bound):
                return node
            key = str(len(self.places))
            self.places[key] = tensor, node, equation.tensor
            return syntax.Call(TAG, (node,), ((key, node),))

        def unpad(node: syntax.Node) -> syntax.Node:
            if isinstance(node, syntax.Call) and node.function == "pad" and isinstance(node.arguments[0], syntax.Call):
                tag = node.arguments[0]
                inner = replace(node, arguments=(tag.arguments[0], *node.arguments[1:]))
                return syntax.Call(TAG, (inner,), tag.keywords)
            return node

        return map_nodes(map_nodes(equation.right, change), unpad)

    def _world(self, point: Point) -> World:
        first = point.world(self.spec, FLOAT)
        return World(
            self.spec, point.sizes, first.plain_inputs, first.upstreams, FLOAT,
            constants=point.constants, equations=self.equations,
        )  # fmt: skip

    def without(self, keys: frozenset[str], tensor: str, world: World) -> np.ndarray:
        """The gradient of a tensor when nothing flows through some occurrences."""

        return floats(world.plain(world.cut(lambda label: label in keys, tensor)))

    def groups(self, tensor: str) -> Iterator[tuple[frozenset[str], str]]:
        """Sets of occurrences to cut, with words: whole intermediates, occurrences of the tensor itself, pairs."""
        of: dict[str, list[str]] = {}
        for key, (name, _, _) in self.places.items():
            of.setdefault(name, []).append(key)
        own = of.get(tensor, [])
        for count in range(1, min(len(own), 6)):
            for chosen in itertools.combinations(own, count):
                yield frozenset(chosen), self._own_words(tensor, chosen, own)
        between = [n for n in of if n != tensor and n in {e.tensor for e in self.spec.equations}]
        for count in (1, 2, 3):
            for names in itertools.combinations(between, count):
                keys = frozenset(k for n in names for k in of[n])
                yield keys, f"the dependence of {' and '.join(names)} on {tensor} is left out"
        for name in between:
            if len(of[name]) > 1:
                for key in of[name]:
                    yield frozenset([key]), f"{name} also stands in {self.places[key][2]}, and that path is left out"

    def _own_words(self, tensor: str, chosen: Sequence[str], own: Sequence[str]) -> str:
        spots = dict.fromkeys(f"{self._shown(k)} in {self.places[k][2]}" for k in chosen)
        return f"{tensor} stands in the forward {len(own)} times, and what comes from {' and '.join(spots)} is left out"

    def _shown(self, key: str) -> str:
        """An occurrence as it is written: ``sum[j](p[j])`` where that is all of a sum."""
        node = self.places[key][1]
        equation = next(e for e in self.spec.equations if e.tensor == self.places[key][2])
        sums = (n for n in equation.right.walk() if isinstance(n, syntax.Binder) and n.body == node)
        return to_text(next(sums, node))


def missing_terms(desk: Desk) -> Finding | None:
    """The paths that the claim leaves out."""
    if desk.line.role != "gradient" or desk.claimed is None or desk.vanishes:
        return None
    if any(c.shape != t.shape for c, t in zip(desk.claimed, desk.truths, strict=True)):
        return None
    if desk.line.tensor in desk.spec.outputs:
        return None
    paths, end = Paths(desk.spec, desk.points), desk.spent + SHARE
    for count, (keys, words) in enumerate(paths.groups(desk.line.tensor)):
        desk.spent += CUT * len(desk.spec.equations)
        if desk.late or count > MOST_PATHS or desk.spent > end:
            return None
        if _equals(desk, paths, keys) and _equals_everywhere(desk, keys):
            return in_full(desk) or Finding("missing_term", f"A term is missing: {words}.")
    return None


def _equals(desk: Desk, paths: Paths, keys: frozenset[str]) -> bool:
    assert desk.claimed is not None
    for world, claimed, true in zip(paths.worlds, desk.claimed, desk.truths, strict=True):
        part = paths.without(keys, desk.line.tensor, world)
        if not close_in_scale(_ordered(desk, part, claimed), claimed, 1e-9) or close_in_scale(part, true, 1e-9):
            return False
    return True


def _equals_everywhere(desk: Desk, keys: frozenset[str]) -> bool:
    """Whether the claim is the gradient without those paths at all points, and anything at all at some of them."""
    paths = Paths(desk.spec, desk.court.points.main)
    claims = [desk.value(bench, desk.node) for bench in desk.elsewhere]
    parts = (
        _ordered(desk, paths.without(keys, desk.line.tensor, w), c) for w, c in zip(paths.worlds, claims, strict=True)
    )
    return any(map(np.any, claims)) and all(map(close_in_scale, parts, claims))


def _ordered(desk: Desk, part: np.ndarray, like: np.ndarray) -> Any:
    """The gradient in the axes of the claim: batch axes flattened in index form."""
    return part.reshape(like.shape) if part.size == like.size else part
