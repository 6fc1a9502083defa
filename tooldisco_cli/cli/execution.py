"""``tooldisco tools dry-run`` and ``tooldisco tools exec``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tooldisco_cli.cli.completion import complete_tool
from tooldisco_cli.cli.context import common
from tooldisco_cli.cli.options import AsJson, NoColor, Quiet, ToolsDirs

if TYPE_CHECKING:
    from tooldisco_cli.catalog import Catalog, Entry
    from tooldisco_cli.execution.pipeline import Workbench

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="A tool's name or alias, or one version as name@1.0.", autocompletion=complete_tool
    ),
]
Pairs = Annotated[
    list[str] | None,
    typer.Option(
        "--param",
        "-p",
        metavar="KEY=VALUE",
        help="One argument, typed by the tool's schema; KEY:=JSON for arrays, objects and null; repeat a key to "
        "build an array; a.b=1 reaches inside an object.",
        show_default=False,
    ),
]
Input = Annotated[
    str | None,
    typer.Option(
        "--input", "-i", metavar="JSON", help="All arguments as a JSON object; @FILE reads a file, - stdin."
    ),
]


def arguments_of(entry: Entry, pairs: list[str] | None, given: str | None) -> dict[str, Any]:
    """Return the arguments that ``--param`` and ``--input`` say together; a pair wins over the object."""
    from tooldisco_cli.execution.pairs import parse_pairs, read_input

    arguments = read_input(given) if given is not None else {}
    return arguments | parse_pairs(pairs or (), entry.tool.input_schema)


def workbench(catalog: Catalog) -> Workbench:
    """Return what executions of this process share."""
    from tooldisco_cli.execution.pipeline import Workbench
    from tooldisco_cli.settings import load_settings

    return Workbench(catalog=catalog, settings=load_settings(), environment=dict(os.environ), folder=Path.cwd())


@app.command("dry-run", no_args_is_help=True, short_help="Show exactly what running a tool would do.")
def dry_run(
    ctx: typer.Context,
    name: Name,
    param: Pairs = None,
    input_: Input = None,
    mock: Annotated[bool, typer.Option("--mock", help="Also show the result of the manifest's example.")] = False,
    as_json: AsJson = False,
    tools_dir: ToolsDirs = None,
    no_color: NoColor = False,
    quiet: Quiet = False,
) -> None:
    """Check arguments and show the exact command, request or call, with secrets masked. Nothing is run.

    Exits 2 when the arguments do not fit, 7 when the tool lacks something.
    """
    given = common(ctx)
    catalog = given.load_tools(name)
    entry = catalog.get(name)
    from tooldisco_cli.errors import NotReady
    from tooldisco_cli.execution.pipeline import dry_run as run_dry
    from tooldisco_cli.render.execution import show_dry_run

    rehearsed = run_dry(entry, arguments_of(entry, param, input_), workbench(catalog), mock=mock)
    show_dry_run(rehearsed, given.output)
    if rehearsed.missing:
        raise typer.Exit(NotReady.exit_code)


@app.command("exec", no_args_is_help=True, short_help="Run a tool.")
def execute(
    ctx: typer.Context,
    name: Name,
    param: Pairs = None,
    input_: Input = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask; tools that may delete or overwrite still need --confirm.")
    ] = False,
    confirm: Annotated[
        list[str] | None,
        typer.Option("--confirm", metavar="NAME", help="Run exactly this tool without asking.", show_default=False),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the result, also an image, to a file."),
    ] = None,
    as_json: AsJson = False,
    tools_dir: ToolsDirs = None,
    no_color: NoColor = False,
    quiet: Quiet = False,
) -> None:
    """Run a tool and print its result.

    Tools that only read run at once. Others ask on a terminal, and are refused elsewhere unless --yes, --confirm or
    the settings allow them.
    """
    given = common(ctx)
    catalog = given.load_tools(name, *(confirm or ()))
    entry = catalog.get(name)
    from tooldisco_cli.cli.running import run_until_interrupted
    from tooldisco_cli.execution.pipeline import execute as run_tool
    from tooldisco_cli.render.asking import terminal_approver
    from tooldisco_cli.render.execution import save_result, show_execution

    arguments = arguments_of(entry, param, input_)
    assume_yes: bool | set[str] = yes
    if confirm and {catalog.get(text).name for text in confirm} >= {entry.name}:
        assume_yes = {entry.reference, entry.name}
    done = run_until_interrupted(
        run_tool(
            entry,
            arguments,
            workbench(catalog),
            approver=terminal_approver(reads_stdin=input_ == "-"),
            assume_yes=assume_yes,
        )
    )
    if save is not None and done.ok:
        save_result(done, save)
    show_execution(done, given.output, saved=save)
    if done.error is not None:
        raise typer.Exit(done.error.exit_code)
