"""A condition on sizes alone is a tensor in emitted code: ``torch.where`` takes no ``bool``."""

from __future__ import annotations

import pytest
import torch

import symderive
from symderive.spec import loads
from tests.emit.running import module_of

TEXT = """name: op
sizes: {K: 5}
inputs: {x: [K], s: []}
forward: |
  y[k] = where(k == 1, x[k] / (1 + s**2), x[k])
"""


@pytest.mark.parametrize("extent", [1, 3])
def test_an_entry_that_may_not_be_there(extent):
    module = module_of(symderive.derive(loads(TEXT)).torch)
    x, s = torch.arange(1.0, 1.0 + extent), torch.tensor(2.0)
    _, saved = module["forward"](x, s)
    _, ds = module["backward"](saved, torch.ones(extent))
    assert ds.item() == pytest.approx(-2 * 2 * 2 / 25 if extent > 1 else 0)
