"""The spec language: a YAML file -> :class:`symderive.spec.model.Spec`, and back.

``reader`` reads YAML with positions, ``tokens`` and ``parse`` the expressions, ``resolve`` the sections; ``scope``,
``ranges`` and ``bounds`` check the equations; ``format``, ``size_text`` and ``write`` print what was read.
A new element-wise function is a row in ``functions``, a new key of a spec a line in ``resolve.KEYS`` and its reader.
"""

from symderive.spec.resolve import load, loads

__all__ = ["load", "loads"]
