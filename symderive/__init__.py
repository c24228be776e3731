"""symderive: a symbolic derivation checker for tensor gradients.

    >>> import symderive
    >>> spec = symderive.load("derivations/linear_mse.yaml")
    >>> symderive.derive(spec).gradients["W"].array
    'dW = dy.T @ x'

Importing it imports nothing else: SymPy comes with ``load``, torch only with ``check``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from symderive.api import Derivation, Gradient, Spec, derive, load
    from symderive.check.runner import check
    from symderive.errors import SymderiveError

__version__ = "0.1.0"
__all__ = ["Derivation", "Gradient", "Spec", "SymderiveError", "check", "derive", "load"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'symderive' has no attribute '{name}'")
    import importlib

    if name == "check":
        return importlib.import_module("symderive.check")  # the package can be called
    return getattr(importlib.import_module("symderive.api"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
