"""Times, as people and programs read them."""

from __future__ import annotations

import datetime as dt
import time


def iso(seconds: float) -> str:
    """Return a time (seconds since the epoch) as ISO 8601 in UTC, to the second."""
    return dt.datetime.fromtimestamp(seconds, dt.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def ago(seconds: float, now: float | None = None) -> str:
    """Return how long ago a time was, in its largest unit: ``3 h ago``."""
    passed = max(0.0, (time.time() if now is None else now) - seconds)
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if passed >= size:
            return f"{int(passed // size)} {unit} ago"
    return "just now"
