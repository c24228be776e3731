"""The autograd graph of the reference: its nodes, the equations they belong to, and what saved-tensor hooks saw."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.overrides import TorchFunctionMode

from symderive.check.devices import to_numpy
from symderive.emit.module import op_of
from symderive.report.lab.data import Graph, Kept, Node
from symderive.report.lab.errors import Bench
from symderive.spec import syntax
from symderive.spec.model import Spec

RESULTS = ("_saved_result", "_saved_output")
"""Attributes under which a node keeps its own value."""

CLOSE = 1e-4
"""How near a float32 value is to the float64 value of the same tensor, as a part of its largest entry."""


class _Recorder(TorchFunctionMode):  # type: ignore[misc]
    """Remembers the value of every node that a call ends in."""

    def __init__(self) -> None:
        super().__init__()
        self.values: dict[Any, Tensor] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if isinstance(result, Tensor) and result.grad_fn is not None:
            self.values.setdefault(result.grad_fn, result.detach())
        return result


class _Packed:
    """What the hooks saw: a token for each tensor that was saved; unpacking tells which."""

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []
        self.asked: list[int] = []

    def pack(self, tensor: Tensor) -> int:
        self.tensors.append(tensor)
        return len(self.tensors) - 1

    def unpack(self, token: int) -> Tensor:
        self.asked.append(token)
        return self.tensors[token]

    def of(self, node: Any) -> Iterator[tuple[str, Tensor]]:
        """The tensors that a node saved, with the attribute that holds each."""
        for attribute in sorted(a for a in dir(node) if a.startswith("_saved_") or a == "saved_tensors"):
            self.asked.clear()
            getattr(node, attribute)
            for token in list(self.asked):
                yield attribute.removeprefix("_saved_"), self.tensors[token]


def autograd_graph(bench: Bench, dtype: str = "float32") -> Graph:
    """The graph at the bench's sizes, run once on the CPU with hooks."""
    case = bench.case(0, dtype)
    inputs, _ = bench.tensors(case, dtype)
    return recorded(bench, inputs, case.exact.values)


def recorded(bench: Bench, inputs: Sequence[Tensor], values: Mapping[str, np.ndarray] | None = None) -> Graph:
    """The graph for these inputs; ``values`` of the forward's tensors tell which node computes which."""
    spec = bench.subject.spec
    leaves = bench.leaves(inputs)
    packed, recorder = _Packed(), _Recorder()
    with saved_tensors_hooks(packed.pack, packed.unpack), recorder:
        outputs = dict(zip(spec.outputs, bench.reference(leaves), strict=True))
    named = dict(zip((i.name for i in spec.inputs), leaves, strict=True))
    forward = {e.tensor: values[e.tensor] for e in spec.equations if values and e.tensor in values}
    order = _ordered([o.grad_fn for o in outputs.values() if o.grad_fn is not None])
    identify = _Identifier(named, forward)
    computes = {n: identify.tensor(_value(n, recorder)) for n in order}
    for name, output in outputs.items():
        computes[output.grad_fn] = name
    equation = _equations(order, computes, _Reads(spec, set(computes.values())))
    position = {n: i for i, n in enumerate(order)}
    kept = identify.kept([list(packed.of(n)) for n in order])
    nodes = [
        Node(
            n.name().rpartition("::")[2],
            tuple(position[m] for m, _ in n.next_functions if m is not None),
            _leaf(n, named),
            () if _leaf(n, named) else equation[n],
            computes[n],
            kept[i],
        )
        for i, n in enumerate(order)
    ]
    roots = {name: position[o.grad_fn] for name, o in outputs.items() if o.grad_fn is not None}
    reference = bench.subject.reference is not None
    dtype = next((str(x.dtype).removeprefix("torch.") for x in leaves if x.is_floating_point()), "float32")
    return Graph(tuple(nodes), roots, reference, dict(bench.sizes), dtype, _calls(spec.reference))


def _ordered(roots: Sequence[Any]) -> list[Any]:
    """Every node that the roots lead to, each before those that it hands on to."""
    done: dict[Any, None] = {}
    entered: set[Any] = set()
    stack = [(r, False) for r in roots]
    while stack:
        node, left = stack.pop()
        if left:
            done[node] = None
        elif node not in entered:
            entered.add(node)
            stack.append((node, True))
            stack += [(m, False) for m, _ in node.next_functions if m is not None]
    return list(reversed(done))


def _value(node: Any, recorder: _Recorder) -> Tensor | None:
    if node in recorder.values:
        return recorder.values[node]
    for attribute in RESULTS:
        if isinstance(value := getattr(node, attribute, None), Tensor):
            return value.detach()
    return None


class _Reads:
    """Which equations PyTorch computes together with one whose value a node has."""

    def __init__(self, spec: Spec, computed: set[str]) -> None:
        names = {e.tensor for e in spec.equations}
        self.order = [e.tensor for e in reversed(spec.equations)]
        self.reads = {
            e.tensor: {n for n in _names(e.right) if n in names and n not in computed} for e in spec.equations
        }

    def together(self, tensor: str) -> tuple[str, ...]:
        """The tensor and those that it depends on and that no node has as its value, last ones first."""
        found, todo = {tensor}, [tensor]
        while todo:
            new = self.reads.get(todo.pop(), set()) - found
            found |= new
            todo += new
        return tuple(t for t in self.order if t in found)


def _names(node: syntax.Node) -> Iterator[str]:
    for n in node.walk():
        if isinstance(n, syntax.Access):
            yield n.tensor
        elif isinstance(n, syntax.Name):
            yield n.id


def _equations(order: Sequence[Any], computes: Mapping[Any, str], reads: _Reads) -> dict[Any, tuple[str, ...]]:
    """The equations of each node: its own tensor's, and those up to the next tensors that nodes have as values.

    A node that computes a tensor in several steps has the other equations at the steps.
    """
    found: dict[Any, tuple[str, ...]] = {}
    for node in order:
        below = [m for m, _ in node.next_functions if m is not None and getattr(m, "variable", None) is None]
        whole = reads.together(computes[node]) if computes[node] else found.get(node, ())
        stepped = any(not computes[m] for m in below)
        found[node] = (computes[node],) if computes[node] and stepped else whole
        for other in below:
            found.setdefault(other, whole)
    return found


def _leaf(node: Any, inputs: Mapping[str, Tensor]) -> str:
    variable = getattr(node, "variable", None)
    return next((name for name, x in inputs.items() if x is variable), "") if variable is not None else ""


def _calls(reference: Sequence[syntax.Statement]) -> tuple[str, ...]:
    """The functions, methods and attributes that a reference uses."""
    found: dict[str, None] = {}
    for node in (n for s in reference for n in s.walk()):
        if isinstance(node, syntax.Call):
            found[node.function] = None
        elif isinstance(node, syntax.Method | syntax.Attribute):
            found[node.name] = None
    return tuple(found)


class _Identifier:
    """Tells which tensor of the spec a tensor is: by its storage if it is an input, by its value if it is computed."""

    def __init__(self, inputs: Mapping[str, Tensor], forward: Mapping[str, np.ndarray]) -> None:
        self.inputs = inputs
        self.forward = forward

    def tensor(self, value: Tensor | None) -> str:
        """The tensor of the forward with this value; empty if there is none."""
        if value is None or value.device.type == "meta" or not value.is_floating_point():
            return ""
        shown = to_numpy(value)
        for name, true in self.forward.items():
            alike = shown.size == true.size and np.squeeze(shown).shape == np.squeeze(true).shape
            if alike and _close(shown.reshape(true.shape), true):
                return name
        return ""

    def input(self, value: Tensor) -> tuple[str, bool]:
        """The input whose storage this is, as it is named or transposed, and whether there is one."""
        key = value.untyped_storage()._cdata
        for name, given in self.inputs.items():
            if given.untyped_storage()._cdata == key:
                turned = given.ndim == 2 and value.shape == given.T.shape and value.stride() == given.T.stride()
                same = value.shape == given.shape and value.stride() == given.stride()
                return (name if same else f"{name}.T" if turned else f"a view of {name}"), True
        return "", False

    def kept(self, groups: Sequence[Sequence[tuple[str, Tensor]]]) -> list[tuple[Kept, ...]]:
        """What each node keeps; a storage that was counted at an earlier node is ``shared``."""
        counted: set[int] = set()
        return [tuple(self.one(a, t, counted) for a, t in group) for group in groups]

    def one(self, attribute: str, value: Tensor, counted: set[int]) -> Kept:
        """One tensor that is kept; ``counted`` are the storages met before."""
        storage = value.untyped_storage()
        name, given = self.input(value)
        shared = storage._cdata in counted
        counted.add(storage._cdata)
        dtype = str(value.dtype).removeprefix("torch.")
        return Kept(attribute, name or self.tensor(value), tuple(value.shape), dtype, storage.nbytes(), given, shared)


def _close(shown: np.ndarray, true: np.ndarray) -> bool:
    if not true.size or true.dtype.kind != "f":
        return False
    with np.errstate(all="ignore"):
        alike = (shown == true) | (np.abs(shown - true) <= CLOSE * np.max(np.abs(true[np.isfinite(true)]), initial=0.0))
    return bool(alike.all())


def derived_kept(bench: Bench, inputs: Sequence[Tensor]) -> tuple[Kept, ...]:
    """What the derived forward saves for the derived backward, for these inputs."""
    subject = bench.subject
    names = [i.name for i in subject.spec.inputs]
    with torch.no_grad():
        _, saved = subject.op.forward(*inputs)
    identify = _Identifier(dict(zip(names, inputs, strict=True)), {})
    tensors = [t for t in saved if isinstance(t, Tensor)]
    labels = [r.name for r in op_of(subject.derivation, subject.forward, subject.backward).saved]
    counted: set[int] = set()
    found = (identify.one(label, t, counted) for label, t in zip(labels, tensors, strict=True))
    return tuple(replace(k, name=k.attribute) for k in found)
