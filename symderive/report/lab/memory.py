"""What is alive while an op runs: operators as PyTorch dispatches them, and the storages that they make."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from symderive.report.lab.data import Memory
from symderive.report.lab.errors import Bench


class _Eager(TorchDispatchMode):  # type: ignore[misc]
    """A mode for eager code only: PyTorch then need not import its compiler, which takes seconds."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False


class Operators(_Eager):
    """The names of the operators that run inside, ``mm`` and ``sum``; views and copies of nothing are left out."""

    VIEWS = frozenset(
        ("t", "view", "expand", "permute", "transpose", "detach", "unsqueeze", "squeeze", "select", "alias")
    )
    MADE = frozenset(("ones", "ones_like", "zeros", "empty", "scalar_tensor", "full", "arange"))

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Notes the operator and runs it."""
        name = func.overloadpacket.__name__
        if name not in self.VIEWS | self.MADE:
            self.names.append(name)
        return func(*args, **(kwargs or {}))


class Live(_Eager):
    """Counts the bytes of the storages that operators make inside: those alive now, and the most at any time.

    Storages that are there before, such as those of the inputs, do not count.
    """

    def __init__(self, given: Iterable[Tensor]) -> None:
        super().__init__()
        self.now = 0
        self.peak = 0
        self._known = {t.untyped_storage()._cdata for t in given}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Runs the operator and notes what it made."""
        result = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(result):
            if isinstance(tensor, Tensor):
                self._note(tensor)
        return result

    def _note(self, tensor: Tensor) -> None:
        storage = tensor.untyped_storage()
        key, size = storage._cdata, storage.nbytes()
        if key in self._known:
            return
        self._known.add(key)
        self.now += size
        self.peak = max(self.peak, self.now)
        weakref.finalize(storage, self._gone, key, size)

    def _gone(self, key: int, size: int) -> None:
        self._known.discard(key)
        self.now -= size


def peak(given: Iterable[Tensor], function: Callable[[], object]) -> int:
    """The most bytes alive at once while ``function`` runs, besides what is given."""
    with Live(given) as live:
        result = function()
    del result
    return live.peak


def measure_memory(bench: Bench, dtype: str = "float32", device: str = "cpu") -> Memory:
    """The forward of the reference with and without recording, and a whole step by autograd and by the derived code."""
    inputs, upstreams = bench.tensors(bench.case(0, dtype), dtype, device)
    return memory_of(bench, inputs, upstreams)


def memory_of(bench: Bench, inputs: Sequence[Tensor], upstreams: Sequence[Tensor]) -> Memory:
    """The same for tensors that are there; on ``meta`` this takes no memory at all."""
    given = [*inputs, *upstreams]
    op = bench.subject.op

    def derived() -> object:
        output, saved = op.forward(*inputs)
        return output, op.backward(saved, *upstreams)

    with torch.no_grad():
        plain, ours = peak(given, lambda: bench.reference(inputs)), peak(given, derived)
    leaves = bench.leaves(inputs)

    def step() -> object:
        outputs = [o for o in bench.reference(leaves) if o.requires_grad]
        return outputs, torch.autograd.grad(outputs, bench.wrt(leaves), list(upstreams), allow_unused=True)

    return Memory(peak(given, lambda: bench.reference(leaves)), plain, peak(given, step), ours)
