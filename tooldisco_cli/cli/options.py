"""The types of options that several commands share. What they amount to together: :func:`~.context.common`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tooldisco_cli.cli.completion import complete_category, complete_tag

ToolsDirs = Annotated[
    list[Path] | None,
    typer.Option(
        "--tools-dir",
        metavar="DIR",
        help="One more tools.d folder, above all others; may be repeated. Also TOOLDISCO_TOOLS_DIR.",
        show_default=False,
    ),
]
NoColor = Annotated[bool, typer.Option("--no-color", help="Never colour the output. Also NO_COLOR.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No warnings, notes and counts on stderr; errors only.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object; its form is in the README.")]
Categories = Annotated[
    list[str] | None,
    typer.Option(
        "--category",
        "-c",
        metavar="CATEGORY",
        help="Only this category; repeated: any of them.",
        autocompletion=complete_category,
        show_default=False,
    ),
]
Tags = Annotated[
    list[str] | None,
    typer.Option(
        "--tag",
        "-t",
        metavar="TAG",
        help="Only tools with this tag; repeated: all of them.",
        autocompletion=complete_tag,
        show_default=False,
    ),
]
