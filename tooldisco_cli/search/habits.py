"""Gives an index the usage of its tools, in processes that live long enough for that to cost nothing.

A search from the command line does without: opening SQLite takes 6 % of its time, for ties.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from tooldisco_cli.search.index import SearchIndex
from tooldisco_cli.usage.habits import worths
from tooldisco_cli.usage.log import UsageLog

AGAIN_SECONDS = 60.0
"""What was read of the log is used for so long."""
_WAIT_SECONDS = 0.2
"""How long a search waits for a log that somebody holds."""


class Habits:
    """Earlier use as searches see it: read at most once a minute, and never a reason to fail."""

    def __init__(self, environment: Mapping[str, str] | None = None, *, again_seconds: float = AGAIN_SECONDS) -> None:
        self._log = UsageLog(environment=environment, wait_seconds=_WAIT_SECONDS)
        self._again_seconds = again_seconds
        self._read_at = float("-inf")
        self._worths: dict[str, float] = {}
        self._last: tuple[SearchIndex, SearchIndex] | None = None

    def applied(self, index: SearchIndex) -> SearchIndex:
        """Return the index with usage; the same object while neither has changed. Raises IndexBroken."""
        now = time.monotonic()
        if now - self._read_at >= self._again_seconds:
            found = worths(self._log)
            if found != self._worths:
                self._worths, self._last = found, None
            self._read_at = time.monotonic()
        if not self._worths:
            return index
        if self._last is None or self._last[0] is not index:
            self._last = (index, index.with_usage(self._worths))
        return self._last[1]
