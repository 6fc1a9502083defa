"""Command groups whose commands are imported when they run, or when their help is shown."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperGroup


class LazyGroup(TyperGroup):
    """A group that, beside commands of its own, has those of ``elsewhere``, built when they are asked for."""

    elsewhere: ClassVar[Mapping[str, str]] = {}
    """A command's name, and the module below ``cli`` whose ``app`` is that command, or is a group that holds it."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands, in the order of the help."""
        return [*(name for name in self.commands if name not in self.elsewhere), *self.elsewhere]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, imported now; None for an unknown name."""
        if cmd_name not in self.commands and cmd_name in self.elsewhere:
            module = import_module(f"tooldisco_cli.cli.{self.elsewhere[cmd_name]}")
            command: Any = typer.main.get_command(module.app)
            self.commands[cmd_name] = getattr(command, "commands", {}).get(cmd_name, command)
        command = self.commands.get(cmd_name)
        if command is not None and command.help and not command.short_help:
            # Left to itself, the list of commands cuts a sentence short; a short help is broken into lines instead.
            command.short_help = command.help.split("\n\n")[0].replace("\n", " ").split(". ")[0].rstrip(".") + "."
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that the arguments begin with; suggest from all names when there is none."""
        known = self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-"):
            for name in known:
                self.get_command(ctx, name)
        return super().resolve_command(ctx, args)
