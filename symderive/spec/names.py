"""One namespace for tensors, constants, sizes and indices: what a name may be, and what it stands for."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from symderive.errors import Span, SpecError
from symderive.spec.functions import BINDERS, FUNCTIONS, STRUCTURAL
from symderive.spec.reader import suggestion

FUNCTION_NAMES = frozenset((*FUNCTIONS, *BINDERS, *STRUCTURAL, "pad"))
NUMBER_NAMES = frozenset(("pi", "inf"))
MAX_NAME = 100

_OTHERS = {"lambda": "lam"}
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
Report = Callable[[str, Span, "str | None"], SpecError]


def name_fault(name: str) -> tuple[str, str] | None:
    """Why ``name`` cannot name anything in a spec, and what to do; None where it can."""
    if not _IDENTIFIER.match(name) or len(name) > MAX_NAME:
        return f"'{name[:40]}' is not a name", "a name is made of ASCII letters, digits and _, and starts with no digit"
    if keyword.iskeyword(name):
        return f"'{name}' is a Python keyword", f"choose another name, such as {_OTHERS.get(name, name + '_')}"
    if name in FUNCTION_NAMES:
        return f"'{name}' is the name of a function", "choose another name"
    if name in NUMBER_NAMES:
        return f"'{name}' is a number", "choose another name"
    if name.startswith("__"):
        return f"'{name}' starts with two underscores", "choose another name"
    return None


@dataclass
class Namespace:
    """What every name of a spec stands for: its role (``size``, ``constant``, ``tensor``, ``index``) and its place."""

    error: Report
    roles: dict[str, tuple[str, Span]] = field(default_factory=dict)

    def declare(self, name: str, role: str, span: Span) -> None:
        """Take a name for a role. Raises where it is reserved or taken."""
        if fault := name_fault(name):
            raise self.error(fault[0], span, fault[1])
        if name in self.roles:
            other, place = self.roles[name]
            if other == role:
                raise self.error(f"{a(role)} '{name}' is defined twice; first in line {place.line}", span, "rename one")
            message = f"'{name}' is {a(other)} (line {place.line}) and cannot be {a(role)} too"
            raise self.error(message, span, "tensors, constants, sizes and indices share one namespace; rename one")
        self.roles[name] = (role, span)

    def index(self, name: str, span: Span) -> None:
        """Use a name as an index, which may happen many times."""
        if name in self.roles and self.roles[name][0] == "index":
            return
        self.declare(name, "index", span)

    def role(self, name: str) -> str | None:
        """What the name stands for, if for anything."""
        return self.roles[name][0] if name in self.roles else None

    @property
    def taken(self) -> frozenset[str]:
        """The names that no index can have."""
        return frozenset(name for name, (role, _) in self.roles.items() if role != "index")

    def like(self, name: str, roles: Iterable[str]) -> str | None:
        """A suggestion among the names that have one of the roles."""
        wanted = set(roles)
        return suggestion(name, [n for n, (role, _) in self.roles.items() if role in wanted])


def a(noun: str) -> str:
    """The noun with its article."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"
