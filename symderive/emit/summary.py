"""A derivation in two formulas: what is computed, and its gradients. No steps, no code."""

from __future__ import annotations

from symderive.algebra.derive import spec_letters
from symderive.algebra.program import Derivation
from symderive.algebra.unbuild import resolved
from symderive.emit.latex import statements_latex
from symderive.emit.latex_names import Notation
from symderive.spec.syntax import Statement
from symderive.spec.write import equation_statement, forward_statements, inner_equations


def summary(derivation: Derivation) -> tuple[str, str]:
    """The equations of the forward, and those of every gradient and of what they are computed from, as LaTeX."""
    notation = Notation.of_derivation(derivation)
    inner = inner_equations(derivation.spec, derivation.read)
    forward = [*forward_statements(derivation.spec), *map(equation_statement, inner)]
    return statements_latex(forward, notation), statements_latex(gradient_statements(derivation), notation)


def gradient_statements(derivation: Derivation) -> list[Statement]:
    """The gradients in index form, in the order in which they are computed."""
    letters = spec_letters(derivation.spec, derivation.forward)
    own = {gradient.tensor: gradient.index for gradient in derivation.gradients.values()}
    return [own.get(e.tensor) or equation_statement(resolved(e, letters)) for e in derivation.display.equations]
