"""``tooldisco search``."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from tooldisco_cli.cli.completion import complete_tool
from tooldisco_cli.cli.context import common
from tooldisco_cli.cli.options import AsJson, Categories, NoColor, Quiet, Tags, ToolsDirs
from tooldisco_cli.errors import UsageError

if TYPE_CHECKING:
    from tooldisco_cli.search.answer import Answer
    from tooldisco_cli.search.index import SearchIndex

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
        int, typer.Option("--limit", "-n", metavar="N", min=1, max=1000, help="How many tools at most.")
    ] = 5,
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
    given = common(ctx)
    text = _stdin() if query == ["-"] else " ".join(query)
    if not text.strip():
        raise UsageError(
            "the query is empty", hint="say what you want to do, such as: tooldisco search send an email"
        )
    from tooldisco_cli.render.progress import progress
    from tooldisco_cli.render.search import show_answer, show_unknown_filter
    from tooldisco_cli.search.store import ask

    if mode is Mode.REGEX and (explain or explain_tool):
        raise UsageError("--explain is for words; a pattern either matches or not")

    def question(index: SearchIndex) -> tuple[Answer, dict[str, list[str]]]:
        if mode is Mode.REGEX:
            matched = index.search_regex(text, categories=category or (), tags=tag or (), limit=limit)
            return matched, {}
        if mode is Mode.HYBRID:
            from tooldisco_cli.cli.meaning import with_meaning

            index = with_meaning(index, use_cache=not no_cache, tell=tell)
        answer = index.search(
            text,
            categories=category or (),
            tags=tag or (),
            limit=limit,
            explain=explain,
            explain_tool=explain_tool,
        )
        return answer, {} if answer.hits else _known(index, category, tag)

    with progress("reading and indexing tools", given.output) as tell:
        (answer, known), messages = ask(question, given.tools_dirs, use_cache=not no_cache, tell=tell)
    given.warn(messages)
    show_answer(answer, given.output, explain=explain, explain_tool=explain_tool)
    for option, words in ("category", category), ("tag", tag):
        if option in known:
            show_unknown_filter(option, words or (), known[option], given.output)
    if not answer.hits:
        raise typer.Exit(1)


def _known(index: SearchIndex, category: list[str] | None, tag: list[str] | None) -> dict[str, list[str]]:
    """Return every category, and every tag, as far as the user named one, so that a misspelt one can be told."""
    from tooldisco_cli.search.prefixes import beginning_with

    known = {}
    if category:
        known["category"] = beginning_with(index, "category", "", 10_000)
    if tag:
        known["tag"] = beginning_with(index, "tag", "", 10_000)
    return known


def _stdin() -> str:
    import sys

    if sys.stdin is None:
        return ""
    return sys.stdin.buffer.read(_MOST_OF_STDIN).decode("utf-8", "surrogateescape")
