"""How a failure is told: to people on stderr, to programs as one JSON object on stdout."""

from __future__ import annotations

import os

from tooldisco_cli.errors import TooldiscoError
from tooldisco_cli.render.streams import print_json, print_note
from tooldisco_cli.render.untrusted import visible_lines

SCHEMA = "tooldisco.error/1"


def show_failure(error: TooldiscoError, *, as_json: bool) -> None:
    """Print what is wrong and what to do."""
    if as_json:
        print_json(SCHEMA, {"error": error.as_dict() | {"exit_code": error.exit_code}})
        return
    print_note(f"tooldisco: {visible_lines(error.message)}")
    for line in error.hint.splitlines():
        print_note(f"  {visible_lines(line)}")


def show_surprise(error: BaseException, *, as_json: bool) -> None:
    """Print an exception that nobody expected; its traceback, without any variable's value, for TOOLDISCO_DEBUG."""
    hint = "this is a bug in tooldisco; run it again with TOOLDISCO_DEBUG=1 to see where it happened"
    if os.environ.get("TOOLDISCO_DEBUG"):
        import traceback

        print_note(visible_lines("".join(traceback.format_exception(error)).rstrip()))
        hint = "this is a bug in tooldisco; its traceback is on stderr"
    show_failure(TooldiscoError(f"unexpected {type(error).__name__}: {error}", hint=hint), as_json=as_json)
