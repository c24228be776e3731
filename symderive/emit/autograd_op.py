"""The kernels of a differentiable op: what its modules compute, before it is put into classes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from sympy import Symbol

from symderive.algebra.derive import spec_letters
from symderive.algebra.letters import Letters
from symderive.algebra.program import Derivation, Program
from symderive.algebra.second_order import Differentiable
from symderive.emit.autograd_kernels import Kernel
from symderive.emit.module import explained
from symderive.emit.names import RESERVED, identifiers
from symderive.emit.sizes import SizeReader
from symderive.emit.torch import TorchPrinter
from symderive.lower import lower, sizes
from symderive.lower import plan as p
from symderive.lower.shapes import BATCH_SIZE, ROWS

OWN_NAMES = (
    *(
        "Tensor",
        "Any",
        "Callable",
        "annotations",
        "functools",
        "warnings",
        "inputs",
        "output",
        "like",
        "found",
        "moved",
    ),
    *("bool", "int", "next", "any", "map", "zip", "tuple", "float", "print", "isinstance", "generate_vmap_rule"),
    *("_", "_forward", "_backward", "_tangents", "_through_saved", "_second_backward", "_backward_tangents"),
    *("_autocasts", "_without_autocast", "_cast", "_refuse_forward_over_forward", "_verify"),
    *("_apply", "_inside_transform", "_is_compiled", "_other", "_place"),
    *("_op", "_shapes", "_batched", "_autograd", "_without_forward_mode", "_library"),
)
"""Names that these modules use for their own purposes."""


class KernelSet:
    """The kernels, in names that are the same everywhere. ``fresh`` has the forward copy what would be a view."""

    def __init__(self, op: Differentiable, fresh: bool = False) -> None:
        self.op = op
        letters = spec_letters(op.spec, op.forward)
        own = Letters(replace(op.second, equations=(*op.second.equations, *op.backward_tangents.program.equations)))
        self.plans = {
            "forward": _plan(op.forward, op.derivation, letters),
            "backward": _plan(op.backward, op.derivation, letters),
            "through": _plan(op.through, op.derivation, letters)
            if op.through is not None and op.through.outputs
            else None,
            "tangents": _plan(op.tangents.program, op.derivation, letters),
            "second": _plan(op.second, op.derivation, own),
            "backward_tangents": _plan(op.backward_tangents.program, op.derivation, own),
        }
        self.names = self._names()
        self.saved = self._refs(op.saved)
        self.upstreams = tuple(self._ref("backward", f"d{o}") for o in op.spec.outputs)
        self._make(fresh)

    def _make(self, fresh: bool) -> None:
        op, plans = self.op, self.plans
        forward, through = plans["forward"], plans["through"]
        assert forward is not None
        self.forward = Kernel(forward, self.names, forward.inputs, fresh=fresh, returned=True, kept=op.saved)
        inner = tuple(replace(r, name=op.renamed.get(r.name, r.name)) for r in (*self.saved, *self.upstreams))
        ups = tuple(f"d{op.renamed[f'd{w}']}" for w in op.spec.wrt)
        needs = {o: f"needs_{o.removeprefix('d')}" for o in op.second.outputs}
        self.second = self._kernel("second", inner, self._given("second", ups), needs)
        given = self._given("backward_tangents", op.backward_tangents.given)
        self.backward_tangents = self._kernel("backward_tangents", inner, given)
        flags = {f"d{w}": f"needs_{w}" for w in op.spec.wrt}
        old = {new: name for name, new in op.renamed.items()}
        kept = {old.get(r.name, r.name) for k in (self.second, self.backward_tangents) for r in k.given}
        self.backward = self._kernel("backward", (*self.saved, *self.upstreams), (), flags, kept)
        self.through = None
        if through is not None:
            given = tuple(
                r for r in through.inputs if r.name in {f"d{c}" for c in op.carried if c in self.moving} - set(op.saved)
            )
            shown = {o: flags[o] for o in through.outputs}
            self.through = self._kernel("through", self.saved, given, shown)
        self.tangents = self._kernel("tangents", self.saved, self._given("tangents", op.tangents.given))

    def _kernel(
        self,
        key: str,
        given: Sequence[p.Ref],
        optional: Sequence[p.Ref],
        flags: Mapping[str, str] | None = None,
        kept: Iterable[str] = (),
    ) -> Kernel:
        plan = self.plans[key]
        assert plan is not None
        return Kernel(plan, self.names, given, optional, flags=flags, returned=key == "backward", kept=kept)

    def _given(self, key: str, names: Iterable[str]) -> tuple[p.Ref, ...]:
        """The inputs of these names, in this order."""
        return tuple(self._ref(key, n) for n in names)

    def _ref(self, key: str, name: str) -> p.Ref:
        plan = self.plans[key]
        assert plan is not None
        return plan.refs[name]

    def _refs(self, names: Iterable[str]) -> tuple[p.Ref, ...]:
        refs = self.plans["forward"].refs if self.plans["forward"] else {}
        return tuple(refs[n] for n in names)

    def _names(self) -> dict[str, str]:
        plans = [q for q in self.plans.values() if q is not None]
        symbols = sizes.symbols(e for q in plans for r in q.refs.values() for e in r.shape)
        names = [n for q in plans for n in (*q.refs, *q.constants)]
        names += [s.name for s in symbols if s not in (BATCH_SIZE, ROWS)]
        cls = class_name(self.op.spec.name)
        classes = (cls, f"{cls}Backward", f"{cls}Reverse")
        return identifiers(names, (*RESERVED, *OWN_NAMES, function_name(self.op.spec.name), *classes))

    @property
    def inner_arguments(self) -> tuple[p.Ref, ...]:
        """The tensors that the backward's own Function takes: saved ones, then upstreams; names as in ``backward``."""
        used = {r.name for k in (self.backward, self.second, self.backward_tangents) for r in k.given}
        old = {new: name for name, new in self.op.renamed.items()}
        used = {old.get(n, n) for n in used}
        return tuple(r for r in (*self.saved, *self.upstreams) if r.name in used or r in self.upstreams)

    @property
    def inner_sizes(self) -> list[Symbol]:
        """The sizes that the backward's own Function takes as integers."""
        kernels = (self.backward, self.second, self.backward_tangents)
        return list(dict.fromkeys(s for k in kernels for s in k.sizes))

    @property
    def sizes(self) -> list[Symbol]:
        """The sizes that are kept as integers with what is saved."""
        own = [s for k in (self.tangents, self.through) if k is not None for s in k.sizes]
        zeros = self.zeros_reader().missing(self._zero_symbols()) if len(self.upstreams) > 1 else []
        return list(dict.fromkeys((*own, *self.inner_sizes, *zeros)))

    @property
    def wanted(self) -> list[str]:
        """The flags that say which gradients are wanted, where there are several."""
        return list(self.backward.flags.values()) if len(self.op.spec.wrt) > 1 else []

    def size_lines(self) -> list[str]:
        """The lines that read those sizes off the inputs."""
        inputs = {r.name: r.shape for r in self.forward.plan.inputs}
        return SizeReader(inputs, TorchPrinter(self.names)).lines(self.sizes)

    def zeros_reader(self) -> SizeReader:
        """Reads sizes off what is saved."""
        return SizeReader({r.name: r.shape for r in self.saved}, TorchPrinter(self.names))

    def _zero_symbols(self) -> list[Symbol]:
        printer = TorchPrinter(self.names)
        for ref in self.upstreams:
            printer.extents(ref.shape)
        return list(printer.symbols)

    def zero_lines(self) -> list[str]:
        """Of several upstreams those that are None become zeros."""
        if len(self.upstreams) < 2:
            return []
        printer = TorchPrinter(self.names)
        shown = [(self.names[r.name], ", ".join(printer.separate(r.shape))) for r in self.upstreams]
        each = ", ".join(name for name, _ in shown)
        return [
            *self.zeros_reader().lines(list(printer.symbols)),
            f"like = next(t for t in ({each}) if t is not None)",
            *(f"{name} = like.new_zeros({extents}) if {name} is None else {name}" for name, extents in shown),
        ]

    @property
    def constants(self) -> dict[str, str]:
        """The named constants that the code mentions, and their identifiers."""
        kernels = (self.forward, self.backward, self.through, self.tangents, self.second, self.backward_tangents)
        used = dict.fromkeys(c for k in kernels if k is not None for c in k.constants)
        return {c: self.names[c] for c in used}

    @property
    def moving(self) -> tuple[str, ...]:
        """The outputs and carried tensors that have a derivative."""
        return tuple(o for o in self.forward.plan.outputs if o in self.op.tangents.names and self._is_real(o))

    def _is_real(self, name: str) -> bool:
        return self.forward.plan.refs[name].kind == "real"


def _plan(program: Program, derivation: Derivation, letters: Letters) -> p.Plan:
    return explained(lower(program), program, derivation, letters)


def function_name(name: str) -> str:
    """The name of the exported function: the spec's, or with ``_`` behind where the module needs it."""
    return identifiers([name], (*RESERVED, *OWN_NAMES))[name]


def class_name(name: str) -> str:
    """``layer_norm`` is ``LayerNorm``; what Python or torch has by that name is ``TensorOp``."""
    camel = "".join(part[:1].upper() + part[1:] for part in re.split(r"_+", name) if part)
    return f"{camel}Op" if camel in ("Tensor", "Any", "Callable", "F", "True", "False", "None") else camel
