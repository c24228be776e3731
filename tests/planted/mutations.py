"""Gradients that are wrong on purpose: a plan's backward, changed in the ways in which people get it wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from sympy import Integer, Rational

from symderive.check import sample
from symderive.check.ops import load_text
from symderive.check.subject import Subject
from symderive.emit.module import functions_module
from symderive.errors import SymderiveError
from symderive.lower import plan as p
from symderive.lower import shapes
from symderive.lower.execute import execute

Change = Callable[[p.Node], "Iterator[p.Node]"]


def sign(node):
    """Minus where there is none."""
    if node.kind == "real" and node.shape:
        yield p.Map("neg", (node,))


def factor(node):
    """A factor 1.001."""
    if node.kind == "real" and node.shape:
        yield p.Map("mul", (node, p.Scalar(Rational(1001, 1000))))


def dropped_term(node):
    """One of two terms."""
    if isinstance(node, p.Map) and node.function in ("add", "sub"):
        for term in node.args:
            if not isinstance(term, p.Scalar) and shapes.same_shape(term.shape, node.shape):
                yield term


def transposed(node):
    """The last two axes the other way round."""
    if node.kind == "real" and len(shapes.plain(node.shape)) >= 2 and not isinstance(node, p.Permute):
        rest = tuple(range(-len(shapes.plain(node.shape)), -2))
        yield p.Permute(node, (*rest, -1, -2))


def missing_sum(node):
    """The terms of a sum unsummed, or the first alone."""
    if isinstance(node, p.Reduce) and node.op in ("sum", "mean"):
        if node.keepdim:
            yield p.BroadcastTo(node.value, node.value.shape)
        plain = shapes.plain(node.value.shape)
        if all(a >= -len(plain) for a in node.axes):
            items = [p.At(Integer(0)) if n - len(plain) in node.axes else None for n in range(len(plain))]
            first = p.Slice(node.value, tuple(items))
            yield p.Expand(first, tuple(sorted(node.axes))) if node.keepdim else first


def other_index(node):
    """Each entry in the place of its neighbour."""
    if node.kind == "real" and shapes.plain(node.shape) and not isinstance(node, p.Roll):
        yield p.Roll(node, Integer(1), -1)


CHANGES: dict[str, Change] = {
    "sign": sign,
    "factor": factor,
    "dropped term": dropped_term,
    "transposed": transposed,
    "missing sum": missing_sum,
    "other index": other_index,
}


@dataclass(frozen=True)
class Mutant:
    """A backward with one change, in the assignment of that name."""

    change: str
    at: str
    plan: p.Plan

    def subject(self, subject: Subject) -> Subject:
        """The subject with the code of this backward; its truth and its bounds stay those of the right one."""
        text = functions_module(subject.derivation, subject.forward, self.plan)
        return replace(subject, op=load_text(text, f"{subject.spec.name}_mutant"), memory={})


def mutants(plan: p.Plan, changes: dict[str, Change] = CHANGES) -> Iterator[Mutant]:
    """Every change at every place of every assignment, where it makes a plan."""
    for number, assign in enumerate(plan.assignments):
        for name, change in changes.items():
            for value in _changed(assign.value, change):
                lines = (*plan.assignments[:number], replace(assign, value=value), *plan.assignments[number + 1 :])
                try:
                    yield Mutant(name, assign.name, replace(plan, assignments=_consistent(lines)))
                except SymderiveError:
                    continue


def _changed(node: p.Node, change: Change) -> Iterator[p.Node]:
    """``node`` with the change at one place, itself or one below it."""
    try:
        yield from change(node)
    except SymderiveError:
        return
    for child in dict.fromkeys(p.children(node)):
        for new in _changed(child, change):
            try:
                yield p.rebuild(node, lambda c, old=child, new=new: new if c is old else c)
            except SymderiveError:
                continue


def _consistent(lines):
    """The lines with references in the shapes that their assignments have now."""
    known: dict[str, p.Node] = {}
    fixed = []
    for line in lines:

        def fix(node):
            if isinstance(node, p.Ref) and node.name in known:
                return known[node.name]
            return p.rebuild(node, fix)

        fixed.append(replace(line, value=fix(line.value)))
        known[line.name] = fixed[-1].ref
    return tuple(fixed)


def is_equal(subject: Subject, plan: p.Plan, sizes) -> bool:
    """Whether a changed backward computes the same gradients, which can be (a sum over what is symmetric, say)."""
    rng = np.random.default_rng(5)
    for _ in range(3):
        point = sample.draw_inputs(subject.spec, sizes, sample.Draw(rng))
        upstreams = sample.draw_upstreams(subject.spec, sizes, sample.Draw(rng))
        extents = {k: v for k, v in sizes.items() if isinstance(v, int)}
        with np.errstate(all="ignore"):
            forward = {**point, **upstreams, **execute(subject.forward, point, extents)}
            try:
                got = [execute(b, forward, extents) for b in (subject.backward, plan)]
            except Exception:
                return False
        for name in subject.gradients:
            if got[0][name].shape != got[1][name].shape or not np.allclose(
                *(g[name] for g in got), rtol=1e-9, atol=1e-12
            ):
                return False
    return True
