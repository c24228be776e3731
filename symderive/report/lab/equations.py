"""The equations that a report refers to: the forward's, and those of the derived backward that belong to each."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from symderive.api import Derivation
from symderive.spec import syntax
from symderive.spec.format import to_text
from symderive.spec.write import equation_statement


class Equations:
    """The forward and the backward of a derivation as text, by the tensor that each line defines."""

    def __init__(self, derivation: Derivation) -> None:
        self.derivation = derivation
        self.spec = derivation.spec

    @cached_property
    def forward(self) -> Mapping[str, str]:
        """``y`` -> ``y[i, j] = ...``."""
        return {e.tensor: to_text(equation_statement(e)) for e in self.spec.equations}

    @cached_property
    def gradients(self) -> Mapping[str, str]:
        """``dW`` -> its array form, or its index form where it has none."""
        index = {line.split(" = ", 1)[0].split("[", 1)[0]: line for line in self.derivation.equations()}
        return {tensor: self.derivation.array_form(tensor) or line for tensor, line in index.items()}

    @cached_property
    def backward(self) -> Mapping[str, list[str]]:
        """``y`` -> the gradients of what its equation reads: ``dx = dy @ W`` and so on."""
        found = {}
        for equation in self.spec.equations:
            names = [f"d{n}{end}" for n in self._reads(equation.right) for end in ("", "_total")]
            found[equation.tensor] = [self.gradients[n] for n in names if n in self.gradients]
        return found

    def _reads(self, node: syntax.Node) -> list[str]:
        known = self.spec.shapes
        names = [
            n.tensor if isinstance(n, syntax.Access) else n.id if isinstance(n, syntax.Name) else ""
            for n in node.walk()
        ]
        return [n for n in dict.fromkeys(names) if n in known]
