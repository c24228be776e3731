"""The names that indices get in print: the author's own where there are any."""

from __future__ import annotations

import itertools
import string
from collections.abc import Iterable, Iterator, Mapping

from sympy import Expr

from symderive.algebra import nodes
from symderive.algebra.nodes import Index
from symderive.algebra.program import Equation, Program
from symderive.errors import InternalError
from symderive.spec.functions import FUNCTIONS
from symderive.spec.syntax import BATCH

_LETTERS = (*string.ascii_lowercase, *(f"{c}{n}" for n in range(1, 100) for c in "ijk"))


class Letters:
    """Which names an author gives to indices of each extent, in order of first use, and which names are taken."""

    def __init__(self, program: Program, taken: Iterable[str] = ()) -> None:
        self.by_extent: dict[Expr, list[str]] = {}
        self.axes: dict[tuple[str, int], str] = {}
        self.declared: dict[str, Expr] = {}
        self.tensors = tuple(program.shapes)
        self.taken = {*program.shapes, *program.sizes, *program.constants, *FUNCTIONS, *taken}
        for equation in program.equations:
            self._learn(equation)

    def _learn(self, equation: Equation) -> None:
        for place, index in enumerate(equation.indices):
            self._note(index)
            self.axes.setdefault((equation.tensor, place), index.name)

    def _note(self, index: Index) -> None:
        names = self.by_extent.setdefault(index.extent, [])
        if index.name and index.name not in names:
            names.append(index.name)

    def declare(self, name: str, extent: Expr) -> None:
        """A letter that the spec's text uses for an extent, bound ones included."""
        names = self.by_extent.setdefault(extent, [])
        if name not in names:
            names.append(name)

    def reserve(self, name: str, extent: Expr) -> None:
        """A letter that the spec declares to have this extent everywhere."""
        self.declare(name, extent)
        self.declared[name] = extent

    def choose(self, extent: Expr, used: Mapping[str, Expr]) -> str:
        """A letter for an index of this extent that the equation does not use for anything else."""
        if extent == nodes.BATCH_SIZE:
            return BATCH
        for name in itertools.chain(self.by_extent.get(extent, ()), self._unclaimed(extent), _LETTERS):
            if name not in used and name not in self.taken and self.declared.get(name, extent) == extent:
                return name
        raise InternalError("no letter is left for an index")

    def _unclaimed(self, extent: Expr) -> Iterator[str]:
        """Usual letters that the author does not use for another extent."""
        others = {n for e, names in self.by_extent.items() if e != extent for n in names}
        return (c for c in "ijklmnpqrstuvwabcdefgh" if c not in others)
