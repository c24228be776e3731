"""Output files are written whole or not at all."""

from __future__ import annotations

import os
import stat

import pytest

from symderive.cli import files
from symderive.cli.files import write_text
from symderive.errors import SymderiveError


def test_a_file_is_written_and_nothing_else(tmp_path):
    write_text(tmp_path / "a.py", "x = 1\n")
    assert (tmp_path / "a.py").read_text() == "x = 1\n"
    assert os.listdir(tmp_path) == ["a.py"]


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.py"
    path.write_text("old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.py"]


def test_an_interrupted_write_leaves_nothing(tmp_path, monkeypatch):
    def interrupted(source, target):
        raise KeyboardInterrupt

    monkeypatch.setattr(files.os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_text(tmp_path / "a.py", "new")
    assert os.listdir(tmp_path) == []


def test_permissions_and_links_are_kept(tmp_path):
    real = tmp_path / "real.py"
    real.write_text("old")
    real.chmod(0o600)
    link = tmp_path / "link.py"
    link.symlink_to(real)
    write_text(link, "new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o600


def test_a_new_file_has_the_usual_permissions(tmp_path):
    (tmp_path / "plain").write_text("")
    write_text(tmp_path / "ours", "")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize(("name", "message"), [("", "is a folder"), ("no/such/a.py", "does not exist")])
def test_where_nothing_can_be_written(tmp_path, name, message):
    with pytest.raises(SymderiveError, match=message):
        write_text(tmp_path / name, "x")


def test_a_device_is_written_to():
    write_text(files.Path("/dev/null"), "x")
    assert not os.path.isfile("/dev/null")
