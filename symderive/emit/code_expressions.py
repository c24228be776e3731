"""latexify's code generator for expressions, taught what emitted PyTorch code contains."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NoReturn

from latexify.codegen import expression_codegen, expression_rules

from symderive.emit.code_calls import CALLS, LEVELS, NUMBERS, Arguments, level_of
from symderive.emit.latex_names import Notation, symbol
from symderive.emit.latex_tex import brackets, cases, parentheses, with_foot
from symderive.emit.torch_helpers import TORCH_HELPERS
from symderive.errors import UnsupportedError

MODULES = ("torch", "torch.linalg", "F", "math", "torch.nn.functional")
CONSTANTS = {"inf": r"\infty", "pi": r"\pi", "e": "e"}
PLUMBING = frozenset(("dtype", "device", "memory_format"))
"""Keywords that say where and how numbers are kept, not which numbers they are."""

_GRADIENT = 95
_POWER = 119
_ADD, _MINUS, _MULT, _MATMUL = 90, 96, 100, 101
_LOGIC = {ast.BitAnd: (r" \land ", 20), ast.BitOr: (r" \lor ", 10)}


class Names:
    """Turns identifiers into LaTeX, as latexify asks for it."""

    def __init__(self, notation: Notation) -> None:
        self.notation = notation

    def convert(self, name: str) -> tuple[str, bool]:
        """The LaTeX of an identifier, and whether it is one letter."""
        notation = self.notation
        for table, mark in ((notation.gradients, ""), (notation.totals, r"^{\mathrm{total}}")):
            if name in table:
                return rf"\nabla_{{{notation.text(table[name])}}}{mark} {notation.objective}", False
        text = notation.text(name) if name in notation.shapes or name in notation.numbers else symbol(name).plain()
        return text, len(text) == 1


def reject(node: ast.AST, why: str = "has no LaTeX") -> NoReturn:
    """Raise for code that would be lost."""
    raise UnsupportedError(f"`{ast.unparse(node)}` {why}")


def qualified(node: ast.expr) -> str:
    """The dotted name of ``torch.linalg.inv``; empty for what is no dotted name."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (front := qualified(node.value)):
        return f"{front}.{node.attr}"
    return ""


def is_condition(node: ast.expr) -> bool:
    """Whether code says true or false by its form."""
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, (ast.Invert, ast.Not))
    if isinstance(node, ast.BinOp):
        return type(node.op) in _LOGIC
    return isinstance(node, ast.Compare)


class ExpressionCodegen(expression_codegen.ExpressionCodegen):
    """Writes one expression. Every kind of node either is written whole or raises ``UnsupportedError``."""

    def __init__(self, notation: Notation) -> None:
        super().__init__()
        self.notation = notation
        self._identifier_converter = Names(notation)  # type: ignore[assignment]

    def generic_visit(self, node: ast.AST) -> str:
        """Anything that no method below writes."""
        reject(node)

    visit_Set = visit_ListComp = visit_SetComp = visit_comprehension = generic_visit
    visit_BoolOp = visit_GeneratorExp = visit_Lambda = visit_Starred = generic_visit

    # Brackets: latexify asks these two, which know more kinds of node than it does

    def level(self, node: ast.expr) -> int:
        """How tightly the LaTeX of a node binds, on latexify's scale."""
        if isinstance(node, ast.Name):
            text = self._identifier_converter.convert(node.id)[0]
            return _GRADIENT if text.startswith(r"\nabla") else _POWER if "^" in text else 1000
        if isinstance(node, ast.Attribute):
            return _POWER if node.attr in ("T", "mT") else 1000
        if isinstance(node, ast.Subscript):
            return _POWER if "^" in self.operand(node.value, _POWER) else 1000
        if isinstance(node, ast.Call):
            return self._call_level(node)
        if isinstance(node, ast.Constant) and "^" in self.visit(node):
            return _MULT
        if isinstance(node, ast.IfExp):
            return LEVELS["where"]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return _MINUS
        if isinstance(node, ast.BinOp):
            if type(node.op) in _LOGIC:
                return _LOGIC[type(node.op)][1]
            if isinstance(node.op, ast.Mod):
                return _ADD - 5
            return _MATMUL if isinstance(node.op, ast.MatMult) else expression_rules.get_precedence(node)
        return expression_rules.get_precedence(node)

    def _call_level(self, node: ast.Call) -> int:
        name, receiver = self._callee(node)
        if name in ("to", "contiguous") and receiver is not None:
            return 1000 if is_condition(receiver) else self.level(receiver)
        return level_of(name)

    def operand(self, node: ast.expr, least: int = 0) -> str:
        """A node, in parentheses where it binds less tightly than ``least``; a condition counts as 0 or 1."""
        text = self.visit(node)
        if is_condition(node) and least > _ADD - 1:
            return r"\mathbf{1}" + brackets(text)
        return text if self.level(node) >= least else parentheses(text)

    def _wrap_operand(self, child: ast.expr, parent_prec: int, force_wrap: bool = False) -> str:
        if force_wrap and not self.operand(child, parent_prec).startswith(("(", r"\left(")):
            return parentheses(self.visit(child))
        return self.operand(child, parent_prec)

    def _wrap_binop_operand(
        self, child: ast.expr, parent_prec: int, operand_rule: expression_rules.BinOperandRule
    ) -> str:
        if not operand_rule.wrap:
            return self.visit(child)
        return self.operand(child, parent_prec + 1 if operand_rule.force else parent_prec)

    # Operators

    def visit_BinOp(self, node: ast.BinOp) -> str:
        """Products of arrays: ``@`` is written side by side, ``*`` as a circled dot; the rest is latexify's."""
        if type(node.op) in _LOGIC:
            sign, level = _LOGIC[type(node.op)]
            return sign.join(self.operand(side, level) for side in (node.left, node.right))
        if isinstance(node.op, ast.MatMult):
            left = self.operand(node.left, _MINUS if isinstance(node.left, ast.UnaryOp) else _MATMUL)
            return f"{left} {self.operand(node.right, _MATMUL + 1)}"
        if isinstance(node.op, ast.Mult):
            sign = r" \cdot " if self.is_number(node.left) or self.is_number(node.right) else r" \odot "
            right = _MULT + 1 if isinstance(node.right, ast.BinOp) and isinstance(node.right.op, ast.Mult) else _MULT
            left = self.operand(node.left, _MINUS)
            return f"{left}{sign}{self.operand(node.right, right)}"
        if isinstance(node.op, ast.Pow) and not self.is_number(node.left):
            return rf"{self.operand(node.left, _POWER + 1)}^{{\odot {self.visit(node.right)}}}"
        if isinstance(node.op, (ast.Add, ast.Sub)):
            return " ".join(self.terms(node))
        if isinstance(node.op, (ast.Div, ast.Pow, ast.FloorDiv)):
            return super().visit_BinOp(node)
        if isinstance(node.op, ast.Mod):
            return rf"{self.operand(node.left, _MULT)} \bmod {self.operand(node.right, _MULT + 1)}"
        reject(node)

    def terms(self, node: ast.expr) -> list[str]:
        """The terms of a sum, all but the first with their signs: between them a long line may be broken."""
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub))):
            return [self.visit(node)]
        minus = isinstance(node.op, ast.Sub)
        left = self.terms(node.left)
        if len(left) == 1:
            left = [self.operand(node.left, _ADD)]
        right = self.operand(node.right, _ADD + 1 if minus else _ADD)
        if right.startswith("-"):
            right = parentheses(right)
        return [*left, f"{'-' if minus else '+'} {right}"]

    def is_number(self, node: ast.expr) -> bool:
        """Whether it is certainly no array: made of numbers, sizes and constants."""
        names = [part for part in ast.walk(node) if isinstance(part, ast.Name)]
        plain = (ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.expr_context)
        return all(isinstance(part, plain) for part in ast.walk(node)) and all(
            self.notation.rank(part.id) == 0 and part.id not in self.notation.shapes for part in names
        )

    def visit_UnaryOp(self, node: ast.UnaryOp) -> str:
        """``-x``, and ``~m`` for the opposite of a condition."""
        if isinstance(node.op, ast.Invert):
            inner = self.visit(node.operand)
            return rf"\lnot {inner if self.level(node.operand) >= _POWER else parentheses(inner)}"
        if isinstance(node.op, ast.USub):
            return "-" + self.operand(node.operand, _MINUS)
        reject(node)

    def visit_IfExp(self, node: ast.IfExp) -> str:
        """One value or another; a number as the test asks whether it is not 0."""
        test = self.visit(node.test)
        if self.is_number(node.test):
            test += r" \neq 0"
        elif not is_condition(node.test):
            reject(node)
        return cases([(self.visit(node.body), test), (self.visit(node.orelse), "")])

    def visit_Compare(self, node: ast.Compare) -> str:
        """Comparisons of numbers."""
        if any(type(op) not in (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq) for op in node.ops):
            reject(node)
        return super().visit_Compare(node)

    # Leaves

    def visit_Constant(self, node: ast.Constant) -> str:
        """A number; text, None and the like are written only where a call knows what they mean."""
        if isinstance(node.value, bool) or not isinstance(node.value, (int, float)):
            reject(node)
        head, _, exponent = repr(node.value).partition("e")
        if not exponent:
            return head.removesuffix(".0")
        power = rf"10^{{{int(exponent)}}}"
        return power if head in ("1", "1.0") else rf"{head} \cdot {power}"

    def visit_Attribute(self, node: ast.Attribute) -> str:
        """A transpose, a shape, the number pi or infinity."""
        if qualified(node.value) in MODULES:
            return CONSTANTS.get(node.attr) or reject(node)
        if node.attr in ("T", "mT"):
            return rf"{self.operand(node.value, 1000)}^\top"
        if node.attr == "shape":
            return rf"\mathrm{{shape}}{parentheses(self.visit(node.value))}"
        if node.attr == "values" and isinstance(node.value, ast.Call):
            return self.visit(node.value)
        reject(node)

    def visit_Tuple(self, node: ast.Tuple) -> str:
        """Several values; a starred name stands for the batch extents."""
        items = [r"\ldots" if isinstance(item, ast.Starred) else self.visit(item) for item in node.elts]
        return parentheses(", ".join(items))

    visit_List = visit_Tuple  # type: ignore[assignment]

    # Parts

    def visit_Subscript(self, node: ast.Subscript) -> str:
        """A part of an array: each axis a range, an index, all of it, or a new one."""
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        shown = ", ".join(self._item(item) for item in items)
        return with_foot(self.operand(node.value, _POWER), f"[{shown}]")

    def _item(self, item: ast.expr) -> str:
        if isinstance(item, ast.Slice):
            start, stop, step = (self.visit(end) if end else "" for end in (item.lower, item.upper, item.step))
            return f"{start}:{stop}:{step}" if step else f"{start}:{stop}"
        if isinstance(item, ast.Constant) and item.value in (None, ...):
            return r"\ldots" if item.value is ... else r"\mathrm{new}"
        return self.visit(item)

    # Calls

    def _callee(self, node: ast.Call) -> tuple[str, ast.expr | None]:
        """The name of what is called, and the array whose method it is."""
        if isinstance(node.func, ast.Name) and node.func.id in NUMBERS:
            return NUMBERS[node.func.id], None
        if isinstance(node.func, ast.Name) and node.func.id in TORCH_HELPERS:
            return node.func.id, None
        if not isinstance(node.func, ast.Attribute):
            reject(node, "calls a function that is not known")
        inside = qualified(node.func.value) in MODULES
        return node.func.attr.removesuffix("_"), None if inside else node.func.value

    def visit_Call(self, node: ast.Call) -> str:
        """A function or a method, by the table of calls."""
        name, receiver = self._callee(node)
        if name not in CALLS:
            reject(node, "calls a function that is not known")
        parameters, write = CALLS[name]
        given = ([receiver] if receiver is not None else []) + list(node.args)
        return write(self, _bound(node, name, parameters, given))


def _bound(node: ast.Call, name: str, parameters: Sequence[str], given: Sequence[ast.expr]) -> Arguments:
    """The arguments of a call by the names of its parameters; nothing may be left over."""
    bound: dict[str, ast.expr] = {}
    rest: list[ast.expr] = []
    for place, argument in enumerate(given):
        if place < len(parameters) and not parameters[place].startswith("*"):
            bound[parameters[place]] = argument
        elif parameters[-1].startswith("*"):
            rest.append(argument)
        else:
            reject(node, "has more arguments than are known")
    for keyword in node.keywords:
        if keyword.arg in PLUMBING:
            continue
        if keyword.arg is None or keyword.arg not in parameters or keyword.arg in bound:
            reject(node, f"has a keyword {keyword.arg!r} that is not known")
        bound[keyword.arg] = keyword.value
    if any(isinstance(argument, ast.Starred) for argument in bound.values()):
        reject(node)
    return Arguments(node, name, bound, tuple(rest))


__all__ = ["LEVELS", "ExpressionCodegen", "Names", "reject"]
