"""``tooldisco results``: read whole results that were cut for showing."""

from __future__ import annotations

from typing import Annotated

import typer

from tooldisco_cli.cli.context import common
from tooldisco_cli.cli.options import AsJson, NoColor, Quiet

app = typer.Typer(
    name="results",
    help="Read whole results that were cut for showing.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def results() -> None:
    """Read whole results that were cut for showing."""


@app.command("show", no_args_is_help=True)
def show(
    ctx: typer.Context,
    handle: Annotated[str, typer.Argument(metavar="HANDLE", help="What the execution told, 16 letters and digits.")],
    page: Annotated[int, typer.Option("--page", min=1, help="Which page, from 1.")] = 1,
    chars: Annotated[int, typer.Option("--chars", min=100, max=1_000_000, help="Characters of a page.")] = 10_000,
    as_json: AsJson = False,
    no_color: NoColor = False,
    quiet: Quiet = False,
) -> None:
    """Print one page of a kept result. Exits 1 when there is no such result or page."""
    given = common(ctx)
    from tooldisco_cli.execution.spool import Spool
    from tooldisco_cli.render.results import show_page

    show_page(Spool().read_page(handle, page, chars), given.output)


@app.command("list")
def list_results(
    ctx: typer.Context, as_json: AsJson = False, no_color: NoColor = False, quiet: Quiet = False
) -> None:
    """List the results that are kept, newest first."""
    given = common(ctx)
    from tooldisco_cli.execution.spool import Spool
    from tooldisco_cli.render.results import show_kept

    show_kept(Spool().kept(), given.output)
