"""The ``tooldisco`` command: parse, call, render. Nothing is decided here.

:func:`main` is the one place that turns failures into exit codes.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from tooldisco_cli.errors import Interrupted, TooldiscoError, UsageError


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command and end the process with its exit code (see the table in the README)."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = Interrupted.exit_code
    except BrokenPipeError:
        from tooldisco_cli.render.streams import end_for_closed_pipe

        end_for_closed_pipe()
    except OSError as error:  # stdout itself: a full disk, say
        from tooldisco_cli.render.streams import give_up_stdout

        give_up_stdout()
        with contextlib.suppress(OSError):
            sys.stderr.write(f"tooldisco: cannot write the output: {error.strerror}\n")
        code = TooldiscoError.exit_code
    sys.exit(code)


def _run(arguments: list[str]) -> int:
    from tooldisco_cli.render.streams import make_streams_safe

    make_streams_safe()
    as_json = "--json" in arguments[: arguments.index("--") if "--" in arguments else None]
    completing = os.environ.get("_TOOLDISCO_COMPLETE", "")
    if completing.startswith("complete_"):
        from tooldisco_cli.cli.completion import answer_a_shell

        answer_a_shell()
    try:
        from tooldisco_cli.cli.shortcut import shortcut

        plain = None if completing else shortcut(arguments)
        if plain is not None:
            return plain()
        from tooldisco_cli.cli.app import root_command

        return int(root_command().main(arguments, "tooldisco", standalone_mode=False) or 0)
    except TooldiscoError as error:
        return _report(error, as_json=as_json)
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

    from tooldisco_cli.render.failure import show_surprise
    from tooldisco_cli.render.streams import print_note

    if isinstance(error, Abort):
        return Interrupted.exit_code
    if isinstance(error, TyperException):
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "tooldisco"
        message = error.format_message()
        if type(error).__name__ == "NoArgsIsHelpError":  # its message is the command's whole help
            if not as_json:
                print_note(message)
                return UsageError.exit_code
            message = f"{command} needs more"
        return _report(UsageError(message.rstrip("."), hint=f"see: {command} --help"), as_json=as_json)
    if isinstance(error, OSError) and not os.environ.get("TOOLDISCO_DEBUG"):
        what = f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error)
        return _report(TooldiscoError(what), as_json=as_json)
    show_surprise(error, as_json=as_json)
    return TooldiscoError.exit_code
