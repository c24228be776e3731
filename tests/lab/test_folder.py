"""A report's folder is written whole or not at all, and never over what no report wrote."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from symderive.errors import SymderiveError
from symderive.report.lab.folder import TOOL, check_place, digest, write_folder


def files(text: str = "a", *more: str) -> dict[str, bytes]:
    found = {"REPORT.md": text.encode(), **dict.fromkeys(more, b"more")}
    manifest = {"tool": TOOL, "files": {name: digest(content) for name, content in found.items()}}
    return found | {"manifest.json": json.dumps(manifest).encode()}


def content(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir()}


def test_a_new_folder(tmp_path):
    write_folder(tmp_path / "lab", files())
    assert content(tmp_path / "lab") == files()
    assert os.listdir(tmp_path) == ["lab"]


def test_a_report_replaces_its_own_files_and_leaves_others(tmp_path):
    lab = tmp_path / "lab"
    write_folder(lab, files("a", "old.png"))
    (lab / "notes.txt").write_text("mine")
    write_folder(lab, files("b"))
    assert content(lab) == {**files("b"), "notes.txt": b"mine"}
    assert os.listdir(tmp_path) == ["lab"]


@pytest.mark.parametrize("name", ["REPORT.md", "manifest.json"])
def test_a_file_that_no_report_wrote_stays(tmp_path, name):
    lab = tmp_path / "lab"
    lab.mkdir()
    (lab / name).write_text("mine")
    with pytest.raises(SymderiveError, match="was not written by"):
        write_folder(lab, files())
    assert content(lab) == {name: b"mine"}
    write_folder(lab, files(), force=True)
    assert content(lab) == files()


def test_a_file_that_was_changed_since_stays(tmp_path):
    lab = tmp_path / "lab"
    write_folder(lab, files())
    (lab / "REPORT.md").write_text("edited")
    with pytest.raises(SymderiveError, match="was changed since"):
        write_folder(lab, files("b"))
    assert (lab / "REPORT.md").read_text() == "edited"


def test_a_file_in_the_way_of_the_folder(tmp_path):
    (tmp_path / "lab").write_text("mine")
    for force in (False, True):
        with pytest.raises(SymderiveError, match="is no folder"):
            write_folder(tmp_path / "lab", files(), force)
    assert (tmp_path / "lab").read_text() == "mine"


def test_a_missing_parent_is_named(tmp_path):
    with pytest.raises(SymderiveError, match="does not exist"):
        write_folder(tmp_path / "no" / "lab", files())


def test_the_current_folder_is_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_folder(Path("."), files("a"))
    write_folder(Path("."), files("b"))
    assert content(tmp_path) == files("b")


@pytest.mark.parametrize("fails_at", range(1, 5))
def test_what_fails_half_way_leaves_the_old_report(tmp_path, monkeypatch, fails_at):
    lab = tmp_path / "lab"
    write_folder(lab, files("a"))
    before, rename, calls = content(lab), os.rename, []

    def failing(source, target):
        calls.append(target)
        if len(calls) == fails_at:
            raise OSError("the disk is full")
        rename(source, target)

    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(OSError, match="disk is full"):
        write_folder(lab, files("b"))
    assert content(lab) == before
    assert os.listdir(tmp_path) == ["lab"]


def test_a_place_that_cannot_be_written_is_told_before_anything_is_measured(tmp_path, monkeypatch):
    check_place(tmp_path / "lab")
    assert not os.listdir(tmp_path)

    def denied(dir):
        raise PermissionError(13, "Permission denied", str(dir))

    monkeypatch.setattr("tempfile.mkdtemp", denied)
    for folder in (tmp_path, tmp_path / "lab"):
        with pytest.raises(SymderiveError, match="cannot be written: Permission denied"):
            check_place(folder)
