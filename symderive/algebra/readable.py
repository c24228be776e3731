"""What the language can say of a program: the one thing that the algebra names and the language does not."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from sympy import S

from symderive.algebra.nodes import Access, Index, Sum
from symderive.algebra.program import Equation, Program
from symderive.spec.sizes import BATCH_SIZE
from symderive.spec.syntax import BATCH


def with_batch_count(program: Program, taken: Collection[str]) -> Program:
    """The number of batch entries has no name in the language: where a formula divides by it, it is ``sum[...](1)``."""
    if not any(BATCH_SIZE in e.right.free_symbols for e in program.equations):
        return program
    name = next(n for n in ("rows", *(f"rows{k}" for k in range(2, 99))) if n not in taken)
    count = Equation(name, (), Sum.over(S.One, [Index(BATCH, BATCH_SIZE)]))
    counted = program.put({BATCH_SIZE: Access(name)})
    return replace(counted, equations=(count, *counted.equations))
