"""The root command. Each command's module is imported only when that command runs or its help is shown."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from tooldisco_cli.cli.options import Common, NoColor, Quiet, ToolsDirs

COMMANDS = {
    "search": "search",
    "tools": "tools",
}
"""Every command in the order of the help, and the module below ``cli`` whose ``app`` it is."""


class LazyGroup(TyperGroup):
    """A group that builds a command when it is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, imported now; None for an unknown name."""
        if cmd_name not in self.commands and cmd_name in COMMANDS:
            module = import_module(f"tooldisco_cli.cli.{COMMANDS[cmd_name]}")
            self.commands[cmd_name] = typer.main.get_command(module.app)
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that the arguments begin with; suggest from all names when there is none."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            for name in COMMANDS:
                self.get_command(ctx, name)
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=LazyGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from tooldisco_cli import __version__
        from tooldisco_cli.render.streams import print_line

        print_line(f"tooldisco {__version__}")
        raise typer.Exit


@app.callback()
def tooldisco(
    ctx: typer.Context,
    tools_dir: ToolsDirs = None,
    no_color: NoColor = False,
    quiet: Quiet = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Find the right tool among thousands, in Chinese and English, and run it safely.

    在成百上千个工具中，用中文或英文找到合适的那一个，并安全地运行它。
    """
    ctx.obj = Common(tuple(tools_dir or ()), no_color=no_color, quiet=quiet)


def root_command() -> Any:
    """Return the command that everything starts from."""
    return typer.main.get_command(app)
