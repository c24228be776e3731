"""How a spec is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from symderive.catalogue import catalogue, folder, spec_path, spec_paths
from symderive.errors import SymderiveError


def test_a_file_is_itself_also_where_the_catalogue_has_that_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("relu.yaml").write_text("name: relu\n")
    assert spec_path("relu.yaml") == Path("relu.yaml")


@pytest.mark.parametrize("name", ["relu", "relu.yaml", "derivations/relu.yaml", "derivations/relu"])
def test_the_catalogue_is_found_from_anywhere(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert spec_path(name) == folder() / "relu.yaml"


@pytest.mark.parametrize("name", ["/derivations/relu.yaml", "elsewhere/relu.yaml", "relu.txt", "relu/relu"])
def test_another_path_is_not_the_catalogues(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SymderiveError, match="no spec"):
        spec_path(name)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("sofmax", "did you mean softmax"),
        ("mine/my_opp.yaml", "did you mean mine/my_op.yaml?"),
        ("qqq", "'symderive list' shows the catalogue"),
    ],
)
def test_an_unknown_spec_is_answered_with_the_nearest(name, hint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine").mkdir()
    Path("mine/my_op.yaml").write_text("")
    with pytest.raises(SymderiveError) as error:
        spec_path(name)
    assert hint in str(error.value)


def test_a_folder_is_all_of_its_specs_once():
    paths = spec_paths([folder(), folder() / "relu.yaml"])
    assert paths == catalogue()
    assert len(paths) >= 22
