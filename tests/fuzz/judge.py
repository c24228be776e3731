"""Deriving a random spec and holding what comes out against the truth, three ways."""

from __future__ import annotations

import numpy as np
import torch

from symderive.algebra.derive import derive
from symderive.api import Derivation
from symderive.check import sizes as small_sizes
from symderive.check.passing import as_floats
from symderive.check.sample import Draw, away_from_kinks, draw_upstreams
from symderive.check.tangent import true_gradients
from symderive.spec import loads
from tests.algebra.values import gradients
from tests.fuzz.generate import random_spec

NEAR = {"rtol": 1e-6, "atol": 1e-8}


def faults(seed: int) -> list[str]:
    """What is wrong with the gradients of one random spec, if anything.

    The index form evaluated entry by entry and the emitted torch code are held against the true gradients, which
    forward mode over the spec's own text gives, and the emitted code against autograd of its own forward.
    """
    text = random_spec(seed)
    spec = loads(text, name="random")
    rng = np.random.default_rng(seed)
    sizes = small_sizes.small(spec)
    point = as_floats(away_from_kinks(spec, sizes, rng))
    upstreams = as_floats(draw_upstreams(spec, sizes, Draw(rng)))
    true = {n: np.array(v, dtype=float) for n, v in true_gradients(spec, point, upstreams, sizes).items()}
    if not all(np.isfinite(v).all() for v in true.values()):
        return []
    derivation = derive(spec)
    found = _differences("index form", gradients(derivation, point, upstreams, sizes), true)
    emitted, autograd = _emitted(derivation, point, upstreams)
    found += _differences("emitted code", emitted, true)
    stops = "stop(" in text  # which autograd of the emitted forward does not see
    return found if stops else found + _differences("autograd", autograd, true)


def _differences(what: str, values: dict[str, np.ndarray], true: dict[str, np.ndarray]) -> list[str]:
    wrong = [n for n, v in true.items() if values[n].shape != v.shape or not np.allclose(values[n], v, **NEAR)]
    return [f"{what}: {', '.join(wrong)}"] if wrong else []


def _emitted(derivation, point, upstreams):
    """The gradients by the emitted backward, and by autograd through the emitted forward."""
    module: dict = {}
    wrt = derivation.spec.wrt
    exec(compile(Derivation(derivation).torch, "<emitted>", "exec"), module)
    inputs = {n: torch.as_tensor(np.asarray(point[n])) for n in module["INPUTS"]}
    for name in wrt:
        inputs[name] = inputs[name].clone().requires_grad_()
    given = [torch.as_tensor(np.asarray(upstreams[f"d{o}"])) for o in module["OUTPUTS"]]
    output, saved = module["forward"](*inputs.values())
    outputs = output if isinstance(output, tuple) else (output,)
    with torch.no_grad():
        own = module["backward"](saved, *given)
    reached = [(o, g) for o, g in zip(outputs, given, strict=True) if o.requires_grad]
    leaves = [inputs[n] for n in wrt]
    by_autograd = (
        torch.autograd.grad(
            [o for o, _ in reached], leaves, [g for _, g in reached], allow_unused=True, materialize_grads=True
        )
        if reached
        else [torch.zeros_like(x) for x in leaves]
    )
    names = [f"d{n}" for n in wrt]
    return (
        {n: g.detach().numpy() for n, g in zip(names, own, strict=True)},
        {n: g.detach().numpy() for n, g in zip(names, by_autograd, strict=True)},
    )
