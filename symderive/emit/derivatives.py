"""``emit --as derivatives``: an entry in the style of PyTorch's ``derivatives.yaml``, to adapt when an op is proposed.

An entry has the op's signature, one line for the gradient of each input, in terms of inputs, outputs and ``grad``,
and the forward-mode formula of each output in terms of the inputs' tangents, ``x_t``, and primals, ``x_p``.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping

from symderive.algebra.second_order import Differentiable, differentiable
from symderive.emit.autograd_kernels import Kernel
from symderive.emit.autograd_op import KernelSet
from symderive.spec import model
from symderive.wording import listed


def derivatives_entry(spec: model.Spec) -> str:
    """The entry as text; formulas that take several lines stand above it as functions."""
    op = differentiable(spec)
    kernels = KernelSet(op)
    gradients = {w: _formula(kernels.backward, f"d{w}", f"{spec.name}_backward") for w in spec.wrt}
    tangents = {o: _formula(kernels.tangents, t, f"{spec.name}_jvp") for o, t in _tangents(op).items()}
    lines = [*_note(op), *_function(kernels, gradients.values(), tangents.values())]
    lines.append(f"- name: {_signature(op)}")
    fixed = [i.name for i in spec.inputs if i.name not in spec.wrt]
    for given in spec.inputs:
        formula = "non_differentiable" if given.name in fixed else gradients[given.name]
        lines.append(f"  {given.name}: {formula}")
    lines += [f"  {name}: {formula}" for name, formula in tangents.items()]
    if len(op.forward.outputs) > 1:
        known = ", ".join(str(o in kernels.moving) for o in op.forward.outputs)
        lines.append(f"  output_differentiability: [{known}]")
    text = "\n".join(lines) + "\n"
    upstreams = [kernels.names[r.name] for r in kernels.upstreams]
    grads = ["grad"] if len(upstreams) == 1 else [f"grads[{n}]" for n in range(len(upstreams))]
    for upstream, grad in zip(upstreams, grads, strict=True):
        text = re.sub(rf"\b{upstream}\b", grad, text)
    return text


def _tangents(op: Differentiable) -> Mapping[str, str]:
    return {o: op.tangents.names[o] for o in op.forward.outputs if o in op.tangents.names}


def _signature(op: Differentiable) -> str:
    inputs = ", ".join(f"Tensor {i.name}" for i in op.spec.inputs)
    outputs = ", ".join(f"Tensor {o}" for o in op.forward.outputs)
    return f"{op.spec.name}({inputs}) -> {outputs if len(op.forward.outputs) == 1 else f'({outputs})'}"


def _formula(kernel: Kernel, output: str, function: str) -> str:
    """The right side where one line says it, else a call of a function that is written above the entry."""
    lines = [line.strip() for line in kernel.code if not line.strip().startswith("#")]
    name = kernel.names[output]
    own = [line for line in lines if line.startswith(f"{name} = ") and not line.endswith("= None")]
    words = {w for line in own for w in _words(line.partition(" = ")[2].partition("  #")[0])}
    made = {w for line in lines if " = " in line for w in _words(line.partition(" = ")[0])}
    given = {kernel.names[r.name] for r in (*kernel.given, *kernel.optional)}
    if len(own) == 1 and not words & (made - given):
        return own[0].partition(" = ")[2].partition("  #")[0]
    place = list(kernel.plan.outputs).index(output)
    flags = len(kernel.flags) if len(kernel.flags) > 1 else 0
    call = f"{function}({', '.join(kernel.arguments()[flags:])})"
    return call if len(kernel.plan.outputs) == 1 else f"{call}[{place}]"


def _words(text: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", text))


def _note(op: Differentiable) -> list[str]:
    saved = f"It saves {listed(op.saved)}." if op.saved else "It saves nothing."
    carried = f" {listed(op.carried)} {'is' if len(op.carried) == 1 else 'are'} returned for that."
    title = f"{op.spec.name}: {op.spec.title}" if op.spec.title else op.spec.name
    text = f"{title}. {saved}{carried if op.carried else ''}"
    return [f"# {line}" for line in textwrap.wrap(" ".join(text.split()), 98)]


def _function(kernels: KernelSet, gradients: Iterable[str], tangents: Iterable[str]) -> list[str]:
    """The functions that the entry calls, as comments in torch."""
    name = kernels.op.spec.name
    called = ((kernels.backward, f"{name}_backward", gradients), (kernels.tangents, f"{name}_jvp", tangents))
    lines: list[str] = []
    for kernel, function, formulas in called:
        if any(f"{function}(" in f for f in formulas):
            lines += [
                "#",
                *(
                    f"# {line}".rstrip()
                    for line in kernel.text(function, f"{listed(kernel.plan.outputs)}.").splitlines()
                ),
            ]
    return [*lines, "#"] if lines else lines
