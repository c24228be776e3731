"""latexify's code generator for functions, taught the statements of emitted code: one aligned line for each."""

from __future__ import annotations

import ast

from latexify.codegen import function_codegen
from latexify.exceptions import LatexifyError

from symderive.emit.code_expressions import ExpressionCodegen, reject
from symderive.emit.latex_lines import aligned, lay_out
from symderive.emit.latex_names import Notation
from symderive.errors import UnsupportedError

_TYPES = ("promote_types", "result_type", "empty")
"""Functions that only find a dtype, or make a tensor without entries that has it."""


class FunctionCodegen(function_codegen.FunctionCodegen):
    """Writes the statements of a function. Each is written whole or raises ``UnsupportedError``."""

    def __init__(self, notation: Notation) -> None:
        super().__init__()
        self._expression_codegen: ExpressionCodegen = ExpressionCodegen(notation)
        self.lines: list[str] = []

    def generic_visit(self, node: ast.AST) -> str:
        """Loops, branches and whatever else emitted code has no use for."""
        reject(node)

    visit_If = visit_Match = visit_MatchValue = generic_visit

    def visit_Module(self, node: ast.Module) -> str:
        """A few statements."""
        for statement in node.body:
            self.visit(statement)
        return aligned(self.lines)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> str:
        """The body of a function."""
        return self.visit_Module(ast.Module(node.body, []))

    def visit_Expr(self, node: ast.Expr) -> str:
        """``name.method_(...)`` gives the name a new value; a docstring is left out; the rest is refused."""
        if isinstance(node.value, ast.Call) and (target := _changed_in_place(node.value)) is not None:
            codegen = self._expression_codegen
            self.lines.append(rf"{codegen.visit(target)} &\leftarrow {codegen.visit(node.value)}")
        elif not (isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)):
            reject(node)
        return ""

    def visit_Assign(self, node: ast.Assign) -> str:
        """``name = expression``; several names at once take the parts of a tuple."""
        if isinstance(node.value, ast.Call) and ast.unparse(node.value.func).split(".")[-1] in _TYPES:
            return ""
        if len(node.targets) != 1:
            reject(node)
        self.lines += lay_out(
            self._expression_codegen.visit(node.targets[0]), [self._expression_codegen.terms(node.value)]
        )
        return ""

    def visit_AugAssign(self, node: ast.AugAssign) -> str:
        """``name += expression`` gives the name a new value."""
        if not isinstance(node.target, (ast.Name, ast.Subscript)):
            reject(node)
        whole = ast.BinOp(ast.parse(ast.unparse(node.target), mode="eval").body, node.op, node.value)
        target = self._expression_codegen.visit(node.target)
        self.lines.append(rf"{target} &\leftarrow {self._expression_codegen.visit(whole)}")
        return ""

    def visit_Return(self, node: ast.Return) -> str:
        """What the function gives back; names by themselves have been shown."""
        parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        if not all(_is_plain(part) for part in parts):
            shown = [self._expression_codegen.visit(part) for part in parts if part is not None]
            self.lines.append(r"&\text{return } " + ", ".join(shown))
        return ""


def _changed_in_place(call: ast.Call) -> ast.expr | None:
    """The variable that a method such as ``index_add_`` changes."""
    if not (isinstance(call.func, ast.Attribute) and call.func.attr.endswith("_")):
        return None
    return call.func.value if isinstance(call.func.value, (ast.Name, ast.Subscript)) else None


def _is_plain(node: ast.expr | None) -> bool:
    if isinstance(node, ast.Tuple):
        return all(_is_plain(item) for item in node.elts)
    return node is None or isinstance(node, ast.Name)


def function_latex(code: str, notation: Notation, function: str = "") -> str:
    """The statements of emitted code as LaTeX; raises ``UnsupportedError`` for what cannot be shown whole."""
    tree = ast.parse(code)
    body = tree.body
    if function:
        body = [item for item in body if isinstance(item, ast.FunctionDef) and item.name == function]
        if not body:
            raise UnsupportedError(f"there is no function {function!r} in the code")
    try:
        return FunctionCodegen(notation).visit(ast.Module(body, []))
    except LatexifyError as error:
        raise UnsupportedError(f"the code has no LaTeX: {error}") from error
