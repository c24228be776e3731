"""What to say of a tensor that is read above its equation: it is below, or it is defined by itself, in a circle."""

from __future__ import annotations

from collections.abc import Mapping

from symderive.spec import syntax as s


def too_early(name: str, later: Mapping[str, s.Statement]) -> tuple[str, str]:
    """Why ``name`` cannot be read yet, and what to do. ``later`` are the statements to come, the present one first."""
    current = next(iter(later))
    circle = _way(name, current, later)
    if name == current:
        hint = "a recurrence is written out step by step, h1, h2, ...; a running sum is sum[k : k <= i](...)"
        return f"'{name}' is defined by itself", hint
    if circle:
        hint = "an equation reads what stands above it; solve[i, j](A[i, j], b[i]) solves linear equations"
        return f"tensors that are defined by each other: {' -> '.join((current, *circle))}", hint
    line = later[name].left.span.line
    return f"'{name}' is used before it is defined, in line {line}", "move its equation up"


def _way(name: str, goal: str, later: Mapping[str, s.Statement]) -> list[str]:
    """The fewest tensors through which ``name`` reads ``goal``, both included; empty where it does not."""
    ways = {name: [name]}
    for tensor in (waiting := [name]):
        if tensor == goal:
            return ways[tensor]
        for read in (r for side in later[tensor].sides for r in s.names(side)):
            if read in later and read not in ways:
                ways[read] = [*ways[tensor], read]
                waiting.append(read)
    return []
