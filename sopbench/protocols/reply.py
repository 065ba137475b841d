"""From a raw reply to a verdict: the one place where parsing and scoring meet (play and re-scoring share it)."""

from __future__ import annotations

from sopbench.adapters.base import Adapter, ParsedReply, ParseFailure
from sopbench.geometry import Size
from sopbench.scoring.base import Profile, Verdict
from sopbench.trajectory import Step

PARSE_PREFIX = "parse:"


def judge_reply(
    adapter: Adapter, profile: Profile, reply: str, step: Step, size: Size
) -> tuple[ParsedReply | ParseFailure, Verdict]:
    """Parse `reply` about a screen of original `size` and judge it. A parse failure is a mismatch with reason `parse:<reason>`."""
    parsed = adapter.parse(reply, size)
    if isinstance(parsed, ParseFailure):
        return parsed, Verdict(False, False, PARSE_PREFIX + parsed.reason)
    return parsed, profile.judge(parsed.action, step, size)
