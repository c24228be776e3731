"""A notation that the tests print with: tensors of every rank, sizes, constants, and gradients of them all."""

from __future__ import annotations

from dataclasses import replace

from symderive.emit.latex_names import Notation
from symderive.spec.sizes import BATCH_SIZE, size

N, J, K, C, D, R, H = (size(letter) for letter in "NJKCDRH")
B = BATCH_SIZE

SHAPES = {
    "x": (N, K),
    "W": (J, K),
    "b": (J,),
    "y": (N, J),
    "t": (N,),
    "z": (N, C),
    "L": (),
    "s": (),
    "p": (N, C),
    "A": (N, N),
    "X": (N, N),
    "E": (C, D),
    "m": (N, K),
    "h_1": (N, D),
    "xhat": (N, D),
    "rstd": (N,),
    "gamma": (D,),
    "mu": (N,),
    "u": (B, K),
    "v": (B, J),
    "im": (N, C, H),
    "w": (J, C, R),
    "e": (N, K),
}
VECTOR = Notation(
    shapes=SHAPES,
    gradients={f"d{name}": name for name in SHAPES},
    totals={f"d{name}_total": name for name in SHAPES},
    numbers=frozenset(("N", "J", "C", "D", "R", "H", "eps", "scale", "stride")),
    ranges={"r": R},
)
"""For an output that is an array: what is differentiated is any scalar function of it."""

SCALAR = replace(VECTOR, objective="L")
"""For a sole scalar output L."""
