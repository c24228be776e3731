"""Products of a tensor and a vector, written out where they are summed: the sums are then products with the vector.

``dxhat = dy * gamma`` reads well, and ``mean[i](dxhat[n, i] * xhat[n, i])`` would be computed from a new array. Of
``sum[i](dy[n, i] * xhat[n, i] * gamma[i])`` the first two factors may be known already, and the rest is a product of a
matrix with a vector. Formulas keep the name; the code that is emitted does without it.
"""

from __future__ import annotations

from dataclasses import replace

from symderive.algebra.inline import put
from symderive.algebra.nodes import Access, Sum
from symderive.algebra.program import Equation, Program
from symderive.algebra.terms import factors, tensors


def write_out_products(program: Program) -> Program:
    """The program without such products that one other equation reads, and has in a sum."""
    for product in program.equations:
        users = [e for e in program.equations if product.tensor in tensors(e.right)]
        if product.tensor in program.outputs or len(users) != 1 or not _is_scaled_rows(product):
            continue
        (user,) = users
        if any(product.tensor in tensors(s) for s in user.right.atoms(Sum)):
            written = replace(user, right=put(user.right, product))
            kept = (written if e is user else e for e in program.equations if e is not product)
            program = replace(program, equations=tuple(kept))
    return program


def _is_scaled_rows(equation: Equation) -> bool:
    """Whether it is a tensor with all the indices, times one that has the last of them alone."""
    parts = factors(equation.right)
    entries = [f.indices for f in parts if isinstance(f, Access)]
    if len(parts) != 2 or len(entries) != 2:
        return False
    whole, vector = sorted(entries, key=len, reverse=True)
    return len(whole) > 1 and whole == equation.indices and vector == equation.indices[-1:]
