"""``tooldisco tools``: list, show, count, check and import tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tooldisco_cli.cli.completion import complete_tool
from tooldisco_cli.cli.options import AsJson, Categories, NoColor, Quiet, Tags, ToolsDirs, common

app = typer.Typer(
    name="tools",
    help="List, show, check and import tools.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def tools() -> None:
    """List, show, check and import tools."""


@app.command("list")
def list_tools(
    ctx: typer.Context,
    category: Categories = None,
    tag: Tags = None,
    as_json: AsJson = False,
    tools_dir: ToolsDirs = None,
    no_color: NoColor = False,
    quiet: Quiet = False,
) -> None:
    """List the current version of every tool. Exits 1 when a filter leaves none."""
    given = common(ctx, tools_dir, no_color=no_color, quiet=quiet, as_json=as_json)
    catalog = given.load()
    from tooldisco_cli.render.tools import show_tools

    wanted = [
        entry
        for entry in catalog
        if (not category or entry.tool.category in category) and set(tag or ()) <= set(entry.tool.tags)
    ]
    show_tools(wanted, catalog, as_json=as_json, no_color=given.no_color)
    if not wanted and (category or tag):
        raise typer.Exit(1)


@app.command("show")
def show(
    ctx: typer.Context,
    name: Annotated[
        str, typer.Argument(help="A tool's name or alias, or one version as name@1.0.", autocompletion=complete_tool)
    ],
    as_json: AsJson = False,
    as_toml: Annotated[bool, typer.Option("--toml", help="Print the tool as a manifest.")] = False,
    tools_dir: ToolsDirs = None,
    no_color: NoColor = False,
    quiet: Quiet = False,
) -> None:
    """Show one tool: what it does, its parameters, versions, and where it comes from."""
    given = common(ctx, tools_dir, no_color=no_color, quiet=quiet, as_json=as_json)
    if as_json and as_toml:
        raise typer.BadParameter("--json and --toml exclude each other")
    entry = given.load().get(name)
    from tooldisco_cli.render.tools import show_tool

    show_tool(entry, form="json" if as_json else "toml" if as_toml else "view", no_color=given.no_color)


@app.command("categories")
def categories(
    ctx: typer.Context,
    as_json: AsJson = False,
    tools_dir: ToolsDirs = None,
    no_color: NoColor = False,
    quiet: Quiet = False,
) -> None:
    """List the categories and how many tools each has."""
    given = common(ctx, tools_dir, no_color=no_color, quiet=quiet, as_json=as_json)
    from tooldisco_cli.render.tools import show_categories

    show_categories(given.load().categories(), as_json=as_json)


@app.command("check")
def check(
    ctx: typer.Context,
    path: Annotated[
        list[Path] | None, typer.Argument(help="Manifests or folders; left out, the whole catalog.")
    ] = None,
    as_json: AsJson = False,
    tools_dir: ToolsDirs = None,
    no_color: NoColor = False,
    quiet: Quiet = False,
) -> None:
    """Check manifests and the JSON Schemas in them. Exits 3 when there is an error."""
    given = common(ctx, tools_dir, no_color=no_color, quiet=quiet, as_json=as_json)
    from tooldisco_cli.catalog.loading import check_catalog, check_paths, load_catalog
    from tooldisco_cli.errors import CatalogInvalid
    from tooldisco_cli.render.problems import show_problems

    if path:
        problems, count = check_paths(path), None
    else:
        catalog = load_catalog(given.tools_dirs)
        problems, count = check_catalog(catalog), len(catalog)
    show_problems(problems, count, as_json=as_json, quiet=given.quiet, no_color=given.no_color)
    if any(problem.severity == "error" for problem in problems):
        raise typer.Exit(CatalogInvalid.exit_code)


@app.command("import")
def import_tools(
    ctx: typer.Context,
    source: Annotated[
        Path,
        typer.Argument(help="JSON Lines of definitions, an MCP tools/list answer, or a Messages API tools array."),
    ],
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="Folder that gets the manifests.")],
    server: Annotated[
        str | None,
        typer.Option("--server", help="MCP server that runs these tools; left out, the source's file name."),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace manifests that are there.")] = False,
    as_json: AsJson = False,
    no_color: NoColor = False,
    quiet: Quiet = False,
) -> None:
    """Write tool definitions from elsewhere as manifests, and list what had to be renamed."""
    given = common(ctx, None, no_color=no_color, quiet=quiet, as_json=as_json)
    from tooldisco_cli.authoring.importing import import_definitions
    from tooldisco_cli.authoring.naming import file_stem
    from tooldisco_cli.render.authoring import show_import

    report = import_definitions(source, to, server=server or file_stem(source.stem), overwrite=overwrite)
    show_import(report, to, as_json=as_json, quiet=given.quiet)
