"""Takes secrets out of whatever is shown or stored, also where they stand encoded."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote, quote_plus

MASK = "[masked]"
_MIN_ENCODED = 8
"""Shorter pieces of base64 would also match ordinary text."""


class Masker:
    """Replaces every form of some secrets in text, JSON and bytes; with no secrets it returns what it is given."""

    def __init__(self, secrets: Iterable[str]) -> None:
        forms = {form for secret in secrets if secret for form in _forms(secret)}
        ordered = sorted(forms, key=lambda form: (-len(form), form))
        self.longest = len(ordered[0].encode("utf-8", "surrogatepass")) if ordered else 0
        """Bytes of the longest form: how far a stream must look back across the border of two chunks."""
        self._text = re.compile("|".join(map(re.escape, ordered))) if ordered else None
        encoded = (re.escape(form.encode("utf-8", "surrogatepass")) for form in ordered)
        self._bytes = re.compile(b"|".join(encoded)) if ordered else None

    def text(self, text: str) -> str:
        """Return ``text`` with each form of a secret replaced."""
        return self._text.sub(MASK, text) if self._text else text

    def data(self, data: bytes) -> bytes:
        """Return UTF-8 ``data`` with each form of a secret replaced."""
        return self._bytes.sub(MASK.encode(), data) if self._bytes else data

    def json(self, value: Any) -> Any:
        """Return a JSON value with secrets replaced in every text, keys included."""
        if self._text is None:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(str(key)): self.json(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.json(item) for item in value]
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            masked = self.text(json.dumps(value))
            return value if MASK not in masked else masked
        return value

    def chunks(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Yield a stream with secrets replaced, also where one lies across the border of two chunks."""
        if self._bytes is None:
            yield from chunks
            return
        kept = b""
        for chunk in chunks:
            data = kept + chunk
            # A match may begin in the last `longest - 1` bytes and end in the next chunk, so those wait; but a match
            # that is whole already must not be cut in two by that.
            safe = max(0, len(data) - self.longest + 1)
            done = 0
            out = []
            for match in self._bytes.finditer(data):
                if match.start() >= safe:
                    break
                out += [data[done : match.start()], MASK.encode()]
                done = match.end()
            safe = max(safe, done)
            out.append(data[done:safe])
            kept = data[safe:]
            yield b"".join(out)
        yield self.data(kept)


def _forms(secret: str) -> Iterator[str]:
    """Yield a secret as it is, and as JSON, URLs, HTML and base64 would write it."""
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    try:
        data = secret.encode()
    except UnicodeEncodeError:
        return
    yield quote(secret, safe="")
    yield quote(secret)
    yield quote_plus(secret)
    yield from (form for form in _base64_forms(data) if len(form) >= _MIN_ENCODED)


def _base64_forms(data: bytes) -> Iterator[str]:
    """Yield the base64 of ``data`` at each of the three places that it can have in a longer text.

    Only characters that depend on nothing but ``data`` are kept, so that what stands around it does not matter.
    """
    for shift in range(3):
        encoded = b64encode(b"\0" * shift + data).decode()
        first = (shift * 8 + 5) // 6
        last = (shift + len(data)) * 8 // 6
        piece = encoded[first:last]
        yield piece
        yield piece.replace("+", "-").replace("/", "_")
