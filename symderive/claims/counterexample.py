"""Counterexamples: the entry at which a claim fails, small enough to be worked out by hand."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from symderive.check.objects import shape_text
from symderive.claims.bench import Bench
from symderive.claims.compare import finite, shown
from symderive.claims.lines import ClaimError, Line
from symderive.claims.outcome import Outcome
from symderive.spec import syntax

MOST_SHOWN = 40
"""Inputs of so many numbers in all are shown."""


def counterexample(bench: Bench, line: Line, node: syntax.Node, outcome: Outcome) -> Mapping[str, Any]:
    """The entry at which a claim fails: sizes, indices, the claimed value and the true one, and small inputs."""
    point, sides = outcome.point, outcome.sides
    found: dict[str, Any] = {"sizes": _plain_sizes(point.sizes)}
    if sides is None:
        return found | _shapes(bench, line, node)
    at = outcome.wrong if outcome.wrong is not None else outcome.undefined or ()
    claimed, true = sides.claimed[at], sides.true[at]
    found |= {"indices": list(at), "claimed": _beside(claimed, true), "true": _beside(true, claimed)}
    if sum(np.size(a) for a in point.inputs.values()) <= MOST_SHOWN:
        found["inputs"] = {n: _listed(a) for n, a in point.inputs.items()}
        found["inputs"] |= {f"d{n}": _listed(a) for n, a in point.upstreams.items() if np.ndim(a)}
    return found


def _beside(one: Any, other: Any) -> float | int | str:
    """A number as it is shown beside another: what rounding has left of 0 is 0."""
    rounded = finite(one) and finite(other) and not isinstance(one, int | Fraction) and abs(one) < _ROUNDED * abs(other)
    return 0 if rounded else shown(one)


_ROUNDED = 1e-40


def _shapes(bench: Bench, line: Line, node: syntax.Node) -> dict[str, Any]:
    """For a claim of another shape, the two shapes."""
    try:
        true = shape_text(np.shape(bench.tensors.get(line.name, bench.truth(line)[0])))
    except ClaimError:
        true = "undefined"
    try:
        claimed = shape_text(bench.plain_array(node).shape) if line.indices is None else "undefined"
    except ClaimError:
        claimed = "undefined"
    return {
        "indices": [],
        "claimed": f"shape {claimed}".replace("shape undefined", "undefined"),
        "true": f"shape {true}",
    }


def _plain_sizes(sizes: Mapping[str, Any]) -> dict[str, Any]:
    return {n: list(v) if isinstance(v, tuple) else v for n, v in sizes.items()}


def _listed(a: np.ndarray) -> Any:
    values = np.vectorize(shown, otypes=[object])(a) if np.size(a) else np.asarray(a)
    return values.tolist()
