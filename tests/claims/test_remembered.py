"""Items that are made as they are come to."""

from __future__ import annotations

from symderive.claims.remembered import Remembered


def test_each_is_made_once_and_none_before_it_is_come_to():
    made = []

    def items():
        for n in range(4):
            made.append(n)
            yield n

    found = Remembered(items())
    assert next(iter(found)) == 0
    assert made == [0]
    assert list(found) == list(found) == [0, 1, 2, 3] == made


def test_two_may_go_through_them_in_turn():
    found = Remembered(iter(range(4)))
    first, second = iter(found), iter(found)
    assert [next(first), next(second), next(second), next(first), *second] == [0, 0, 1, 1, 2, 3]
    assert list(first) == [2, 3]
