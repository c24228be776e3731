"""``python -m symderive``."""

from __future__ import annotations

from symderive.cli import entry

if __name__ == "__main__":
    entry()
