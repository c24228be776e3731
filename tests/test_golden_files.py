"""The helper for golden files: it compares, it refuses what differs or is missing, and it rewrites when told to."""

from __future__ import annotations

import pytest

from tests.golden_files import Golden


def test_a_text_is_written_and_then_found_equal(tmp_path):
    Golden(update=True, folder=tmp_path)("a/b.md", "one\ntwo\n")
    Golden(update=False, folder=tmp_path)("a/b.md", "one\ntwo\n")


def test_a_different_text_fails_and_shows_the_difference(tmp_path):
    Golden(update=True, folder=tmp_path)("b.md", "one\ntwo\n")
    with pytest.raises(AssertionError, match=r"-two\n\+three"):
        Golden(update=False, folder=tmp_path)("b.md", "one\nthree\n")
    with pytest.raises(AssertionError):
        Golden(update=False, folder=tmp_path)("b.md", "one\ntwo")


def test_a_missing_file_fails(tmp_path):
    with pytest.raises(AssertionError, match="no golden file"):
        Golden(update=False, folder=tmp_path)("c.md", "")
