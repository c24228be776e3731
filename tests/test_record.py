"""Records: equal and hashed by their fields, made in several ways, and the same in another process."""

from __future__ import annotations

import copy
import dataclasses
import os
import pickle
import subprocess
import sys

import pytest

from symderive.record import record


@record
class Pair:
    first: int
    second: tuple[int, ...] = ()
    note: str = dataclasses.field(default="", compare=False, kw_only=True)


@record
class Made:
    values: list[int] = dataclasses.field(default_factory=list)


def test_records_are_equal_by_the_fields_that_are_compared():
    assert Pair(1, (2,)) == Pair(1, second=(2,), note="told")
    assert hash(Pair(1, (2,))) == hash(Pair(1, (2,), note="told"))
    assert Pair(1) != Pair(2)
    assert Pair(1) != (1, ())
    assert len({Pair(1), Pair(1), Pair(2)}) == 2


def test_what_was_changed_hashes_anew():
    pair = Pair(1)
    assert hash(pair) != hash(dataclasses.replace(pair, first=2))
    assert dataclasses.replace(pair, first=2) == Pair(2)


@pytest.mark.parametrize(
    "given", [((), {}), ((1, (), 3), {}), ((1,), {"third": 3}), ((), {"second": ()}), ((1, (), "x"), {"note": ""})]
)
def test_wrong_arguments_are_refused(given):
    args, keywords = given
    with pytest.raises(TypeError):
        Pair(*args, **keywords)


def test_each_record_has_a_list_of_its_own():
    assert Made().values is not Made().values
    assert Made([1]).values == [1]


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))])
def test_a_copy_is_equal_and_keeps_nothing_that_was_worked_out(again):
    pair = Pair(1, (2,), note="told")
    hash(pair)
    assert again(pair) == pair
    assert again(pair).__dict__ == {"first": 1, "second": (2,), "note": "told"}


def test_another_process_hashes_for_itself():
    """Strings hash otherwise there, so a hash that came with the record would not be found."""
    node = "from symderive.spec.syntax import Name; import pickle, sys"
    put = f"{node}; n = Name('x'); hash(n); sys.stdout.buffer.write(pickle.dumps(n))"
    get = f"{node}; print(pickle.loads(sys.stdin.buffer.read()) in {{Name('x')}})"
    data = ran(put, seed="1")
    assert ran(get, seed="2", given=data).strip() == b"True"


def ran(code, seed, given=b""):
    variables = os.environ | {"PYTHONHASHSEED": seed}
    return subprocess.run(
        [sys.executable, "-c", code], env=variables, input=given, capture_output=True, check=True
    ).stdout
