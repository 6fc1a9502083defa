"""Text files inside the allowed folders."""

from __future__ import annotations

import io
import os
from itertools import islice
from typing import Any

from tooldisco_cli.builtin import places
from tooldisco_cli.builtin.context import Context

MAX_TEXT_BYTES = 200_000_000
_MAX_ANSWER_CHARS = 2_000_000
_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


def read_text_file(
    *, path: str, first_line: int = 1, max_lines: int = 500, encoding: str | None = None, context: Context
) -> dict[str, Any]:
    """Return lines of a text file. Raises ValueError when it is binary or in another encoding."""
    with places.open_file(path, context, max_bytes=MAX_TEXT_BYTES) as file:
        head = file.read(65536)
        used = encoding or detected_encoding(head, path)
        file.seek(0)
        lines: list[str] = []
        size = 0
        more = False
        try:
            with io.TextIOWrapper(file, encoding=used, newline="") as text:
                for line in islice(text, first_line - 1, None):
                    size += len(line)
                    if len(lines) == max_lines or (lines and size > _MAX_ANSWER_CHARS):
                        more = True
                        break
                    lines.append(line[:_MAX_ANSWER_CHARS])
                total = os.fstat(text.fileno()).st_size
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{path} is not in {used}: {error.reason} at byte {error.start}; give encoding"
            ) from None
    return {
        "text": "".join(lines),
        "first_line": first_line,
        "line_count": len(lines),
        "more": more,
        "encoding": used.removesuffix("-sig"),
        "size": total,
    }


def write_text_file(*, path: str, text: str, mode: str = "create", context: Context) -> dict[str, Any]:
    """Write text as UTF-8: a new file, in place of the old one, or at its end."""
    data = text.encode()
    if mode == "create":
        place = places.write_new(path, data, context)
    elif mode == "overwrite":
        place = places.replace(path, data, context)
    else:
        place = places.new_file(path, context, may_exist=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(place, flags, 0o666), "ab") as file:
            file.write(data)
    return {"path": places.shown(place, context), "bytes_written": len(data), "mode": mode}


def detected_encoding(head: bytes, path: str = "the file") -> str:
    """Return the encoding of a text by its first bytes: a byte-order mark, UTF-8, else GB18030.

    Raises ValueError for what is no text.
    """
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name
    if b"\0" in head:
        raise ValueError(f"{path} is binary, no text")
    for name in ("utf-8", "gb18030"):
        try:
            # The head may end within a character: up to three bytes may be missing.
            head[: len(head) - 3 if len(head) > 60000 else None].decode(name)
        except UnicodeDecodeError as error:
            if len(head) > 60000 and error.start >= len(head) - 8:
                return name
            continue
        return name
    raise ValueError(f"{path} is in no encoding that is detected; give encoding")
