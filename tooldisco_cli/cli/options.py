"""Options that every command takes, before or after its name, and what they amount to together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tooldisco_cli.cli.completion import complete_category, complete_tag

if TYPE_CHECKING:
    from tooldisco_cli.catalog import Catalog

ToolsDirs = Annotated[
    list[Path] | None,
    typer.Option(
        "--tools-dir",
        metavar="DIR",
        help="Another tools.d folder, above all others; may be repeated. Also TOOLDISCO_TOOLS_DIR.",
        show_default=False,
    ),
]
NoColor = Annotated[bool, typer.Option("--no-color", help="Never colour the output. Also NO_COLOR.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No warnings and notes on stderr.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object, described in the README.")]
Categories = Annotated[
    list[str] | None,
    typer.Option(
        "--category",
        "-c",
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
        help="Only tools with this tag; repeated: all of them.",
        autocompletion=complete_tag,
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True)
class Common:
    """The options that stand before a command's name and after it, as one."""

    tools_dirs: tuple[Path, ...] = ()
    no_color: bool = False
    quiet: bool = False
    as_json: bool = False

    def load(self) -> Catalog:
        """Load the catalog and say on stderr what is wrong with it, unless told to be quiet."""
        from tooldisco_cli.catalog import load_catalog

        catalog = load_catalog(self.tools_dirs)
        problems = [(problem.severity, str(problem)) for problem in catalog.problems]
        self.warn([*problems, *(("note", note) for note in catalog.notes)])
        return catalog

    def warn(self, messages: Sequence[tuple[str, str]]) -> None:
        """Say on stderr what is wrong with manifests, unless told to be quiet; pairs of severity and text."""
        if messages and not self.quiet:
            from tooldisco_cli.render.problems import warn_of

            warn_of(messages, no_color=self.no_color)


def common(
    ctx: typer.Context,
    tools_dir: list[Path] | None,
    *,
    no_color: bool,
    quiet: bool,
    as_json: bool = False,
) -> Common:
    """Return what was given before the command's name and after it, taken together."""
    given = ctx.find_root().obj or Common()
    return Common(
        (*given.tools_dirs, *(tools_dir or ())),
        no_color=given.no_color or no_color,
        quiet=given.quiet or quiet,
        as_json=as_json,
    )
