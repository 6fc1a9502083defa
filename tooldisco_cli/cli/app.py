"""The root command, and the table of what stands below it.

A new command is one module here with an ``app``, one view in ``render``, and a line in a table of modules: this one,
or that of its group.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import typer

from tooldisco_cli.cli.lazy import LazyGroup
from tooldisco_cli.cli.options import NoColor, Quiet, ToolsDirs


class _Root(LazyGroup):
    elsewhere: ClassVar = {
        "search": "search",
        "tools": "tools",
        "run": "run",
        "sessions": "sessions",
        "tokens": "tokens",
        "eval": "evaluation",
        "trust": "trust",
        "results": "results",
        "usage": "usage",
        "doctor": "doctor",
    }


app = typer.Typer(
    cls=_Root,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="These options may also stand after a command's name.",
)


def _version(wanted: bool) -> None:
    if wanted:
        from tooldisco_cli.render.streams import print_line
        from tooldisco_cli.version import __version__

        print_line(f"tooldisco {__version__}")
        raise typer.Exit


@app.callback()
def tooldisco(
    tools_dir: ToolsDirs = None,
    no_color: NoColor = False,
    quiet: Quiet = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Find the right tool among thousands, in Chinese and English, and run it safely.

    用中文或英文找到合适的工具，并安全地运行它。
    """


def root_command() -> Any:
    """Return the command that everything starts from."""
    return typer.main.get_command(app)
