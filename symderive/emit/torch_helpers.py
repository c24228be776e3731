"""Functions that PyTorch lacks, as the text that an emitted module defines them with."""

from __future__ import annotations

_SCALED = '''
def _scaled(x: torch.Tensor, factor: torch.Tensor) -> torch.Tensor:
    """``x * factor``, written over x, which is new, unless autograd or a transform needs both."""
    functorch = torch._C._functorch
    if (
        torch.compiler.is_compiling()
        or x.requires_grad
        or factor.requires_grad
        or functorch.is_functorch_wrapped_tensor(factor)
        or functorch.is_legacy_batchedtensor(factor)
    ):
        return x * factor
    return x.mul_(factor)
'''

_GROUPED_EXTREME = '''
def _grouped_extreme(op: str, x: torch.Tensor, axis: int, index: torch.Tensor, count: int) -> torch.Tensor:
    """``op``, amax or amin, of the entries of x with the same index along axis; -inf or inf where there are none."""
    shape = list(x.shape)
    shape[axis] = count
    empty = x.new_full(shape, -torch.inf if op == "amax" else torch.inf)
    return empty.scatter_reduce(axis, index.reshape(-1, *(1,) * (-1 - axis)).expand_as(x), x, op)
'''

_GROUPED_AMAX = '''
def _grouped_amax(x: torch.Tensor, axis: int, index: torch.Tensor, count: int) -> torch.Tensor:
    """The largest of the entries of x with the same index along axis, for each index below count."""
    return _grouped_extreme("amax", x, axis, index, count)
'''

_GROUPED_AMIN = '''
def _grouped_amin(x: torch.Tensor, axis: int, index: torch.Tensor, count: int) -> torch.Tensor:
    """The smallest of the entries of x with the same index along axis, for each index below count."""
    return _grouped_extreme("amin", x, axis, index, count)
'''

_GROUPED_EXPONENTIALS = '''
def _grouped_exponentials(
    x: torch.Tensor, axis: int, index: torch.Tensor, count: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """``exp(x - m)``, where m is the largest entry with the same index along axis, their sums by index, and m."""
    top = _grouped_extreme("amax", x.detach(), axis, index, count)
    top = torch.where(top.isinf(), 0, top)
    e = torch.exp(x - top.index_select(axis, index))
    return e, torch.zeros_like(top).index_add(axis, index, e), top
'''

_GROUPED_LOGSUMEXP = '''
def _grouped_logsumexp(x: torch.Tensor, axis: int, index: torch.Tensor, count: int) -> torch.Tensor:
    """The logsumexp of the entries of x with the same index along axis, for each index below count; -inf of none."""
    _, total, top = _grouped_exponentials(x, axis, index, count)
    return top + torch.log(total)
'''

_GROUPED_SOFTMAX = '''
def _grouped_softmax(x: torch.Tensor, axis: int, index: torch.Tensor, count: int) -> torch.Tensor:
    """The softmax of x along axis over the entries with the same index, of which there are count."""
    e, total, _ = _grouped_exponentials(x, axis, index, count)
    return e / total.index_select(axis, index)
'''

TORCH_HELPERS: dict[str, str] = {
    "_scaled": _SCALED,
    "_grouped_extreme": _GROUPED_EXTREME,
    "_grouped_amax": _GROUPED_AMAX,
    "_grouped_amin": _GROUPED_AMIN,
    "_grouped_exponentials": _GROUPED_EXPONENTIALS,
    "_grouped_logsumexp": _GROUPED_LOGSUMEXP,
    "_grouped_softmax": _GROUPED_SOFTMAX,
}
"""Each by its name, after those that it calls."""
