"""The ``tooldisco`` command: parse, call, render. Nothing is decided here.

:func:`main` is the one place that turns failures into exit codes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from tooldisco_cli.errors import TooldiscoError


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command and end the process with its exit code (see the table in the README)."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        code = _after_broken_pipe()
    sys.exit(code)


def _run(arguments: list[str]) -> int:
    from tooldisco_cli.render.streams import make_streams_safe

    make_streams_safe()
    as_json = "--json" in arguments
    try:
        from tooldisco_cli.cli.app import root_command

        return int(root_command().main(arguments, "tooldisco", standalone_mode=False) or 0)
    except TooldiscoError as error:
        return _report(error, as_json=as_json)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        raise
    except Exception as error:
        return _report_other(error, as_json=as_json)


def _report(error: TooldiscoError, *, as_json: bool) -> int:
    from tooldisco_cli.render.failure import show_failure

    show_failure(error, as_json=as_json)
    return error.exit_code


def _report_other(error: Exception, *, as_json: bool) -> int:
    from typer.exceptions import Abort, TyperException

    from tooldisco_cli.errors import Interrupted, UsageError
    from tooldisco_cli.render.failure import show_failure, show_surprise

    if isinstance(error, Abort):
        return _report(Interrupted("stopped"), as_json=as_json)
    if isinstance(error, TyperException):
        if as_json:
            message = getattr(error, "format_message", lambda: str(error))()
            return _report(UsageError(message or "wrong usage"), as_json=True)
        error.show()  # type: ignore[attr-defined]  # typer's own exceptions print usage and a hint
        return int(getattr(error, "exit_code", UsageError.exit_code))
    if isinstance(error, OSError) and not os.environ.get("TOOLDISCO_DEBUG"):
        what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        show_failure(TooldiscoError(what), as_json=as_json)
        return TooldiscoError.exit_code
    show_surprise(error, as_json=as_json)
    return TooldiscoError.exit_code


def _after_broken_pipe() -> int:
    """End quietly when the reader of our output has gone, with the code of a process that SIGPIPE ended."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    return 141
