"""Hashes, encodings and differences of texts."""

from __future__ import annotations

import base64
import binascii
import difflib
import hashlib
from typing import Any
from urllib.parse import parse_qsl, quote, quote_plus, unquote, unquote_plus, urlsplit

from tooldisco_cli.builtin import places
from tooldisco_cli.builtin.context import Context


def compute_hash(
    *, text: str | None = None, path: str | None = None, algorithm: str = "sha256", context: Context
) -> dict[str, Any]:
    """Return the checksum of a text (as UTF-8) or of a file, in hexadecimal."""
    digest = hashlib.new(algorithm, usedforsecurity=False)
    size = 0
    if path is None:
        data = (text or "").encode()
        digest.update(data)
        size = len(data)
    else:
        with places.open_file(path, context) as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
                size += len(chunk)
    return {"algorithm": algorithm, "hex": digest.hexdigest(), "size": size}


def convert_base64(*, text: str, direction: str, url_safe: bool = False) -> dict[str, Any]:
    """Return a text in Base64, or what Base64 says; bytes that are no UTF-8 come as ``hex``.

    Raises ValueError for what is no Base64. White space and missing padding are forgiven.
    """
    if direction == "encode":
        encode = base64.urlsafe_b64encode if url_safe else base64.b64encode
        return {"text": encode(text.encode()).decode()}
    packed = "".join(text.split()).rstrip("=")
    if url_safe:
        packed = packed.replace("-", "+").replace("_", "/")
    try:
        data = base64.b64decode(packed + "=" * (-len(packed) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"that is no Base64: {error}") from None
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"hex": data.hex(), "size": len(data)}


def convert_url_encoding(*, text: str, direction: str, plus_for_space: bool = False) -> dict[str, Any]:
    """Return a text percent-encoded, or decoded; a whole address is also split into its parts."""
    if direction == "encode":
        return {"text": quote_plus(text) if plus_for_space else quote(text, safe="")}
    answer: dict[str, Any] = {"text": unquote_plus(text) if plus_for_space else unquote(text)}
    if text.startswith(("http://", "https://")):
        try:
            parts = urlsplit(text)
        except ValueError as error:
            raise ValueError(f"that is no address: {error}") from None
        answer["parts"] = {
            "scheme": parts.scheme,
            "host": parts.hostname or "",
            "path": unquote(parts.path),
            "query": [list(pair) for pair in parse_qsl(parts.query, keep_blank_values=True)],
            "fragment": unquote(parts.fragment),
        }
    return answer


def diff_texts(*, before: str, after: str, context_lines: int = 3) -> dict[str, Any]:
    """Return a unified diff and how many lines it adds and removes.

    Raises ValueError for texts of more than 20,000 lines, where comparing takes too long.
    """
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    if max(len(old), len(new)) > 20_000:
        raise ValueError("at most 20,000 lines are compared")
    lines = list(difflib.unified_diff(old, new, "before", "after", n=context_lines))
    ended = [line if line.endswith("\n") else f"{line}\n\\ No newline at end of text\n" for line in lines]
    body = lines[2:]
    return {
        "diff": "".join(ended),
        "added": sum(line.startswith("+") for line in body),
        "removed": sum(line.startswith("-") for line in body),
        "same": before == after,
    }
