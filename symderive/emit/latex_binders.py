r"""How reductions print: :math:`\sum_{k \le i}`, :math:`\frac{1}{K} \sum_k`, :math:`\mathrm{softmax}_k(z_{ik})`."""

from __future__ import annotations

from collections.abc import Iterator

from sympy import Expr

from symderive.emit.latex_printer import Handler, Printer
from symderive.emit.latex_sizes import last_index, size_syntax
from symderive.emit.latex_tex import Level, Tex, brackets, product, subscript
from symderive.spec.sizes import BATCH_SIZE
from symderive.spec.syntax import BATCH, Access, Batch, Binder, Compare, Name, Node

BIG = {"sum": r"\sum", "prod": r"\prod"}
WORDS = {"max": r"\max", "min": r"\min", "argmax": r"\arg\max", "argmin": r"\arg\min"}
QUANTIFIERS = {"any": r"\bigvee", "all": r"\bigwedge"}
NORMALISERS = {"softmax": r"\mathrm{softmax}", "log_softmax": r"\log \mathrm{softmax}"}
MATRICES = {"det": r"\det", "logdet": r"\log\det"}
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def _plain_positions(node: Node) -> Iterator[tuple[str, int, str]]:
    """Every index that is a position by itself: tensor, place and index."""
    for part in node.walk():
        if isinstance(part, Access):
            for place, item in enumerate(part.indices):
                if isinstance(item, (Name, Batch)):
                    yield part.tensor, place, item.id if isinstance(item, Name) else BATCH


def extent(printer: Printer, node: Binder, index: str) -> Expr | None:
    """The range of a bound index: the axis that it runs over, or the range that its letter has in the forward."""
    if index == BATCH:
        return BATCH_SIZE
    for tensor, place, name in _plain_positions(node):
        shape = printer.notation.shape(tensor)
        if name == index and shape is not None and place < len(shape):
            return shape[place]
    return printer.notation.ranges.get(index)


def _is_shifted(node: Node, index: str) -> bool:
    """Whether the index stands in index positions only as a part of something larger."""
    if any(name == index for _, _, name in _plain_positions(node)):
        return False
    positions = (item for part in node.walk() if isinstance(part, Access) for item in part.indices)
    compound = (item for item in positions if not isinstance(item, (Name, Access)))
    return any(isinstance(part, Name) and part.id == index for item in compound for part in item.walk())


def _letter(printer: Printer, index: str) -> str:
    return printer.script.text(Batch() if index == BATCH else Name(index))


def letters(printer: Printer, node: Binder) -> str:
    """The bound indices and their condition, as they stand below a big operator."""
    names = ", ".join(_letter(printer, index) for index in node.indices)
    if node.condition is None:
        return names
    test = _about(node.condition, node.indices[0]) if len(node.indices) == 1 else None
    if test is not None:
        return printer.script.condition(test)
    return f"{names} : {printer.script.condition(node.condition)}"


def _about(test: Node, index: str) -> Node | None:
    """A condition that says by itself which index it is about: ``k <= i``, written with k in front."""
    if not isinstance(test, Compare):
        return None
    own = [isinstance(operand, Name) and operand.id == index for operand in test.operands]
    if len(own) == 2 and own == [False, True]:
        return Compare((_FLIPPED[test.ops[0]],), (test.operands[1], test.operands[0]))
    return test if own in ([True, False], [False, True, False]) else None


def _operators(printer: Printer, node: Binder, sign: str) -> str:
    r"""One big operator, or one for each index where some need their limits spelt out."""
    known = {index: extent(printer, node, index) for index in node.indices if _is_shifted(node.body, index)}
    limits = {index: size for index, size in known.items() if size is not None and size != BATCH_SIZE}
    if node.condition is not None or not limits:
        return f"{sign}_{{{letters(printer, node)}}}"
    signs = []
    for index in node.indices:
        letter = _letter(printer, index)
        signs.append(f"{sign}_{{{letter}}}")
        if index in limits:
            signs[-1] = f"{sign}_{{{letter}=0}}^{{{printer.script.text(last_index(limits[index]))}}}"
    return " ".join(signs)


def _big(printer: Printer, node: Binder) -> Tex:
    body = printer.text(node.body, Level.PRODUCT)
    return Tex(f"{_operators(printer, node, BIG[node.op])} {body}", Level.PRODUCT, open=True)


def _mean(printer: Printer, node: Binder) -> Tex:
    sizes = [extent(printer, node, index) for index in node.indices]
    known = [size_syntax(size) for size in sizes if size is not None and size != BATCH_SIZE]
    if node.condition is not None or len(known) < len(node.indices):
        return printer.applied(rf"\mathrm{{mean}}_{{{letters(printer, node)}}}", [printer.text(node.body)])
    count = product([printer.number(size, Level.PRODUCT) for size in known]).text
    total = Binder("sum", node.indices, None, node.body)
    return product([Tex(rf"\frac{{1}}{{{count}}}", Level.FRACTION), _big(printer, total)])


def _word(printer: Printer, node: Binder) -> Tex:
    body = printer.text(node.body, Level.PRODUCT)
    return Tex(f"{WORDS[node.op]}_{{{letters(printer, node)}}} {body}", Level.PRODUCT, open=True)


def _quantifier(printer: Printer, node: Binder) -> Tex:
    body = printer.condition(node.body, Level.SUM)
    return Tex(f"{QUANTIFIERS[node.op]}_{{{letters(printer, node)}}} {body}", Level.COMPARE, open=True)


def _logsumexp(printer: Printer, node: Binder) -> Tex:
    body = printer.row("exp", [node.body]).text
    return Tex(rf"\log {_operators(printer, node, BIG['sum'])} {body}", Level.PRODUCT, open=True)


def _normaliser(printer: Printer, node: Binder) -> Tex:
    return printer.applied(f"{NORMALISERS[node.op]}_{{{letters(printer, node)}}}", [printer.text(node.body)])


def _matrix(printer: Printer, node: Binder) -> Tex:
    """The matrix that two indices of an expression span."""
    body, (row, column) = node.body, node.indices
    if isinstance(body, Access) and body.indices[-2:] == (Name(row), Name(column)):
        rest = [printer.index(item) for item in body.indices[:-2]]
        return printer.entry(body.tensor, rest) if rest else printer.whole(body.tensor)
    if isinstance(body, Binder) and body.op == "cholesky" and body.indices == node.indices:
        return _factor(printer, body)
    spanned = subscript([_letter(printer, row), _letter(printer, column)])
    return Tex(rf"{brackets(printer.text(body))}_{{{spanned}}}", Level.ATOM)


def _inverse(printer: Printer, node: Binder) -> Tex:
    matrix = _matrix(printer, node).within(Level.ATOM)
    indices = subscript([_letter(printer, index) for index in node.indices])
    return Tex(rf"\left({matrix}^{{-1}}\right)_{{{indices}}}", Level.ATOM)


def _factor(printer: Printer, node: Binder) -> Tex:
    return Tex(printer.applied(r"\mathrm{chol}", [_matrix(printer, node).text]).text, Level.ATOM)


def _cholesky(printer: Printer, node: Binder) -> Tex:
    entry = subscript([_letter(printer, index) for index in node.indices])
    return Tex(f"{_factor(printer, node).text}_{{{entry}}}", Level.ATOM)


def _solution(printer: Printer, node: Binder) -> Tex:
    """The inverse of the matrix times what the row index spans: a vector, or a column of a matrix."""
    (right,), (row, column) = node.more, node.indices
    body = node.body
    swapped = isinstance(body, Access) and body.indices[-2:] == (Name(column), Name(row))
    swapped |= isinstance(body, Binder) and body.op == "cholesky" and body.indices == (column, row)
    spanned = Binder("inv", (column, row) if swapped else (row, column), None, body)
    matrix = _matrix(printer, spanned).within(Level.ATOM)
    inverse = rf"{matrix}^{{-\top}}" if swapped else rf"{matrix}^{{-1}}"
    system = rf"\left({inverse} {_column(printer, right, row)}\right)"
    return Tex(f"{system}_{{{_letter(printer, column)}}}", Level.ATOM)


def _column(printer: Printer, node: Node, row: str) -> str:
    """What an index spans: a tensor with a dot in the place of the index, or the expression in brackets."""
    if isinstance(node, Access) and node.indices.count(Name(row)) == 1:
        rest = [printer.index(item) for item in node.indices if item != Name(row)]
        plain = sum(isinstance(n, Name) and n.id == row for n in node.walk()) == 1
        if plain and not rest:
            return printer.whole(node.tensor).text
        if plain:
            places = [r"\cdot" if item == Name(row) else printer.index(item) for item in node.indices]
            return printer.entry(node.tensor, places).text
    return rf"{brackets(printer.text(node))}_{{{_letter(printer, row)}}}"


def _determinant(printer: Printer, node: Binder) -> Tex:
    return Tex(f"{MATRICES[node.op]} {_matrix(printer, node).within(Level.ATOM)}", Level.APPLY, open=True)


BINDERS: dict[str, Handler] = {
    **dict.fromkeys(BIG, _big),
    **dict.fromkeys(WORDS, _word),
    **dict.fromkeys(QUANTIFIERS, _quantifier),
    **dict.fromkeys(NORMALISERS, _normaliser),
    **dict.fromkeys(MATRICES, _determinant),
    "mean": _mean,
    "logsumexp": _logsumexp,
    "inv": _inverse,
    "cholesky": _cholesky,
    "solve": _solution,
}


def binder(printer: Printer, node: Binder) -> Tex:
    """A reduction, a normaliser or a function of a matrix, by the table above."""
    return BINDERS[node.op](printer, node)
