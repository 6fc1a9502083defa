"""``tooldisco usage``."""

from __future__ import annotations

import re
import time
from typing import Annotated

import typer

from tooldisco_cli.cli.context import common
from tooldisco_cli.cli.options import AsJson, NoColor, Quiet
from tooldisco_cli.errors import UsageError

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

_SPAN = re.compile(r"(\d{1,6})([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def moment_before_now(span: str | None) -> float:
    """Return the time that lies ``span`` (such as ``7d``, ``12h``, ``2w``) before now; 0 for None."""
    if span is None:
        return 0.0
    match = _SPAN.fullmatch(span.strip())
    if match is None:
        raise UsageError(f"{span!r} is no span of time", hint="write a number and a unit: 30m, 12h, 7d, 2w")
    return time.time() - int(match[1]) * _SECONDS[match[2]]


@app.command("usage")
def usage(
    ctx: typer.Context,
    popular: Annotated[bool, typer.Option("--popular", help="Most used first (this is the default).")] = False,
    failing: Annotated[bool, typer.Option("--failing", help="Only tools that failed, the worst first.")] = False,
    since: Annotated[
        str | None, typer.Option("--since", metavar="SPAN", help="Only the last 30m, 12h, 7d, 2w.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=100_000, help="How many tools at most.")] = 20,
    as_json: AsJson = False,
    no_color: NoColor = False,
    quiet: Quiet = False,
) -> None:
    """Show how often tools were run, how it went, and when last. Only counts are kept, no arguments or results."""
    given = common(ctx)
    if popular and failing:
        raise UsageError("--popular and --failing exclude each other")
    from tooldisco_cli.render.usage import show_usage
    from tooldisco_cli.usage.log import UsageLog

    log, start = UsageLog(), moment_before_now(since)
    found = log.failing(limit=limit, since=start) if failing else log.popular(limit=limit, since=start)
    show_usage(found, given.output)
