"""A slow, obviously right evaluator of algebra programs: loops over all index values, numbers one at a time.

Batch axes are one flat axis here; inputs and outputs are reshaped around the evaluation.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import sympy
from sympy import Expr

from symderive.algebra import nodes
from symderive.algebra.nodes import Index
from symderive.algebra.program import Program
from symderive.spec.sizes import BATCH_SIZE


def evaluate(program: Program, inputs: dict, sizes: dict, batch: tuple[int, ...] = ()) -> dict[str, np.ndarray]:
    """Every tensor of ``program``; ``sizes`` maps names to integers."""
    tensors = {}
    for spec in program.inputs:
        value = np.asarray(inputs[spec.name])
        if BATCH_SIZE in spec.shape:
            value = value.reshape((math.prod(batch), *value.shape[len(batch) :]))
        tensors[spec.name] = value
    numbers = {str(k): v for k, v in sizes.items() if k != "..."} | {str(k): v for k, v in program.constants.items()}
    numbers["..."] = math.prod(batch)
    shaped = dict(tensors)
    with np.errstate(all="ignore"):
        for equation in program.equations:
            machine = Machine(tensors, numbers)
            extents = [machine.extent(i) for i in equation.indices]
            out = np.zeros(extents)
            for place in itertools.product(*map(range, extents)):
                out[place] = machine.run(equation.right, dict(zip(equation.indices, place, strict=True)))
            tensors[equation.tensor] = out
            if equation.indices and equation.indices[0].is_batch:
                out = out.reshape((*batch, *extents[1:]))
            shaped[equation.tensor] = out
    return shaped


class Machine:
    def __init__(self, tensors, numbers):
        self.tensors, self.numbers = tensors, numbers

    def extent(self, index: Index) -> int:
        return int(self.run(index.extent, {}))

    def spots(self, indices):
        return itertools.product(*(range(self.extent(i)) for i in indices))

    def bodies(self, e, env):
        for place in self.spots(e.bound):
            yield place, self.run(e.body, {**env, **dict(zip(e.bound, place, strict=True))})

    def run(self, e: Expr, env: dict):
        if isinstance(e, Index):
            return env[e]
        if e.is_Symbol:
            return _number(self.numbers[e.name])
        if e.is_number and not e.atoms(Index, nodes.Node):
            return _number(e)
        return getattr(self, "do_" + type(e).__name__)(e, env)

    def all(self, args, env):
        return [self.run(a, env) for a in args]

    def do_Access(self, e, env):
        place = tuple(int(self.run(i, env)) for i in e.indices)
        value = self.tensors[e.tensor]
        assert all(0 <= p < n for p, n in zip(place, value.shape, strict=True)), (e, place, value.shape)
        return value[place].item()

    def do_Pad(self, e, env):
        access, fill = e.args
        place = tuple(int(self.run(i, env)) for i in access.indices)
        shape = self.tensors[access.tensor].shape
        if all(0 <= p < n for p, n in zip(place, shape, strict=True)):
            return self.do_Access(access, env)
        return self.run(fill, env)

    def do_floor(self, e, env):
        return math.floor(e.args[0].xreplace({s: sympy.Integer(self.numbers[s.name]) for s in e.free_symbols}))

    def do_FloorDiv(self, e, env):
        a, b = self.all(e.args, env)
        return a // b

    def do_Mod(self, e, env):
        a, b = self.all(e.args, env)
        return a % b

    def do_Stop(self, e, env):
        return self.run(e.args[0], env)

    def do_Where(self, e, env):
        return self.run(e.args[1] if self.run(e.args[0], env) else e.args[2], env)

    def do_Lt(self, e, env):
        a, b = self.all(e.args, env)
        return int(a < b)

    def do_Le(self, e, env):
        a, b = self.all(e.args, env)
        return int(a <= b)

    def do_Eq(self, e, env):
        a, b = self.all(e.args, env)
        return int(a == b)

    def do_And(self, e, env):
        """A guard that fails hides that another condition reads out of range."""
        values, outside = [], None
        for a in e.args:
            try:
                values.append(self.run(a, env))
            except AssertionError as error:
                outside = error
        if outside is not None and all(values):
            raise outside
        return int(all(values))

    def do_Or(self, e, env):
        return int(any(self.all(e.args, env)))

    def do_Not(self, e, env):
        return int(not self.run(e.args[0], env))

    def do_Maximum(self, e, env):
        return float(np.maximum(*self.all(e.args, env)))

    def do_Minimum(self, e, env):
        return float(np.minimum(*self.all(e.args, env)))

    def do_Clamp(self, e, env):
        x, lo, hi = self.all(e.args, env)
        return x if math.isnan(x) else min(max(x, lo), hi)

    def do_Add(self, e, env):
        return sum(self.all(e.args, env))

    def do_Mul(self, e, env):
        out = 1
        for value in self.all(e.args, env):
            out = out * value
        return out

    def do_Pow(self, e, env):
        base, power = e.args
        if base is sympy.E:
            return float(np.exp(self.run(power, env)))
        a, b = self.all(e.args, env)
        if isinstance(a, int) and isinstance(b, int) and b >= 0:
            return a**b
        return float(np.power(np.float64(a), np.float64(b)))

    def do_exp(self, e, env):
        return float(np.exp(self.run(e.args[0], env)))

    def do_Abs(self, e, env):
        return abs(self.run(e.args[0], env))

    def do_sign(self, e, env):
        return float(np.sign(self.run(e.args[0], env)))

    def do_Apply(self, e, env):
        return APPLY[e.function](*self.all(e.arguments, env))

    def do_Sum(self, e, env):
        return sum(v for _, v in self.bodies(e, env))

    def do_Prod(self, e, env):
        return math.prod(v for _, v in self.bodies(e, env))

    def do_Max(self, e, env):
        return _extreme(np.maximum, [v for _, v in self.bodies(e, env)], -math.inf)

    def do_Min(self, e, env):
        return _extreme(np.minimum, [v for _, v in self.bodies(e, env)], math.inf)

    def do_LogSumExp(self, e, env):
        values = [v for _, v in self.bodies(e, env)]
        top = _extreme(np.maximum, values, -math.inf)
        if math.isinf(top) or math.isnan(top):
            return top
        return top + math.log(sum(math.exp(v - top) for v in values))

    def do_Any(self, e, env):
        return int(any(v for _, v in self.bodies(e, env)))

    def do_All(self, e, env):
        return int(all(v for _, v in self.bodies(e, env)))

    def do_ArgMax(self, e, env):
        return int(np.argmax([v for _, v in self.bodies(e, env)]))

    def do_ArgMin(self, e, env):
        return int(np.argmin([v for _, v in self.bodies(e, env)]))

    def matrix(self, e, env):
        rows, columns = (self.extent(i) for i in e.bound)
        out = np.zeros((rows, columns))
        for place, value in self.bodies(e, env):
            out[place] = value
        return out

    def do_Inverse(self, e, env):
        row, column = self.all(e.at, env)
        return float(np.linalg.inv(self.matrix(e, env))[row, column])

    def do_Cholesky(self, e, env):
        row, column = self.all(e.at, env)
        matrix = self.matrix(e, env)
        return float(np.linalg.cholesky((matrix + matrix.T) / 2)[row, column])

    def do_Det(self, e, env):
        return float(np.linalg.det(self.matrix(e, env)))

    def do_LogDet(self, e, env):
        return float(np.log(np.linalg.det(self.matrix(e, env))))


for _name in ("log", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "erf"):

    def _unary(self, e, env, name=_name):
        x = self.run(e.args[0], env)
        if name == "erf":
            return math.erf(x)
        return float(getattr(np, {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}.get(name, name))(np.float64(x)))

    setattr(Machine, "do_" + _name, _unary)


def _number(value):
    if isinstance(value, int):
        return value
    if value.is_Integer:
        return int(value)
    return float(value)


def _extreme(function, values, start):
    out = start
    for value in values:
        out = float(function(out, value))
    return out


def _sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x > -700 else math.exp(x)


def _softplus(x):
    return float(np.logaddexp(0, x))


APPLY = {
    "abs": abs,
    "sign": lambda x: float(np.sign(x)),
    "floor": lambda x: float(math.floor(x)),
    "round": lambda x: float(np.round(x)),
    "sigmoid": _sigmoid,
    "softplus": _softplus,
    "logsigmoid": lambda x: -_softplus(-x),
    "relu": lambda x: x if x > 0 else 0.0,
    "leaky_relu": lambda x, s: x if x > 0 else s * x,
    "elu": lambda x, s: x if x > 0 else s * math.expm1(x),
    "gelu": lambda x: x * math.erfc(-x / math.sqrt(2)) / 2,
    "gelu_tanh": lambda x: x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
    "silu": lambda x: x * _sigmoid(x),
    "mish": lambda x: x * math.tanh(_softplus(x)),
}
