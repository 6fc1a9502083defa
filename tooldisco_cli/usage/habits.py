"""What the earlier use of tools says for them: how often, how well and how lately they ran, as one number each."""

from __future__ import annotations

import time

from tooldisco_cli.errors import TooldiscoError
from tooldisco_cli.usage.log import UsageLog, UsageSummary

HALF_COUNT = 5
"""So many successes are worth half of what any number is."""
HALF_LIFE_DAYS = 30.0
KEPT_DAYS = 180
"""What was last used longer ago is worth next to nothing and is not read."""


def worth(summary: UsageSummary, now: float) -> float:
    """Return what one tool's use is worth, from 0 to below 1: successes, their share, and a half-life of 30 days."""
    if summary.ok <= 0:
        return 0.0
    often = summary.ok / (summary.ok + HALF_COUNT)
    well = summary.ok / summary.count
    lately = 0.5 ** (max(0.0, now - summary.last_used) / 86400.0 / HALF_LIFE_DAYS)
    return float(often * well * lately)


def worths(log: UsageLog, now: float | None = None) -> dict[str, float]:
    """Return what each tool's use is worth by name; nothing where the log is absent, locked or damaged."""
    now = time.time() if now is None else now
    try:
        summaries = log.summaries(since=now - KEPT_DAYS * 86400.0)
    except TooldiscoError:
        return {}
    return {name: value for name, summary in summaries.items() if (value := worth(summary, now)) > 0.0}
