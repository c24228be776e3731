"""What an emitted op may be off by: the running error analyses of its plans, each given what the one before gave."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from symderive.check.bounds import Analysis, analyse
from symderive.check.rounding import ARITHMETIC
from symderive.check.uncertain import Uncertain
from symderive.emit.autograd_op import KernelSet
from symderive.lower import plan as p
from symderive.lower import sizes

Values = Mapping[str, Uncertain]


class OpBounds:
    """The values with errors of an op's outputs and derivatives at one point, in ``dtype``.

    ``touched`` are the kinks that rounding could cross there.
    """

    def __init__(self, kernels: KernelSet, inputs: Values, dtype: str) -> None:
        self.kernels, self.dtype, self.inputs = kernels, dtype, inputs
        self.op, self.spec = kernels.op, kernels.op.spec
        self.touched: list[str] = []
        shapes = {i.name: i.shape for i in self.spec.inputs}
        self.sizes = sizes.values(shapes, {n: u.shape for n, u in inputs.items()})
        self.extents = {("..." if s == sizes.BATCH_SIZE else s.name): v for s, v in self.sizes.items()}
        self.known: Values = inputs
        self.known = {**inputs, **self._run("forward", inputs, self.spec.wrt).tensors}

    @property
    def outputs(self) -> dict[str, Uncertain]:
        """The outputs."""
        return {o: self.known[o] for o in self.spec.outputs}

    @property
    def real(self) -> tuple[str, ...]:
        """The outputs that have gradients."""
        return tuple(o for o in self.spec.outputs if o in self.kernels.moving)

    def gradients(self, ups: Values) -> dict[str, Uncertain]:
        """``dx`` of every differentiated input, from upstreams by the names of the outputs; others are 0."""
        made = self._run("backward", {**self.known, **{f"d{o}": u for o, u in ups.items()}})
        return {w: made.tensors[f"d{w}"] for w in self.spec.wrt}

    def tangents(self, directions: Values) -> dict[str, Uncertain]:
        """How outputs and what is carried move with the inputs; inputs without a direction stay."""
        names = self.op.tangents.names
        made = self._run("tangents", {**self.known, **{names[w]: u for w, u in directions.items()}})
        return {o: made.tensors[names[o]] for o in self.kernels.moving}

    def second(self, ups: Values, seeds: Values, again: float = 0.0) -> dict[str, Uncertain]:
        """The gradients of ``sum seed * dx`` by the inputs. Upstreams may themselves be ``again`` times the outputs."""
        renamed = self.op.renamed
        gradients = {f"d{w}": u for w, u in self.gradients(ups).items()}
        own = {renamed[n]: u for n, u in {**self._upstreams(ups), **gradients}.items() if n in renamed}
        known = {**self.known, **own, **{f"d{renamed[f'd{w}']}": u for w, u in seeds.items()}}
        made = self._run("second", known).tensors if self.plan("second").outputs else {}
        given: dict[str, Uncertain] = {o: made[o] for o in self.plan("second").outputs}
        parts = {w: [given[f"d{w}"]] if f"d{w}" in given else [] for w in self.spec.wrt}
        for o in self.real if again else ():
            if (own_gradient := f"d{renamed[f'd{o}']}") in given:
                given[f"d{o}"] = self._sum(_scaled(given[own_gradient], again), given.get(f"d{o}"))
        for key, names in (("backward", self.spec.outputs), ("through", self.op.carried)):
            reached = {f"d{n}": given[f"d{n}"] for n in names if f"d{n}" in given}
            if not reached or (key == "through" and self.kernels.through is None):
                continue
            found = self._run(key, {**self.known, **reached}).tensors
            for w in self.spec.wrt:
                parts[w] += [found[f"d{w}"]] if f"d{w}" in self.plan(key).outputs else []
        return {w: self._total(terms, self.inputs[w].shape) for w, terms in parts.items()}

    def gradient_tangents(self, ups: Values, directions: Values, again: float) -> dict[str, Uncertain]:
        """How the gradients move with the inputs, where the upstreams move ``again`` times as the outputs do."""
        renamed, found = self.op.renamed, self.op.backward_tangents
        moved = self.tangents(directions)
        own = {renamed[n]: u for n, u in self._upstreams(ups).items() if n in renamed}
        rates = {**directions, **moved, **{renamed[f"d{o}"]: _scaled(moved[o], again) for o in self.real}}
        given = {found.names[n]: u for n, u in rates.items() if n in found.names}
        made = self._run("backward_tangents", {**self.known, **own, **given}).tensors
        names = {w: found.names.get(renamed[f"d{w}"], "") for w in self.spec.wrt}
        zeros = {w: Uncertain.exact(np.zeros(self.inputs[w].shape)) for w in self.spec.wrt}
        return {w: made.get(n, zeros[w]) for w, n in names.items()}

    def plan(self, key: str) -> p.Plan:
        """A plan of the emitted module."""
        plan = self.kernels.plans[key]
        assert plan is not None
        return plan

    def _upstreams(self, ups: Values) -> dict[str, Uncertain]:
        zeros = {o: Uncertain.exact(np.zeros(self.known[o].shape)) for o in self.spec.outputs}
        return {f"d{o}": ups.get(o, zeros[o]) for o in self.spec.outputs}

    def _run(self, key: str, known: Values, active: tuple[str, ...] = ()) -> Analysis:
        """The analysis of one plan; upstreams, seeds and directions that are not known are 0."""
        plan = self.plan(key)
        given = {r.name: known[r.name] if r.name in known else self._zeros(r) for r in plan.inputs}
        made = analyse(plan, given, self.dtype, self.extents, active)
        self.touched += made.touched
        return made

    def _zeros(self, ref: p.Ref) -> Uncertain:
        """Zeros of a shape that the sizes tell."""
        numbers = {n: v for n, v in self.sizes.items() if isinstance(v, int)}
        found: list[int] = []
        for extent in ref.shape:
            batch = self.sizes.get(extent)
            found += batch if isinstance(batch, tuple) else [int(extent.xreplace(numbers))]
        return Uncertain.exact(np.zeros(found))

    def _sum(self, first: Uncertain, other: Uncertain | None) -> Uncertain:
        return first if other is None else self._total([first, other], first.shape)

    def _total(self, terms: list[Uncertain], shape: tuple[int, ...]) -> Uncertain:
        unit = ARITHMETIC[self.dtype].unit
        value = sum((t.value for t in terms), np.zeros(shape))
        largest = sum((np.abs(t.value) + t.error for t in terms), np.zeros(shape))
        return Uncertain(value, sum((t.error for t in terms), np.zeros(shape)) + len(terms) * unit * largest)


def _scaled(value: Uncertain, factor: float) -> Uncertain:
    """The value times a power of 2."""
    return Uncertain(value.value * factor, value.error * abs(factor))
