"""Judging gradients that people derived by hand: verdicts that are exact, and what is wrong with a wrong one."""

from __future__ import annotations

from symderive.claims.judge import check_claims, check_text, judge, judge_text
from symderive.claims.result import ClaimResult, Diagnosis

__all__ = ["ClaimResult", "Diagnosis", "check_claims", "check_text", "judge", "judge_text"]
