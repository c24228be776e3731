"""``new`` writes a spec that is right, ``list`` shows the catalogue."""

from __future__ import annotations

import json

from symderive.catalogue import catalogue


def test_the_template_derives_and_passes_every_check(run, tmp_path):
    assert run("new", "my_op").returncode == 0
    result = run("check", "my_op.yaml", "--quick", "--json", "-")
    assert result.returncode == 0, result.stdout + result.stderr
    (spec,) = json.loads(result.stdout)["results"]
    assert spec["status"] == "pass"


def test_new_replaces_nothing_unless_told_to(run, tmp_path):
    (tmp_path / "my_op.yaml").write_text("mine")
    result = run("new", "my_op")
    assert result.returncode == 2
    assert "--force" in result.stderr
    assert (tmp_path / "my_op.yaml").read_text() == "mine"
    assert run("new", "my_op", "--force").returncode == 0
    assert (tmp_path / "my_op.yaml").read_text() != "mine"


def test_new_writes_where_it_is_told(run, tmp_path):
    (tmp_path / "ops").mkdir()
    assert run("new", "my_op", "--out", "ops/my_op.yaml").returncode == 0
    assert (tmp_path / "ops" / "my_op.yaml").read_text().splitlines()[1] == "name: my_op"
    result = run("new", "my_op", "--out", "ops/other.yaml")
    assert result.returncode == 2
    assert "my_op.yaml" in result.stderr


def test_list_shows_every_spec_with_its_title(run):
    lines = run("list").stdout.splitlines()
    assert [line.split()[0] for line in lines] == [p.stem for p in catalogue()]
    assert all(len(line.split(maxsplit=1)) == 2 for line in lines)
