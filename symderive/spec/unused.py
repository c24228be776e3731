"""What a spec declares and then never reads: a slip, most likely, though all of it still means something."""

from __future__ import annotations

import re
from collections.abc import Iterator

from symderive.errors import SymderiveError
from symderive.spec import syntax as s
from symderive.spec.model import Spec


def unused(spec: Spec) -> Iterator[SymderiveError]:
    """A note for each input that no equation reads, and for each constant or size that is named nowhere else.

    Nothing is raised: what is told has a message and, for an input, its place.
    """
    read = {name for e in spec.equations for name in s.names(e.right)}
    for given in spec.inputs:
        if given.name not in read:
            gradient = ": its gradient is 0" if given.name in spec.wrt else ""
            message = f"no equation reads the input '{given.name}'{gradient}"
            yield SymderiveError(message, spec.location(given.span))
    for what, names in (("constant", spec.constants), ("size", spec.sizes)):
        for name in names:
            if name not in read and len(re.findall(rf"(?<![\w.]){re.escape(name)}(?!\w)", spec.text)) == 1:
                yield SymderiveError(f"nothing reads the {what} '{name}'")
