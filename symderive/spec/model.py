"""What reading a spec gives: frozen data in which every name is resolved, every index has its range, and
everything knows where it stands in the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from fractions import Fraction
from functools import cached_property

from sympy import Expr

from symderive.errors import NOWHERE, Location, Span
from symderive.record import record
from symderive.spec.sizes import same_size
from symderive.spec.syntax import Node, Statement

Shape = tuple[Expr, ...]
"""Size expressions, one an axis; the first may be :data:`symderive.spec.sizes.BATCH_SIZE` for ``...``."""


@record
class Input:
    """An input tensor. ``index`` is the size C of class ids in 0..C-1; ``range`` are values to sample.

    ``triangular`` says of what a forward has saved that it is a lower triangular matrix in its last two axes.
    """

    name: str
    shape: Shape
    grad: bool = True
    index: Expr | None = None
    boolean: bool = False
    range: tuple[Fraction, Fraction] | None = None
    assume: tuple[str, ...] = ()
    triangular: bool = False
    span: Span = field(default=NOWHERE, compare=False)

    @property
    def is_real(self) -> bool:
        """Whether it holds real numbers, rather than class ids or truth values."""
        return self.index is None and not self.boolean


@record
class Equation:
    """``tensor[indices] = right``. ``ranges`` gives the extent of every index of it, free or bound."""

    tensor: str
    indices: tuple[str, ...]
    right: Node
    ranges: Mapping[str, Expr]
    span: Span = field(default=NOWHERE, compare=False)

    @property
    def shape(self) -> Shape:
        """The extents of its free indices, in order: the shape of the tensor that it defines."""
        return tuple(self.ranges[i] for i in self.indices)


@record
class Call:
    """A call of another spec, put out into the caller's ``equations``.

    ``sizes`` are those of the called ``spec`` in the caller's, ``lead`` the axes that its ``...`` stands for, and
    ``names`` the caller's tensors by the called spec's: the arguments and what it computes. ``letters`` are the
    caller's for the axes of the outputs that it names.
    """

    spec: Spec
    sizes: Mapping[Expr, Expr]
    lead: Shape
    names: Mapping[str, str]
    letters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    equations: tuple[Equation, ...] = ()

    @property
    def inputs(self) -> dict[str, str]:
        """The caller's tensor for each input."""
        return {i.name: self.names[i.name] for i in self.spec.inputs}

    @property
    def outputs(self) -> dict[str, str]:
        """The caller's tensor for each output."""
        return {o: self.names[o] for o in self.spec.outputs}


@record
class BadLine:
    """A line of ``claims`` that cannot be parsed: what is wrong, where, its ``text`` and the ``line`` it starts in."""

    message: str
    span: Span
    hint: str | None = None
    text: str = ""
    line: int = 0


@record
class Spec:
    """One op. ``indices`` are the declared ranges, ``wrt`` the inputs to differentiate, ``cases`` more sizes to check.

    ``sizes`` are the author's (``"..."`` maps to the tuple of batch extents), ``text`` is the file as it was read.
    ``reference`` and ``claims`` are syntax only: what a reference may call is judged when it is run. The lines of
    ``claims`` that cannot even be parsed are ``bad_claims``. ``cases`` give every size that ``sizes`` gives. ``group``
    is the heading under which a list of specs puts it. ``equations`` has what the ``calls`` of other specs were put out
    into.
    """

    name: str
    inputs: tuple[Input, ...]
    equations: tuple[Equation, ...]
    outputs: tuple[str, ...]
    wrt: tuple[str, ...]
    sizes: Mapping[str, int | tuple[int, ...]] = field(default_factory=dict)
    constants: Mapping[str, Fraction] = field(default_factory=dict)
    indices: Mapping[str, Expr] = field(default_factory=dict)
    reference: tuple[Statement, ...] = ()
    claims: tuple[Statement, ...] = ()
    bad_claims: tuple[BadLine, ...] = ()
    cases: tuple[Mapping[str, int | tuple[int, ...]], ...] = ()
    title: str = ""
    group: str = ""
    source: str = ""
    notes: str = ""
    path: str = ""
    text: str = ""
    calls: tuple[Call, ...] = ()

    @property
    def expanded(self) -> Spec:
        """The spec without its calls: what they were put out into are equations like any others."""
        return replace(self, calls=())

    @cached_property
    def shapes(self) -> dict[str, Shape]:
        """The shape of every tensor, inputs first."""
        return {i.name: i.shape for i in self.inputs} | {e.tensor: e.shape for e in self.equations}

    @property
    def letters(self) -> dict[str, Expr]:
        """The range of each index letter that has just one in ``forward``, and the declared ones."""
        everywhere: dict[str, list[Expr]] = {}
        for equation in self.equations:
            for letter, extent in equation.ranges.items():
                everywhere.setdefault(letter, []).append(extent)
        once = {n: e[0] for n, e in everywhere.items() if all(same_size(e[0], other) for other in e[1:])}
        return once | dict(self.indices)

    def input(self, name: str) -> Input:
        """The input of that name."""
        return next(i for i in self.inputs if i.name == name)

    def location(self, span: Span) -> Location:
        """A place in this spec's file, for an error."""
        return Location(self.path, span, self.text)
