"""``tooldisco tokens``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from tooldisco_cli.cli.context import common
from tooldisco_cli.cli.options import AsJson, NoColor, Quiet, ToolsDirs

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

_QUERIES = ("发送邮件", "query customers in a database", "create a ticket")


@app.command("tokens")
def tokens(
    ctx: typer.Context,
    query: Annotated[
        list[str] | None, typer.Argument(metavar="[QUERY]...", help="Searches to count; left out, three common ones.")
    ] = None,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Never ask the service; estimate from the text.")
    ] = False,
    model: Annotated[str | None, typer.Option("--model", "-m", help="Model whose counting is asked for.")] = None,
    as_json: AsJson = False,
    tools_dir: ToolsDirs = None,
    no_color: NoColor = False,
    quiet: Quiet = False,
) -> None:
    """Show what tools cost in tokens: every definition up front, against the meta tools and what searches return.

    Counted by the service when ANTHROPIC_API_KEY is set, else estimated and said so.
    """
    given = common(ctx)
    from tooldisco_cli.agent.anthropic_backend import DEFAULT_MODEL, AnthropicBackend
    from tooldisco_cli.agent.tokens import token_costs
    from tooldisco_cli.cli.running import run_until_interrupted
    from tooldisco_cli.execution.pipeline import Workbench
    from tooldisco_cli.meta.answering import MetaTools
    from tooldisco_cli.render.tokens import show_tokens
    from tooldisco_cli.search.store import open_index
    from tooldisco_cli.settings import load_settings

    settings = load_settings()
    catalog = given.load()
    bench = Workbench(catalog=catalog, settings=settings, environment=dict(os.environ), folder=Path.cwd())
    meta = MetaTools(catalog=catalog, index=open_index(given.tools_dirs).tools, bench=bench)
    backend = AnthropicBackend(base_url=settings.base_url)
    counter = backend if backend.has_credentials() and not estimate else None
    chosen = model or settings.model or DEFAULT_MODEL
    costs = run_until_interrupted(token_costs(catalog, meta, query or _QUERIES, counter=counter, model=chosen))
    show_tokens(costs, given.output)
