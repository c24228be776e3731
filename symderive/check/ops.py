"""What is checked: anything with a forward and a backward, be it emitted, written by hand, or a torch function."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import linecache
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import torch
from torch import Tensor

from symderive.errors import SpecError, SymderiveError
from symderive.spec.model import Spec


class Op(Protocol):
    """The interface of an emitted module: ``forward(*inputs) -> (output, saved)``, ``backward(saved, *upstreams)``."""

    @property
    def INPUTS(self) -> tuple[str, ...]:
        """The names of what ``forward`` takes."""

    @property
    def OUTPUTS(self) -> tuple[str, ...]:
        """The names of what it gives, and of what ``backward`` takes upstreams of."""

    @property
    def WRT(self) -> tuple[str, ...]:
        """The names of the inputs whose gradients ``backward`` gives."""

    def forward(self, *inputs: Tensor) -> tuple[Any, Any]:
        """The output (a tuple where there are several), and what ``backward`` needs."""

    def backward(self, saved: Any, *upstreams: Tensor) -> tuple[Tensor, ...]:
        """The gradients in the order of ``WRT``."""


@dataclass(frozen=True)
class Run:
    """What running an op gave: its outputs and gradients by name (a gradient is ``d<input>``)."""

    outputs: dict[str, Tensor]
    gradients: dict[str, Tensor]

    @property
    def targets(self) -> dict[str, Tensor]:
        """Outputs first, then gradients."""
        return self.outputs | self.gradients


class OpError(Exception):
    """An op failed, or does not keep to the interface; the message says how."""


def run_forward(op: Op, inputs: Sequence[Tensor]) -> tuple[dict[str, Tensor], Any]:
    """The outputs by name, and what was saved."""
    try:
        result = op.forward(*inputs)
    except (Exception, SystemExit) as error:
        raise _raised(op, "forward", error) from error
    if not (isinstance(result, tuple) and len(result) == 2):
        raise OpError(f"forward must return (output, saved), not {_kind(result)}")
    output, saved = result
    return named(op.OUTPUTS, output, "forward"), saved


def run(op: Op, inputs: Sequence[Tensor], upstreams: Sequence[Tensor]) -> Run:
    """Forward, then backward with these upstreams."""
    outputs, saved = run_forward(op, inputs)
    return Run(outputs, run_backward(op, saved, upstreams))


def run_backward(op: Op, saved: Any, upstreams: Sequence[Tensor]) -> dict[str, Tensor]:
    """The gradients by the names that the language gives them."""
    try:
        result = op.backward(saved, *upstreams)
    except (Exception, SystemExit) as error:
        raise _raised(op, "backward", error) from error
    if not isinstance(result, tuple):
        raise OpError(f"backward must return a tuple of {len(op.WRT)} gradients, not {_kind(result)}")
    return named(tuple(f"d{n}" for n in op.WRT), result, "backward")


def named(names: tuple[str, ...], values: Any, what: str) -> dict[str, Tensor]:
    """``values``, one tensor or a tuple of them, by name."""
    parts = values if isinstance(values, tuple | list) else (values,)
    if len(parts) != len(names):
        raise OpError(f"{what} gives {len(parts)} tensors where there should be {len(names)}: {', '.join(names)}")
    for name, part in zip(names, parts, strict=True):
        if not isinstance(part, Tensor):
            raise OpError(f"{what} gives {_kind(part)} for {name}, not a tensor")
    return dict(zip(names, parts, strict=True))


def _raised(op: Op, what: str, error: BaseException) -> BaseException:
    """An error about the op; what is wrong with the spec's own reference, or with the protocol, is said already."""
    if isinstance(error, OpError | SymderiveError):
        return error
    lines = str(error).strip().splitlines()
    said = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
    place = place_of(error)
    return OpError(f"{getattr(op, 'label', '')}{what} raised {said}{f' ({place})' if place else ''}")


_LIBRARIES = tuple(str(p) for p in (Path(torch.__file__).parent, Path(__file__).parents[1]))


def place_of(error: BaseException) -> str:
    """Where in someone's own code an exception was raised, ``kernels.py:12``; empty if nowhere there."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if not f.filename.startswith((*_LIBRARIES, "<"))]
    return f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else ""


def _kind(value: object) -> str:
    return f"a tuple of {len(value)}" if isinstance(value, tuple) else f"a {type(value).__name__}"


def load_text(text: str, name: str) -> ModuleType:
    """The module that emitted code makes. Its lines are known to tracebacks."""
    filename = f"<emitted {name}>"
    module = ModuleType(f"symderive_emitted_{name}")
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    exec(compile(text, filename, "exec"), module.__dict__)
    return module


@dataclass(frozen=True)
class TorchOp:
    """A function of tensors as an op: its backward is what autograd makes of it.

    The function may be plain torch, a ``torch.autograd.Function.apply`` or a custom op with a registered backward.
    Inputs without a gradient (class ids, ``grad: false``) are passed as they are. ``unreached`` are the gradients for
    which autograd gave None, and 0 is taken.
    """

    function: Callable[..., Any]
    INPUTS: tuple[str, ...]
    OUTPUTS: tuple[str, ...]
    WRT: tuple[str, ...]
    label: str = ""
    unreached: set[str] = field(default_factory=set, compare=False)

    def forward(self, *inputs: Tensor) -> tuple[Any, Any]:
        """Calls it with gradients recorded."""
        leaves = [x.detach().requires_grad_() if n in self.WRT else x for n, x in zip(self.INPUTS, inputs, strict=True)]
        with torch.enable_grad():
            result = self.function(*leaves)
        outputs = named(self.OUTPUTS, result, "the function")
        wrt = [x for n, x in zip(self.INPUTS, leaves, strict=True) if n in self.WRT]
        detached = tuple(o.detach() for o in outputs.values())
        return (detached if len(detached) > 1 else detached[0]), (tuple(outputs.values()), tuple(wrt))

    def backward(self, saved: Any, *upstreams: Tensor) -> tuple[Tensor, ...]:
        """``torch.autograd.grad`` through what was recorded; an input that nothing depends on has gradient 0."""
        outputs, wrt = saved
        for name, output, upstream in zip(self.OUTPUTS, outputs, upstreams, strict=True):
            if output.shape != upstream.shape:
                shapes = f"{list(output.shape)}, should be {list(upstream.shape)}"
                raise OpError(f"{self.label}{name} has shape {shapes}")
        pairs = [(o, u) for o, u in zip(outputs, upstreams, strict=True) if o.requires_grad]
        if not pairs:
            self.unreached.update(f"d{n}" for n in self.WRT)
            return tuple(torch.zeros_like(x) for x in wrt)
        got = torch.autograd.grad(
            [o for o, _ in pairs], wrt, [u for _, u in pairs], allow_unused=True, retain_graph=True
        )
        ordered = dict(zip([n for n in self.INPUTS if n in self.WRT], got, strict=True))
        zeros = dict(zip(ordered, wrt, strict=True))
        self.unreached.update(f"d{n}" for n, g in ordered.items() if g is None)
        return tuple(torch.zeros_like(zeros[n]) if ordered[n] is None else ordered[n] for n in self.WRT)


def as_op(spec: Spec, thing: Any) -> Op:
    """``thing`` as an op of ``spec``: an op already, a function of the spec's inputs, or ``"module:function"``."""
    if isinstance(thing, str):
        thing = resolve(thing)
    if all(hasattr(thing, a) for a in ("INPUTS", "OUTPUTS", "WRT", "forward", "backward")):
        return _same_names(spec, thing)
    if inspect.isclass(thing) and issubclass(thing, torch.autograd.Function):
        thing = thing.apply
    if isinstance(thing, ModuleType) and callable(getattr(thing, spec.name, None)):
        thing = getattr(thing, spec.name)
    if not callable(thing):
        raise SpecError(f"{thing!r} is not a function of {', '.join(i.name for i in spec.inputs)}")
    check_signature(spec, thing)
    return TorchOp(thing, tuple(i.name for i in spec.inputs), spec.outputs, spec.wrt)


def check_signature(spec: Spec, function: Callable[..., Any]) -> None:
    """Raise where a function cannot be called with the spec's inputs, in their order."""
    wanted = [i.name for i in spec.inputs]
    called = f"it is called with {', '.join(wanted)}, in this order"
    name = getattr(function, "__name__", type(function).__name__)
    if inspect.isclass(function):
        raise SpecError(f"{name} is a class, not a function", hint=called)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # a builtin: calling it will tell
    try:
        signature.bind(*wanted)
    except TypeError as error:
        raise SpecError(f"{name}{signature} cannot take the spec's inputs: {error}", hint=called) from error


def _same_names(spec: Spec, op: Any) -> Op:
    for attribute, wanted in (
        ("INPUTS", tuple(i.name for i in spec.inputs)),
        ("OUTPUTS", spec.outputs),
        ("WRT", spec.wrt),
    ):
        if tuple(getattr(op, attribute)) != tuple(wanted):
            raise SpecError(f"the op's {attribute} are {tuple(getattr(op, attribute))}, the spec's are {tuple(wanted)}")
    return op


def resolve(address: str) -> Any:
    """The object at ``module:function`` or ``path/to/file.py:function``; attributes may follow dots."""
    module_name, colon, path = address.rpartition(":")
    if not colon or not module_name or not path:
        raise SpecError(f"--op {address}: write module:function, or path/to/file.py:function")
    module = _module(module_name, address)
    value: Any = module
    for part in path.split("."):
        if not hasattr(value, part):
            known = ", ".join(n for n in vars(module) if not n.startswith("_"))
            raise SpecError(f"--op {address}: {module_name} has no {part}", hint=f"it has: {known}")
        value = getattr(value, part)
    return value


def _module(name: str, address: str) -> ModuleType:
    try:
        if name.endswith(".py"):
            return _from_file(name)
        if os.getcwd() not in sys.path:
            sys.path.insert(0, os.getcwd())
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        what = f"{type(error).__name__}: {error} {f'({p})' if (p := place_of(error)) else ''}".rstrip()
        raise SpecError(f"--op {address}: importing {name} failed: {what}") from error


def _from_file(path: str) -> ModuleType:
    found = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
    if found is None or found.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(found)
    sys.modules.setdefault(found.name, module)
    found.loader.exec_module(module)
    return module
