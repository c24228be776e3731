"""A spec made ready to be checked: derived, lowered, emitted, and its reference made callable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from symderive.algebra.derive import derive
from symderive.check.arrays import ArrayError
from symderive.check.arrays_torch import run_reference
from symderive.check.ops import as_op, load_text
from symderive.check.own import Own
from symderive.check.subject import Reference, Subject
from symderive.check.truth import Sizes
from symderive.emit.module import op_of, write_module
from symderive.errors import SpecError
from symderive.lower import lower
from symderive.spec.model import Spec


class UnusableReferenceError(SpecError):
    """A reference that calls what it may not, or names what is not there: the spec cannot be used as it is."""


def prepare(spec: Spec, op: Any = None) -> Subject:
    """What the checks need of a spec. ``op``, if given, takes the place of the emitted code; see :func:`as_op`."""
    derivation = derive(spec)
    plans = op_of(derivation, lower(derivation.forward), lower(derivation.backward))
    emitted: Any = load_text(write_module(plans), spec.name)
    own, made = (None, emitted) if op is None else (emitted, Own(as_op(spec, op)))
    return Subject(spec, made, derivation, plans.forward, plans.backward, reference_of(spec), own)


def reference_of(spec: Spec) -> Reference | None:
    """The reference as a function of the inputs by name, in torch; None where the spec has none."""
    if not spec.reference:
        return None

    def reference(inputs: Mapping[str, Tensor], sizes: Sizes) -> dict[str, Tensor]:
        try:
            defined = run_reference(spec.reference, inputs, sizes, spec.constants)
        except ArrayError:
            raise  # the lines are sound, and fail on these shapes: a check says so
        except SpecError as error:
            place = error.location and spec.location(error.location.span)
            raise UnusableReferenceError(error.message, place, error.hint) from error
        for name in spec.outputs:
            if name not in defined:
                place = spec.location(spec.reference[-1].span)
                message = f"the reference defines {', '.join(defined)}, and not the output '{name}'"
                raise UnusableReferenceError(message, place, f"end with {name} = ...")
        return defined

    return reference
