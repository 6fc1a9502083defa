"""Finds the line of each key in a TOML text, which the parser does not tell.

Only error messages need lines, so this runs on the error path, over text that ``tomli`` has accepted. It reads
just enough of TOML 1.0 (and the newlines that 1.1 allows in inline tables) to know which key stands where.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from contextlib import suppress

import tomli

KeyPath = tuple[str | int, ...]
"""Keys and list indices from the top of a document down to one value."""

_BLANK = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_BASIC = re.compile(r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"')
_LITERAL = re.compile(r"'[^'\n]*'")
_BASIC_END = re.compile(r'\\.|"{3,5}', re.DOTALL)
_LITERAL_END = re.compile(r"'{3,5}")
_SCALAR = re.compile(r"[^,\]}\n#]*")


def key_lines(text: str) -> dict[KeyPath, int]:
    """Return the 1-based line at which each key, table and list item of a valid TOML text first appears.

    A text that is not valid TOML, or nested past the interpreter's recursion limit, gives the lines found so far.
    """
    scanner = _Scanner(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    # A line number is a courtesy; whoever asks has a message to give either way.
    with suppress(_NotTomlError, RecursionError, tomli.TOMLDecodeError):
        scanner.document()
    return scanner.lines


def line_of(lines: Mapping[KeyPath, int], key: KeyPath) -> int:
    """Return the line of ``key``, or of the nearest table around it, or 0."""
    return next((lines[key[:end]] for end in range(len(key), 0, -1) if key[:end] in lines), 0)


class _NotTomlError(Exception):
    """The text is not what tomli would accept."""


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[KeyPath, int] = {}
        self._newlines = [match.start() for match in re.finditer("\n", text)]
        self._arrays: dict[KeyPath, int] = {}
        """How many tables each array of tables has so far."""

    def document(self) -> None:
        prefix: KeyPath = ()
        while True:
            self._skip(_BLANK)
            if self.at >= len(self.text):
                return
            if self.text.startswith("[[", self.at):
                prefix = self._header(2)
            elif self.text[self.at] == "[":
                prefix = self._header(1)
            else:
                self._pair(prefix)

    def _header(self, brackets: int) -> KeyPath:
        line = self._line()
        self.at += brackets
        parts = self._key()
        self._expect("]" * brackets)
        path: KeyPath = ()
        for part in parts[:-1]:
            path = self._inside(self._note((*path, part), line))
        path = self._note((*path, parts[-1]), line)
        if brackets == 1:
            # [a.b] below [[a]] is a table of the last a; [a] itself can never follow [[a]].
            return path
        self._arrays[path] = self._arrays.get(path, 0) + 1
        return self._note(self._inside(path), line)

    def _inside(self, path: KeyPath) -> KeyPath:
        return (*path, self._arrays[path] - 1) if path in self._arrays else path

    def _note(self, path: KeyPath, line: int) -> KeyPath:
        self.lines.setdefault(path, line)
        return path

    def _pair(self, prefix: KeyPath) -> None:
        line = self._line()
        path = prefix
        for part in self._key():
            path = self._note((*path, part), line)
        self._expect("=")
        self._skip(_SPACE)
        self._value(path)

    def _value(self, path: KeyPath) -> None:
        text, at = self.text, self.at
        if text.startswith(('"""', "'''"), at):
            self._multiline(_BASIC_END if text[at] == '"' else _LITERAL_END)
        elif text.startswith('"', at):
            self._take(_BASIC)
        elif text.startswith("'", at):
            self._take(_LITERAL)
        elif text.startswith("[", at):
            self.at += 1
            index = 0
            while not self._closed("]"):
                self._note((*path, index), self._line())
                self._value((*path, index))
                index += 1
        elif text.startswith("{", at):
            self.at += 1
            while not self._closed("}"):
                self._pair(path)
        else:
            self._take(_SCALAR)

    def _multiline(self, end: re.Pattern[str]) -> None:
        self.at += 3
        while True:
            match = end.search(self.text, self.at)
            if match is None:
                raise _NotTomlError
            self.at = match.end()
            if not match[0].startswith("\\"):
                return

    def _closed(self, bracket: str) -> bool:
        self._skip(_BLANK)
        if self.text.startswith(",", self.at):
            self.at += 1
            self._skip(_BLANK)
        if self.at >= len(self.text):
            raise _NotTomlError
        if self.text.startswith(bracket, self.at):
            self.at += 1
            return True
        return False

    def _key(self) -> list[str]:
        parts = []
        while True:
            self._skip(_SPACE)
            if self.text.startswith('"', self.at):
                parts.append(str(tomli.loads(f"key = {self._take(_BASIC)}")["key"]))
            elif self.text.startswith("'", self.at):
                parts.append(self._take(_LITERAL)[1:-1])
            else:
                parts.append(self._take(_BARE))
            self._skip(_SPACE)
            if not self.text.startswith(".", self.at):
                return parts
            self.at += 1

    def _take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        if match is None or match.end() == self.at:
            raise _NotTomlError
        self.at = match.end()
        return match[0]

    def _skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self.text, self.at)
        if match is not None:
            self.at = match.end()

    def _expect(self, token: str) -> None:
        self._skip(_SPACE)
        if not self.text.startswith(token, self.at):
            raise _NotTomlError
        self.at += len(token)

    def _line(self) -> int:
        return bisect_right(self._newlines, self.at - 1) + 1
