"""An autograd graph as a tree of text, as Mermaid, as dot, and as JSON data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from symderive.report.lab.data import Graph, Kept, Node, extra_bytes, kept_bytes
from symderive.report.lab.lessons import node_note
from symderive.report.lab.words import amount, shape


def kept_text(kept: Kept) -> str:
    """``x [2, 64] 512 B``; the attribute where the tensor has no name in the spec."""
    name = kept.name or kept.attribute
    return f"{name} {shape(kept.shape)} {amount(kept.bytes)}{' (counted above)' if kept.shared else ''}"


def node_label(node: Node) -> str:
    """``AccumulateGrad W`` or ``AddmmBackward0``."""
    return f"{node.kind} {node.leaf}" if node.leaf else node.kind


def tree_lines(graph: Graph) -> list[str]:
    """The graph from its outputs to its leaves: a line a node with its equations, below it a line a kept tensor."""
    rows: list[tuple[str, str]] = []
    shown: set[int] = set()
    for output, root in graph.roots.items():
        rows.append((output, ""))
        rows += _branch(graph, root, shown)
    width = max(len(text) for text, said in rows if said)
    return [f"{text:<{width}}  {said}" if said else text for text, said in rows]


def _branch(graph: Graph, root: int, shown: set[int]) -> Iterator[tuple[str, str]]:
    """The lines below an output, and what stands beside each; iterative, as a chain may be thousands of nodes long."""
    stack = [(root, "", True)]
    while stack:
        position, lead, last = stack.pop()
        node = graph.nodes[position]
        text = f"{lead}{'└─ ' if last else '├─ '}{node_label(node)}"
        if position in shown and not node.leaf:
            yield f"{text} (above)", ""
            continue
        shown.add(position)
        yield text, "accumulates" if node.leaf else f"of {', '.join(node.equations)}" if node.equations else ""
        deeper = lead + ("   " if last else "│  ")
        for kept in node.kept:
            yield f"{deeper}{'│' if node.inputs else ' '}    keeps {kept_text(kept)}", ""
        count = len(node.inputs)
        stack += [(i, deeper, n == count - 1) for n, i in reversed(list(enumerate(node.inputs)))]


def tree(graph: Graph) -> str:
    """The tree as one text."""
    return "\n".join(tree_lines(graph)) + "\n"


def mermaid(graph: Graph) -> str:
    """A flowchart in Mermaid, which GitHub draws: operations, leaves, and what each operation keeps."""
    lines = ["flowchart TD"]
    for output, root in graph.roots.items():
        lines.append(f'    out_{_id(output)}(["{_quoted(output)}"]) --> n{root}')
    for position, node in enumerate(graph.nodes):
        label = "<br>".join(_quoted(part) for part in _label_parts(node))
        lines.append(f'    n{position}[("{label}")]' if node.leaf else f'    n{position}["{label}"]')
        lines += [f"    n{position} --> n{i}" for i in node.inputs]
    return "\n".join(lines) + "\n"


def _id(name: str) -> str:
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in name)


def _label_parts(node: Node) -> list[str]:
    parts = [node_label(node)]
    if node.equations:
        parts.append(f"of {', '.join(node.equations)}")
    return [*parts, *(f"keeps {kept_text(k)}" for k in node.kept)]


def _quoted(text: str) -> str:
    return text.replace('"', "'").replace("<", "&lt;").replace(">", "&gt;")


def dot(graph: Graph) -> str:
    """A digraph for Graphviz."""
    lines = ["digraph autograd {", "  node [shape=box, fontname=monospace];"]
    for output, root in graph.roots.items():
        lines.append(f'  "out {_escaped(output)}" [label="{_escaped(output)}", shape=oval];')
        lines.append(f'  "out {_escaped(output)}" -> n{root};')
    for position, node in enumerate(graph.nodes):
        label = "\\n".join(map(_escaped, _label_parts(node)))
        lines.append(f'  n{position} [label="{label}"{", shape=cylinder" if node.leaf else ""}];')
        lines += [f"  n{position} -> n{i};" for i in node.inputs]
    return "\n".join([*lines, "}"]) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def derived_lines(node: Node, backward: Mapping[str, list[str]]) -> list[str]:
    """The derived gradients that belong to a node's equations, each once."""
    return list(dict.fromkeys(line for t in node.equations for line in backward.get(t, [])))


def kept_data(kept: Kept) -> dict[str, Any]:
    """What is kept, as JSON data."""
    return {
        "attribute": kept.attribute,
        "tensor": kept.name or None,
        "shape": list(kept.shape),
        "dtype": kept.dtype,
        "bytes": kept.bytes,
        "input": kept.given,
        "shared": kept.shared,
    }


def graph_data(graph: Graph, equations: Mapping[str, str], backward: Mapping[str, list[str]]) -> dict[str, Any]:
    """The graph as JSON data; ``equations`` are the forward's by tensor, ``backward`` the derived ones of each."""
    return {
        "of": "reference" if graph.of_reference else "emitted forward",
        "sizes": {k: list(v) if isinstance(v, tuple) else v for k, v in graph.sizes.items()},
        "dtype": graph.dtype,
        "outputs": dict(graph.roots),
        "nodes": [
            {
                "id": n,
                "kind": node.kind,
                "leaf": node.leaf or None,
                "accumulates": bool(node.leaf),
                "tensors": list(node.equations),
                "equations": [equations[t] for t in node.equations if t in equations],
                "backward": derived_lines(node, backward),
                "computes": node.computes or None,
                "inputs": list(node.inputs),
                "saved": [kept_data(k) for k in node.kept],
                "note": node_note(graph, n),
            }
            for n, node in enumerate(graph.nodes)
        ],
        "saved_bytes": kept_bytes(graph.kept),
        "saved_bytes_besides_inputs": extra_bytes(graph.kept),
    }


DRAWINGS: Mapping[str, Callable[[Graph], str]] = {"mermaid": mermaid, "dot": dot}
"""The graph as text for another program to draw."""
