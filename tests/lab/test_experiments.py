"""The committed reports: what they measured, and that no file of them was changed by hand."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from symderive.report.lab.folder import digest

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
FOLDERS = ("25-autograd-by-hand", "two-layers", "600-classes")


def rows(folder: str, dtype: str) -> list[dict[str, str]]:
    with open(EXPERIMENTS / folder / "errors.csv", newline="") as stream:
        return [r for r in csv.DictReader(stream) if r["dtype"] == dtype and r["device"] == "cpu"]


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_files_are_those_that_were_written(folder):
    manifest = json.loads((EXPERIMENTS / folder / "manifest.json").read_text())
    assert {"REPORT.md", "errors.csv", "derived.py", "errors.png"} <= set(manifest["files"])
    for name, known in manifest["files"].items():
        assert digest((EXPERIMENTS / folder / name).read_bytes()) == known, name
    assert manifest["runs"] == 20
    assert not Path(manifest["spec"]["path"]).is_absolute()


def test_float32_agrees_with_autograd_in_every_run():
    found = rows("25-autograd-by-hand", "float32")
    assert len(found) == 20 * 3
    assert all(float(r["max_abs_error_autograd"]) < 1e-5 for r in found)


def test_float16_degrades_and_its_loss_overflows():
    found = rows("25-autograd-by-hand", "float16")
    assert any(float(r["max_abs_error_float64"]) > 1e-3 for r in found)
    assert any("L" in r["overflowed"].split() for r in found)


def test_the_chain_is_named():
    text = (EXPERIMENTS / "25-autograd-by-hand" / "REPORT.md").read_text()
    for word in ("AddmmBackward0", "AccumulateGrad", "TBackward0", "the transpose of `W` that `linear` inserts"):
        assert word in text


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_error_is_within_its_bound(folder):
    for dtype in ("float32", "bfloat16", "float16"):
        assert all(not float(r["max_abs_error_float64"]) > float(r["bound"]) for r in rows(folder, dtype))


def test_every_folder_is_told_of():
    text = (EXPERIMENTS / "README.md").read_text()
    assert all(f"({folder}/REPORT.md)" in text for folder in FOLDERS)
