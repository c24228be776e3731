"""The command line: thin commands over :mod:`symderive.api`, behind one boundary for everything that can go wrong."""

from __future__ import annotations

from symderive.cli.boundary import entry, main

__all__ = ["entry", "main"]
