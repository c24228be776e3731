"""The forward as it is computed: what the spec says, written so that it cannot overflow where its value does not."""

from __future__ import annotations

from dataclasses import replace

from sympy import Expr, Pow, log
from sympy.functions.elementary.exponential import exp as Exp

from symderive.algebra.nodes import Access, Apply, LogSumExp, Pad, Stop, Sum
from symderive.algebra.program import Equation, Program
from symderive.algebra.simplify import stable_form
from symderive.algebra.terms import tensors, terms, transform_opened


def stable_program(program: Program) -> Program:
    """Every equation in stable form. One that overflows only through a tensor that it reads is given that tensor's
    definition: ``e = exp(z); y = e / sum(e)`` computes y as a softmax of z, whatever e is."""
    done: dict[str, Equation] = {}
    for equation in program.equations:
        plain = stable_form(equation.right)
        inlined, used = _inline_exponentials(plain, done)
        if used:
            candidate = stable_form(inlined)
            before = _hazards(plain, *(done[t].right for t in used)) + _powers_of_exponentials(plain, done)
            if _hazards(candidate) < before:
                plain = candidate
        done[equation.tensor] = replace(equation, right=plain)
    return replace(program, equations=tuple(done.values()))


def _inline_exponentials(expression: Expr, done: dict[str, Equation]) -> tuple[Expr, set[str]]:
    """The expression with every tensor that is made of exponentials replaced by what it is."""
    used: set[str] = set()
    padded = {a for p in expression.atoms(Pad) for a in p.atoms(Access)}

    def rule(node: Expr) -> Expr:
        if not isinstance(node, Access) or node in padded:
            return node
        equation = done.get(node.tensor)
        if equation is None or not _is_exponential(equation.right, done):
            return node
        used.add(node.tensor)
        inner = equation.right.xreplace(dict(zip(equation.indices, node.indices, strict=True)))
        return transform_opened(inner, rule)

    return transform_opened(expression, rule), used


def _is_exponential(expression: Expr, done: dict[str, Equation]) -> bool:
    """Whether it is an exponential, or a sum, product or complement of such, or a plain sum of tensors that are."""
    if expression.atoms(Exp) or any(a.function == "sigmoid" for a in expression.atoms(Apply)):
        return True
    if not isinstance(expression, Sum):
        return False
    return any(a.tensor in done and done[a.tensor].right.atoms(Exp) for a in expression.atoms(Access))


def _hazards(*expressions: Expr) -> int:
    """Places where a finite value may be computed from an infinite one: logs, bare exponentials, their quotients."""
    found = [n for e in expressions for n in e.atoms(log, Exp, Pow)]
    logs = {n for n in found if isinstance(n, log)}
    bare = {n for n in found if isinstance(n, Exp) and not _is_normalised(n)}
    powers = {n for n in found if not isinstance(n, Exp) and n.is_Pow and n.exp.is_number and n.exp < 0}
    return len(logs) + len(bare) + sum(bool(p.base.atoms(Sum, Exp)) for p in powers)


def _powers_of_exponentials(expression: Expr, done: dict[str, Equation]) -> int:
    """Powers of tensors that are an exponential, which may overflow where the power does not."""
    powers = [n for n in expression.atoms(Pow) if not n.exp.is_Integer]
    bases = [n.base.args[0] if isinstance(n.base, Stop) else n.base for n in powers]
    return sum(isinstance(b, Access) and b.tensor in done and isinstance(done[b.tensor].right, Exp) for b in bases)


def _is_normalised(exponential: Exp) -> bool:
    return any(
        t.as_coeff_Mul()[0] == -1 and isinstance(t.as_coeff_Mul()[1], LogSumExp) for t in terms(exponential.args[0])
    )


def prune(program: Program, wanted: set[str]) -> Program:
    """The program without equations that no wanted tensor needs."""
    kept: list[Equation] = []
    needed = set(wanted)
    for equation in reversed(program.equations):
        if equation.tensor in needed:
            kept.append(equation)
            needed |= tensors(equation.right)
    return replace(program, equations=tuple(reversed(kept)))
