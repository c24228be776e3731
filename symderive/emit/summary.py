"""A derivation in two formulas: what is computed, and its gradients. No steps, no code."""

from __future__ import annotations

from collections.abc import Iterator

from symderive.algebra.derive import spec_letters
from symderive.algebra.program import Derivation
from symderive.algebra.unbuild import resolved
from symderive.emit.latex import statements_latex
from symderive.emit.latex_names import Notation
from symderive.spec.syntax import Access, Name, Statement
from symderive.spec.write import equation_statement


def summary(derivation: Derivation) -> tuple[str, str]:
    """The equations of the forward, and those of every gradient and of what they are computed from, as LaTeX."""
    notation = Notation.of_derivation(derivation)
    forward = [equation_statement(e) for e in derivation.spec.equations]
    return statements_latex(forward, notation), statements_latex(gradient_statements(derivation), notation)


def gradient_statements(derivation: Derivation) -> list[Statement]:
    """The gradients in index form, in the order in which they are computed, after what they name of the forward."""
    letters = spec_letters(derivation.spec, derivation.forward)
    own = {gradient.tensor: gradient.index for gradient in derivation.gradients.values()}
    given = [own.get(e.tensor) or equation_statement(resolved(e, letters)) for e in derivation.display.equations]
    named = {name for statement in given for name in _names(statement)}
    return [*(s for s in derivation.introduced if named & {*_names(s, left=True)}), *given]


def _names(statement: Statement, left: bool = False) -> Iterator[str]:
    """The tensors that a statement reads, or the one that it defines."""
    for side in (statement.left,) if left else statement.sides:
        for node in side.walk():
            if isinstance(node, Access):
                yield node.tensor
            elif isinstance(node, Name):
                yield node.id
