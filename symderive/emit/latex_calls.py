"""How calls print as LaTeX: branches, padded entries, deltas, functions."""

from __future__ import annotations

from symderive.emit.latex_names import verbatim
from symderive.emit.latex_printer import Handler, Printer
from symderive.emit.latex_signs import is_number
from symderive.emit.latex_tex import Level, Tex, cases, subscript
from symderive.spec.functions import FUNCTIONS
from symderive.spec.syntax import Call, Node


def _where(printer: Printer, node: Call) -> Tex:
    rows: list[tuple[str, str]] = []
    rest: Node = node
    while isinstance(rest, Call) and rest.function == "where":
        test, value, rest = rest.arguments
        rows.append((printer.text(value, Level.SUM), printer.condition(test)))
    return Tex(cases([*rows, (printer.text(rest, Level.SUM), "")]), Level.CASES)


def _extremum(printer: Printer, node: Call) -> Tex:
    return printer.applied(rf"\{node.function}", [printer.text(argument, Level.SUM) for argument in node.arguments])


def _word(printer: Printer, node: Call) -> Tex:
    """A call of another spec, or of a function that prints as its name."""
    arguments = [printer.text(argument, Level.SUM) for argument in node.arguments]
    arguments += [rf"{verbatim(key)} = {printer.text(value)}" for key, value in node.keywords]
    return printer.applied(verbatim(node.function), arguments)


def _delta(printer: Printer, node: Call) -> Tex:
    return Tex(rf"\delta_{{{subscript([printer.index(argument) for argument in node.arguments])}}}")


def _pad(printer: Printer, node: Call) -> Tex:
    outside = node.arguments[1:]
    mark = "" if not outside or is_number(outside[0], 0) else rf"_{{{printer.index(outside[0])}}}"
    return printer.applied(rf"\mathrm{{pad}}{mark}", [printer.text(node.arguments[0])])


DIRECT = r"_{\text{direct}}"
"""Marks the derivative by what an equation reads, beside the whole derivative of the same quantity by the same."""


def _derivative(printer: Printer, node: Call) -> Tex:
    """The derivative of one equation; of what is differentiated in all it must look otherwise than a gradient."""
    above, below = (printer.text(argument, Level.FRACTION) for argument in node.arguments)
    found = printer.derivative(above, below)
    if above != printer.notation.objective:
        return found
    return Tex(rf"\left.{found.text}\right|{DIRECT}", Level.ATOM)


def call(printer: Printer, node: Call) -> Tex:
    """A call: of what the printer's table has, of an element-wise function, or of another spec."""
    if node.function in printer.calls:
        return printer.calls[node.function](printer, node)
    if node.function in FUNCTIONS and not node.keywords:
        return printer.row(node.function, node.arguments)
    return _word(printer, node)


CALLS: dict[str, Handler] = {
    "where": _where,
    "max": _extremum,
    "min": _extremum,
    "delta": _delta,
    "pad": _pad,
    "D": _derivative,
}
