"""What each dtype rounds: the constants of the standard model of floating-point arithmetic.

The model is Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd ed. (SIAM 2002), section 2.2 and 2.10 for
underflow: ``fl(a op b) = (a op b)(1 + d) + e`` with ``|d| <= u`` and ``|e| <= eta``. Section 3.1: a sum of n terms, in
any order, has error at most ``gamma(n - 1)`` times the sum of their absolute values, ``gamma(n) = n u / (1 - n u)``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Rounding:
    """A dtype as arithmetic sees it.

    ``unit`` is the unit roundoff u of a stored result, ``inner`` that of the arithmetic inside one operation: PyTorch
    computes element-wise functions, sums, matrix products and softmax of float16 and bfloat16 in float32 and rounds
    once (``at::opmath_type``, ``at::acc_type``). ``split`` is the unit roundoff of partial sums that a matrix product
    may store before adding them up ("reduced precision reduction" in the PyTorch numerical accuracy notes).
    ``largest`` is the largest finite number, ``underflow`` the spacing of the smallest ones, ``tiny`` the smallest
    number that a function's value must tell from zero. ``shifted``: ``expm1(x)`` is computed as ``exp(x) - 1``.
    """

    name: str
    unit: float
    inner: float
    split: float
    largest: float
    underflow: float
    tiny: float
    shifted: bool = False

    def gamma(self, n: float, unit: float | None = None) -> float:
        """``n u / (1 - n u)``; infinite where nothing can be said."""
        product = n * (self.inner if unit is None else unit)
        return product / (1 - product) if product < 1 else np.inf


_TINY32 = 2.0**-126

ROUNDING: dict[str, Rounding] = {
    row.name: row
    for row in (
        Rounding("float64", 2.0**-53, 2.0**-53, 0.0, float(np.finfo(np.float64).max), 2.0**-1074, 2.0**-1022),
        Rounding("float32", 2.0**-24, 2.0**-24, 0.0, float(np.finfo(np.float32).max), 2.0**-149, _TINY32),
        Rounding("bfloat16", 2.0**-8, 2.0**-24, 2.0**-8, float(2.0**128 - 2.0**119), 2.0**-133, _TINY32),
        Rounding("float16", 2.0**-11, 2.0**-24, 2.0**-11, 65504.0, 2.0**-24, _TINY32),
    )
}
"""The dtypes that are checked."""

COMPILED = "compiled float64"
"""float64 as TorchInductor computes on CPUs, which writes ``exp(x) - 1`` for ``expm1(x)`` of a vector."""

ARITHMETIC = {**ROUNDING, COMPILED: replace(ROUNDING["float64"], shifted=True)}
"""All that the error analysis knows: the dtypes, and how compiled code computes in them."""

ULPS = 4.0
"""What an element-wise function of a vector library or a GPU may be off by, in units in the last place.

SLEEF, which PyTorch uses on CPUs, keeps within 1 ulp; the CUDA C++ programming guide ("Mathematical Functions, maximum
ulp error") lists at most 4 for the functions of the language in single precision, and 2 in double precision.
"""
