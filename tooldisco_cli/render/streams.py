"""Writing to stdout and stderr: safe whatever their encoding, and JSON as every command prints it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
from typing import Any, NamedTuple, NoReturn

PIPE_CLOSED = 128 + 13


class Output(NamedTuple):
    """How the user wants to be answered; every view takes one."""

    as_json: bool = False
    no_color: bool = False
    quiet: bool = False

    def note(self, text: str) -> None:
        """Write safe text to stderr, unless told to be quiet."""
        if not self.quiet:
            print_note(text)


def make_streams_safe() -> None:
    """Let stdout and stderr write an escape for what their encoding lacks.

    What is written to a closed stdout fails when it is flushed; to a closed stderr it goes nowhere.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by whoever started us
            # What nobody can read is a failure on stdout: a descriptor that may not be written says so at a flush.
            mode = os.O_RDONLY if name == "stdout" else os.O_WRONLY
            setattr(sys, name, open(os.open(os.devnull, mode), "w", encoding="utf-8"))  # noqa: PTH123, SIM115
        elif isinstance(stream, io.TextIOWrapper):
            with contextlib.suppress(ValueError, OSError):
                stream.reconfigure(errors="backslashreplace")


def print_line(text: str) -> None:
    """Write one line, or several, of safe text to stdout; ends the process when nobody reads it any more."""
    try:
        sys.stdout.write(text + "\n")
    except BrokenPipeError:
        end_for_closed_pipe()


def end_for_closed_pipe() -> NoReturn:
    """End the process quietly, with the code that a shell reports of one that SIGPIPE ended.

    Raised here as SystemExit, because typer would turn a BrokenPipeError into 1: "nothing found".
    """
    give_up_stdout()
    raise SystemExit(PIPE_CLOSED)


def give_up_stdout() -> None:
    """Let what is still to be written go nowhere, so that the interpreter does not complain at its end."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())


def print_note(text: str) -> None:
    """Write safe text to stderr, where scripts that read stdout do not see it."""
    with contextlib.suppress(OSError):
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


_OBEYED_IN_JSON = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Of what a terminal would obey, the characters that JSON lets through: C1, and marks of direction."""


def json_text(value: Any, *, indent: int | None = None) -> str:
    """Return JSON that stdout's encoding can carry and that no terminal obeys, with the same meaning.

    Text stays readable where the stream speaks UTF-8, and is escaped elsewhere. What is no JSON (a date that TOML
    has in a schema, say) becomes text.
    """
    unicode = (sys.stdout.encoding or "").lower().replace("-", "").startswith("utf")
    text = json.dumps(value, ensure_ascii=not unicode, indent=indent, default=str)
    return _OBEYED_IN_JSON.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def print_json(schema: str, body: dict[str, Any]) -> None:
    """Write the one JSON object of a command: ``schema`` such as ``tooldisco.search/1``, then its body."""
    print_line(json_text({"schema": schema} | body, indent=2 if sys.stdout.isatty() else None))
