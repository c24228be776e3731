"""A plan in one line, as tests write it: close to array form, and total over all operations."""

from __future__ import annotations

from symderive.lower import plan as p

_SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<", "le": "<=", "eq": "==", "ne": "!="}
_LOOSE = ("add", "sub")


def show(plan: p.Plan) -> str:
    return "; ".join(f"{a.name} = {node(a.value)}" for a in plan.assignments)


def node(n: p.Node) -> str:
    special = _SPECIAL.get(type(n))
    if special is not None:
        return special(n)
    return f"{type(n).__name__.lower()}({', '.join(node(c) for c in p.children(n))})"


def inner(n: p.Node, right: bool = False) -> str:
    """In brackets where it binds less than a product, or stands to the right of one."""
    text = node(n)
    loose = isinstance(n, p.Map) and n.function in _LOOSE
    tight = isinstance(n, p.MatMul) or (isinstance(n, p.Map) and n.function in _SIGNS)
    return f"({text})" if loose or (right and tight) else text


def atom(n: p.Node) -> str:
    text = node(n)
    return f"({text})" if isinstance(n, p.MatMul) or (isinstance(n, p.Map) and n.function in _SIGNS) else text


def _map(n: p.Map) -> str:
    if n.function in ("mul", "div"):
        return f"{inner(n.args[0])} {_SIGNS[n.function]} {inner(n.args[1], right=n.function == 'div')}"
    if n.function in _SIGNS:
        return f"{node(n.args[0])} {_SIGNS[n.function]} {node(n.args[1])}"
    if n.function == "neg":
        return f"-{inner(n.args[0])}"
    return f"{n.function}({', '.join(map(node, n.args))})"


def _item(item: p.Item) -> str:
    if item is None:
        return ":"
    if isinstance(item, p.At):
        return f"at {item.position}"
    if item.step == 1:
        return f"{item.start}:{item.start + item.length}"
    return f"{item.start}:{item.start}+{item.step}*{item.length}:{item.step}"


def _items(items: tuple[p.Item, ...]) -> str:
    return ", ".join(map(_item, items))


def _places(indices: tuple[p.Node | None, ...]) -> str:
    return ", ".join(":" if i is None else node(i) for i in indices)


def _onto(base: p.Node | None) -> str:
    return "" if base is None else f", onto {node(base)}"


def _numbers(values: tuple) -> str:
    return ", ".join(map(str, values))


def _window(w: p.Window) -> str:
    return f"stride {_numbers(w.stride)}, padding {_numbers(w.padding)}, dilation {_numbers(w.dilation)}"


_SPECIAL = {
    p.Ref: lambda n: n.name,
    p.Scalar: lambda n: str(n.value),
    p.Arange: lambda n: f"arange({n.extent})",
    p.Full: lambda n: f"full({_numbers((*n.extents, n.value))})",
    p.Eye: lambda n: f"eye({n.extent})",
    p.Map: _map,
    p.MatMul: lambda n: f"{inner(n.left)} @ {inner(n.right, right=True)}",
    p.Permute: lambda n: (
        f"{atom(n.value)}.T" if n.order == (-1, -2) else f"{atom(n.value)}.permute({_numbers(n.order)})"
    ),
    p.Expand: lambda n: f"{atom(n.value)}[{_numbers(n.axes)}]",
    p.Reduce: lambda n: f"{n.op}({_numbers((node(n.value), *n.axes))}{', keep' if n.keepdim else ''})",
    p.Scan: lambda n: f"scan_{n.op}({node(n.value)}, {n.axis}{', reverse' if n.reverse else ''})",
    p.Normalise: lambda n: f"{n.op}({node(n.value)}, {n.axis})",
    p.Reshape: lambda n: f"reshape({node(n.value)}, {_numbers(n.to)})",
    p.Flip: lambda n: f"flip({node(n.value)}, {_numbers(n.axes)})",
    p.Roll: lambda n: f"roll({node(n.value)}, {n.shift}, {n.axis})",
    p.Slice: lambda n: f"{atom(n.value)}[{_items(n.items)}]",
    p.Place: lambda n: f"place({node(n.value)}, {_items(n.items)})",
    p.Unfold: lambda n: f"unfold({node(n.value)}, {n.axis}, {n.size}, {n.step})",
    p.DiagEmbed: lambda n: f"diag_embed({node(n.value)})",
    p.Take: lambda n: f"take({node(n.value)}, {_places(n.indices)})",
    p.Gather: lambda n: f"gather({node(n.value)}, {node(n.index)}, {n.axis})",
    p.IndexAdd: lambda n: f"index_add({node(n.source)}, {_places(n.indices)}{_onto(n.base)})",
    p.ScatterAdd: lambda n: f"scatter_add({node(n.source)}, {node(n.index)}, {n.axis}{_onto(n.base)})",
    p.Conv: lambda n: f"conv({node(n.value)}, {node(n.weight)}, {_window(n.window)})",
    p.ConvWeight: lambda n: f"conv_weight({node(n.value)}, {node(n.source)}, {_window(n.window)})",
}
