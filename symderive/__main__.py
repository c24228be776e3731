"""``python -m symderive``."""

from __future__ import annotations

import sys

from symderive.cli import main

if __name__ == "__main__":
    sys.exit(main())
