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

TORCH_HELPERS: dict[str, str] = {"_scaled": _SCALED}
"""Each by its name."""
