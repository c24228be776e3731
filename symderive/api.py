"""The pipeline as a Python interface: load a spec, derive it, look at it in any form, check it.

Nothing here imports torch before something is checked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, fields, replace
from functools import cached_property
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from symderive.algebra import program
from symderive.catalogue import spec_path
from symderive.errors import SpecError, SymderiveError
from symderive.record import record
from symderive.spec import model
from symderive.spec.format import to_text

if TYPE_CHECKING:
    from symderive.claims import ClaimResult, Diagnosis
    from symderive.emit.latex_names import Notation
    from symderive.lower.plan import Plan

__all__ = ["FORMATS", "Derivation", "Gradient", "Spec", "SymderiveError", "Verdicts", "derive", "load"]


@record
class Spec(model.Spec):
    """One op, as :func:`load` reads it: see :class:`symderive.spec.model.Spec` for what it holds."""

    def judge(self, claim: str, *, seed: int = 0) -> Verdicts:
        """Whether gradients derived by hand are right, one a line: ``spec.judge("dW = dy.T @ x").verdict``."""
        from symderive.claims import judge_text

        return Verdicts(judge_text(self, claim, seed=seed))


class Verdicts(tuple["ClaimResult", ...]):
    """One result for each side of each claim; ``verdict`` and ``diagnosis`` are of the first that is not right."""

    __slots__ = ()

    @property
    def decisive(self) -> ClaimResult | None:
        """The first result that is not right, or else the first."""
        return next((r for r in self if not r.ok), self[0] if self else None)

    @property
    def ok(self) -> bool:
        """Whether something was judged, and all of it is right."""
        return bool(self) and all(r.ok for r in self)

    @property
    def verdict(self) -> str | None:
        """``right``, ``conditional``, ``wrong`` or ``invalid``; None where it cannot be judged."""
        return self.decisive.verdict if self.decisive else None

    @property
    def diagnosis(self) -> Diagnosis | None:
        """Why it is not right."""
        return self.decisive.diagnosis if self.decisive else None

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    __repr__ = __str__


def load(path: str | PathLike[str]) -> Spec:
    """The spec in a file, or the catalogue's spec of that name. Raises ``SymderiveError`` where it cannot be used."""
    from symderive.spec import load as read

    return _own(read(spec_path(fspath(path))))


def loads(text: str, name: str | None = None) -> Spec:
    """The spec in a text."""
    from symderive.spec import loads as read

    return _own(read(text, name))


def _own(spec: model.Spec) -> Spec:
    return Spec(**{f.name: getattr(spec, f.name) for f in fields(model.Spec)})


def derive(
    spec: model.Spec | str | PathLike[str],
    *,
    wrt: tuple[str, ...] | None = None,
    order: int = 1,
    inline: bool = False,
) -> Derivation:
    """The gradients of a spec with respect to ``wrt``, by default the spec's own.

    Order 2 derives the spec of the gradients once more: a Hessian times the vector that is its upstream. Gradients go
    through a call of another spec by its own rule; ``inline`` writes the calls out, and derives all of it anew.
    """
    from symderive.algebra.derive import derive as differentiate

    spec = spec if isinstance(spec, model.Spec) else load(spec)
    spec = spec.expanded if inline else spec
    derivation = Derivation(differentiate(spec if wrt is None else with_wrt(spec, wrt)))
    for _ in range(order - 1):
        derivation = Derivation(differentiate(loads(derivation.spec_text)))
    return derivation


def with_wrt(spec: model.Spec, names: tuple[str, ...]) -> model.Spec:
    """The spec with other inputs to differentiate by, each a real input; what is said of the old ones is dropped."""
    import difflib

    real = [i.name for i in spec.inputs if i.is_real]
    for name in names:
        if name in real:
            continue
        lower = {r.lower(): r for r in real}
        near = difflib.get_close_matches(name.lower(), lower, n=1)
        known = f"did you mean {lower[near[0]]}?" if near else f"the real inputs are {', '.join(real)}"
        what = "holds no real numbers" if name in (i.name for i in spec.inputs) else "is no input"
        raise SpecError(f"cannot differentiate {spec.name} by '{name}': it {what}", hint=known)
    clash = next((n for n in names if f"d{n}" in spec.shapes), None)
    if clash is not None:
        raise SpecError(f"the gradient of {clash} would be called d{clash}, which is a tensor of {spec.name}")
    return replace(spec, wrt=tuple(dict.fromkeys(names)))


@record
class Gradient:
    """The gradient of the outputs by one input, in every form. In a notebook it displays as mathematics."""

    derivation: Derivation = field(repr=False)
    core: program.Gradient = field(repr=False)
    name: str

    @property
    def tensor(self) -> str:
        """What it is called: ``dW``."""
        return self.core.tensor

    @property
    def index(self) -> str:
        """Its equation in index form, ``dW[j, k] = sum[i](dy[i, j] * x[i, k])``."""
        return to_text(self.core.index)

    @property
    def array(self) -> str | None:
        """Its array form, ``dW = dy.T @ x``, helpers first; None where there is none."""
        return self.derivation.array_form(self.tensor)

    @property
    def shape(self) -> tuple[str, ...]:
        """Its axes, those of the input: ``("J", "K")``."""
        return shape_names(self.derivation.spec.shapes[self.name])

    @property
    def saves(self) -> tuple[str, ...]:
        """What its formulas read of the forward."""
        return self.core.saves

    @property
    def steps(self) -> tuple[program.Step, ...]:
        """The derivation, step by step."""
        return self.core.steps

    @property
    def zero(self) -> bool:
        """Whether no output depends on the input."""
        return self.core.zero

    def latex(self, form: str = "index") -> str:
        """Its LaTeX, of the ``index`` form or of the ``array`` form."""
        from symderive.emit import latex

        if form == "index":
            return latex.statement_latex(self.core.index, self.derivation.notation)
        if self.array is None:
            raise SymderiveError(f"{self.tensor} has no array form")
        return latex.array_latex(self.array, self.derivation.notation)

    def _repr_latex_(self) -> str:
        return f"$${self.latex()}$$"

    def __str__(self) -> str:
        return self.array or self.index

    def document(self) -> dict[str, Any]:
        """The gradient as JSON data."""
        from symderive.emit import latex

        notation = self.derivation.notation
        return {
            "index": self.index,
            "array": self.array,
            "latex_index": self.latex(),
            "latex_array": None if self.array is None else self.latex("array"),
            "shape": list(self.shape),
            "saves": list(self.saves),
            "steps": [
                {"rule": s.rule, "latex": latex.statement_latex(s.after, notation), "text": s.text} for s in self.steps
            ],
        }


@record
class Derivation:
    """The gradients of a spec, and every form in which they can be written."""

    core: program.Derivation = field(repr=False)

    @property
    def spec(self) -> model.Spec:
        """What was derived."""
        return self.core.spec

    @cached_property
    def gradients(self) -> Mapping[str, Gradient]:
        """The gradients, by the name of the input."""
        return {name: Gradient(self, core, name) for name, core in self.core.gradients.items()}

    @property
    def saved(self) -> tuple[str, ...]:
        """What the forward keeps for the backward."""
        return self.core.saved

    @cached_property
    def notation(self) -> Notation:
        """How names print in LaTeX."""
        from symderive.emit.latex_names import Notation

        return Notation.of_derivation(self.core)

    @cached_property
    def plans(self) -> tuple[Plan, Plan]:
        """The array operations of the forward and of the backward."""
        from symderive.lower import lower

        return lower(self.core.forward), lower(self.core.backward)

    @cached_property
    def torch(self) -> str:
        """An importable module with ``forward`` and ``backward`` in PyTorch."""
        return self._module("torch")

    @cached_property
    def numpy(self) -> str:
        """An importable module with ``forward`` and ``backward`` in NumPy."""
        return self._module("numpy")

    def _module(self, library: str) -> str:
        from symderive.emit.module import functions_module

        return functions_module(self.core, *self.plans, library)

    @property
    def array_forms(self) -> dict[str, str | None]:
        """The array form of each gradient, by the name of the input."""
        return {name: gradient.array for name, gradient in self.gradients.items()}

    def latex(self) -> str:
        """The body of a LaTeX document: forward, steps, every gradient, and the code as mathematics."""
        from symderive.emit.markdown import derivation_latex

        return derivation_latex(self.core, self.written_forms, self.torch)

    def markdown(self) -> str:
        """The same as Markdown, for a report."""
        from symderive.emit.markdown import derivation_markdown

        return derivation_markdown(self.core, self.written_forms, self.torch)

    @cached_property
    def spec_text(self) -> str:
        """The gradients as a spec, which can be read, checked and differentiated again."""
        from symderive.emit.gradient_spec import gradient_spec

        return gradient_spec(self.core)

    def equations(self) -> list[str]:
        """Every equation of the backward in index form, as formulas print it."""
        from symderive.algebra.derive import spec_letters
        from symderive.algebra.unbuild import statement

        letters = spec_letters(self.spec, self.core.forward)
        return [to_text(statement(e, letters)) for e in self.core.display.equations]

    def array_lines(self) -> list[str]:
        """Every line of the backward in array form, as formulas print it."""
        return [line for lines in self._array_lines.values() for line in lines]

    def array_form(self, tensor: str) -> str | None:
        """The lines of array form that define a tensor of the backward, helpers first."""
        lines = self._array_lines.get(tensor)
        return None if lines is None else "\n".join(lines)

    def not_said(self, tensor: str) -> str:
        """What array form cannot say of a tensor of the backward; empty where it says all of it."""
        from symderive.emit.arrays import not_said

        return not_said(self._array_plan, tensor, self._array_plan.outputs)

    @property
    def written_forms(self) -> dict[str, str]:
        """The array form of each tensor of the backward that has one, intermediate gradients included."""
        return {tensor: "\n".join(lines) for tensor, lines in self._array_lines.items()}

    @cached_property
    def _array_lines(self) -> Mapping[str, list[str]]:
        """The lines of each tensor of the backward: its own, after those of the helpers that only it needs."""
        from symderive.emit.arrays import array_forms

        plan = self._array_plan
        return {tensor: form.splitlines() for tensor, form in array_forms(plan, plan.outputs).items()}

    @cached_property
    def _array_plan(self) -> Plan:
        from symderive.lower import lower

        return lower(replace(self.core.display, outputs=tuple(e.tensor for e in self.core.display.equations)))

    def json(self) -> str:
        """The document of ``derive --format json``."""
        document = {
            "version": 1,
            "spec": self.spec.name,
            "output": self.spec.outputs[0] if len(self.spec.outputs) == 1 else list(self.spec.outputs),
            "gradients": {name: g.document() for name, g in self.gradients.items()},
            "torch": self.torch,
        }
        return json.dumps(document, indent=1, ensure_ascii=False) + "\n"

    def __iter__(self) -> Iterator[Gradient]:
        return iter(self.gradients.values())


def shape_names(shape: model.Shape) -> tuple[str, ...]:
    """The axes of a shape as a spec writes them."""
    from symderive.spec.size_text import size_text

    return tuple(size_text(axis) for axis in shape)


FORMATS: Mapping[str, Callable[[Derivation], str]] = {
    "latex": lambda d: d.latex(),
    "markdown": lambda d: d.markdown(),
    "torch": lambda d: d.torch,
    "numpy": lambda d: d.numpy,
    "spec": lambda d: d.spec_text,
    "json": lambda d: d.json(),
}
"""The forms of a derivation that are one text."""
