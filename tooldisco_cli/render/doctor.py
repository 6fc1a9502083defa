"""The view of a checkup of the whole installation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from tooldisco_cli.render.streams import Output, print_json, print_line
from tooldisco_cli.render.terminal import print_columns
from tooldisco_cli.render.untrusted import visible

if TYPE_CHECKING:
    from tooldisco_cli.execution.readiness import Missing
    from tooldisco_cli.tomlfile import Problem

SCHEMA = "tooldisco.doctor/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkup:
    """What a checkup found."""

    tools: int
    missing: Mapping[str, tuple[Missing, ...]]
    untrusted: tuple[str, ...]
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
    index_faults: tuple[str, ...]
    unwritable: tuple[str, ...]
    layers: tuple[tuple[str, str], ...]


def show_checkup(checkup: Checkup, output: Output) -> None:
    """Print what was found: first what is wrong, then what tools lack."""
    lacking = {tool: lacks for tool, lacks in checkup.missing.items() if lacks}
    ready = checkup.tools - len(lacking)
    if output.as_json:
        body = {
            "tools": checkup.tools,
            "ready": ready,
            "not_ready": [
                {"tool": tool, "missing": [asdict(lack) for lack in lacks]} for tool, lacks in lacking.items()
            ],
            "untrusted": list(checkup.untrusted),
            "problems": [problem._asdict() for problem in checkup.problems],
            "notes": list(checkup.notes),
            "index_faults": list(checkup.index_faults),
            "unwritable_folders": list(checkup.unwritable),
            "layers": [{"kind": kind, "path": path} for kind, path in checkup.layers],
        }
        print_json(SCHEMA, body)
        return
    print_columns([[kind, visible(path)] for kind, path in checkup.layers])
    for problem in checkup.problems:
        print_line(f"{problem.severity}: {visible(str(problem))}")
    for note in checkup.notes:
        print_line(f"note: {visible(note)}")
    for fault in checkup.index_faults:
        print_line(f"error: kept index {visible(fault)}; remove that folder")
    for folder in checkup.unwritable:
        print_line(f"warning: {visible(folder)} cannot be written")
    for reference in checkup.untrusted:
        print_line(f"not trusted: {visible(reference)}; see `tooldisco trust`")
    print_line(f"\n{ready:,} of {checkup.tools:,} tools are ready")
    rows = []
    for tool, lacks in lacking.items():
        for number, lack in enumerate(lacks):
            rows.append(
                [visible(tool) if not number else "", f"{lack.kind} {visible(lack.name)}", visible(lack.remedy)]
            )
    if rows:
        print_line("\nnot ready")
        print_columns([[f"  {tool}", lack, remedy] for tool, lack, remedy in rows])
