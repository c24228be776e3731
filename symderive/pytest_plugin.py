"""Spec files as tests: pytest collects them, one item a check, as ``linear_mse.yaml::dW::autograd::float32``.

It comes with the package and is found by itself. Nothing but pytest is imported before a spec file is collected.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from symderive.check.matrix import Planned
    from symderive.check.results import CheckResult, SpecResult
    from symderive.check.subject import Subject
    from symderive.spec.model import Spec

KEYS = ("name", "inputs", "forward")
"""A YAML file with these keys at its top is a spec."""

SLOW = frozenset({"gradcheck", "gradgradcheck", "stability", "layout"})
"""Kinds of check that have the marker ``slow``."""

WHOLE = "gradients"
"""The target of a check that is of the op as a whole."""

MARKERS = (
    "symderive: a check of a spec file",
    "slow: takes longer than most; '-m \"not slow\"' leaves it out",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--symderive-update``, ``--symderive-quick`` and the setting ``symderive_specs``."""
    group = parser.getgroup("symderive", "specs of tensor ops")
    group.addoption(
        "--symderive-update",
        action="store_true",
        help="write the printed forms of specs to their golden files, instead of comparing them",
    )
    group.addoption(
        "--symderive-quick", action="store_true", help="fewer sizes and dtypes, as 'symderive check --quick'"
    )
    parser.addini("symderive_specs", "whether spec files are collected", type="bool", default=True)


def pytest_configure(config: pytest.Config) -> None:
    """Registers the markers."""
    for line in MARKERS:
        config.addinivalue_line("markers", line)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> SpecFile | None:
    """A YAML file that is a spec."""
    if file_path.suffix not in (".yaml", ".yml") or not parent.config.getini("symderive_specs"):
        return None
    return SpecFile.from_parent(parent, path=file_path) if is_spec(file_path) else None


def is_spec(path: Path) -> bool:
    """Whether the file has the keys of a spec; it need not be a good one."""
    try:
        with open(path, encoding="utf-8") as stream:
            text = stream.read(100_000)
    except (OSError, UnicodeDecodeError):
        return False
    return all(re.search(rf"^{key}[ \t]*:", text, re.MULTILINE) for key in KEYS)


class CheckFailed(Exception):
    """A check failed; ``text`` is the explanation that 'symderive check' gives."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class SpecFile(pytest.File):
    """A spec file. What is computed for one of its items is kept for the others."""

    def __init__(self, **rest: Any) -> None:
        super().__init__(**rest)
        self.rows: dict[Any, tuple[CheckResult, ...]] = {}
        self._subject: Subject | None = None

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        """A group for each tensor, and one for the golden files; a single failing item if the spec cannot be read."""
        from symderive.errors import SymderiveError
        from symderive.spec import load

        try:
            self.spec: Spec = load(self.path)
            tree = self._tree()
        except SymderiveError as error:
            yield BadSpec.from_parent(self, name="spec", message=str(error))
            return
        for name, below in tree.items():
            yield Group.from_parent(self, name=name, below=below, file=self)
        yield Golden.from_parent(self, name="golden", file=self)

    def _tree(self) -> Tree:
        """Target -> kind -> device -> dtype -> the cells of a check."""
        from symderive.check.matrix import options, plan

        tree: Tree = {}
        quick = bool(self.config.getoption("--symderive-quick"))
        for entry in plan(self.spec, options(None, None, (), quick=quick)):
            kind = entry.kind.name
            if kind == "claim":
                self._claims(tree, entry)
                continue
            for target in _targets(self.spec, kind, entry):
                below = tree.setdefault(target, {}).setdefault(kind, {})
                names = [n for n in (entry.cell.device, entry.cell.dtype) if n and n != "cpu"]
                for name in names[:-1]:
                    below = below.setdefault(name, {})
                below.setdefault(names[-1] if names else "all", []).append(entry)
        return tree

    def _claims(self, tree: Tree, entry: Planned) -> None:
        lines = [(_defined(s.left), s.span.line) for s in self.spec.claims]
        for target, line in (*lines, *(("claims", b.line) for b in self.spec.bad_claims)):
            tree.setdefault(target, {}).setdefault("claim", {}).setdefault(f"line-{line}", []).append(entry)

    @property
    def subject(self) -> Subject:
        """The spec derived and emitted, once."""
        from symderive.check.prepare import prepare

        if self._subject is None:
            self._subject = prepare(self.spec)
        return self._subject

    def results(self, entry: Planned) -> tuple[CheckResult, ...]:
        """The rows of a cell, computed once."""
        from symderive.check.runner import run_cell

        if entry.instead is not None:
            return (entry.instead,)
        key = (entry.kind.name, entry.cell.dtype, entry.cell.device, entry.cell.label, str(entry.cell.sizes))
        if key not in self.rows:
            self.rows[key] = tuple(run_cell(self.subject, entry))
        return self.rows[key]

    def result(self, rows: tuple[CheckResult, ...]) -> SpecResult:
        """The rows as a result of the spec."""
        from symderive.check.results import SpecResult

        return SpecResult(self.spec.name, self._shown(), rows)

    def _shown(self) -> str:
        below = self.path.is_relative_to(self.config.invocation_params.dir)
        return str(self.path.relative_to(self.config.invocation_params.dir) if below else self.path)


Tree = dict[str, Any]


def _targets(spec: Spec, kind: str, entry: Planned) -> tuple[str, ...]:
    """What a cell has a row for; a missing device, and what is of the op as a whole, has one in all."""
    gradients = tuple(f"d{n}" for n in spec.wrt)
    known: Mapping[str, tuple[str, ...]] = {
        "reference": spec.outputs,
        "oracle": (*spec.outputs, *gradients),
        "autograd": gradients,
        "gradcheck": gradients,
        "gradgradcheck": gradients,
        "stability": (*spec.outputs, *gradients),
    }
    one = entry.instead is not None and not entry.cell.dtype
    return (WHOLE,) if one else known.get(kind, (WHOLE,))


def _defined(left: Any) -> str:
    """The tensor that a claim is about."""
    return str(getattr(left, "tensor", None) or getattr(left, "id", None) or getattr(left, "function", "claims"))


class Group(pytest.Collector):
    """What has one part of an id in common: a tensor, a kind of check, a device."""

    def __init__(self, *, below: Tree, file: SpecFile, **rest: Any) -> None:
        super().__init__(**rest)
        self.below = below
        self.file = file

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        """The groups and the checks below it."""
        for name, below in self.below.items():
            if isinstance(below, dict):
                yield Group.from_parent(self, name=name, below=below, file=self.file)
            else:
                yield CheckItem.from_parent(self, name=name, entries=below, file=self.file)


class SpecItem(pytest.Item):
    """An item whose failure is told as 'symderive check' tells it."""

    def __init__(self, **rest: Any) -> None:
        super().__init__(**rest)
        self.add_marker("symderive")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The explanation, without a traceback of this plugin."""
        if isinstance(excinfo.value, CheckFailed):
            return excinfo.value.text
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where it is from."""
        return self.path, None, self.nodeid


class BadSpec(SpecItem):
    """A spec that cannot be read."""

    def __init__(self, *, message: str, **rest: Any) -> None:
        super().__init__(**rest)
        self.message = message

    def runtest(self) -> None:
        """Fails with the place and the mend."""
        raise CheckFailed(self.message)


class CheckItem(SpecItem):
    """One check of one tensor in one dtype on one device, at all sizes."""

    def __init__(self, *, entries: list[Planned], file: SpecFile, **rest: Any) -> None:
        super().__init__(**rest)
        self.entries = entries
        self.file = file
        self.kind = entries[0].kind.name
        if self.kind in SLOW:
            self.add_marker("slow")

    def runtest(self) -> None:
        """Fails with every failed comparison; skips, with the reasons, where nothing was compared."""
        from symderive.errors import SymderiveError
        from symderive.report.text import spec_table

        try:
            rows = tuple(r for e in self.entries for r in self.file.results(e) if self._is_own(r))
        except SymderiveError as error:
            raise CheckFailed(str(error)) from error
        if any(r.status == "fail" for r in rows):
            raise CheckFailed(spec_table(self.file.result(rows)))
        if not any(r.status == "pass" for r in rows):
            reasons = "; ".join(dict.fromkeys(r.detail for r in rows if r.detail))
            pytest.skip(reasons or "nothing to compare")

    def _is_own(self, row: CheckResult) -> bool:
        """A row of this tensor, or one that is of the cell as a whole."""
        if self.kind == "claim":
            return row.line is None or f"line-{row.line}" == self.name
        parts = self.nodeid.removeprefix(self.file.nodeid).split("::")
        target = parts[1]
        known = _targets(self.file.spec, self.kind, self.entries[0])
        return target in (WHOLE, row.target) or row.target not in known


class Golden(pytest.Collector):
    """The printed forms of a spec, each held in a file of the folder ``golden`` beside it."""

    def __init__(self, *, file: SpecFile, **rest: Any) -> None:
        super().__init__(**rest)
        self.file = file

    def collect(self) -> Iterator[pytest.Item]:
        """One item a form."""
        from symderive.report.forms import FORMS

        for name, form in FORMS.items():
            yield GoldenItem.from_parent(self, name=name, file=self.file, form=form)


class GoldenItem(SpecItem):
    """One printed form against its golden file."""

    def __init__(self, *, file: SpecFile, form: Any, **rest: Any) -> None:
        super().__init__(**rest)
        self.file = file
        self.form = form

    @property
    def golden(self) -> Path:
        """``golden/linear_mse.index.txt`` beside the spec."""
        return self.path.parent / "golden" / f"{self.path.stem}.{self.form.suffix}"

    def runtest(self) -> None:
        """Compares, or writes under ``--symderive-update``."""
        from symderive import api
        from symderive.errors import SymderiveError
        from symderive.report.forms import difference, write

        try:
            text = self.form.text(api.derive(self.file.spec))
        except SymderiveError as error:
            raise CheckFailed(str(error)) from error
        if self.config.getoption("--symderive-update"):
            write(self.golden, text)
            return
        if not self.golden.parent.is_dir():
            pytest.skip("there is no folder 'golden' beside the spec; --symderive-update makes one")
        if told := difference(self.golden, text):
            raise CheckFailed(told)
