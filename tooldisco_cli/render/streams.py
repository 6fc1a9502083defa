"""Writing to stdout and stderr: safe whatever their encoding, and JSON as every command prints it."""

from __future__ import annotations

import contextlib
import io
import json
import sys
from typing import Any


def make_streams_safe() -> None:
    """Let stdout and stderr write an escape for what their encoding lacks, rather than fail."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with contextlib.suppress(ValueError, OSError):
                stream.reconfigure(errors="backslashreplace")


def print_line(text: str) -> None:
    """Write one line, or several, of safe text to stdout."""
    sys.stdout.write(text + "\n")


def print_note(text: str) -> None:
    """Write safe text to stderr, where scripts that read stdout do not see it."""
    with contextlib.suppress(BrokenPipeError):
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


def json_text(value: Any, *, indent: int | None = None) -> str:
    """Return JSON that stdout's encoding can carry and that no terminal obeys.

    Text stays readable where the stream speaks UTF-8, and is escaped elsewhere. JSON itself escapes the C0 controls;
    those that it would let through (C1, and the two line separators) are escaped here.
    """
    unicode = (sys.stdout.encoding or "").lower().replace("-", "").startswith("utf")
    text = json.dumps(value, ensure_ascii=not unicode, indent=indent, default=str)
    if text.isascii():
        return text.replace("\x7f", "\\u007f")
    return "".join(f"\\u{ord(c):04x}" if "\x7f" <= c <= "\x9f" or c in "\u2028\u2029\u202a\u202b\u202c\u202d\u202e"
                   "\u2066\u2067\u2068\u2069" else c for c in text)  # fmt: skip


def print_json(schema: str, body: dict[str, Any]) -> None:
    """Write the one JSON object of a command: ``schema`` such as ``tooldisco.search/1``, then its body."""
    print_line(json_text({"schema": schema} | body, indent=2 if sys.stdout.isatty() else None))
