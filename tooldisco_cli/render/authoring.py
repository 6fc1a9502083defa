"""What an import did."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from tooldisco_cli.render.streams import Output, print_json, print_line
from tooldisco_cli.render.untrusted import visible

if TYPE_CHECKING:
    from tooldisco_cli.authoring.importing import ImportReport

SCHEMA = "tooldisco.import/1"


def show_import(report: ImportReport, folder: Path, output: Output) -> None:
    """Print what was written, renamed, changed and skipped."""
    if output.as_json:
        body = asdict(report)
        body["renamed"] = [{"from": old, "to": new} for old, new in report.renamed]
        body["skipped"] = [{"what": what, "why": why} for what, why in report.skipped]
        body["notes"] = [{"what": what, "note": note} for what, note in report.notes]
        print_json(SCHEMA, body)
        return
    tools = f"{report.tools:,} {'tool' if report.tools == 1 else 'tools'}"
    manifests = f"{len(report.files):,} {'manifest' if len(report.files) == 1 else 'manifests'}"
    print_line(f"{tools} in {manifests} below {visible(str(folder))}")
    for old, new in report.renamed:
        print_line(f"renamed {visible(old)} to {visible(new)}; the old name stays as an alias")
    for what, why in report.skipped:
        output.note(f"skipped {visible(what)}: {visible(why)}")
    for what, note in report.notes:
        output.note(f"note: {visible(what)}: {visible(note)}")
