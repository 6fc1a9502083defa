"""What is wrong with manifests, as warnings beside a command and as the result of ``tools check``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tooldisco_cli.render.streams import Output, print_json, print_line, print_note
from tooldisco_cli.render.terminal import styled, terminal
from tooldisco_cli.render.untrusted import visible

if TYPE_CHECKING:
    from tooldisco_cli.tomlfile import Problem

SCHEMA = "tooldisco.check/1"
_MOST = 8


def warn_of(messages: Sequence[tuple[str, str]], output: Output) -> None:
    """Say on stderr which manifests have errors and what waits for trust: a few lines, and how to see the rest."""
    wanted = [message for message in messages if message[0] != "warning"]
    console = terminal(output, stderr=True)
    for kind, text in wanted[:_MOST]:
        if console:
            style = "bold red" if kind == "error" else "yellow"
            console.print(styled((f"{kind}: ", style), (visible(text), "")))
        else:
            print_note(f"{kind}: {visible(text)}")
    if len(wanted) > _MOST:
        print_note(f"and {len(wanted) - _MOST} more; `tooldisco tools check` shows all")


def show_problems(problems: Sequence[Problem], tools: int | None, output: Output) -> None:
    """Print the result of a check; ``tools`` is how many tools the catalog has, None when files were checked."""
    errors = sum(problem.severity == "error" for problem in problems)
    warnings = len(problems) - errors
    if output.as_json:
        body = {"errors": errors, "warnings": warnings, "problems": [problem._asdict() for problem in problems]}
        print_json(SCHEMA, body | ({} if tools is None else {"tools": tools}))
        return
    console = terminal(output)
    for problem in problems:
        if console:
            style = "bold red" if problem.severity == "error" else "yellow"
            console.print(styled((f"{problem.severity}: ", style), (visible(str(problem)), "")))
        else:
            print_line(f"{problem.severity}: {visible(str(problem))}")
    if not output.quiet:
        what = "" if tools is None else f"{_counted(tools, 'tool')}, "
        print_line(f"{what}{_counted(errors, 'error')}, {_counted(warnings, 'warning')}")


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}" + ("" if number == 1 else "s")
