"""Random specs over the whole language: well-formed by construction, smooth enough for a derivative to be checked.

A spec is a list of equations over inputs of a few shapes. Each right side is drawn from templates (contractions,
normalisers, reductions, gathers, masks, index arithmetic) whose bodies are random element-wise expressions.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

INDICES = {"N": "n", "K": "k", "J": "j", "2*K": "q"}
UNARY = (
    "exp({0} / 3)",
    "tanh({0})",
    "sigmoid({0})",
    "softplus({0})",
    "relu({0})",
    "abs({0})",
    "sin({0})",
    "{0}**2",
    "gelu({0})",
    "log(1 + {0}**2)",
    "sqrt(1 + {0}**2)",
    "1 / (2 + {0}**2)",
    "silu({0})",
    "logsigmoid({0})",
    "expm1({0} / 4)",
    "elu({0})",
    "leaky_relu({0}, 0.2)",
)
BINARY = (
    "{0} + {1}",
    "{0} - {1}",
    "{0} * {1}",
    "({0}) * ({1})",
    "max({0}, {1})",
    "{0} / (1 + ({1})**2)",
    "min({0}, {1})",
)
MASKS = ("{i} > 0", "{t} > 0", "{i} % 2 == 0", "m[n]", "{i} < 2", "{i} == 1", "any[i](z[i] > {i})", "not {i} >= 1")
CALLED = ("softmax", "gelu", "linear", "log_softmax", "rms_norm")
"""Specs of the catalogue that are called."""
SHAPES = (("N",), ("K",), ("N", "K"), ("J", "K"), ("N", "J"), ())


@dataclass
class Maker:
    """Draws one spec; ``tensors`` are the real ones that exist so far, with their shapes."""

    rng: random.Random
    tensors: dict[str, tuple[str, ...]] = field(default_factory=dict)
    inputs: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    def input(self, shape: tuple[str, ...]) -> str:
        """An input of that shape: an old one or, sometimes, a new one."""
        known = [t for t, s in self.tensors.items() if s == shape]
        if known and self.rng.random() < 0.6:
            return self.rng.choice(known)
        name = f"x{len(self.inputs)}"
        self.inputs[name] = "[" + ", ".join(shape) + "]"
        self.tensors[name] = shape
        return name

    def entry(self, over: tuple[str, ...]) -> str:
        """An entry of a tensor whose axes are among ``over``."""
        shapes = [s for s in SHAPES if set(s) <= set(over)]
        shape = self.rng.choice(shapes)
        name = self.input(shape)
        return f"{name}[{', '.join(INDICES[s] for s in shape)}]" if shape else name

    def expression(self, over: tuple[str, ...], depth: int) -> str:
        """An element-wise expression in the indices of ``over``."""
        if depth == 0:
            return self.entry(over)
        if self.rng.random() < 0.45:
            return self.rng.choice(UNARY).format(self.expression(over, depth - 1))
        a, b = self.expression(over, depth - 1), self.expression(over, self.rng.randrange(depth))
        return self.rng.choice(BINARY).format(a, b)

    def masked(self, over: tuple[str, ...], depth: int) -> str:
        """A ``where`` over a condition on indices, values or a boolean input."""
        condition = self.rng.choice([m for m in MASKS if ("{i}" not in m or over) and ("m[n]" not in m or "N" in over)])
        index = INDICES[self.rng.choice(over)] if over else ""
        if "m[n]" in condition:
            self.inputs["m"] = "{shape: [N], bool: true}"
        if "z[i]" in condition:
            self.inputs["z"] = "{shape: [K], grad: false}"
        text = condition.format(i=index, t=self.entry(over))
        return f"where({text}, {self.expression(over, depth)}, {self.expression(over, max(depth - 1, 0))})"

    def define(self, shape: tuple[str, ...], right: str) -> None:
        """One more equation."""
        name = f"h{len(self.lines)}"
        left = f"{name}[{', '.join(INDICES[s] for s in shape)}]" if shape else name
        self.lines.append(f"{left} = {right}")
        self.tensors[name] = shape

    def step(self) -> None:
        """One more equation, of a random kind."""
        getattr(self, f"_{self.rng.choice(KINDS)}")()

    def _pointwise(self) -> None:
        shape = self.rng.choice(SHAPES[:5])
        self.define(shape, self.expression(shape, self.rng.randint(1, 3)))

    def _masked(self) -> None:
        shape = self.rng.choice(SHAPES[:5])
        self.define(shape, self.masked(shape, self.rng.randint(1, 2)))

    def _contraction(self) -> None:
        a, b = self.input(("N", "K")), self.input(("J", "K"))
        extra = f" + {self.entry(('J',))}" if self.rng.random() < 0.3 else ""
        scale = self.rng.choice(("", " / 2", " * x_scale"))
        if "x_scale" in scale:
            self.inputs["x_scale"] = "[]"
            self.tensors["x_scale"] = ()
        self.define(("N", "J"), f"sum[k]({a}[n, k] * {b}[j, k]){scale}{extra}")

    def _chain(self) -> None:
        a, b, c = self.input(("N", "K")), self.input(("J", "K")), self.input(("N", "J"))
        self.define(("N",), f"sum[j, k]({a}[n, k] * {b}[j, k] * {c}[n, j])")

    def _normaliser(self) -> None:
        body = self.expression(("N", "K"), self.rng.randint(0, 1))
        op = self.rng.choice(("softmax[k]", "log_softmax[k]", "softmax[k : k <= n + 1]"))
        self.define(("N", "K"), f"{op}({body})")

    def _reduction(self) -> None:
        body = self.expression(("N", "K"), self.rng.randint(0, 2))
        op = self.rng.choice(
            ("sum[k]", "mean[k]", "logsumexp[k]", "max[k]", "min[k]", "sum[k : k != n]", "prod[k]", "mean[k : k <= n]")
        )
        self.define(("N",), f"{op}({body})")

    def _written_out(self) -> None:
        a = self.input(("N", "K"))
        self.define(
            ("N", "K"),
            self.rng.choice(
                (
                    f"exp({a}[n, k]) / sum[i](exp({a}[n, i]))",
                    f"({a}[n, k] - mean[i]({a}[n, i])) / sqrt(mean[l](({a}[n, l] - mean[i]({a}[n, i]))**2) + 1)",
                    f"{a}[n, k] / sqrt(1 + sum[i]({a}[n, i]**2))",
                    f"{a}[n, k] - log(sum[i](exp({a}[n, i])))",
                )
            ),
        )

    def _gather(self) -> None:
        self.inputs["t"] = "{shape: [N], index: K}"
        table = self.rng.choice((("N", "K"), ("J", "K"), ("K",)))
        a = self.input(table)
        access = {("N", "K"): f"{a}[n, t[n]]", ("J", "K"): f"{a}[j, t[n]]", ("K",): f"{a}[t[n]]"}[table]
        shape = ("N", "J") if table == ("J", "K") else ("N",)
        self.define(shape, self.rng.choice(UNARY).format(access))

    def _index_arithmetic(self) -> None:
        a = self.input(("N", "K"))
        access = self.rng.choice(
            (
                f"{a}[n, K - 1 - k]",
                f"{a}[n, (k + 2) % K]",
                f"pad({a}[n, k - 1])",
                f"pad({a}[n + 1, k])",
                f"{a}[n, k // 2]",
                f"{a}[n, 0]",
                f"pad({a}[n, 2 * k])",
                f"sum[r](pad({a}[n, k + r - 1]) * w[r])",
                f"max[r](pad({a}[n, k + r - 1], -inf))",
            )
        )
        if "[r]" in access:
            self.inputs["w"] = "[3]"
            self.tensors.setdefault("w", ("three",))
        self.define(("N", "K"), f"{access} * {self.entry(('N', 'K'))}")

    def _cumulative(self) -> None:
        a = self.input(("N", "K"))
        op = self.rng.choice(("sum", "logsumexp", "prod", "max"))
        self.define(("N", "K"), f"{op}[i : i <= k]({a}[n, i])")

    def _pairwise(self) -> None:
        a, b = self.input(("N", "K")), self.input(("J", "K"))
        self.define(("N", "J"), f"sum[k](({a}[n, k] - {b}[j, k])**2)")

    def _fixed_entries(self) -> None:
        a = self.input(("N", "K"))
        body = self.rng.choice(
            (
                f"{a}[n, 0] * {a}[n, k]",
                f"tanh(pad({a}[n, 1])) * pad({a}[n, 3]) + {a}[n, k]",
                f"where(k < 2, pad({a}[n, k + 1]), {self.entry(('N', 'K'))})",
                f"where(k >= 2, pad({a}[n, k - 2]), sin(pad({a}[n, k + 3])))",
                f"{a}[0, k] * {a}[N - 1, k] * {self.entry(('N',))}",
            )
        )
        self.define(("N", "K"), body)

    def _halves(self) -> None:
        a = self.input(("N", "2*K"))
        body = self.rng.choice(
            (
                f"{a}[n, k] * sigmoid({a}[n, K + k])",
                f"{a}[n, 2*k]**2 + {a}[n, 2*k + 1]",
                f"sum[s]({a}[n, 2*k + s] * {self.entry(('N', 'K'))})",
                f"max[s]({a}[n, s*K + k])",
                f"{a}[n, 2*K - 1 - k] * {a}[n, (k + 3) % (2*K)]",
            )
        )
        self.define(("N", "K"), body)

    def _doubled(self) -> None:
        a = self.input(("N", "K"))
        body = self.rng.choice(
            (
                f"{a}[n, q // 2]",
                f"{a}[n, q % K]",
                f"{a}[n, q // 2] * {self.entry(('N', '2*K'))}",
                f"where(q < K, pad({a}[n, q]), -pad({a}[n, q - K])**2)",
                f"pad({a}[n, (q + 1) // 2])",
                f"{a}[n, (2*K - 1 - q) // 2] * q",
            )
        )
        self.define(("N", "2*K"), body)

    def _strided(self) -> None:
        a = self.input(("N", "K"))
        body = self.rng.choice(
            (
                f"{a}[n, (k * k) % K]",
                f"{a}[n, (2 * k + 1) % K]",
                f"pad({a}[n, (k + 2) // 2])",
                f"pad({a}[n, 3 * k - 2])",
                f"sum[r](pad({a}[n, 2 * k + r - 3]) * exp({a}[n, k]))",
                f"sum[r](pad({a}[n, k - 2 * r]))",
                f"prod[r](pad({a}[n, k + r - 1], 1))",
                f"{a}[n, k] - pad({a}[n, k - 1])",
            )
        )
        self.define(("N", "K"), body)

    def _nested_gather(self) -> None:
        self.inputs["t"] = "{shape: [N], index: K}"
        self.inputs["u"] = "{shape: [K], index: N}"
        a = self.input(("N", "K"))
        body = self.rng.choice(
            (
                f"{a}[u[t[n]], k]",
                f"{a}[n, t[u[k]]]",
                f"{a}[u[k], t[n]] * {a}[n, k]",
                f"{a}[n, argmax[i]({a}[n, i])] * {self.entry(('N', 'K'))}",
                f"where(t[n] == k, {a}[n, k]**2, 0)",
                f"delta(t[n], k) * {a}[n, k] - {a}[n, t[n]]",
            )
        )
        self.define(("N", "K"), body)

    def _matrix(self) -> None:
        a = self.input(("N", "K"))
        self.define(("N", "N"), f"delta(n, m0) + sum[k]({a}[n, k] * {a}[m0, k]) / 9")
        name = f"h{len(self.lines) - 1}"
        self.lines[-1] = self.lines[-1].replace(f"{name}[n, n]", f"{name}[n, m0]")
        kind = self.rng.randrange(8)
        if kind == 4:
            self.define(("N",), f"solve[m0, n]({name}[m0, n], {self.input(('N',))}[m0])")
        elif kind == 5:
            b = self.input(("N", "K"))
            self.define(("N", "K"), f"solve[m0, n]({name}[n, m0], exp({b}[m0, k] / 3))")
        elif kind in (6, 7):
            factor = f"h{len(self.lines)}"
            self.lines.append(f"{factor}[n, m0] = cholesky[n, m0]({name}[n, m0])")
            self.tensors[factor] = ("N", "N")
            shape, right = ((), f"sum[n](log({factor}[n, n]))")
            if kind == 7:
                shape, right = (("N",), f"solve[m0, n]({factor}[m0, n], {self.input(('N',))}[m0])")
            self.define(shape, right)
        elif kind == 0:
            self.define(("N",), f"sum[m0](inv[n, m0]({name}[n, m0]) * {self.input(('N',))}[m0])")
        elif kind == 1:
            self.define((), f"logdet[n, m0]({name}[n, m0])")
        elif kind == 2:
            self.define((), f"det[n, m0]({name}[n, m0])")
        else:
            self.define(("N",), f"sum[m0 : m0 < n]({name}[n, m0]**2) + {name}[n, n]")

    def _called(self) -> None:
        a, b = self.input(("N", "K")), self.input(("J", "K"))
        shape, right = self.rng.choice(
            (
                (("N", "K"), f"softmax({a})[n, k]"),
                (("N", "K"), f"gelu({a})[n, k]"),
                (("N", "J"), f"linear({a}, {b}, {self.input(('J',))})[n, j]"),
                (("N", "K"), f"log_softmax({a})[n, k] * {self.entry(('N', 'K'))}"),
                (("N", "K"), f"rms_norm({a}, {self.input(('K',))})[n, k]"),
            )
        )
        self.define(shape, right)

    def _row_of_a_product(self) -> None:
        a, b = self.input(("N", "K")), self.input(("J", "K"))
        over, inner = ("N", "J"), f"sum[k]({a}[n, k] * {b}[j, k])"
        function = self.rng.choice((*UNARY, "softmax[j]({0})", "log_softmax[j : j <= n + 1]({0} / 2) * 0 + {0}"))
        weight = self.rng.choice((f"{self.input(('N', 'J'))}[n, j]", "1", f"{self.input(('J',))}[j]"))
        whole = f"{function.format(inner)} * {weight}"
        if self.rng.random() < 0.5:
            self.define(over, whole)
        else:
            self.define(("N",), f"{self.rng.choice(('sum', 'logsumexp', 'max'))}[j]({whole})")

    def _loss(self) -> None:
        a = self.input(("N", "K"))
        self.inputs["t"] = "{shape: [N], index: K}"
        self.define(
            ("N",),
            self.rng.choice(
                (
                    f"-sum[k](softmax[k]({a}[n, k]) * log_softmax[k]({a}[n, k]))",
                    f"logsumexp[k]({a}[n, k]) - {a}[n, t[n]]",
                    f"log(sum[k](exp({a}[n, k]) * sigmoid({self.entry(('N', 'K'))})))",
                    f"log(mean[k](exp({a}[n, k])))",
                    f"sqrt(mean[k]({a}[n, k]**2) - mean[k]({a}[n, k])**2 + 1)",
                    f"sum[k](clamp({a}[n, k], -0.5, 1.5) * stop({a}[n, k]))",
                    f"sum[i, k : i < k]({a}[n, i] * {a}[n, k]**2)",
                    f"sum[k](abs({a}[n, k])**3)**(1/3)",
                    f"log(sum[i, k](exp({a}[n, i] - {a}[n, k])))",
                    f"-log(sigmoid({a}[n, t[n]] * c)) - mean[k](log(1 - sigmoid(c + {a}[n, k])))",
                )
            ),
        )

    def _five_axes(self) -> None:
        a = self.input(("N", "2", "K", "J", "2"))
        body = self.rng.choice(
            (
                f"sum[s, j, r0]({a}[n, s, k, j, r0] * {self.entry(('J',))})",
                f"sum[s, j]({a}[n, s, k, j, 1 - s]**2)",
                f"max[j]({a}[n, 0, k, j, 1]) * {a}[n, 1, k, 0, 1]",
                f"sum[s, j, r0](softmax[j]({a}[n, s, k, j, r0]) * {a}[n, r0, k, j, s])",
            )
        )
        self.define(("N", "K"), body)

    def _other_axis(self) -> None:
        a = self.input(("N", "K"))
        op = self.rng.choice(("softmax[n]({})", "log_softmax[n]({})", "{} - mean[m0]({b})", "{} / sum[m0](exp({b}))"))
        self.define(("N", "K"), op.format(f"{a}[n, k]", b=f"{a}[m0, k]"))


KINDS = (
    "fixed_entries",
    "halves",
    "doubled",
    "strided",
    "nested_gather",
    "matrix",
    "matrix",
    "called",
    "row_of_a_product",
    "loss",
    "five_axes",
    "other_axis",
    "pointwise",
    "masked",
    "contraction",
    "chain",
    "normaliser",
    "reduction",
    "written_out",
    "gather",
    "index_arithmetic",
    "cumulative",
    "pairwise",
)


def random_spec(seed: int) -> str:
    """The text of a random spec; the same seed gives the same text."""
    rng = random.Random(seed)
    maker = Maker(rng)
    maker.input(("N", "K"))
    maker.input(("J", "K"))
    for _ in range(rng.randint(1, 4)):
        maker.step()
    if rng.random() < 0.4:  # a loss over everything that nothing reads
        last = f"h{len(maker.lines) - 1}"
        shape = maker.tensors[last]
        if shape:
            over = ", ".join(INDICES[s] for s in shape)
            maker.define((), f"sum[{over}]({last}[{over}]**2) / 2")
    inputs = "".join(f"  {name}: {shape}\n" for name, shape in maker.inputs.items())
    forward = "".join(f"  {line}\n" for line in maker.lines)
    ranges = "indices: {n: N, k: K, j: J, q: 2*K, i: K, l: K, m0: N, r: 3, s: 2, r0: 2}\n"
    outputs = _outputs(maker, rng)
    called = ", ".join(op for op in CALLED if f"{op}(" in forward)
    use = f"use: [{called}]\n" if called else ""
    head = f"name: random\nsizes: {{N: 3, K: 5, J: 4}}\nconstants: {{c: 1/3}}\n{use}"
    return f"{head}inputs:\n{inputs}{ranges}{outputs}forward: |\n{forward}"


def _outputs(maker: Maker, rng: random.Random) -> str:
    """Sometimes several outputs: the last equation and others."""
    names = [f"h{n}" for n in range(len(maker.lines))]
    if len(names) < 2 or rng.random() < 0.7:
        return ""
    return f"output: [{', '.join(sorted({rng.choice(names[:-1]), names[-1]}))}]\n"
