"""How a failure is told: to people on stderr, to programs as one JSON object on stdout."""

from __future__ import annotations

import os
import sys

from tooldisco_cli.errors import TooldiscoError
from tooldisco_cli.render.streams import print_json, print_note
from tooldisco_cli.render.untrusted import visible_lines


def show_failure(error: TooldiscoError, *, as_json: bool) -> None:
    """Print what is wrong and what to do."""
    if as_json:
        print_json("tooldisco.error/1", {"error": error.as_dict() | {"exit_code": error.exit_code}})
        return
    print_note(f"tooldisco: {visible_lines(error.message)}")
    if error.hint:
        print_note(f"  {visible_lines(error.hint)}")


def show_surprise(error: BaseException, *, as_json: bool) -> None:
    """Print an exception that nobody expected; its traceback only when TOOLDISCO_DEBUG is set."""
    if os.environ.get("TOOLDISCO_DEBUG"):
        sys.excepthook(type(error), error, error.__traceback__)
        return
    what = TooldiscoError(
        f"unexpected {type(error).__name__}: {error}",
        hint="this is a bug in tooldisco; run it again with TOOLDISCO_DEBUG=1 to see where it happened",
    )
    show_failure(what, as_json=as_json)
