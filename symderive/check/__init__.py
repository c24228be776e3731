"""The checks. The package itself can be called: ``symderive.check(spec)`` is :func:`symderive.check.runner.check`.

That name means both, whether or not anything has imported the package yet.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Check(ModuleType):
    """A package that is called like the function that it is named for."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """See :func:`symderive.check.runner.check`; torch is imported here."""
        from symderive.check.runner import check

        return check(*arguments, **options)


sys.modules[__name__].__class__ = _Check
