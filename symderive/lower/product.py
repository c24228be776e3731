"""Products under a sum, taken apart."""

from __future__ import annotations

from dataclasses import dataclass, field

from sympy import Expr, Mul, S

from symderive.algebra import nodes
from symderive.algebra.nodes import Index
from symderive.lower.arithmetic import content
from symderive.lower.context import Lowering, plain_sizes


@dataclass
class Product:
    """``number * product(factors)`` where all ``masks`` hold, else 0, summed over ``bound``."""

    bound: list[Index]
    number: Expr = S.One
    factors: list[Expr] = field(default_factory=list)
    masks: list[Expr] = field(default_factory=list)

    def add(self, e: Expr, ctx: Lowering) -> None:
        """Multiply by ``e``, taken apart: products, branches that are 0, conditions, sums of products."""
        if ctx.is_scalar(e):
            self.number *= plain_sizes(e)
        elif isinstance(e, Mul):
            for factor in e.args:
                self.add(factor, ctx)
        elif isinstance(e, nodes.Where) and e.args[2] is S.Zero:
            self.add(e.args[0], ctx)
            self.add(e.args[1], ctx)
        elif isinstance(e, nodes.Stop):
            self.add(e.args[0], ctx)
        elif isinstance(e, nodes.And):
            self.masks.extend(e.args)
        elif isinstance(e, nodes.Condition):
            self.masks.append(e)
        elif isinstance(e, nodes.Sum) and isinstance(e.body, Mul | nodes.Where):
            body, bound = e.open()
            self.bound += bound
            self.add(body, ctx)
        else:
            number, rest = content(e)
            self.number *= number
            self.factors.append(rest)
