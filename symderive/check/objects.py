"""Small tools for NumPy object arrays, and the axes that an einsum names."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from symderive.check.exact import as_float


def integer(value: Any) -> int:
    """An integer argument; ``True`` is not one."""
    plain = value[()] if isinstance(value, np.ndarray) else value
    if isinstance(plain, bool) or plain != int(plain):
        raise ValueError(f"{plain} is not an integer")
    return int(plain)


def shape_text(shape: Sequence[int]) -> str:
    """``[2, 3]``."""
    return f"[{', '.join(map(str, shape))}]"


def objects(a: Any) -> np.ndarray:
    """The value as an object array; entries of NumPy types become Python's."""
    if isinstance(a, np.ndarray):
        return a if a.dtype == object else a.astype(object)
    result = np.empty((), dtype=object)
    result[()] = a.item() if isinstance(a, np.generic) else a
    return result


def floats(a: np.ndarray) -> np.ndarray:
    """The array in float64, each number the nearest one; one of fractions sooner than by ``astype``."""
    if a.dtype != object or not a.size or type(a.flat[0]) is not Fraction:
        return a.astype(float)
    return np.fromiter(map(as_float, a.flat), float, a.size).reshape(a.shape)


def from_list(values: Sequence[Any], shape: Sequence[int]) -> np.ndarray:
    """An object array of the values, in the order of the last axis first."""
    result = np.empty(len(values), dtype=object)
    for position, value in enumerate(values):
        result[position] = value
    return result.reshape(tuple(shape))


def einsum_axes(subscripts: str, ranks: Sequence[int]) -> tuple[list[list[str]], list[str]]:
    """The index of every axis of every operand, and of the result; ``...`` stands for axes numbered from the end."""
    if not isinstance(subscripts, str):
        raise TypeError('einsum begins with its subscripts: einsum("nk,jk->nj", x, W)')
    left, arrow, right = subscripts.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise ValueError(f"{subscripts!r} names {len(terms)} operands, {len(ranks)} are given")
    inputs = []
    most = 0
    for term, rank in zip(terms, ranks, strict=True):
        letters = term.replace("...", "")
        extra = rank - len(letters)
        if extra < 0 or (extra and "..." not in term) or not all(c.isalpha() for c in letters):
            raise ValueError(f"{term!r} does not name the axes of an operand with {rank}")
        most = max(most, extra)
        before, _, after = term.partition("...")
        inputs.append([*before, *(f"~{n}" for n in range(extra, 0, -1)), *after])
    if not arrow:
        count = [c for letters in inputs for c in letters]
        right = "..." * bool(most) + "".join(sorted({c for c in count if c.isalpha() and count.count(c) == 1}))
    before, dots, after = right.partition("...")
    output = [*before, *((f"~{n}" for n in range(most, 0, -1)) if dots else ()), *after]
    known = {c for letters in inputs for c in letters}
    if len(set(output)) != len(output) or not set(output) <= known:
        raise ValueError(f"the result of {subscripts!r} names an index twice, or one that no operand has")
    return inputs, output


def aligned(a: np.ndarray, letters: list[str], order: list[str]) -> np.ndarray:
    """The operand with its axes in ``order``, extent 1 where it has none; a letter twice is a diagonal."""
    letters = list(letters)
    for letter in dict.fromkeys(letters):
        while letters.count(letter) > 1:
            first = letters.index(letter)
            second = letters.index(letter, first + 1)
            a = np.diagonal(a, axis1=first, axis2=second)
            letters = [x for n, x in enumerate(letters) if n not in (first, second)] + [letter]
    present = [x for x in order if x in letters]
    a = a.transpose([letters.index(x) for x in present])
    return a.reshape([a.shape[present.index(x)] if x in letters else 1 for x in order])
