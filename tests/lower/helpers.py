"""Programs from text, random inputs for them, and the comparison of a plan with the naive evaluator."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from sympy import Expr

from symderive.algebra.build import build_program
from symderive.algebra.program import Program
from symderive.lower import lower
from symderive.lower.execute import execute
from symderive.lower.plan import Plan
from symderive.spec import loads
from symderive.spec.sizes import BATCH_SIZE, size

from .naive import evaluate

CATALOGUE = sorted((Path(__file__).parents[2] / "derivations").glob("*.yaml"))


def program(text: str) -> Program:
    """The forward program of a spec."""
    return build_program(loads(text))


def number(expression: Expr, sizes: Mapping[str, int]) -> int:
    return int(expression.xreplace({size(n): v for n, v in sizes.items()}))


def draw(spec, sizes: Mapping[str, int], batch: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Values for an input: class ids, truth values, or reals of the sign that it assumes."""
    shape = [n for e in spec.shape for n in (batch if e == BATCH_SIZE else (number(e, sizes),))]
    if spec.index is not None:
        return rng.integers(0, number(spec.index, sizes), shape)
    if spec.boolean:
        return rng.integers(0, 2, shape).astype(bool)
    values = rng.standard_normal(shape)
    if {"positive", "nonnegative", "unit", "simplex"} & set(spec.assume):
        values = np.abs(values) + 0.1
    if spec.triangular:
        return np.tril(values) + 2 * np.eye(values.shape[-1])
    if "unit" in spec.assume:
        values = values / (1 + values)
    if "spd" in spec.assume:
        values = values @ np.swapaxes(values, -1, -2) + np.eye(shape[-1])
    if "binary" in spec.assume or "one_hot" in spec.assume:
        values = (values > 0).astype(float)
    return values


def agree(
    source: Program,
    plan: Plan | None = None,
    sizes: Mapping[str, int] | None = None,
    batch: tuple[int, ...] = (2, 3),
    seed: int = 0,
    inputs: Mapping[str, np.ndarray] | None = None,
) -> Plan:
    """That a plan computes what the program says; returns the plan."""
    plan = lower(source) if plan is None else plan
    numbers = {n: v for n, v in (sizes or source.sizes).items() if n != "..."}
    rng = np.random.default_rng(seed)
    inputs = inputs or {i.name: draw(i, numbers, batch, rng) for i in source.inputs}
    wanted = evaluate(source, inputs, numbers, batch)
    found = execute(plan, inputs, numbers)
    for name in source.outputs:
        close(found[name], wanted[name], name)
    return plan


def close(found: np.ndarray, wanted: np.ndarray, name: str) -> None:
    assert found.shape == wanted.shape, (name, found.shape, wanted.shape)
    scale = max(1.0, float(np.max(np.abs(wanted[np.isfinite(wanted)]), initial=0.0)))
    np.testing.assert_allclose(found.astype(float), wanted, rtol=1e-9, atol=1e-11 * scale, err_msg=name)
