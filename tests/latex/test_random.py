"""Random programs print in every form, and KaTeX typesets all of it."""

from __future__ import annotations

from dataclasses import replace

from symderive.algebra.unbuild import Letters, statement
from symderive.emit.arrays import array_form
from symderive.emit.code_math import code_latex
from symderive.emit.latex import array_latex, statement_latex
from symderive.emit.latex_names import Notation
from symderive.emit.module import Op, write_module
from symderive.lower import lower
from tests.latex.katex import refused_by_github, rejected, require_katex
from tests.lower.random_programs import SIZES, Maker

SEEDS = range(60)


def printed(seed: int) -> list[str]:
    """A random program in index form, in array form and as the code that computes it."""
    program = Maker(seed).program()
    notation = Notation(shapes=program.shapes, numbers=frozenset(SIZES))
    letters = Letters(program)
    plan = lower(program)
    form = array_form(plan)
    nothing = replace(plan, assignments=(), outputs=(), inputs=())
    code = write_module(Op("random", "", program.outputs, (), (), plan, nothing))
    return [
        *(statement_latex(statement(equation, letters), notation) for equation in program.equations),
        *([array_latex(form, notation)] if form else []),
        code_latex(code, notation, "forward"),
    ]


def test_random_programs_typeset():
    require_katex()
    formulas = [formula for seed in SEEDS for formula in printed(seed)]
    assert len(formulas) >= 3 * len(SEEDS) - 20
    assert rejected(formulas) == []
    assert [reason for formula in formulas for reason in refused_by_github(formula)] == []
