"""Takes secrets out of whatever is shown or stored, also where they stand encoded."""

from __future__ import annotations

import html
import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import quote, quote_plus

MASK = "[masked]"
MIN_SECRET_LENGTH = 4
"""Shorter values are not masked: replacing every ``1`` would destroy a text and hide nothing."""
_MIN_ENCODED = 8
"""Shorter pieces of base64 would also match ordinary text."""
_MIN_LINE = 16
"""A line of a secret of several lines, such as a private key, is a secret itself from this length on."""


class Secret(str):
    """A secret value that knows the name of its variable, which is shown in its place as ``[masked:NAME]``."""

    __slots__ = ("name",)
    name: str

    def __new__(cls, value: str, name: str = "") -> Secret:
        """Return the value with its name."""
        made = super().__new__(cls, value)
        made.name = name
        return made


class Masker:
    """Replaces every form of some secrets in text, JSON and bytes; with no secrets it returns what it is given.

    A :class:`Secret` becomes ``[masked:NAME]``, other text ``[masked]``; what is shorter than four characters stays.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        labels: dict[str, str] = {}
        for secret in sorted({text for text in secrets if len(text) >= MIN_SECRET_LENGTH}, key=_longest_first):
            name = secret.name if isinstance(secret, Secret) else ""
            for form in _forms(str(secret)):
                labels.setdefault(form, f"[masked:{name}]" if name else MASK)
        ordered = sorted(labels, key=_longest_first)
        self._labels = {form: labels[form] for form in ordered}
        self._in_json = [json.dumps(form, ensure_ascii=False)[1:-1] for form in ordered]
        self._data_labels = {_encoded(form): label.encode() for form, label in self._labels.items()}
        self.longest = max(map(len, self._data_labels), default=0)
        """Bytes of the longest form: how far a stream must look back across the border of two chunks."""
        self._text = re.compile("|".join(map(re.escape, self._labels)))
        self._bytes = re.compile(b"|".join(map(re.escape, self._data_labels)))

    def text(self, text: str) -> str:
        """Return ``text`` with each form of a secret replaced."""
        # Looking for plain texts is much faster than the expression, and mostly there are none.
        if not any(form in text for form in self._labels):
            return text
        return self._text.sub(lambda found: self._labels[found[0]], text)

    def data(self, data: bytes) -> bytes:
        """Return UTF-8 ``data`` with each form of a secret replaced."""
        if not any(form in data for form in self._data_labels):
            return data
        return self._bytes.sub(lambda found: self._data_labels[found[0]], data)

    def json(self, value: Any) -> Any:
        """Return a JSON value with secrets replaced in every text, keys included."""
        if not self._labels:
            return value
        with suppress(TypeError, ValueError):
            written = json.dumps(value, ensure_ascii=False)
            if not any(form in written for form in self._in_json):
                return value
        return self._json(value)

    def _json(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(str(key)): self._json(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._json(item) for item in value]
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            written = json.dumps(value)
            masked = self.text(written)
            return value if masked == written else masked
        return value

    def chunks(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Yield a stream with secrets replaced, also where one lies across the border of two chunks."""
        if not self._labels:
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
            found = self._bytes.finditer(data) if any(form in data for form in self._data_labels) else ()
            for match in found:
                if match.start() >= safe:
                    break
                out += [data[done : match.start()], self._data_labels[match[0]]]
                done = match.end()
            safe = max(safe, done)
            out.append(data[done:safe])
            kept = data[safe:]
            yield b"".join(out)
        yield self.data(kept)


def _longest_first(text: str) -> tuple[int, str]:
    return -len(text), text


def _encoded(form: str) -> bytes:
    return form.encode("utf-8", "surrogatepass")


def _forms(secret: str) -> Iterator[str]:
    """Yield a secret as it is, and as JSON, URLs, HTML and base64 would write it."""
    yield secret
    for written in {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}:
        yield written
        yield written.replace("/", "\\/")
        yield json.dumps(written)[1:-1]
        yield json.dumps(written, ensure_ascii=False)[1:-1]
    yield html.escape(secret)
    yield html.escape(secret, quote=False)
    if "\n" in secret:
        yield from (line for line in map(str.strip, secret.splitlines()) if len(line) >= _MIN_LINE)
    try:
        data = secret.encode()
    except UnicodeEncodeError:
        return
    for written in (quote(secret, safe=""), quote(secret), quote_plus(secret)):
        yield written
        yield re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), written)
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
