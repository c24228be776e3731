"""Text -> syntax tree: one grammar for index form and array form, with Python's precedence.

Nothing is ever evaluated. Nesting, length and the depth of the tree are bounded, so that whoever walks a tree
may recurse.
"""

from __future__ import annotations

import difflib
import keyword
from dataclasses import replace
from fractions import Fraction

from symderive.errors import Span, SpecError
from symderive.spec import syntax as s
from symderive.spec.functions import BINDERS, MATRIX
from symderive.spec.source import Origin
from symderive.spec.tokens import Token, tokenize

MAX_NESTING = 110
MAX_DEPTH = 200

OR, AND, NOT, COMPARE, SUM, PRODUCT, UNARY, POWER = range(1, 9)

LEFT_ASSOCIATIVE = {"+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "//": PRODUCT, "%": PRODUCT, "@": PRODUCT}
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
_LEVEL = LEFT_ASSOCIATIVE | dict.fromkeys(COMPARISONS, COMPARE) | {"or": OR, "and": AND, "**": POWER}
_KEYWORDS = {"None": None, "True": True, "False": False}
_WORDS = {
    "if": "write where(condition, a, b)",
    "else": "write where(condition, a, b)",
    "for": "write sum[k](...) and the like",
    "lambda": "'lambda' is a Python keyword; call it lam",
    "in": "write a comparison",
    "is": "write ==",
}


def parse_expression(text: str, origin: Origin | None = None) -> s.Node:
    """The tree of one expression. Raises :class:`SpecError` at the first place that does not fit."""
    origin = origin or Origin(source=text)
    parser = _Parser([t for t in tokenize(text, origin) if t.kind != "newline"], origin)
    node = parser.expression()
    parser.finish("end")
    return parser.bounded(node)


def parse_statements(text: str, origin: Origin | None = None) -> tuple[s.Statement, ...]:
    """The statements of a block, one a line: ``left = side = side``. Raises :class:`SpecError` at the first bad one."""
    origin = origin or Origin(source=text)
    parser = _Parser(tokenize(text, origin), origin)
    statements = []
    while parser.skip_newlines():
        statements.append(parser.statement())
    return tuple(statements)


class _Parser:
    """A precedence parser over tokens; ``expression(level)`` reads operators that bind at least as tightly as level."""

    def __init__(self, tokens: list[Token], origin: Origin) -> None:
        self.tokens = tokens
        self.origin = origin
        self.at = 0
        self.depth = 0

    # -- tokens ------------------------------------------------------------------------------------------------

    @property
    def next(self) -> Token:
        return self.tokens[self.at]

    def take(self) -> Token:
        token = self.tokens[self.at]
        if token.kind != "end":
            self.at += 1
        return token

    def sees(self, text: str) -> bool:
        token = self.tokens[self.at]
        return token.text == text and token.kind == "op"

    def accept(self, text: str) -> Token | None:
        return self.take() if self.sees(text) else None

    def expect(self, text: str, what: str) -> Token:
        if not self.sees(text):
            raise self.unexpected(f"'{text}' {what}".strip())
        return self.take()

    def error(self, message: str, span: Span, hint: str | None = None) -> SpecError:
        return self.origin.error(message, span, hint)

    def unexpected(self, wanted: str) -> SpecError:
        token = self.next
        if token.kind in ("end", "newline"):
            return self.error(f"the line ends where {wanted} should stand", token.span)
        return self.error(f"expected {wanted}, not '{token.text}'", token.span, _WORDS.get(token.text))

    def skip_newlines(self) -> bool:
        while self.next.kind == "newline":
            self.at += 1
        return self.next.kind != "end"

    def finish(self, *kinds: str) -> None:
        if self.next.kind not in kinds:
            hint = "a product is written *" if self.next.kind in ("name", "number") else None
            token = self.next
            raise self.error(
                f"expected an operator or the end of the line, not '{token.text}'",
                token.span,
                _WORDS.get(token.text, hint),
            )

    def bounded(self, node: s.Node) -> s.Node:
        """The node, if its tree is no deeper than MAX_DEPTH."""
        if len(self.tokens) <= MAX_DEPTH:
            return node
        stack = [(node, 1)]
        while stack:
            part, depth = stack.pop()
            if depth > MAX_DEPTH:
                raise self.error(
                    f"an expression with more than {MAX_DEPTH} operations inside one another",
                    node.span,
                    "split it over several equations",
                )
            stack.extend((child, depth + 1) for child in part.children())
        return node

    # -- statements --------------------------------------------------------------------------------------------

    def statement(self) -> s.Statement:
        left = self.bounded(self.expression())
        if not self.sees("="):
            self.finish("newline", "end")
            hint = None
            if isinstance(left, s.Compare) and "==" in left.ops:
                hint = "a definition is written with one ="
            raise self.error("this line has no '='", left.span, hint or "an equation is name[indices] = expression")
        sides = []
        while self.accept("="):
            sides.append(self.bounded(self.expression()))
        self.finish("newline", "end")
        return s.Statement(left, tuple(sides), span=left.span.to(sides[-1].span))

    # -- expressions -------------------------------------------------------------------------------------------

    def expression(self, level: int = 0) -> s.Node:
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise self.error(f"nested more than {MAX_NESTING} deep", self.next.span, "split it over several equations")
        left = self.prefix(level)
        while self.next.kind in ("op", "name"):
            binds = _LEVEL.get(self.next.text)
            if binds is None or binds < level:
                break
            left = self.infix(left, binds)
        self.depth -= 1
        return left

    def infix(self, left: s.Node, level: int) -> s.Node:
        if level == COMPARE:
            ops, operands = [], [left]
            while self.next.text in COMPARISONS:
                ops.append(self.take().text)
                operands.append(self.expression(COMPARE + 1))
            return s.Compare(tuple(ops), tuple(operands), span=left.span.to(operands[-1].span))
        op = self.take().text
        if level in (OR, AND):
            operands = [left, self.expression(level + 1)]
            while self.next.text == op:
                self.take()
                operands.append(self.expression(level + 1))
            return s.Logical(op, tuple(operands), span=left.span.to(operands[-1].span))
        right = self.expression(UNARY if level == POWER else level + 1)
        return s.Binary(op, left, right, span=left.span.to(right.span))

    def prefix(self, level: int) -> s.Node:
        token = self.next
        if token.kind == "op" and token.text in ("-", "+"):
            self.take()
            operand = self.expression(UNARY)
            return s.Unary(token.text, operand, span=token.span.to(operand.span))
        if token.text == "not":
            if level > NOT:
                raise self.error("'not' stands behind an operator", token.span, "put it in brackets: (not a)")
            self.take()
            operand = self.expression(NOT)
            return s.Not(operand, span=token.span.to(operand.span))
        return self.postfix(self.atom())

    def atom(self) -> s.Node:
        token = self.next
        if token.kind == "number":
            self.take()
            return s.Number(self.number(token), span=token.span)
        if token.kind == "string":
            self.take()
            return s.Text(token.text[1:-1], span=token.span)
        if token.kind == "name":
            return self.name()
        if self.sees("("):
            return self.bracketed()
        if self.sees("["):
            return self.listing()
        if self.sees("..."):
            raise self.error("'...' can only stand first in an index list", token.span, "as in x[..., k]")
        raise self.unexpected("a name, a number or a bracket")

    def number(self, token: Token) -> Fraction:
        text = token.text
        digits = text.split(".")[0]
        if "__" in text or "_." in text or "._" in text or "_e" in text.lower() or text.endswith("_"):
            raise self.error(f"'{text}' is not a number", token.span, "an underscore stands between two digits")
        if digits.isdigit() and len(digits) > 1 and digits[0] == "0" and digits.strip("0"):
            raise self.error(f"'{text}' is not a number", token.span, "a number does not start with 0")
        text = text.replace("_", "")
        return Fraction(text + "0" if text.endswith(".") else text.replace(".e", ".0e").replace(".E", ".0e"))

    def name(self) -> s.Node:
        token = self.take()
        if token.text in _KEYWORDS:
            return s.Keyword(_KEYWORDS[token.text], span=token.span)
        if keyword.iskeyword(token.text):
            hint = _WORDS.get(token.text, "Python keywords cannot be names")
            raise self.error(f"'{token.text}' cannot stand here", token.span, hint)
        if token.text in BINDERS and self.sees("["):
            return self.binder(token)
        return s.Name(token.text, span=token.span)

    def binder(self, token: Token) -> s.Node:
        self.expect("[", "")
        indices = [self.index_name(token)]
        while self.accept(","):
            indices.append(self.index_name(token))
        condition = self.expression() if self.accept(":") else None
        if not self.sees("]"):
            raise self.unexpected(f"',', ':' or ']' in the indices of '{token.text}'")
        self.take()
        if not self.sees("("):
            raise self.unexpected(f"'(' after {token.text}[{', '.join(indices)}]")
        self.take()
        body = self.expression()
        operands = MATRIX[token.text].operands if token.text in MATRIX else ()
        more = tuple(self.operand(what, token) for what in operands[1:])
        close = self.expect(")", f"at the end of {token.text}[{', '.join(indices)}](...)")
        return s.Binder(token.text, tuple(indices), condition, body, more, span=token.span.to(close.span))

    def operand(self, what: str, binder: Token) -> s.Node:
        """An operand of a binder behind the first."""
        self.expect(",", f"and {what} in {binder.text}[...](...)")
        return self.expression()

    def index_name(self, binder: Token) -> str:
        token = self.next
        if token.kind == "name" and not keyword.iskeyword(token.text):
            return self.take().text
        if self.accept("..."):
            return s.BATCH
        raise self.unexpected(f"the name of an index in {binder.text}[...]")

    def bracketed(self) -> s.Node:
        """``(a)``, or a tuple ``(a, b)``."""
        opening = self.take()
        items: list[s.Node] = []
        comma = False
        while not self.sees(")"):
            items.append(self.expression())
            if not self.accept(","):
                break
            comma = True
        close = self.expect(")", "or ','" if items else "")
        span = opening.span.to(close.span)
        if len(items) == 1 and not comma:
            return replace(items[0], span=span)
        return s.Listing(tuple(items), span=span)

    def listing(self) -> s.Node:
        opening = self.take()
        items = []
        while not self.sees("]"):
            items.append(self.expression())
            if not self.accept(","):
                break
        close = self.expect("]", "or ','")
        return s.Listing(tuple(items), span=opening.span.to(close.span))

    # -- postfix -----------------------------------------------------------------------------------------------

    def postfix(self, node: s.Node) -> s.Node:
        while True:
            if self.sees("["):
                node = self.subscript(node)
            elif self.sees("("):
                node = self.call(node)
            elif self.accept("."):
                if self.next.kind != "name":
                    raise self.unexpected("a name after '.'")
                token = self.take()
                node = s.Attribute(node, token.text, span=node.span.to(token.span))
            else:
                return node

    def subscript(self, node: s.Node) -> s.Node:
        opening = self.take()
        items = []
        while not self.sees("]"):
            items.append(self.item())
            if not self.accept(","):
                break
        close = self.expect("]", "or ','")
        span = node.span.to(close.span)
        if not items:
            hint = f"a scalar is written {node.id}" if isinstance(node, s.Name) else None
            raise self.error("no index between the brackets", opening.span.to(close.span), hint)
        plain = not any(isinstance(i, s.Slice | s.Keyword | s.Listing | s.Text) for i in items)
        if isinstance(node, s.Name) and plain:
            return s.Access(node.id, tuple(items), span=span)
        return s.Subscript(node, tuple(items), span=span)

    def item(self) -> s.Node:
        """One position of a subscript: an expression, ``...`` or a slice."""
        if batch := self.accept("..."):
            return s.Batch(span=batch.span)
        start = self.next.span
        parts: list[s.Node | None] = [None]
        if not self.sees(":"):
            parts[0] = self.expression()
        while len(parts) < 3 and self.accept(":"):
            ends = self.sees(":") or self.sees(",") or self.sees("]")
            parts.append(None if ends else self.expression())
        if len(parts) == 1 and parts[0] is not None:
            return parts[0]
        parts += [None] * (3 - len(parts))
        return s.Slice(parts[0], parts[1], parts[2], span=start.to(self.tokens[self.at - 1].span))

    def call(self, node: s.Node) -> s.Node:
        if not isinstance(node, s.Name | s.Attribute):
            raise self.not_callable(node)
        self.take()
        arguments: list[s.Node] = []
        keywords: list[tuple[str, s.Node]] = []
        while not self.sees(")"):
            self.argument(arguments, keywords)
            if not self.accept(","):
                break
        close = self.expect(")", "or ','")
        span = node.span.to(close.span)
        if isinstance(node, s.Name):
            return s.Call(node.id, tuple(arguments), tuple(keywords), span=span)
        return s.Method(node.value, node.name, tuple(arguments), tuple(keywords), span=span)

    def argument(self, arguments: list[s.Node], keywords: list[tuple[str, s.Node]]) -> None:
        token, after = self.next, self.tokens[min(self.at + 1, len(self.tokens) - 1)]
        if token.kind == "name" and after.kind == "op" and after.text == "=":
            self.take()
            self.take()
            if token.text in (name for name, _ in keywords):
                raise self.error(f"the argument '{token.text}' is given twice", token.span)
            keywords.append((token.text, self.expression()))
        elif keywords:
            raise self.error("a positional argument stands behind a named one", token.span)
        elif dots := self.accept("..."):  # x.sum(...) sums the batch axes
            arguments.append(s.Batch(span=dots.span))
        else:
            arguments.append(self.expression())

    def not_callable(self, node: s.Node) -> SpecError:
        if isinstance(node, s.Access):
            close = difflib.get_close_matches(node.tensor, BINDERS, 1, 0.5)
            hint = f"did you mean '{close[0]}'?" if close else f"a reduction is one of {', '.join(BINDERS)}"
            return self.error(f"'{node.tensor}' is not a reduction", node.span, hint)
        return self.error("this cannot be called", node.span.to(self.next.span), "a product is written *")
