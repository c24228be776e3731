"""The lines of emitted code that read sizes off shapes: ``N, K = x.shape``."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sympy import Symbol

from symderive.emit.precedence import fill
from symderive.emit.printer import IDENTIFIERS, Printer
from symderive.lower import sizes
from symderive.lower.shapes import ROWS, Shape, has_batch, plain
from symderive.spec.sizes import BATCH_SIZE


@dataclass
class SizeReader:
    """Reads the sizes that a function's body needs from the ``shapes`` of its tensors."""

    shapes: Mapping[str, Shape]
    printer: Printer

    def __post_init__(self) -> None:
        self.sources = sizes.solve(self.shapes)

    def missing(self, needed: Collection[Symbol]) -> list[Symbol]:
        """The sizes that no shape determines; the number of batch entries follows from their extents."""
        read = dict.fromkeys(BATCH_SIZE if s == ROWS else s for s in needed)
        return [s for s in read if s not in self.sources]

    def lines(self, needed: Collection[Symbol]) -> list[str]:
        """The lines that define the ``needed`` sizes, as few as there can be."""
        pending = self._closure(needed)
        rows = f"{IDENTIFIERS[ROWS]} = math.prod({IDENTIFIERS[BATCH_SIZE]})"
        lines: list[str] = []
        for name, shape in self.shapes.items():
            line = self._unpacked(name, shape, pending)
            if line:
                lines.append(line)
                pending = [s for s in pending if s not in shape]
        if BATCH_SIZE in pending and BATCH_SIZE not in needed:
            pending.remove(BATCH_SIZE)
            rows = f"{IDENTIFIERS[ROWS]} = math.prod({self._read(BATCH_SIZE)})"
        lines += [f"{self._name(s)} = {self._read(s)}" for s in self.sources if s in pending]
        return lines + ([rows] if ROWS in needed else [])

    def used(self, needed: Collection[Symbol]) -> list[sizes.SizeSource]:
        """Where the ``needed`` sizes are read."""
        return [self.sources[s] for s in self._closure(needed)]

    def value(self, symbol: Symbol) -> str:
        """The expression that a size is."""
        return self._read(symbol)

    def _closure(self, needed: Collection[Symbol]) -> list[Symbol]:
        """The needed sizes with those that they are solved from."""
        stack = [BATCH_SIZE if s == ROWS else s for s in needed]
        found: dict[Symbol, None] = {}
        while stack:
            symbol = stack.pop()
            if symbol in self.sources and symbol not in found:
                found[symbol] = None
                source = self.sources[symbol]
                stack.extend(sizes.symbols((source.factor, source.offset)))
        return list(found)

    def _unpacked(self, name: str, shape: Shape, pending: Collection[Symbol]) -> str | None:
        """``N, K = x.shape`` where at least two entries are sizes that are still needed, each once."""
        targets = ["_"] * len(shape)
        for n, entry in enumerate(shape):
            if entry in pending and entry not in shape[:n]:
                targets[n] = self._name(entry, "*")
        if sum(t != "_" for t in targets) < 2:
            return None
        if has_batch(shape) and targets[0] == "_":
            targets[0] = "*_"
        return f"{', '.join(targets)} = {self.printer.name(name)}.shape"

    def _name(self, symbol: Symbol, star: str = "") -> str:
        if symbol == BATCH_SIZE:
            return f"{star}{IDENTIFIERS[BATCH_SIZE]}"
        return self.printer.symbol(symbol)

    def _read(self, symbol: Symbol) -> str:
        source = self.sources[symbol]
        tensor, shape = self.printer.name(source.tensor), self.shapes[source.tensor]
        if symbol == BATCH_SIZE:
            return f"{tensor}.shape" + (f"[:-{source.axis}]" if source.axis else "")
        front = source.axis == -1 and len(plain(shape)) > 1
        axis = source.axis if has_batch(shape) or front else source.axis + len(shape)
        value = fill(f"{tensor}.shape[{axis}]")
        if source.offset != 0:
            value = fill("{0} - {1}", value, self.printer.numbers.text(source.offset, whole=True))
        if source.factor != 1:
            value = fill("{0} // {1}", value, self.printer.numbers.text(source.factor, whole=True))
        return value.text
