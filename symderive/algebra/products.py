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
    equations = {e.tensor: e for e in program.equations}
    users: dict[str, list[str]] = {}
    for equation in program.equations:
        for read in tensors(equation.right):
            users.setdefault(read, []).append(equation.tensor)
    for name in list(equations):
        product, readers = equations[name], users.get(name, [])
        if name in program.outputs or len(readers) != 1 or not _is_scaled_rows(product):
            continue
        user = equations[readers[0]]
        if any(name in tensors(s) for s in user.right.atoms(Sum)):
            equations[user.tensor] = replace(user, right=put(user.right, product))
            del equations[name]
    return replace(program, equations=tuple(equations.values()))


def _is_scaled_rows(equation: Equation) -> bool:
    """Whether it is a tensor with all the indices, times one that has the last of them alone."""
    parts = factors(equation.right)
    entries = [f.indices for f in parts if isinstance(f, Access)]
    if len(parts) != 2 or len(entries) != 2:
        return False
    whole, vector = sorted(entries, key=len, reverse=True)
    return len(whole) > 1 and whole == equation.indices and vector == equation.indices[-1:]
