"""``tooldisco tools``: list, show, count, check and import tools."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from tooldisco_cli.cli.completion import complete_tool
from tooldisco_cli.cli.context import common
from tooldisco_cli.cli.lazy import LazyGroup
from tooldisco_cli.cli.options import AsJson, Categories, NoColor, Quiet, Tags, ToolsDirs
from tooldisco_cli.errors import CatalogInvalid, UsageError

if TYPE_CHECKING:
    from tooldisco_cli.catalog import Catalog, Entry
    from tooldisco_cli.render.standing import Standing


class Sort(StrEnum):
    """Orders of a list."""

    NAME = "name"
    USAGE = "usage"


class _Tools(LazyGroup):
    elsewhere: ClassVar = {"dry-run": "execution", "exec": "execution"}
    """Commands of this group that live in modules of their own."""


app = typer.Typer(
    cls=_Tools,
    name="tools",
    help="List, show, check and import tools.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def tools(tools_dir: ToolsDirs = None, no_color: NoColor = False, quiet: Quiet = False) -> None:
    """List, show, check and import tools."""


@app.command("list", short_help="List tools, also of one category or tag.")
def list_tools(
    ctx: typer.Context,
    category: Categories = None,
    tag: Tags = None,
    sort: Annotated[Sort, typer.Option("--sort", help="By `name`, or by `usage`: most used first.")] = Sort.NAME,
    as_json: AsJson = False,
    tools_dir: ToolsDirs = None,
    no_color: NoColor = False,
    quiet: Quiet = False,
) -> None:
    """List the current version of every tool, and what it lacks here. Exits 1 when a filter leaves none."""
    given = common(ctx)
    catalog = given.load()
    from tooldisco_cli.render.search import show_unknown_filter
    from tooldisco_cli.render.tools import show_tools

    wanted = [
        entry
        for entry in catalog
        if (not category or entry.tool.category in category) and set(tag or ()) <= set(entry.tool.tags)
    ]
    show_unknown_filter("category", category or (), catalog.categories(), given.output)
    show_unknown_filter("tag", tag or (), catalog.tags(), given.output)
    standings = _standings(wanted, catalog)
    if sort is Sort.USAGE:
        wanted.sort(key=lambda entry: (-standings[entry.name].uses, entry.name))
    show_tools(wanted, catalog, given.output, standings)
    if not wanted and (category or tag):
        raise typer.Exit(1)


@app.command("show", short_help="Show one tool and its parameters.")
def show(
    ctx: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="A tool's name or alias, or one version as name@1.0.", autocompletion=complete_tool
        ),
    ],
    as_json: AsJson = False,
    as_toml: Annotated[bool, typer.Option("--toml", help="Print the tool as a manifest.")] = False,
    tools_dir: ToolsDirs = None,
    no_color: NoColor = False,
    quiet: Quiet = False,
) -> None:
    """Show one tool: what it does, its parameters, versions, and where it comes from."""
    given = common(ctx)
    if as_json and as_toml:
        raise UsageError("--json and --toml exclude each other", hint="give one of them")
    catalog = given.load_tools(name)
    entry = catalog.get(name)
    from tooldisco_cli.render.tools import show_tool

    show_tool(entry, given.output, _standings([entry], catalog)[entry.name], as_toml=as_toml)


def _standings(entries: Sequence[Entry], catalog: Catalog) -> dict[str, Standing]:
    """Return what each tool lacks here and how often it ran; a damaged usage file is no reason to list nothing."""
    import os

    from tooldisco_cli.errors import TooldiscoError
    from tooldisco_cli.execution.readiness import missing
    from tooldisco_cli.render.standing import Standing
    from tooldisco_cli.usage.log import UsageLog

    try:
        usage = UsageLog().summaries()
    except TooldiscoError:
        usage = {}
    found: dict[str, bool] = {}
    return {
        entry.name: Standing(missing(entry, os.environ, servers=catalog.servers, found=found), usage.get(entry.name))
        for entry in entries
    }


@app.command("categories", short_help="List the categories.")
def categories(
    ctx: typer.Context,
    as_json: AsJson = False,
    tools_dir: ToolsDirs = None,
    no_color: NoColor = False,
    quiet: Quiet = False,
) -> None:
    """List the categories and how many tools each has."""
    given = common(ctx)
    from tooldisco_cli.render.tools import show_categories

    show_categories(given.load().categories(), given.output)


@app.command("check", short_help="Check manifests and their schemas.")
def check(
    ctx: typer.Context,
    path: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[PATH...]", help="Manifests or folders; left out, the whole catalog."),
    ] = None,
    as_json: AsJson = False,
    tools_dir: ToolsDirs = None,
    no_color: NoColor = False,
    quiet: Quiet = False,
) -> None:
    """Check manifests and the JSON Schemas in them. Exits 3 when there is an error."""
    given = common(ctx)
    from tooldisco_cli.catalog.loading import check_catalog, check_paths, load_catalog
    from tooldisco_cli.render.problems import show_problems

    if path:
        problems, count = check_paths(path), None
    else:
        catalog = load_catalog(given.tools_dirs)
        problems, count = check_catalog(catalog), len(catalog)
    show_problems(problems, count, given.output)
    if any(problem.severity == "error" for problem in problems):
        raise typer.Exit(CatalogInvalid.exit_code)


@app.command("import", short_help="Write definitions from elsewhere as manifests.")
def import_tools(
    ctx: typer.Context,
    source: Annotated[
        Path,
        typer.Argument(
            metavar="SOURCE",
            help="JSON Lines of definitions, an MCP tools/list answer, or a Messages API tools array.",
        ),
    ],
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="Folder that gets the manifests.")],
    server: Annotated[
        str | None,
        typer.Option(
            "--server", metavar="NAME", help="MCP server that runs these tools; left out, the source's file name."
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace manifests that are there.")] = False,
    as_json: AsJson = False,
    no_color: NoColor = False,
    quiet: Quiet = False,
) -> None:
    """Write tool definitions from elsewhere as manifests, and list what had to be renamed."""
    given = common(ctx)
    from tooldisco_cli.authoring.importing import import_definitions
    from tooldisco_cli.authoring.naming import file_stem
    from tooldisco_cli.render.authoring import show_import

    report = import_definitions(source, to, server=server or file_stem(source.stem), overwrite=overwrite)
    show_import(report, to, given.output)
