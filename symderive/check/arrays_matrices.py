"""Linear algebra over arrays whose entries are numbers of a domain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from symderive.check.arrays_entries import Array, EntryArrays
from symderive.check.contraction import contracted, summed
from symderive.check.exact import Exact
from symderive.check.numbers import Value
from symderive.check.objects import aligned, einsum_axes, from_list, integer, objects, shape_text


class MatrixArrays(EntryArrays):
    """Products, diagonals and functions of matrices, over the last two axes of an array."""

    def total(self, a: Array, axis: int) -> Array:
        """The sum over one axis."""
        return self.reduction(self.domain.total)(a, axis)

    def matmul(self, a: Array, b: Array) -> Array:
        """``a @ b`` as NumPy has it: vectors, matrices, and batches of matrices."""
        a, b = objects(a), objects(b)
        if not a.ndim or not b.ndim:
            raise ValueError("@ needs vectors or matrices; multiply by a scalar with *")
        left, right = (a[None, :] if a.ndim == 1 else a), (b[:, None] if b.ndim == 1 else b)
        if left.shape[-1] != right.shape[-2]:
            raise ValueError(f"the shapes {shape_text(a.shape)} and {shape_text(b.shape)} do not fit")
        result = self.contract([left[..., :, :, None], right[..., None, :, :]], -2)
        result = result[..., 0] if b.ndim == 1 else result
        return (result[0] if b.ndim == 1 else result[..., 0, :]) if a.ndim == 1 else result

    def einsum(self, subscripts: str, *arrays: Array) -> Array:
        """``einsum("nk,jk->nj", x, W)``."""
        inputs, output = einsum_axes(subscripts, [np.ndim(a) for a in arrays])
        extents: dict[str, int] = {}
        for letters, a in zip(inputs, arrays, strict=True):
            for letter, n in zip(letters, np.shape(a), strict=True):
                if extents.setdefault(letter, n) != n:
                    raise ValueError(f"index {letter} has the extents {extents[letter]} and {n}")
        order = output + [x for x in extents if x not in output]
        factors = [aligned(objects(a), letters, order) for letters, a in zip(inputs, arrays, strict=True)]
        return self.contract(factors, tuple(range(len(output), len(order))))

    def contract(self, factors: Sequence[Array], axes: int | tuple[int, ...]) -> Array:
        """The sum over axes of the product of arrays of as many axes that broadcast."""
        shape = self.fit(*factors)
        bound = tuple(x % len(shape) for x in ((axes,) if isinstance(axes, int) else axes))
        if bound and isinstance(self.domain, Exact):
            found = contracted(self.domain, factors, summed(shape, bound))
            if found is not None:
                return found.reshape([n for x, n in enumerate(shape) if x not in bound])
        product = factors[0]
        for factor in factors[1:]:
            product = self.each(self.domain.mul, product, factor)
        product = np.broadcast_to(objects(product), shape)
        return self.reduction(self.domain.total)(product, bound) if bound else product

    def outer(self, a: Array, b: Array) -> Array:
        """``a[:, None] * b[None, :]``."""
        a, b = objects(a), objects(b)
        if a.ndim != 1 or b.ndim != 1:
            raise ValueError(f"outer needs two vectors, not {shape_text(a.shape)} and {shape_text(b.shape)}")
        return self.each(self.domain.mul, a[:, None], b[None, :])

    def diag(self, a: Array) -> Array:
        """The diagonal matrix of a vector; the diagonal of a matrix."""
        a = objects(a)
        if a.ndim == 2:
            return np.diagonal(a)
        if a.ndim != 1:
            raise ValueError(f"diag needs a vector or a matrix, not {shape_text(a.shape)}")
        return self.where(np.eye(len(a), dtype=bool), a[:, None], self.domain.number(0))

    def diagonal(self, a: Array, offset: Any = 0, dim1: Any = 0, dim2: Any = 1) -> Array:
        """The diagonal over two axes, by default the first two, as in torch."""
        first, second = (self.axis(objects(a), integer(x)) for x in (dim1, dim2))
        return np.diagonal(objects(a), integer(offset), first, second)

    def trace(self, a: Array) -> Array:
        """The sum of the diagonal of a matrix."""
        a = self.square(a)
        return self.domain.total(list(np.diagonal(a)))

    def square(self, a: Array) -> np.ndarray:
        """The array, which must be a matrix, or a batch of them, with as many rows as columns."""
        a = objects(a)
        if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
            raise ValueError(f"a square matrix is needed, not {shape_text(a.shape)}")
        return a

    def matrix_function(self, function: Callable[[list[list[Value]]], Any]) -> Callable[[Array], Array]:
        """A function of matrices over the last two axes."""

        def call(a: Array) -> Array:
            a = self.square(a)
            batch, n = a.shape[:-2], a.shape[-1]
            results = [function([list(row) for row in m]) for m in a.reshape(-1, n, n)]
            if results and isinstance(results[0], list):
                flat = [v for m in results for row in m for v in row]
                return from_list(flat, a.shape)
            return from_list(results, batch)

        return call

    def solve(self, a: Array, b: Array) -> Array:
        """The x of ``a @ x = b``: a vector, or as many columns as b has."""
        a, b = self.square(a), objects(b)
        n = a.shape[-1]
        right = b[:, None] if b.ndim == 1 else b
        if right.shape[-2] != n:
            raise ValueError(f"{shape_text(a.shape)} and {shape_text(b.shape)} make no system of equations")
        stack = np.broadcast_shapes(a.shape[:-2], right.shape[:-2])
        shape = (*stack, *right.shape[-2:])
        matrices = np.broadcast_to(a, (*stack, n, n)).reshape(-1, n, n)
        columns = np.swapaxes(np.broadcast_to(right, shape), -1, -2).reshape(len(matrices), -1, n)
        found = [
            x
            for m, c in zip(matrices, columns, strict=True)
            for column in c
            for x in self.domain.solve([list(row) for row in m], list(column))
        ]
        solution = np.swapaxes(objects(from_list(found, (*stack, shape[-1], n))), -1, -2)
        return solution[:, 0] if b.ndim == 1 and not stack else solution[..., 0] if b.ndim == 1 else solution

    def transpose(self, a: Array, *axes: Any) -> Array:
        """``.T`` of a matrix, nothing of a vector; with two axes, those swapped."""
        a = objects(a)
        if axes:
            first, second = (self.axis(a, integer(x)) for x in axes)
            return np.swapaxes(a, first, second)
        if a.ndim > 2:
            raise ValueError(f".T is for matrices, not {shape_text(a.shape)}: .mT swaps the last two axes")
        return a.T

    def swap(self, a: Array) -> Array:
        """``.mT``."""
        a = objects(a)
        if a.ndim < 2:
            raise ValueError(".mT needs a matrix")
        return np.swapaxes(a, -1, -2)
