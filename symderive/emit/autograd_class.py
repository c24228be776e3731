"""A ``torch.autograd.Function`` as text: its static methods, and the lines that both Functions of an op need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from symderive.emit.autograd_kernels import STEP, Kernel, assignment, docstring, head, listing, unpacking
from symderive.record import record

FUNCTION = "torch.autograd.Function"
REFUSE = "_refuse_forward_over_forward()"


@record
class Method:
    """A static method; ``context`` ones take ``ctx``. Those that compute do so outside autocast."""

    name: str
    parameters: tuple[str, ...]
    lines: tuple[str, ...]
    context: bool = True

    @property
    def text(self) -> list[str]:
        """Its lines."""
        computes = self.name != "setup_context"
        parameters = ["ctx: Any", *self.parameters] if self.context else self.parameters
        decorators = ("@staticmethod", "@_without_autocast") if computes else ("@staticmethod",)
        signature = head(self.name, parameters, "Any" if computes else "None")
        return [*decorators, *signature, *(STEP + line for line in self.lines)]


def forward(parameters: Iterable[str], lines: Iterable[str]) -> Method:
    """``forward(*inputs)``."""
    return Method("forward", tuple(parameters), tuple(lines), context=False)


def setup(lines: Iterable[str]) -> Method:
    """``setup_context(ctx, inputs, output)``; a gradient or tangent that there is none of stays None."""
    parameters = ("inputs: tuple[Any, ...]", "output: Any")
    return Method("setup_context", parameters, ("ctx.set_materialize_grads(False)", *lines))


def backward(parameters: Iterable[str], lines: Iterable[str]) -> Method:
    """``backward(ctx, *upstreams)``."""
    return Method("backward", tuple(parameters), tuple(lines))


def jvp(parameters: Iterable[str], lines: Iterable[str]) -> Method:
    """``jvp(ctx, *tangents)``."""
    return Method("jvp", tuple(parameters), (REFUSE, *lines))


def class_text(name: str, doc: str, methods: Iterable[Method], base: str = FUNCTION) -> str:
    """The class; a Function of torch says that ``vmap`` may run its methods on batches."""
    return "\n".join(_class_lines(name, doc, methods, base))


def _class_lines(name: str, doc: str, methods: Iterable[Method], base: str) -> Iterator[str]:
    yield f"class {name}({base}):"
    yield from docstring(doc)
    if base == FUNCTION:
        yield from ("", f"{STEP}generate_vmap_rule = True")
    for method in methods:
        yield ""
        yield from (STEP + line for line in method.text)


def kept(names: Sequence[str], sizes: Sequence[str]) -> list[str]:
    """The lines that keep tensors and sizes for the backward and for forward mode."""
    lines = [f"ctx.sizes = {tupled(sizes)}"] if sizes else []
    if names:
        lines += assignment("", "ctx.save_for_backward", names)
        lines += assignment("", "ctx.save_for_forward", names)
    return lines


def restored(names: Sequence[str], sizes: Sequence[str], used: Iterable[str], sized: bool) -> list[str]:
    """The lines that take up again those of the kept tensors that are ``used``, and the sizes."""
    used = set(used)
    lines = unpacking([n if n in used else "_" for n in names], "ctx.saved_tensors") if used & set(names) else []
    return [*lines, *(unpacking(sizes, "ctx.sizes") if sized else [])]


def called(kernel: Kernel, function: str, shown: Sequence[str]) -> list[str]:
    """The lines that return what a kernel makes, in the places where it stands in ``shown``."""
    made = [kernel.names[o] for o in kernel.plan.outputs]
    if made == list(shown):
        return assignment("return", function, kernel.arguments())
    return [*assignment(", ".join(made), function, kernel.arguments()), *listing("return", shown, 8)]


def absent(names: Iterable[str]) -> str:
    """The condition that none of these is given."""
    return " and ".join(f"{n} is None" for n in names)


def given(names: Iterable[str]) -> str:
    """The condition that one of these is given."""
    return " or ".join(f"{n} is not None" for n in names)


def tupled(items: Sequence[str]) -> str:
    """``(x,)``."""
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
