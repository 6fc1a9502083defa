"""``tooldisco search``."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from tooldisco_cli.cli.completion import complete_tool
from tooldisco_cli.cli.context import common
from tooldisco_cli.cli.options import AsJson, Categories, NoColor, Quiet, Tags, ToolsDirs
from tooldisco_cli.cli.searching import DEFAULT_LIMIT, MOST, Wanted, find

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

_MOST_OF_STDIN = 1_000_000
"""Bytes of a query that are read; far more than any query says."""


class Mode(StrEnum):
    """How a query is meant."""

    WORDS = "words"
    HYBRID = "hybrid"
    REGEX = "regex"


@app.command("search", no_args_is_help=True, short_help="Find tools by what they do, in Chinese or English.")
def search(
    ctx: typer.Context,
    query: Annotated[
        list[str],
        typer.Argument(metavar="QUERY...", help="What you want to do; words need no quotes. A lone - reads stdin."),
    ],
    category: Categories = None,
    tag: Tags = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", metavar="N", min=1, max=MOST, help="How many tools at most.")
    ] = DEFAULT_LIMIT,
    explain: Annotated[bool, typer.Option("--explain", help="Say what each word added to each score.")] = False,
    explain_tool: Annotated[
        str | None,
        typer.Option(
            "--explain-tool", metavar="NAME", help="Say why this tool did not come up.", autocompletion=complete_tool
        ),
    ] = None,
    mode: Annotated[
        Mode,
        typer.Option(
            "--mode",
            help="`words`; `hybrid`: by meaning too, which needs the semantic extra and takes some seconds; "
            "or `regex`: the query is a regular expression over the tools' texts.",
        ),
    ] = Mode.WORDS,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Build the index in memory; keep nothing.")] = False,
    as_json: AsJson = False,
    tools_dir: ToolsDirs = None,
    no_color: NoColor = False,
    quiet: Quiet = False,
) -> None:
    """Find tools by what they do, in Chinese or English. Exits 1 when nothing fits, like grep."""
    text = _stdin() if query == ["-"] else " ".join(query)
    wanted = Wanted(text, category or (), tag or (), limit, explain, explain_tool, mode.value, use_cache=not no_cache)
    raise typer.Exit(find(wanted, common(ctx)))


def _stdin() -> str:
    import sys

    if sys.stdin is None:
        return ""
    return sys.stdin.buffer.read(_MOST_OF_STDIN).decode("utf-8", "surrogateescape")
