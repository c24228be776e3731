"""``new`` writes a spec that is right, ``list`` shows the catalogue."""

from __future__ import annotations

import functools
import io
import json
import re
from itertools import pairwise

import pytest
from rich.console import Console

from symderive import api
from symderive.catalogue import catalogue
from symderive.report.console_rich import RichPrinter
from symderive.report.document import Entry
from symderive.report.listing import GROUPS


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


LOAD = api.load
READ = functools.cache(LOAD)


@pytest.fixture(autouse=True)
def _the_catalogue_is_read_once(monkeypatch):
    ours = set(catalogue())
    monkeypatch.setattr(api, "load", lambda path: READ(path) if path in ours else LOAD(path))


def entries(shown: str) -> dict[str, str]:
    """The specs of a list by name, with what it says of each; headings and details are indented otherwise."""
    lines = [line.strip().split(maxsplit=1) for line in shown.splitlines() if re.match(r"  \S", line)]
    return dict(lines)


def headings(shown: str) -> list[str]:
    lines = shown.splitlines()
    return [line for line, below in pairwise(lines) if re.fullmatch("-+", below)]


def test_list_shows_every_spec_with_its_title_by_group(run):
    result = run("list")
    assert sorted(entries(result.stdout)) == [p.stem for p in catalogue()]
    assert all(entries(result.stdout).values())
    assert headings(result.stdout) == list(GROUPS)
    assert f"{len(catalogue())} of {len(catalogue())} specs" in result.stderr


def test_list_searches_names_first_then_what_specs_say(run):
    shown = run("list", "softmax").stdout
    assert headings(shown)[0] == "Activations"
    assert next(iter(entries(shown))) == "softmax"
    assert {"log_softmax", "attention"} <= set(entries(shown))
    assert "relu" not in entries(shown)
    assert "forward: P[i, j] = softmax[j](where(j <= i, S[i, j], -inf))" in shown


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["normalization", "layer"], "layer_norm"),
        (["layernorm"], "layer_norm"),
        (["huber", "loss"], "huber"),
        (["cross entropy", "smoothed"], "cross_entropy_label_smoothing"),
        (["F.gelu"], "gelu"),
        (["HuberLoss"], "huber"),
        (["Kalman"], "kalman_gain"),
        (["logdet"], "log_det"),
    ],
)
def test_a_search_finds_by_any_field_and_spelling(run, words, name):
    assert name in entries(run("list", *words).stdout)


def test_every_word_must_occur(run):
    both = entries(run("list", "softmax", "temperature").stdout)
    assert set(both) < set(entries(run("list", "softmax").stdout))
    assert "softmax_temperature" in both


@pytest.mark.parametrize("part", ["Losses", "losses", "loss", "los"])
def test_a_group_is_named_by_part_of_its_name(run, part):
    shown = run("list", "--group", part).stdout
    assert headings(shown) == ["Losses"]
    assert "mse" in entries(shown)


def test_several_groups_and_words_go_together(run):
    shown = run("list", "--group", "norm", "--group", "attention", "softmax").stdout
    assert headings(shown) == ["Attention"]


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["sofmax"], "no spec speaks of 'sofmax'", "did you mean softmax"),
        (["normalisaton"], "no spec speaks of", "did you mean normalisation"),
        (["zzzz"], "no spec speaks of 'zzzz'", "'symderive list' shows every spec"),
        (["softmax", "--group", "layers"], "no spec speaks of 'softmax'", ""),
        (["--group", "lossy"], None, None),
        (["--group", "nothing"], "there is no group 'nothing'", "the groups are Layers, Convolution and pooling,"),
    ],
)
def test_a_search_that_finds_nothing_says_what_is_near(run, arguments, message, hint):
    result = run("list", *arguments)
    if message is None:
        assert (result.returncode, headings(result.stdout)) == (0, ["Losses"])
        return
    assert result.returncode == 2
    assert message in result.stderr
    assert hint in result.stderr
    assert not result.stdout


def test_list_as_json(run):
    found = json.loads(run("list", "--json", "huber").stdout)
    assert found["version"] == 1
    first = found["specs"][0]
    assert (first["name"], first["group"], first["wrt"]) == ("huber", "Losses", ["y"])
    assert first["inputs"] == {"y": "[N, J]", "t": "[N, J]"}
    assert first["forward"][0] == "e[i, j] = y[i, j] - t[i, j]"
    assert first["path"].endswith("huber.yaml")


def test_list_of_a_folder(run, tmp_path):
    run("new", "my_op")
    result = run("list", "--folder", ".")
    assert (headings(result.stdout), list(entries(result.stdout))) == (["Other"], ["my_op"])
    (tmp_path / "my_op.yaml").write_text((tmp_path / "my_op.yaml").read_text() + "group: My kernels\n")
    assert headings(run("list", "--folder", ".").stdout) == ["My kernels"]
    (tmp_path / "my_op.yaml").unlink()
    assert "holds no spec" in run("list", "--folder", ".").stderr


def test_a_terminal_sees_what_was_found():
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=100, color_system="standard")
    RichPrinter(console=console).show([Entry("log_softmax", "The logarithm", 12, "forward: softmax", ("softmax",))])
    marked = "\x1b[1;33msoftmax\x1b[0m"
    assert f"log_\x1b[0m{marked}" in stream.getvalue()
    assert stream.getvalue().count("softmax") == 2
