"""``emit --as derivatives``: an entry in the style of PyTorch's ``derivatives.yaml``, to adapt when an op is proposed.

An entry has the op's signature, the gradient of each input in terms of inputs, outputs and ``grad``, and the
forward-mode formula of each output in terms of the inputs' tangents, ``x_t``. What takes more than a line is a
function above the entry, as a comment in torch.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Mapping

from symderive.algebra.second_order import Differentiable, differentiable
from symderive.emit.autograd_kernels import Kernel
from symderive.emit.autograd_op import KernelSet
from symderive.emit.numbers import rational
from symderive.emit.sizes import SizeReader
from symderive.emit.statements import WIDTH
from symderive.emit.torch import TorchPrinter
from symderive.spec import model
from symderive.wording import listed


def derivatives_entry(spec: model.Spec) -> str:
    """The entry as text."""
    op = differentiable(spec)
    return "\n".join(Entry(op, KernelSet(op)).lines()) + "\n"


class Entry:
    """Writes an entry."""

    def __init__(self, op: Differentiable, kernels: KernelSet) -> None:
        self.op, self.kernels, self.spec = op, kernels, op.spec
        names = [kernels.names[r.name] for r in kernels.upstreams]
        several = len(names) > 1
        self.grads = {n: f"grads[{k}]" if several else "grad" for k, n in enumerate(names)}
        """What the entry calls the upstreams; functions call them as everywhere."""

    def lines(self) -> Iterator[str]:
        """Comments, then the entry."""
        gradients = _formulas(self.kernels.backward, {w: f"d{w}" for w in self.spec.wrt})
        tangents = _formulas(self.kernels.tangents, self._tangents())
        yield from self._note()
        if gradients is None:
            yield from self._function(self.kernels.backward, "backward")
        if tangents is None:
            yield from self._function(self.kernels.tangents, "jvp")
        if gradients is None or tangents is None:
            yield "#"
        yield f"- name: {self._signature()}"
        yield from self._backward(gradients)
        yield from self._forward(tangents)
        if len(self.op.forward.outputs) > 1:
            known = ", ".join(str(o in self.kernels.moving) for o in self.op.forward.outputs)
            yield f"  output_differentiability: [{known}]"

    def _tangents(self) -> dict[str, str]:
        return {o: self.op.tangents.names[o] for o in self.op.forward.outputs if o in self.op.tangents.names}

    def _signature(self) -> str:
        inputs = ", ".join(f"Tensor {i.name}" for i in self.spec.inputs)
        outputs = ", ".join(f"Tensor {o}" for o in self.op.forward.outputs)
        several = len(self.op.forward.outputs) > 1
        return f"{self.spec.name}({inputs}) -> {f'({outputs})' if several else outputs}"

    def _backward(self, gradients: Mapping[str, str] | None) -> Iterator[str]:
        if gradients is None:
            mask = ["*grad_input_mask"] if self.kernels.wanted else []
            yield f"  {', '.join(self.spec.wrt)}: {self._call(self.kernels.backward, 'backward', mask)}"
        for given in self.spec.inputs:
            if given.name not in self.spec.wrt:
                yield f"  {given.name}: non_differentiable"
            elif gradients is not None:
                yield f"  {given.name}: {self._graded(gradients[given.name])}"

    def _forward(self, tangents: Mapping[str, str] | None) -> Iterator[str]:
        names = self._tangents()
        if tangents is not None:
            yield from (f"  {name}: {formula}" for name, formula in tangents.items())
        elif names:
            yield f"  {', '.join(names)}: {self._call(self.kernels.tangents, 'jvp', [])}"

    def _call(self, kernel: Kernel, function: str, flags: list[str]) -> str:
        """The call of a function above the entry; sizes that are integers are read off the inputs."""
        shapes = {r.name: r.shape for r in self.kernels.forward.plan.inputs}
        reader = SizeReader(shapes, TorchPrinter(self.kernels.names))
        sizes = {s: reader.value(s) for s in kernel.sizes}
        arguments = kernel.arguments(sizes)[len(self.kernels.wanted) if flags else 0 :]
        return self._graded(f"{self.spec.name}_{function}({', '.join([*flags, *arguments])})")

    def _graded(self, formula: str) -> str:
        for name, grad in self.grads.items():
            formula = re.sub(rf"\b{name}\b", grad, formula)
        return formula

    def _note(self) -> Iterator[str]:
        op = self.op
        saved = f"It saves {listed(op.saved)}." if op.saved else "It saves nothing."
        title = f"{self.spec.name}: {self.spec.title}" if self.spec.title else self.spec.name
        sentences = [f"{title.rstrip('.')}.", saved]
        if op.carried:
            sentences.append(f"{listed(op.carried)} {'is' if len(op.carried) == 1 else 'are'} returned for that.")
        values = {c: v for q in self.kernels.plans.values() if q is not None for c, v in q.constants.items()}
        known = [f"{own} = {rational(values[c]).text}" for c, own in self.kernels.constants.items()]
        if known:
            sentences.append(f"In the formulas {listed(known)}.")
        yield from (f"# {line}" for line in textwrap.wrap(" ".join(" ".join(sentences).split()), WIDTH - 2))

    def _function(self, kernel: Kernel, function: str) -> Iterator[str]:
        """A function that the entry calls, as a comment."""
        text = _plain(kernel.text(f"{self.spec.name}_{function}", f"{listed(kernel.plan.outputs)}."))
        yield "#"
        yield from (f"# {line}".rstrip() for line in text.splitlines())


def _formulas(kernel: Kernel, outputs: Mapping[str, str]) -> dict[str, str] | None:
    """For each name the right side of its output, or None where one of them takes more than a line."""
    found = {name: _formula(kernel, output) for name, output in outputs.items()}
    lines = {name: formula for name, formula in found.items() if formula is not None}
    return lines if len(lines) == len(found) else None


def _formula(kernel: Kernel, output: str) -> str | None:
    text = _plain("\n".join(kernel.code))
    statements = [s for s in ast.walk(ast.parse(text)) if isinstance(s, ast.Assign | ast.Expr)]
    name, own = kernel.names[output], []
    for statement in statements:
        value = " ".join((ast.get_source_segment(text, statement.value) or "").split())
        targets = [ast.unparse(t) for t in statement.targets] if isinstance(statement, ast.Assign) else []
        if isinstance(statement, ast.Expr) and value.startswith(f"{name}."):
            return None  # what is added in place
        if name in targets and value != "None":
            own.append(value)
    made = {t for s in statements if isinstance(s, ast.Assign) for target in s.targets for t in _names(target)}
    given = {kernel.names[r.name] for r in (*kernel.given, *kernel.optional)}
    if len(own) != 1 or _names(ast.parse(own[0])) & (made - given) or len(own[0]) > WIDTH - 20:
        return None
    return own[0]


def _plain(code: str) -> str:
    """The code with ``x * factor`` for ``_scaled(x, factor)``: what is differentiated is not written over."""
    tree = ast.parse(code)
    values = [n.value for n in ast.walk(tree) if isinstance(n, ast.Assign)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "_scaled":
            array, factor = (ast.get_source_segment(code, a) or "" for a in node.args)
            product = f"{array} * ({factor})" if isinstance(node.args[1], ast.BinOp) else f"{array} * {factor}"
            shown = product if node in values else f"({product})"
            return _plain(code.replace(ast.get_source_segment(code, node) or "", shown))
    return code


def _names(tree: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
