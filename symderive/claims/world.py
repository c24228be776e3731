"""A point at which claims are judged: sizes, inputs, an upstream, and everything true that follows from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from symderive.check.exact import EXACT
from symderive.check.grid_numbers import numbers_over
from symderive.check.numbers import Domain
from symderive.check.objects import floats, from_list, objects
from symderive.check.oracle import batch_extents, shape_of
from symderive.claims.records import Record, Setting
from symderive.claims.tape import Tape
from symderive.spec import model, syntax

if TYPE_CHECKING:
    from symderive.claims.stacks import Stack

Sizes = Mapping[str, "int | tuple[int, ...]"]


def gradient_names(spec: model.Spec) -> Mapping[str, str]:
    """What ``d<name>`` and ``d<name>_total`` stand for: the tensor. A tensor of the forward of that name goes first."""
    known: Mapping[str, str] | None = spec.__dict__.get("gradient_names")
    if known is None:
        tensors = spec.shapes
        integers = {i.name for i in spec.inputs if not i.is_real}
        real = [n for n in tensors if n not in integers]
        names = {f"d{n}": n for n in real} | {f"d{n}_total": n for n in real}
        known = spec.__dict__["gradient_names"] = {n: of for n, of in names.items() if n not in tensors}
    return known


def shape_named(spec: model.Spec, name: str) -> model.Shape | None:
    """The shape of a tensor, or of that of which a name is the gradient; None where it is neither."""
    return spec.shapes.get(gradient_names(spec).get(name, name))


def sole_scalar(spec: model.Spec) -> bool:
    """Whether the only output is a scalar, whose upstream formulas write as 1."""
    return len(spec.outputs) == 1 and not spec.shapes[spec.outputs[0]]


def with_input(spec: model.Spec, name: str) -> model.Spec:
    """The spec with one of its tensors as an input."""
    if name in {i.name for i in spec.inputs}:
        return spec
    equations = tuple(e for e in spec.equations if e.tensor != name)
    return replace(spec, inputs=(*spec.inputs, model.Input(name, spec.shapes[name])), equations=equations, calls=())


class Arrays(dict[str, Any]):
    """Arrays by name; one that is given as a function is made when it is first asked for."""

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(name)
        if callable(value):
            value = self[name] = value()
        return value

    def get(self, name: str, default: Any = None) -> Any:
        """The array of that name, or the default."""
        try:
            return self[name]
        except KeyError:
            return default


class World:
    """The values of all tensors and all gradients at one point, in the numbers of ``base``.

    ``inputs`` and ``upstreams`` (by output) are plain numbers. With ``twice`` the gradients can themselves be
    differentiated. ``equations`` replace those of the spec.
    """

    def __init__(
        self,
        spec: model.Spec,
        sizes: Sizes,
        inputs: Mapping[str, np.ndarray],
        upstreams: Mapping[str, np.ndarray],
        base: Domain = EXACT,
        *,
        constants: Mapping[str, Fraction] | None = None,
        twice: bool = False,
        equations: Sequence[model.Equation] | None = None,
    ) -> None:
        self.spec = spec
        self.sizes = sizes
        self.plain_inputs = inputs
        self.upstreams = upstreams
        self.constants = dict(spec.constants if constants is None else constants)
        self.numbers = base
        self.base: Domain = Tape(base) if twice else base
        self.equations = spec.equations if equations is None else tuple(equations)
        self.stacked: tuple[Stack, int] | None = None
        """Where values and gradients were computed with those of other points."""

    @cached_property
    def setting(self) -> Setting:
        """The forward at this point."""
        real = {i.name for i in self.spec.inputs if i.is_real}
        return Setting(self.equations, self.plain_inputs, real, self.sizes, self.base, self.constants)

    @cached_property
    def record(self) -> Record:
        """The forward, recorded."""
        return Record(self.setting)

    @cached_property
    def forward(self) -> Record:
        """The forward alone, which is computed faster where no gradient is asked for."""
        return self.record if isinstance(self.base, Tape) else Record(self.setting, recorded=False)

    @property
    def batch(self) -> int:
        """The number of batch axes."""
        return len(batch_extents(self.sizes))

    @cached_property
    def values(self) -> Arrays:
        """Every tensor in the numbers of the base."""
        names = [*self.plain_inputs, *(e.tensor for e in self.equations)]
        return Arrays({name: partial(self._value, name) for name in names})

    @cached_property
    def _gradient(self) -> Callable[[str], np.ndarray]:
        return self.record.sweep(self.upstreams)

    def gradient(self, tensor: str) -> np.ndarray:
        """The gradient of the outputs with respect to a tensor, in its shape."""
        found = None if self.stacked is None else self.stacked[0].gradient(tensor, self.stacked[1])
        return self._gradient(tensor) if found is None else found

    def named(self, name: str, tensor: str) -> np.ndarray:
        """The gradient of a tensor by its name, ``d<name>`` or ``d<name>_total``: the upstream, or what accumulated."""
        if tensor in self.spec.outputs and name == f"d{tensor}":
            return objects(self.upstreams[tensor])
        return self.gradient(tensor)

    def cut(self, cut: Callable[[Any], bool], tensor: str) -> np.ndarray:
        """The gradient without what flows through the recorded numbers or arrays whose label ``cut`` holds for."""
        return self.record.sweep(self.upstreams, lambda node: cut(node.label))(tensor)

    @property
    def known(self) -> Arrays:
        """Everything that a claim may name: tensors and true gradients."""
        found: dict[str, Any] = {n: partial(self.named, n, of) for n, of in gradient_names(self.spec).items()}
        made = {e.tensor for e in self.equations}
        for name in self.spec.shapes:
            given = name not in made and not isinstance(self.base, Tape)
            found[name] = partial(self._given if given else self._value, name)
        return Arrays(found | {n: partial(self._value, n) for n in made})

    def _value(self, name: str) -> np.ndarray:
        if self.stacked is not None and (found := self.stacked[0].value(name, self.stacked[1])) is not None:
            return found
        return (self.record if "record" in self.__dict__ else self.forward).value(name)

    def _given(self, name: str) -> np.ndarray:
        """An input, for which nothing has to be computed."""
        return numbers_over(self.base).array(self.plain_inputs[name])

    @cached_property
    def twin(self) -> World:
        """The same world, made so that gradients can be differentiated: slower, and seldom needed."""
        return World(
            self.spec, self.sizes, self.plain_inputs, self.upstreams, self.numbers,
            constants=self.constants, twice=True, equations=self.equations,
        )  # fmt: skip

    def derivatives(self, numerator: str, denominator: str) -> np.ndarray:
        """The derivatives of each entry of a tensor of the forward by each entry of another."""
        found = None if self.stacked is None else self.stacked[0].derivatives(numerator, denominator, self.stacked[1])
        return self.record.derivatives(numerator, denominator) if found is None else found

    def second(self, gradient: str, denominator: str) -> np.ndarray | None:
        """The derivatives of each entry of a gradient by each entry of a tensor; None where only a twin knows them."""
        tensor = gradient_names(self.spec).get(gradient)
        if tensor is None or (tensor in self.spec.outputs and gradient == f"d{tensor}"):
            return None
        if self.stacked is not None:
            found = self.stacked[0].second(tensor, denominator, self.stacked[1])
            if found is not None:
                return found
        return self.record.second(self.upstreams, tensor, denominator)

    def jacobian(self, numerator: np.ndarray, denominator: str) -> np.ndarray:
        """The derivatives of each number of an array by each entry of a tensor; needs a world made with ``twice``."""
        tape = self.base
        assert isinstance(tape, Tape)
        targets = self.values[denominator]
        entries: list[Any] = []
        for number in numerator.flat:
            adjoints = tape.reverse([(number, 1)])
            entries.extend(adjoints[t] for t in targets.flat)
        return from_list(entries, numerator.shape + targets.shape)

    def floats(self, a: np.ndarray) -> np.ndarray:
        """An array as floats."""
        return floats(self.plain(a))

    def plain(self, a: np.ndarray) -> np.ndarray:
        """An array as plain numbers."""
        if not isinstance(self.base, Tape):
            return np.asarray(a)
        return from_list([self.base.plain(v) for v in objects(a).flat], np.shape(a))


def random_upstreams(spec: model.Spec, sizes: Sizes, entries: Callable[[Sequence[int]], Any]) -> dict[str, np.ndarray]:
    """Upstreams by output; of a sole scalar output it is 1."""
    if sole_scalar(spec):
        return {spec.outputs[0]: objects(1)}
    return {name: entries(shape_of(spec.shapes[name], sizes)) for name in spec.outputs}


def is_jacobian(node: syntax.Node) -> TypeGuard[syntax.Call]:
    """Whether an expression is ``D(y[i], x[k])``."""
    return isinstance(node, syntax.Call) and node.function == "D"
