"""The view of usage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tooldisco_cli.render.moments import ago, iso
from tooldisco_cli.render.streams import Output, print_json
from tooldisco_cli.render.terminal import print_columns
from tooldisco_cli.render.untrusted import visible

if TYPE_CHECKING:
    from tooldisco_cli.usage.log import UsageSummary


def usage_body(item: UsageSummary) -> dict[str, Any]:
    """Return one tool's usage as JSON."""
    return {
        "tool": item.tool,
        "count": item.count,
        "failed": item.failed,
        "last_used": iso(item.last_used),
        "mean_seconds": round(item.mean_seconds, 3),
        "last_code": item.last_code,
    }


def show_usage(found: Sequence[UsageSummary], output: Output) -> None:
    """Print how often tools were run."""
    if output.as_json:
        print_json("tooldisco.usage/1", {"tools": [usage_body(item) for item in found]})
        return
    if not found:
        output.note("nothing was run")
        return
    rows = [["tool", "runs", "failed", "mean", "last"]]
    for item in found:
        failed = f"{item.failed} ({visible(item.last_code)})" if item.failed else "-"
        rows.append([visible(item.tool), str(item.count), failed, f"{item.mean_seconds:.1f} s", ago(item.last_used)])
    print_columns(rows)
