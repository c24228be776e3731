"""Every case of the language: the plan computes what the program says, whatever the sizes and batch axes."""

from __future__ import annotations

import pytest

from symderive.algebra.derive import derive
from symderive.spec import loads

from .cases import CASES, text
from .helpers import agree, program


@pytest.mark.parametrize("name", CASES)
def test_forward_agrees_with_the_naive_evaluator(name):
    source = program(text(name))
    for batch in ((2, 3), (2,), ()) if "..." in text(name) else ((),):
        agree(source, batch=batch)


@pytest.mark.parametrize("name", CASES)
def test_gradient_agrees_with_the_naive_evaluator(name):
    derivation = derive(loads(text(name)))
    for batch in ((2, 3), ()) if "..." in text(name) else ((),):
        agree(derivation.forward, batch=batch)
        agree(derivation.backward, batch=batch)
