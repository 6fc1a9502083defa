"""How a tool stands on this machine: what it lacks, and how often it ran."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from tooldisco_cli.render.moments import ago, iso
from tooldisco_cli.render.untrusted import visible

if TYPE_CHECKING:
    from tooldisco_cli.execution.readiness import Missing
    from tooldisco_cli.usage.log import UsageSummary


@dataclass(frozen=True, slots=True)
class Standing:
    """What a tool lacks, nothing when it is ready; and its usage, None when it never ran."""

    missing: tuple[Missing, ...] = ()
    usage: UsageSummary | None = None

    @property
    def uses(self) -> int:
        """How often it ran."""
        return self.usage.count if self.usage else 0


def standing_body(standing: Standing) -> dict[str, Any]:
    """Return a tool's standing as JSON, the same in lists and for one tool."""
    usage = standing.usage
    return {
        "ready": not standing.missing,
        "missing": [asdict(lack) for lack in standing.missing],
        "uses": standing.uses,
        "failures": usage.failed if usage else 0,
        "last_used": iso(usage.last_used) if usage else None,
    }


def lacks(standing: Standing) -> str:
    """Return in a few words what a tool lacks, empty when it is ready."""
    names = [visible(lack.name) for lack in standing.missing]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def used(standing: Standing) -> str:
    """Return in a few words how often a tool ran, empty when it never did."""
    usage = standing.usage
    if usage is None:
        return ""
    times = "once" if usage.count == 1 else f"{usage.count:,} times"
    failed = f", {usage.failed:,} failed" if usage.failed else ""
    return f"{times}{failed}, {ago(usage.last_used)}"
