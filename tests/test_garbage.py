"""What was there before is left alone while claims are judged, and no longer."""

from __future__ import annotations

import gc
import weakref

import pytest

from symderive import spec as specs
from symderive.claims import judge, judge_text
from symderive.claims.court import Court
from symderive.garbage import only_new_garbage

SPEC = specs.loads("name: double\nsizes: {N: 3}\ninputs: {x: [N]}\nforward: 'y[n] = 2*x[n]'\nclaims: 'dx = 2*dy'\n")


@pytest.fixture(autouse=True)
def nothing_frozen():
    gc.unfreeze()
    yield
    gc.unfreeze()


class Cycle:
    def __init__(self):
        self.own = self


def test_inside_only_what_is_made_there_is_collected():
    before, old, often = gc.get_freeze_count(), weakref.ref(Cycle()), gc.get_threshold()
    with only_new_garbage():
        assert gc.get_threshold()[0] > often[0]
        assert gc.get_freeze_count() > before
        new = weakref.ref(Cycle())
        gc.collect()
        assert new() is None
        assert old() is not None
    assert gc.get_freeze_count() == before
    assert gc.get_threshold() == often
    gc.collect()
    assert old() is None


def test_it_ends_with_an_exception_and_leaves_alone_what_others_froze():
    with pytest.raises(ValueError, match="over"), only_new_garbage():
        raise ValueError("over")
    assert not gc.get_freeze_count()
    gc.freeze()
    with only_new_garbage():
        pass
    assert gc.get_freeze_count()


@pytest.mark.parametrize("judged", [judge, lambda spec: judge_text(spec, "dx = 2*dy")])
def test_claims_are_judged_so(judged, monkeypatch):
    frozen = []
    results = Court.results
    monkeypatch.setattr(Court, "results", lambda self: frozen.append(gc.get_freeze_count()) or results(self))
    assert [r.verdict for r in judged(SPEC)] == ["right"]
    assert frozen[0]
    assert not gc.get_freeze_count()
