"""A claim before a court, for tests of what a trial asks."""

from __future__ import annotations

from symderive.claims.court import Court
from symderive.claims.trial import Trial
from symderive.spec import model
from symderive.spec.claims import parse_lines


def trial_of(spec: model.Spec, text: str) -> Trial:
    """The trial of the last line of a text; the lines before it are helpers."""
    statements, _ = parse_lines(text)
    court = Court(spec, statements, text)
    court.helpers = court.lines[:-1]
    return Trial(court, court.lines[-1], statements[-1].sides[0])
