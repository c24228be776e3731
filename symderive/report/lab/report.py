"""A lab report as files: ``REPORT.md``, ``errors.csv``, ``derived.py``, plots, and a manifest of all of them."""

from __future__ import annotations

import json
from collections.abc import Mapping

from symderive.api import Derivation
from symderive.check.results import plain
from symderive.report.lab.data import Lab
from symderive.report.lab.folder import MANIFEST, TOOL, digest
from symderive.report.lab.plots import PLOTS, can_plot, draw_plots
from symderive.report.lab.tables import errors_csv
from symderive.report.lab.writeup import report_markdown

VERSION = 1
TEXTS = ("REPORT.md", "errors.csv", "derived.py")


def file_names(plots: bool) -> list[str]:
    """The files that a report consists of."""
    return [*TEXTS, *(PLOTS if plots else ()), MANIFEST]


def report_files(lab: Lab, derivation: Derivation, plots: bool | None = None) -> dict[str, bytes]:
    """The content of every file; without matplotlib there are no plots."""
    drawn = draw_plots(lab) if (can_plot() if plots is None else plots) else {}
    names = file_names(bool(drawn))
    texts = {
        "REPORT.md": report_markdown(lab, derivation, tuple(drawn), names[1:]),
        "errors.csv": errors_csv(lab.rows),
        "derived.py": derivation.torch,
    }
    files = {name: text.encode() for name, text in texts.items()} | drawn
    return files | {MANIFEST: manifest(lab, derivation.spec.text, files).encode()}


def manifest(lab: Lab, spec_text: str, files: Mapping[str, bytes]) -> str:
    """What was run with what, and the SHA-256 of the spec and of every file."""
    s = lab.setting
    document = {
        "version": VERSION,
        "tool": TOOL,
        "spec": {"name": s.spec, "path": s.path, "sha256": digest(spec_text.encode())},
        "command": s.command,
        "seed": s.seed,
        "runs": s.runs,
        "sizes": s.sizes,
        "dtypes": s.dtypes,
        "devices": s.devices,
        "not_measured": s.missing,
        "versions": s.versions,
        "machine": s.machine,
        "time": s.time,
        "seconds": round(lab.seconds, 1),
        "files": {name: digest(content) for name, content in files.items()},
    }
    return json.dumps(plain(document), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
