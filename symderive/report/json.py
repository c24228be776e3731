"""Results as the JSON document of ``check --json``."""

from __future__ import annotations

import json

from symderive.check.results import Results, plain

VERSION = 1


def results_json(results: Results) -> str:
    """The document: version, environment, and one entry for each spec with one entry for each check."""
    document = {
        "version": VERSION,
        "environment": plain(results.environment),
        "results": [s.document() for s in results.specs],
    }
    return json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False)
