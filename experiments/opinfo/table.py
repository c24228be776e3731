"""Which op of PyTorch each spec of the catalogue is, and how a sample of it becomes the spec's inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from samples import (
    NEEDED,
    Row,
    SkipError,
    at_least_one_axis,
    averaged,
    default,
    first_of_batch,
    in_groups,
    last_axis,
    no_indices,
    normalised,
    one_axis,
    ones,
    padded,
    pairs,
    plain,
    plain_padding,
    rows,
    split_groups,
    unbatched,
    zeros,
)

F = "nn.functional."


def pointwise(op: str, constants: Mapping[str, str] | None = None, **arguments: Any) -> Row:
    """An element-wise op; its arguments in the order of PyTorch."""
    scalar = at_least_one_axis("input")
    return Row(op, {"input": NEEDED, **arguments}, "input", constants or {}, (scalar,))


def along(op: str, names: str = "input", *, dim: int | None = None, **arguments: Any) -> Row:
    """An op along an axis, or several; ``dim`` is what PyTorch takes where none is given."""
    inputs = dict.fromkeys(names.split(), NEEDED)
    given = {**inputs, "dim": NEEDED, **arguments}
    return Row(op, given, names, arrange=(last_axis(*names.split(), default=dim),))


def in_rows(row: Row) -> Row:
    """The same for a spec of a matrix."""
    return Row(row.op, row.arguments, row.inputs, row.constants, (*row.arrange, rows(*row.inputs.split())))


def loss(
    op: str, inputs: str, *, constants: Mapping[str, str] | None = None, axes: Any = pairs, **arguments: Any
) -> Row:
    """A loss that averages over all entries, or as ``reduction`` says."""
    names = inputs.split()
    own = arguments.pop("reduction", "mean")
    given = {**dict.fromkeys(names, NEEDED), "reduction": NEEDED, **arguments}
    return Row(f"{F}{op}", given, inputs, constants or {}, (axes(*names),), averaged(own, names[0]))


def classes(op: str, inputs: str, constants: Mapping[str, str] | None = None, **arguments: Any) -> Row:
    """A loss of scores of classes, and ids; ``arguments`` are what a spec takes otherwise than PyTorch does."""
    given = {"input": NEEDED, "target": NEEDED, "weight": None, "ignore_index": -100, "reduction": NEEDED}
    if op == "cross_entropy":
        given["label_smoothing"] = 0.0
    plain_mean = not {"weight", "ignored"} & {*arguments, *(constants or {})}
    given |= {} if plain_mean else {"reduction": "mean"}  # each id counts as its weight says, or not at all
    called = {"called": averaged("mean", "target")} if plain_mean else {}
    return Row(f"{F}{op}", given | arguments, inputs, constants or {}, (_ids,), **called)


def _ids(given: dict[str, Any]) -> None:
    if given["target"].is_floating_point():
        raise SkipError("probabilities in place of ids")
    given["input"], given["target"] = _scores(given["input"]), given["target"].reshape(-1)


def _weights(given: dict[str, Any]) -> None:
    if not given["target"].is_floating_point():
        raise SkipError("ids in place of probabilities")
    given["input"], given["target"] = _scores(given["input"]), _scores(given["target"])


def in_rows_of_batch(function: Any) -> Any:
    """The sum over rows of a loss whose mean is over rows, too."""

    def call(reduction: Any, **given: Any) -> torch.Tensor:
        result = function(reduction="mean" if reduction is NEEDED else reduction, **given)
        return result.sum() if reduction in ("sum", "none") else result * len(given["input"])

    return call


def _scores(x: torch.Tensor) -> torch.Tensor:
    """Scores [N, C] of scores [C] or [N, C, ...]: every place counts alike."""
    return x[None] if x.dim() == 1 else x.movedim(1, -1).reshape(-1, x.shape[1])


def _one_group(given: dict[str, Any]) -> None:
    if given["groups"] is NEEDED:
        given["groups"] = 1


def _kernel_size(given: dict[str, Any]) -> None:
    given["kernel"] = tuple(given["weight"].shape[2:])


def _scale(given: dict[str, Any]) -> None:
    if given["scale"] is None:
        given["scale"] = given["query"].shape[-1] ** -0.5


def _seen(given: dict[str, Any]) -> None:
    """No query sees the keys behind the last one's."""
    for name in ("key", "value"):
        given[name] = given[name][: len(given["query"])]


def _kernel(given: dict[str, Any]) -> None:
    if plain(given["stride"]) != plain(given["kernel_size"]):
        raise SkipError("windows that overlap or leave gaps")
    if any(n % plain(given["kernel_size"]) for n in given["input"].shape[-2:]):
        raise SkipError("windows that do not divide the axes")


def _positions(given: dict[str, Any]) -> None:
    given["input"] = given["input"].flatten(2)


def _parts(given: dict[str, Any]) -> None:
    if given["input"].shape[-1] % plain(given["output_size"]):
        raise SkipError("parts that do not divide the axis")


def _moved(given: dict[str, Any]) -> None:
    at_least_one_axis("input")(given)
    if given["dims"] is NEEDED:  # PyTorch rolls all entries then, in their order
        given["input"], given["dims"] = given["input"].reshape(-1), 0
    dim = plain(given["dims"])
    if not isinstance(dim, int):
        raise SkipError("not along one axis")
    given["input"], given["dims"] = given["input"].movedim(dim, -1), (-1,)


def _statistics(given: dict[str, Any]) -> None:
    """In training the running statistics are written, and not read."""
    given["momentum"] = 0.1
    if given.get("training", given.get("use_input_stats")):
        given["running_mean"] = given["running_var"] = None


def _in_space(given: dict[str, Any]) -> None:
    """Two axes of places."""
    x = given["input"]
    given["input"] = x[(..., *(None,) * (4 - x.dim()))] if 1 < x.dim() < 4 else x.flatten(3) if x.dim() > 4 else x


def _in_rows(given: dict[str, Any]) -> None:
    """Every place of every sample is a row: the statistics of a channel are those of its places."""
    x = given["input"]
    if x.dim() > 2:
        given["input"] = x.movedim(1, -1).flatten(0, -2)


def _nearest(given: dict[str, Any]) -> None:
    """Two axes, enlarged by one whole number."""
    x, size = given["input"], given["size"]
    given["input"] = x = x[..., None] if x.dim() == 3 else x
    factors = {given["scale_factor"]}
    if size is not None:
        sizes = tuple(size) if isinstance(size, tuple | list) else (size,) * (x.dim() - 2)
        factors = {n / m if m else 0 for n, m in zip(sizes, x.shape[2:], strict=False)}
    if len(factors) > 1 or x.dim() != 4 or given["input"].shape[-1] == 1:
        raise SkipError("not two axes enlarged alike")
    factor = factors.pop()
    if not factor or factor != int(factor):
        raise SkipError("not a whole number of times as large")
    given.update(size=None, scale_factor=int(factor), recompute_scale_factor=None)


def _columns(given: dict[str, Any]) -> None:
    """A right side that is a vector, or one for every matrix, is a column."""
    if given["B"].dim() == 1 or given["B"].shape == given["A"].shape[:-1]:
        given["B"] = given["B"][..., None]
    shape = torch.broadcast_shapes(given["A"].shape[:-2], given["B"].shape[:-2])
    for name in ("A", "B"):
        given[name] = given[name].expand(*shape, *given[name].shape[-2:]).clone()


def _variances(given: dict[str, Any]) -> None:
    """A variance for every row, if there are not as many as entries."""
    if given["var"].shape == given["input"].shape[:-1] != given["input"].shape:
        given["var"] = given["var"][..., None]


def _even(given: dict[str, Any]) -> None:
    order = given["ord"]
    if order != int(order if abs(order) < 99 else 1) or order < 2 or order % 2:
        raise SkipError("an order that is not an even number")
    given["ord"] = int(order)


def _pairs_of_rows(given: dict[str, Any]) -> None:
    for name in ("input1", "input2"):
        given[name] = given[name][None] if given[name].dim() == 1 else given[name]
    given["target"] = given["target"].reshape(-1)


def _eps(given: dict[str, Any]) -> None:
    if given["eps"] is None:
        given["eps"] = torch.finfo(given["input"].dtype).eps


def _unbiased(given: dict[str, Any]) -> None:
    if given.pop("unbiased", True) is False:
        raise SkipError("unbiased = False")


def _channels(given: dict[str, Any]) -> None:
    count = given["weight"].numel()
    x = given["input"]
    if x.dim() > 1 and not x.numel():
        raise SkipError("an empty tensor")
    given["input"] = x.reshape(x.shape[0], count, -1) if x.dim() > 1 and count > 1 else x.reshape(1, count, -1)
    given["weight"] = given["weight"].reshape(count)


CONV = {"input": NEEDED, "weight": NEEDED, "bias": None, "stride": 1, "padding": 0, "dilation": 1, "groups": 1}
POOL = {"input": NEEDED, "kernel_size": NEEDED, "stride": None, "padding": 0, "dilation": 1}
NORM = {"input": NEEDED, "running_mean": None, "running_var": None, "weight": None, "bias": None}
TRAINED = {**NORM, "training": True, "momentum": 0.1, "eps": 1e-5}
STATISTICS = (_statistics, ones("weight", "input", 1), zeros("bias", "input", 1))
ATTENTION = {
    "query": NEEDED,
    "key": NEEDED,
    "value": NEEDED,
    "attn_mask": None,
    "dropout_p": 0.0,
    "is_causal": False,
    "scale": None,
    "enable_gqa": False,
}

TABLE: dict[str, Row] = {
    # element by element
    "relu": pointwise(f"{F}relu", inplace=False),
    "relu6": pointwise(f"{F}relu6", inplace=False),
    "gelu": pointwise(f"{F}gelu", approximate="none"),
    "gelu_tanh": pointwise(f"{F}gelu", approximate="tanh"),
    "silu": pointwise(f"{F}silu", inplace=False),
    "mish": pointwise(f"{F}mish", inplace=False),
    "softplus": pointwise(f"{F}softplus", beta=1, threshold=20),
    "softsign": pointwise(f"{F}softsign"),
    "tanhshrink": pointwise(f"{F}tanhshrink"),
    "log_sigmoid": pointwise(f"{F}logsigmoid"),
    "sigmoid": pointwise("sigmoid"),
    "tanh": pointwise("tanh"),
    "selu": pointwise(f"{F}selu", inplace=False),
    "hardswish": pointwise(f"{F}hardswish", inplace=False),
    "hardsigmoid": pointwise(f"{F}hardsigmoid", inplace=False),
    "hardtanh": pointwise(f"{F}hardtanh", min_val=-1.0, max_val=1.0, inplace=False),
    "hardshrink": pointwise(f"{F}hardshrink", {"lam": "lambd"}, lambd=0.5),
    "softshrink": pointwise(f"{F}softshrink", {"lam": "lambd"}, lambd=0.5),
    "elu": pointwise(f"{F}elu", {"alpha": "alpha"}, alpha=1.0, inplace=False),
    "celu": pointwise(f"{F}celu", {"alpha": "alpha"}, alpha=1.0, inplace=False),
    "leaky_relu": pointwise(f"{F}leaky_relu", {"slope": "negative_slope"}, negative_slope=0.01, inplace=False),
    "prelu": Row(f"{F}prelu", {"input": NEEDED, "weight": NEEDED}, "input weight", arrange=(_channels,)),
    # along an axis
    "softmax": along("softmax", dtype=None),
    "softmin": along(f"{F}softmin", _stacklevel=3, dtype=None),
    "log_softmax": along("log_softmax", dtype=None),
    "logsumexp": in_rows(along("logsumexp", keepdim=False)),
    "cumsum": in_rows(along("cumsum", dtype=None)),
    "cumprod": in_rows(along("cumprod", dtype=None)),
    "logcumsumexp": in_rows(along("logcumsumexp")),
    "prod": along("prod", keepdim=False, dtype=None),
    "sum": along("sum", keepdim=False, dtype=None),
    "mean": along("mean", keepdim=False, dtype=None),
    "max": along("amax", keepdim=False),
    "min": along("amin", keepdim=False),
    "norm": along("linalg.vector_norm", "x", ord=2, keepdim=False, dtype=None),
    "norm_l1": along("linalg.vector_norm", "x", ord=1, keepdim=False, dtype=None),
    "norm_p": Row(
        "linalg.vector_norm",
        {"x": NEEDED, "ord": 2, "dim": NEEDED, "keepdim": False, "dtype": None},
        "x",
        {"p": "ord"},
        (_even, last_axis("x")),
    ),
    "glu": along(f"{F}glu", dim=-1),
    "cosine_similarity": along(f"{F}cosine_similarity", "x1 x2", dim=1, eps=1e-8),
    # layers
    "linear": Row(
        f"{F}linear",
        {"input": NEEDED, "weight": NEEDED, "bias": None},
        "input weight bias",
        arrange=(rows("input"), zeros("bias", "weight", 0)),
    ),
    "bilinear": Row(
        f"{F}bilinear",
        {"input1": NEEDED, "input2": NEEDED, "weight": NEEDED, "bias": None},
        "input1 input2 weight bias",
        arrange=(rows("input1", "input2"), zeros("bias", "weight", 0)),
    ),
    "embedding": Row(
        f"{F}embedding",
        {
            "weight": NEEDED,
            "input": NEEDED,
            "padding_idx": None,
            "max_norm": None,
            "norm_type": 2.0,
            "scale_grad_by_freq": False,
            "sparse": False,
        },
        "input weight",
        arrange=(one_axis("input"),),
    ),
    "embedding_bag": Row(
        f"{F}embedding_bag",
        {
            "weight": NEEDED,
            "input": NEEDED,
            "offsets": None,
            "max_norm": None,
            "norm_type": 2.0,
            "scale_grad_by_freq": False,
            "mode": "mean",
            "sparse": False,
            "per_sample_weights": None,
            "include_last_offset": False,
            "padding_idx": None,
        },
        "input weight",
    ),
    "conv1d": Row(
        f"{F}conv1d",
        CONV,
        "input weight bias",
        {"stride": "stride", "padding": "padding", "dilation": "dilation"},
        (unbatched("input", rank=3), zeros("bias", "weight", 0), plain_padding),
    ),
    "conv1d_grouped": Row(
        f"{F}conv1d",
        CONV | {"groups": NEEDED},
        "input weight",
        {"R": "kernel"},
        (unbatched("input", rank=3), plain_padding, _one_group, _kernel_size, split_groups),
        in_groups,
    ),
    "conv2d": Row(
        f"{F}conv2d",
        CONV,
        "input weight bias",
        {"stride": "stride", "padding": "padding", "R": "kernel"},
        (unbatched("input", rank=4), zeros("bias", "weight", 0), plain_padding, _kernel_size),
    ),
    "conv2d_grouped": Row(
        f"{F}conv2d",
        CONV | {"groups": NEEDED},
        "input weight",
        {"R": "kernel", "dilation": "dilation"},
        (unbatched("input", rank=4), plain_padding, _one_group, _kernel_size, split_groups),
        in_groups,
    ),
    "conv_transpose1d": Row(
        f"{F}conv_transpose1d",
        {**CONV, "output_padding": 0},
        "input weight",
        {"stride": "stride"},
        (unbatched("input", rank=3),),
    ),
    "avg_pool1d": Row(
        f"{F}avg_pool1d",
        {**POOL, "ceil_mode": False, "count_include_pad": True} | {"dilation": 1},
        "input",
        {"kernel": "kernel_size", "stride": "stride", "padding": "padding"},
        (unbatched("input", rank=3), default("stride", "kernel_size"), lambda given: given.pop("dilation")),
    ),
    "avg_pool2d": Row(
        f"{F}avg_pool2d",
        {
            "input": NEEDED,
            "kernel_size": NEEDED,
            "stride": None,
            "padding": 0,
            "ceil_mode": False,
            "count_include_pad": True,
            "divisor_override": None,
        },
        "input",
        {"kernel": "kernel_size"},
        (unbatched("input", rank=4), default("stride", "kernel_size"), _kernel, lambda given: given.pop("stride")),
    ),
    "max_pool1d": Row(
        f"{F}max_pool1d",
        {**POOL, "ceil_mode": False, "return_indices": False},
        "input",
        {"kernel": "kernel_size", "stride": "stride"},
        (unbatched("input", rank=3), default("stride", "kernel_size"), no_indices, padded(-torch.inf, 1)),
    ),
    "max_pool2d": Row(
        f"{F}max_pool2d",
        {**POOL, "ceil_mode": False, "return_indices": False},
        "input",
        {"kernel": "kernel_size", "stride": "stride"},
        (unbatched("input", rank=4), default("stride", "kernel_size"), no_indices, padded(-torch.inf, 2)),
    ),
    "adaptive_avg_pool1d": Row(
        f"{F}adaptive_avg_pool1d",
        {"input": NEEDED, "output_size": NEEDED},
        "input",
        {"parts": "output_size"},
        (unbatched("input", rank=3), _parts),
    ),
    "pixel_shuffle": Row(
        f"{F}pixel_shuffle", {"input": NEEDED, "upscale_factor": NEEDED}, "input", {"r": "upscale_factor"}
    ),
    "pixel_unshuffle": Row(
        f"{F}pixel_unshuffle", {"input": NEEDED, "downscale_factor": NEEDED}, "input", {"r": "downscale_factor"}
    ),
    "channel_shuffle": Row(
        f"{F}channel_shuffle", {"input": NEEDED, "groups": NEEDED}, "input", {"groups": "groups"}, (_positions,)
    ),
    "upsample_nearest": Row(
        f"{F}interpolate",
        {
            "input": NEEDED,
            "size": None,
            "scale_factor": None,
            "mode": "nearest",
            "align_corners": None,
            "recompute_scale_factor": None,
        },
        "input",
        {"factor": "scale_factor"},
        (_nearest,),
    ),
    "flip": Row("flip", {"input": NEEDED, "dims": NEEDED}, "input", arrange=(_moved, rows("input"))),
    "circular_shift": Row(
        "roll",
        {"input": NEEDED, "shifts": NEEDED, "dims": NEEDED},
        "input",
        {"shift": "shifts"},
        (_moved, rows("input")),
    ),
    "layer_norm": Row(
        f"{F}layer_norm",
        {"input": NEEDED, "normalized_shape": NEEDED, "weight": None, "bias": None, "eps": 1e-5},
        "input weight bias",
        {"eps": "eps"},
        (normalised, ones("weight", "input", -1), zeros("bias", "input", -1)),
    ),
    "rms_norm": Row(
        f"{F}rms_norm",
        {"input": NEEDED, "normalized_shape": NEEDED, "weight": None, "eps": None},
        "input weight",
        {"eps": "eps"},
        (normalised, ones("weight", "input", -1), _eps),
    ),
    "instance_norm": Row(
        f"{F}instance_norm",
        {**NORM, "use_input_stats": True, "momentum": 0.1, "eps": 1e-5},
        "input",
        {"eps": "eps"},
        (_statistics, _in_space),
    ),
    "batch_norm": Row(f"{F}batch_norm", TRAINED, "input weight bias", {"eps": "eps"}, (*STATISTICS, _in_space)),
    "batch_norm1d": Row(f"{F}batch_norm", TRAINED, "input weight bias", {"eps": "eps"}, (*STATISTICS, _in_rows)),
    "batch_norm_eval": Row(
        f"{F}batch_norm",
        {**TRAINED, "training": False},
        "input running_mean running_var weight bias",
        {"eps": "eps"},
        (*STATISTICS, _in_rows),
    ),
    "attention": Row(
        f"{F}scaled_dot_product_attention",
        {**ATTENTION, "is_causal": True},
        "query key value",
        {"scale": "scale"},
        (first_of_batch("query", "key", "value"), _scale, _seen),
    ),
    "scaled_dot_product_attention": Row(f"{F}scaled_dot_product_attention", ATTENTION, "query key value"),
    # losses
    "mse": loss("mse_loss", "input target"),
    "l1": loss("l1_loss", "input target"),
    "huber": loss("huber_loss", "input target", constants={"c": "delta"}, delta=1.0),
    "smooth_l1": loss("smooth_l1_loss", "input target", constants={"beta": "beta"}, beta=1.0),
    "kl_div": loss("kl_div", "input target", reduction="batchmean", log_target=False),
    "bce": Row(
        f"{F}binary_cross_entropy",
        {"input": NEEDED, "target": NEEDED, "weight": None, "reduction": "none"},
        "input target",
        arrange=(at_least_one_axis("input", "target"),),
    ),
    "sigmoid_bce": Row(
        f"{F}binary_cross_entropy_with_logits",
        {"input": NEEDED, "target": NEEDED, "weight": None, "reduction": "none", "pos_weight": None},
        "input target",
        arrange=(at_least_one_axis("input", "target"),),
    ),
    "bce_pos_weight": Row(
        f"{F}binary_cross_entropy_with_logits",
        {"input": NEEDED, "target": NEEDED, "weight": None, "reduction": NEEDED, "pos_weight": NEEDED},
        "input target pos_weight",
        called=averaged("mean", "input"),
    ),
    "margin_ranking": loss(
        "margin_ranking_loss", "input1 input2 target", constants={"margin": "margin"}, axes=one_axis, margin=0.0
    ),
    "cosine_embedding": Row(
        f"{F}cosine_embedding_loss",
        {"input1": NEEDED, "input2": NEEDED, "target": NEEDED, "margin": 0.0, "reduction": NEEDED},
        "input1 input2 target",
        {"margin": "margin"},
        (_pairs_of_rows, lambda given: given.update(target=given["target"] > 0)),
        lambda function: averaged("mean", "target")(
            lambda target, **rest: function(target=target.to(rest["input1"].dtype) * 2 - 1, **rest)
        ),
    ),
    "soft_margin": loss("soft_margin_loss", "input target"),
    "gaussian_nll": Row(
        f"{F}gaussian_nll_loss",
        {"input": NEEDED, "target": NEEDED, "var": NEEDED, "full": False, "eps": 1e-6, "reduction": NEEDED},
        "input var target",
        {"eps": "eps"},
        arrange=(_variances, pairs("input", "var", "target")),
        called=averaged("mean", "input"),
    ),
    "poisson_nll": loss("poisson_nll_loss", "input target", log_input=True, full=False, eps=1e-8),
    "cross_entropy": classes("cross_entropy", "input target"),
    "cross_entropy_weighted": classes("cross_entropy", "input target weight", weight=NEEDED),
    "cross_entropy_ignore_index": classes("cross_entropy", "input target", {"ignored": "ignore_index"}),
    "cross_entropy_label_smoothing": classes("cross_entropy", "input target", {"smoothing": "label_smoothing"}),
    "cross_entropy_soft": Row(
        f"{F}cross_entropy",
        {
            "input": NEEDED,
            "target": NEEDED,
            "weight": None,
            "ignore_index": -100,
            "reduction": NEEDED,
            "label_smoothing": 0.0,
        },
        "input target",
        arrange=(_weights,),
        called=in_rows_of_batch,
    ),
    "nll": classes("nll_loss", "input target"),
    "multi_margin": Row(
        f"{F}multi_margin_loss",
        {"input": NEEDED, "target": NEEDED, "p": 1, "margin": 1.0, "weight": None, "reduction": NEEDED},
        "input target",
        called=averaged("mean", "target"),
    ),
    # matrices
    "matrix_inverse": Row("linalg.inv", {"A": NEEDED}, "A"),
    "determinant": Row("linalg.det", {"A": NEEDED}, "A"),
    "log_det": Row("logdet", {"input": NEEDED}, "input"),
    "solve": Row("linalg.solve", {"A": NEEDED, "B": NEEDED, "left": True}, "A B", arrange=(_columns,)),
    "cholesky": Row("linalg.cholesky", {"input": NEEDED, "upper": False}),
    "linear_solve": Row(
        "linalg.solve", {"A": NEEDED, "B": NEEDED, "left": True}, "A B", arrange=(_columns, first_of_batch("A", "B"))
    ),
}
"""For each spec a row. Not here are specs that PyTorch has no op for."""
TABLE["var"] = Row(
    "var",
    {"input": NEEDED, "dim": NEEDED, "correction": 1, "keepdim": False},
    "input",
    arrange=(_unbiased, last_axis("input")),
)
TABLE["std"] = Row("std", TABLE["var"].arguments, "input", arrange=TABLE["var"].arrange)
