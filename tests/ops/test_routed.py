"""What is carried to the backward and cannot be differentiated, such as the expert a router chose, has no gradient."""

from __future__ import annotations

import pytest

from symderive.check.runner import check
from symderive.spec import loads

ROUTER = """
name: router
sizes: {N: 4, E: 3}
inputs:
  z: [N, E]
forward: |
  p[n, e] = softmax[e](z[n, e])
  k[n] = argmax[e](z[n, e])
  y[n] = p[n, k[n]]
"""


@pytest.mark.parametrize("kind", ["gradgradcheck", "jvp"])
def test_a_router_can_be_differentiated_twice(kind):
    results = check(loads(ROUTER), kinds=(kind,))
    assert [c.detail for c in results.checks if c.status == "fail"] == []
    assert [c for c in results.checks if c.status == "pass"]
