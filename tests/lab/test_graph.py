"""The graph as a tree, as Mermaid, dot and JSON, and the prediction of memory."""

from __future__ import annotations

import json

import pytest

from symderive import api
from symderive.errors import SymderiveError
from symderive.report.lab.data import Graph, Node
from symderive.report.lab.drawing import dot, mermaid, tree
from symderive.report.lab.graphs import Prediction, graph_blocks, graph_json, prediction_finding, view
from symderive.report.plain import plain_texts
from tests.lab.labs import GRAPH


@pytest.fixture(scope="module")
def shown():
    return view(api.derive("linear_mse"), {"N": 64})


def test_the_tree_of_an_invented_graph():
    assert tree(GRAPH) == (
        "y\n"
        "└─ AddmmBackward0          of y\n"
        "   │    keeps x [2, 3] 24 B\n"
        "   ├─ AccumulateGrad x     accumulates\n"
        "   └─ TBackward0           of y\n"
        "      └─ AccumulateGrad W  accumulates\n"
    )


def test_a_node_that_two_read_is_shown_once():
    graph = Graph(
        (Node("AddBackward0", (1, 1)), Node("SinBackward0", (2,)), Node("AccumulateGrad", leaf="x")),
        {"y": 0},
        True,
        {},
        "float32",
    )
    assert "SinBackward0 (above)" in tree(graph)
    assert tree(graph).count("AccumulateGrad x") == 1


def test_a_chain_of_thousands_is_no_recursion():
    nodes = tuple(Node("SinBackward0", (n + 1,)) for n in range(3000))
    assert (
        len(tree(Graph((*nodes, Node("AccumulateGrad", leaf="x")), {"y": 0}, True, {}, "float32")).splitlines()) == 3002
    )


def test_mermaid_and_dot_have_every_node_and_edge():
    for text, arrow in ((mermaid(GRAPH), " --> "), (dot(GRAPH), " -> ")):
        assert text.count(arrow) == 4
        for n in range(4):
            assert f"n{n}[" in text or f"n{n} [" in text
    assert mermaid(GRAPH).startswith("flowchart TD\n")
    assert dot(GRAPH).startswith("digraph autograd {")


def test_the_text_has_the_graph_and_the_derived_program_beside_it(shown):
    text = plain_texts(list(graph_blocks(shown)))
    for part in (
        "AddmmBackward0",
        "the transpose of W that linear inserts",
        "y[i, j] = sum[k](x[i, k] * W[j, k]) + b[j]",
        "dW = dy.T @ x",
        "dW[j, k] = sum[i](dy[i, j] * x[i, k])",
        "Memory at N=64",
    ):
        assert part in text


def test_the_json_says_the_same(shown):
    document = json.loads(graph_json(shown))
    nodes = {n["kind"]: n for n in document["graph"]["nodes"]}
    assert nodes["AddmmBackward0"]["equations"] == ["y[i, j] = sum[k](x[i, k] * W[j, k]) + b[j]"]
    assert nodes["AddmmBackward0"]["backward"] == ["dx = dy @ W", "dW = dy.T @ x", "db = dy.sum(0)"]
    assert {n["leaf"] for n in document["graph"]["nodes"] if n["accumulates"]} == {"x", "W", "b"}
    assert [s["tensor"] for s in document["derived"]["saved"]] == ["x", "W", "difference"]
    assert document["prediction"]["bytes"]["saved"] == 64 * 600 * 4


def test_a_prediction_takes_no_memory_of_its_size():
    found = view(api.derive("linear_cross_entropy"), {"N": 1_000_000, "J": 100_000}).prediction
    assert found.saved > 4e11
    assert found.largest in ("activations", "saved tensors")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((100, 10, 10), "Parameters dominate: 83 %"),
        ((10, 100, 10), "Activations dominate"),
        ((10, 10, 100), "Saved tensors dominate"),
        ((40, 35, 35), "Parameters are the largest part: 36 %"),
    ],
)
def test_what_dominates_is_what_has_the_most_bytes(values, words):
    parameters, activations, saved = values
    made = Prediction({"N": 2}, "float32", parameters, 0, activations, saved, 0, 0, 0)
    assert words in prediction_finding(made)


def test_a_size_that_is_none_is_told():
    with pytest.raises(SymderiveError, match="no size 'Q'"):
        view(api.derive("relu"), {"Q": 3})
