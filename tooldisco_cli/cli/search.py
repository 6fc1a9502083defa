"""``tooldisco search``."""

from __future__ import annotations

from typing import Annotated

import typer

from tooldisco_cli.cli.completion import complete_tool
from tooldisco_cli.cli.options import AsJson, Categories, NoColor, Quiet, Tags, ToolsDirs, common

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.command("search", no_args_is_help=True)
def search(
    ctx: typer.Context,
    query: Annotated[list[str], typer.Argument(help="What you want to do; several words need no quotes.")],
    category: Categories = None,
    tag: Tags = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="How many tools at most.")] = 5,
    explain: Annotated[bool, typer.Option("--explain", help="Say what each word added to each score.")] = False,
    explain_tool: Annotated[
        str | None,
        typer.Option(
            "--explain-tool", metavar="NAME", help="Say why this tool did not come up.", autocompletion=complete_tool
        ),
    ] = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Build the index in memory; keep nothing.")] = False,
    as_json: AsJson = False,
    tools_dir: ToolsDirs = None,
    no_color: NoColor = False,
    quiet: Quiet = False,
) -> None:
    """Find tools by what they do, in Chinese or English. Exits 1 when nothing fits, like grep."""
    given = common(ctx, tools_dir, no_color=no_color, quiet=quiet, as_json=as_json)
    from tooldisco_cli.render.search import show_answer
    from tooldisco_cli.search.store import ask

    answer, messages = ask(
        lambda index: index.search(
            " ".join(query),
            categories=category or (),
            tags=tag or (),
            limit=limit,
            explain=explain,
            explain_tool=explain_tool,
        ),
        given.tools_dirs,
        use_cache=not no_cache,
    )
    given.warn(messages)
    show_answer(answer, as_json=as_json, explain=explain, no_color=given.no_color)
    if not answer.hits:
        raise typer.Exit(1)
