r"""Emitted PyTorch code as mathematics: ``dW = dy.T @ x`` is :math:`\nabla_W L = (\nabla_y L)^\top x`.

latexify-py writes the formulas; what emitted code contains beyond its own repertoire stands in the tables of
:mod:`symderive.emit.code_calls`. latexify is imported when a formula is asked for, not before.
"""

from __future__ import annotations

from symderive.emit.latex_names import Notation


def code_latex(code: str, notation: Notation | None = None, function: str = "") -> str:
    """The assignments of emitted code, one below the other, as LaTeX.

    ``code`` is a few statements, or a module of which the body of ``function`` is shown. Names print as ``notation``
    says. Types and devices are no mathematics and are left out; anything else that would be lost, or that is not
    known, raises :class:`UnsupportedError`.
    """
    from symderive.emit.code_statements import function_latex

    return function_latex(code, notation or Notation(), function)
