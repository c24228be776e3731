r"""How names look in LaTeX: ``gamma`` is :math:`\gamma`, ``xhat`` is :math:`\hat{x}`, ``dW`` is a derivative."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from sympy import Expr

from symderive.record import record
from symderive.spec.functions import FUNCTIONS

if TYPE_CHECKING:
    from symderive.algebra.program import Derivation, Program
    from symderive.spec.model import Spec

_GREEK = """
alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi pi rho sigma tau upsilon
phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega
"""

SYMBOLS = {name: rf"\{name}" for name in _GREEK.split()} | {
    "eps": r"\epsilon",
    "lam": r"\lambda",
    "lambda_": r"\lambda",
    "ell": r"\ell",
    "inf": r"\infty",
    "...": r"\ldots",
}

ACCENTS = {"hat": "hat", "bar": "bar", "tilde": "tilde", "dot": "dot"}

_TRAILING_DIGITS = re.compile(r"([A-Za-z]+)(\d+)")


@record
class Symbol:
    """A name as LaTeX: ``base`` and the ``mark`` that tells it from others of that base, ``h`` and ``1`` of ``h_1``."""

    base: str
    mark: str = ""

    def plain(self) -> str:
        """The name of a number: the mark is a subscript."""
        return f"{self.base}_{{{self.mark}}}" if self.mark else self.base

    def array(self) -> str:
        """The name of an array: the mark is a superscript, since subscripts are axes."""
        return f"{self.base}^{{({self.mark})}}" if self.mark else self.base


def _word(text: str) -> str:
    if text in SYMBOLS:
        return SYMBOLS[text]
    return text if len(text) == 1 or text.isdigit() else rf"\mathrm{{{text}}}"


def _accented(text: str) -> str:
    for ending, accent in ACCENTS.items():
        stem = text[: -len(ending)].rstrip("_")
        if text.endswith(ending) and (len(stem) == 1 or stem in SYMBOLS) and not stem.isdigit():
            return rf"\{accent}{{{_word(stem)}}}"
    return _word(text)


def symbol(name: str) -> Symbol:
    r"""The LaTeX of a name standing alone: ``h_1`` is h with the mark 1, ``x_hat`` is x under a hat.

    ``grad_y``, an upstream that a spec of a gradient takes, is the adjoint :math:`\bar{y}`.
    """
    if name.startswith("grad_") and name != "grad_":
        inner = symbol(name.removeprefix("grad_"))
        accent = "overline" if r"\mathrm" in inner.base else "bar"
        return Symbol(rf"\{accent}{{{inner.base}}}", inner.mark)
    if name in SYMBOLS:
        return Symbol(SYMBOLS[name])
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) or "__" in name or name.endswith("_"):
        return Symbol(verbatim(name))
    first, *rest = name.split("_")
    if rest and rest[0] in ACCENTS:
        first, rest = f"{first}_{rest[0]}", rest[1:]
    elif match := _TRAILING_DIGITS.fullmatch(first):
        first, rest = match[1], [match[2], *rest]
    return Symbol(_accented(first), ", ".join(_word(part) for part in rest))


def verbatim(name: str) -> str:
    """A name letter by letter, for one that would look like another's symbol."""
    if name.isascii():
        return r"\mathrm{" + name.replace("_", r"\_") + "}"
    return r"\text{" + name.replace("_", r"\_") + "}"


@record
class Notation:
    r"""What the names of a derivation mean, and so how they print.

    ``shapes`` are those of all tensors, ``gradients`` maps ``dW`` to ``W``, ``totals`` maps ``dy_total`` to ``y``.
    ``objective`` is the LaTeX of what is differentiated: a sole scalar output, or :math:`\ell` for any scalar
    function of the outputs, whose derivative with respect to an output is the upstream gradient. ``numbers`` are the
    sizes, constants and indices, which are never arrays. ``called`` are symbols of what calls of other specs compute
    inside.
    """

    shapes: Mapping[str, tuple[Expr, ...]] = field(default_factory=dict)
    gradients: Mapping[str, str] = field(default_factory=dict)
    totals: Mapping[str, str] = field(default_factory=dict)
    numbers: frozenset[str] = frozenset()
    objective: str = r"\ell"
    ranges: Mapping[str, Expr] = field(default_factory=dict)
    called: Mapping[str, Symbol] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_symbols", _distinct([*self.shapes, *sorted(self.numbers)], self.called))

    @staticmethod
    def of_spec(spec: Spec) -> Notation:
        """The notation of a spec's forward, in which every ``d<name>`` is the gradient of a tensor of it."""
        return _notation(spec, spec.shapes, ())

    @staticmethod
    def of_derivation(derivation: Derivation) -> Notation:
        """The notation of a derivation: that of its spec, and the tensors that the engine has added."""
        shapes: dict[str, tuple[Expr, ...]] = {}
        programs: tuple[Program, ...] = (derivation.forward, derivation.backward, derivation.display)
        for program in programs:
            shapes |= program.shapes
        return _notation(derivation.spec, shapes | derivation.spec.shapes, derivation.upstreams)

    def symbol(self, name: str) -> Symbol:
        """The LaTeX of a name, unlike that of every other name in sight."""
        known: dict[str, Symbol] = self._symbols  # type: ignore[attr-defined]
        return known.get(name) or symbol(name)

    def text(self, name: str) -> str:
        """The LaTeX of a name without indices."""
        found = self.symbol(name)
        return found.array() if self.rank(name) else found.plain()

    def pattern(self, function: str) -> str:
        r"""The LaTeX of an element-wise function; the sigmoid is a word where :math:`\sigma` is a name."""
        latex = FUNCTIONS[function].latex
        if any(found.base == r"\sigma" for found in self._symbols.values()):  # type: ignore[attr-defined]
            return latex.replace(r"\sigma", r"\mathrm{{sigmoid}}")
        return latex

    def rank(self, name: str) -> int | None:
        """The number of axes of a name's tensor; 0 for a number; None where nothing is known of it."""
        name = self.gradients.get(name) or self.totals.get(name) or name
        if name in self.shapes:
            return len(self.shapes[name])
        return 0 if name in self.numbers else None

    def shape(self, name: str) -> tuple[Expr, ...] | None:
        """The shape of a tensor, or of the tensor that a gradient is of."""
        return self.shapes.get(self.gradients.get(name) or self.totals.get(name) or name)


def _distinct(names: Iterable[str], called: Mapping[str, Symbol]) -> dict[str, Symbol]:
    """Symbols of names, spelt out where two would look the same."""
    found: dict[str, Symbol] = {}
    taken: set[str] = set()
    for name in names:
        candidate = called.get(name) or symbol(name)
        looks = {candidate.array(), candidate.plain()}
        found[name] = Symbol(verbatim(name)) if looks & taken else candidate
        taken |= looks
    return found


def _notation(spec: Spec, shapes: Mapping[str, tuple[Expr, ...]], upstreams: Iterable[str]) -> Notation:
    tensors = {name: shape for name, shape in shapes.items() if not _is_derivative(name, shapes, spec)}
    sole = spec.outputs[0]
    scalar = len(spec.outputs) == 1 and not spec.shapes[sole]
    taken = any(symbol(name).base == r"\ell" for name in tensors)
    number = {*spec.constants, *spec.sizes, *spec.indices} - {"..."}
    return Notation(
        shapes=tensors,
        gradients={f"d{name}": name for name in tensors if f"d{name}" not in tensors},
        totals={f"d{name}_total": name for name in tensors if f"d{name}_total" not in tensors},
        numbers=frozenset(number | _size_names(shapes)),
        objective=symbol(sole).plain() if scalar else r"\mathcal{L}" if taken else r"\ell",
        ranges=_letters(spec),
        called=_called(spec),
    )


def _called(spec: Spec) -> dict[str, Symbol]:
    """What the call of another spec computes inside has that spec's symbol, marked with the spec's name."""
    found = {}
    for call in spec.calls:
        prefixes = {own: f"{call.spec.name}_{inner}" for inner, own in call.names.items()}
        for inner, own in call.names.items():
            if own == prefixes[own] or own.startswith(f"{prefixes[own]}_"):
                given = symbol(inner)
                number = own.removeprefix(prefixes[own]).removeprefix("_")
                mark = ", ".join(part for part in (given.mark, verbatim(call.spec.name), number) if part)
                found[own] = Symbol(given.base, mark)
    return found


def _is_derivative(name: str, shapes: Mapping[str, object], spec: Spec) -> bool:
    if name in spec.shapes or not name.startswith("d"):
        return False
    return name[1:] in shapes or name[1:].removesuffix("_total") in shapes


def _size_names(shapes: Mapping[str, tuple[Expr, ...]]) -> set[str]:
    return {str(s) for shape in shapes.values() for extent in shape for s in extent.free_symbols} - {"..."}


def _letters(spec: Spec) -> dict[str, Expr]:
    """The range of each index letter that has just one in the forward."""
    found: dict[str, set[Expr]] = {}
    for equation in spec.equations:
        for index, extent in equation.ranges.items():
            found.setdefault(index, set()).add(extent)
    return {index: extents.pop() for index, extents in found.items() if len(extents) == 1} | dict(spec.indices)
