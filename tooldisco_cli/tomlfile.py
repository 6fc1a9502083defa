"""Reads a TOML file safely and decodes it into frozen dataclasses, with errors that name line, key and remedy.

Three steps, each a function of its arguments alone: :func:`read_bytes`, :func:`parse`, :func:`decode`. None raises
for what a file may hold; faults are values, so that one bad file never stops the reading of others.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic_core import ErrorDetails

    from tooldisco_cli.tomlposition import KeyPath

T = TypeVar("T")
JsonObject = dict[str, Any]

MAX_BYTES = 32 * 1024 * 1024
"""Files beyond this are refused: a manifest of 100,000 tools fits, a stray log does not."""
_MAX_KEY_PARTS = 1000


class Problem(NamedTuple):
    """Something wrong with a file: where, what, and what to do.

    ``line`` is 1-based, 0 when the whole file is meant; ``key`` is the dotted path of the offending key.
    A warning leaves what it is about usable; an error takes the tool, or the whole file, out of use.
    """

    path: str
    line: int
    message: str
    key: str = ""
    suggestion: str = ""
    severity: str = "error"

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}" if self.line else self.path
        what = f"{self.key}: {self.message}" if self.key else self.message
        return f"{where}: {what}" + (f" ({self.suggestion})" if self.suggestion else "")


class Fault(NamedTuple):
    """What is wrong with one value of a decoded document, before its line is known."""

    key: KeyPath
    message: str
    suggestion: str = ""
    severity: str = "error"


class Faults(NamedTuple):
    """Why a document could not be decoded."""

    faults: tuple[Fault, ...]


def dotted(key: KeyPath) -> str:
    """Return a key path as people write it: ``tool[0].http."X-Key"``."""
    text = ""
    for part in key:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += ("." if text else "") + (part if re.fullmatch(r"[\w-]+", part) else json.dumps(part))
    return text


def located(faults: Sequence[Fault], path: str, text: str) -> list[Problem]:
    """Return faults as problems of the file at ``path``, each with its line in ``text``, in the file's order."""
    if not faults:
        return []
    from tooldisco_cli.tomlposition import key_lines, line_of

    lines = key_lines(text)
    problems = [
        Problem(path, line_of(lines, fault.key), fault.message, dotted(fault.key), fault.suggestion, fault.severity)
        for fault in faults
    ]
    return sorted(dict.fromkeys(problems), key=lambda problem: problem.line)


def content_digest(path: str | Path) -> str:
    """Return the SHA-256 of a file's bytes in hexadecimal; empty when it cannot be read."""
    from hashlib import sha256

    data = read_bytes(path)
    return "" if isinstance(data, Problem) else sha256(data).hexdigest()


def read_bytes(path: str | Path, limit: int = MAX_BYTES) -> bytes | Problem:
    """Return the content of a regular file, or why it cannot be read. Never waits on a pipe or a device."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
    data: bytes | None = None
    try:
        # Asked before opening, as opening a device can act on it; and again after, as the name may have moved.
        special = _special(Path(path).stat().st_mode)
        if special is None:
            descriptor = os.open(path, flags)
            try:
                status = os.fstat(descriptor)
                special = _special(status.st_mode)
                if special is None and status.st_size <= limit:
                    data = _read(descriptor, status.st_size, limit)
            finally:
                os.close(descriptor)
    except (OSError, ValueError) as error:
        return _unreadable(path, error)
    if special is not None:
        return Problem(str(path), 0, f"is {special}, not a file")
    if data is None or len(data) > limit:
        size = f"{limit // 1024**2} MB"
        return Problem(str(path), 0, f"is larger than {size}", suggestion="split it, or move it elsewhere")
    return data


def _read(descriptor: int, size: int, limit: int) -> bytes:
    """Read to the end of a file said to have ``size`` bytes, which may have grown, or one byte past the limit."""
    data = os.read(descriptor, size + 1)
    while len(data) not in (size, limit + 1) and (more := os.read(descriptor, min(limit + 1 - len(data), 2**20))):
        data += more
    return data


def _special(mode: int) -> str | None:
    if stat.S_ISREG(mode):
        return None
    kinds = {
        stat.S_IFDIR: "a folder",
        stat.S_IFIFO: "a named pipe",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
    }
    return kinds.get(stat.S_IFMT(mode), "something special")


def _unreadable(path: str | Path, error: OSError | ValueError) -> Problem:
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    suggestion = ""
    if isinstance(error, FileNotFoundError) and Path(path).is_symlink():
        reason, suggestion = "is a link to nothing", f"it points to {Path(path).readlink()}"
    elif isinstance(error, PermissionError):
        suggestion = "check its permissions"
    return Problem(str(path), 0, f"cannot be read: {reason}", suggestion=suggestion)


def parse(data: bytes, path: str) -> tuple[JsonObject, str] | Problem:
    """Return the document that UTF-8 TOML ``data`` holds, and its text; or what is wrong with it."""
    import tomli

    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        wide = data[:2] in (b"\xff\xfe", b"\xfe\xff")
        return Problem(
            path,
            data.count(b"\n", 0, error.start) + 1,
            f"is not UTF-8 at byte {error.start} (0x{data[error.start]:02x})",
            suggestion="it looks like UTF-16; save it as UTF-8" if wide else "save it as UTF-8",
        )
    # The standard parser takes time with the square of a dotted key's parts: hours for a file made to that end.
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > 2 * _MAX_KEY_PARTS and _long_key().search(line):
            return Problem(path, number, "is nested too deeply")
    try:
        return tomli.loads(text), text
    except tomli.TOMLDecodeError as error:
        return _syntax_problem(str(error), text, path)
    except RecursionError:
        return Problem(path, 0, "is nested too deeply")
    except ValueError as error:  # such as an integer of more than 4,300 digits, or a date that is none
        return Problem(path, 0, f"holds a value that cannot be read: {error}")


@cache
def _long_key() -> re.Pattern[str]:
    part = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+"""
    return re.compile(rf"(?:^|[\[{{,])[ \t]*+(?:{part}\.[ \t]*+){{{_MAX_KEY_PARTS}}}")


def _syntax_problem(message: str, text: str, path: str) -> Problem:
    match = re.search(r" \(at (?:line (\d+), column (\d+)|end of document)\)$", message)
    if match is None:
        return Problem(path, 0, f"is not valid TOML: {message}")
    reason = message[: match.start()]
    if match[1] is None:
        return Problem(
            path,
            text.count("\n") + (not text.endswith("\n")) or 1,
            f"is not valid TOML: {reason} at the end of the file",
            suggestion="the file seems to be cut off",
        )
    hint = "in '...' a backslash is just a backslash" if "\\" in reason else ""
    return Problem(path, int(match[1]), f"is not valid TOML: {reason} at column {match[2]}", suggestion=hint)


def _iso(value: object) -> str:
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is no TOML value")


_ENCODER = json.JSONEncoder(default=_iso, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
_TOO_DEEP = Fault((), "is nested too deeply")


@cache
def _adapter(cls: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(cls)


def decode(cls: type[T], document: Mapping[str, Any]) -> T | Faults:
    """Return ``document`` as a ``cls``, strictly: no text is taken for a number, no unknown key is let pass.

    TOML dates inside free tables become ISO 8601 text, as JSON has no dates.
    """
    encoded = encode(document)
    return encoded if isinstance(encoded, Faults) else decode_json(cls, encoded, document)


def encode(document: Mapping[str, Any]) -> str | Faults:
    """Return a document as compact JSON, in its own order, dates as ISO 8601 text."""
    try:
        return _ENCODER.encode(document)
    except RecursionError:
        return Faults((_TOO_DEEP,))
    except ValueError:
        return Faults(tuple(_unfit(document)) or (Fault((), "holds a value that JSON cannot express"),))


def decode_json(cls: type[T], encoded: str, document: Mapping[str, Any]) -> T | Faults:
    """Return what :func:`encode` made of ``document`` as a ``cls``; ``document`` itself only explains faults."""
    from tooldisco_cli.quickdecode import quickly_decoded

    made = quickly_decoded(cls, encoded)
    if made is not None:
        return made
    # JSON mode of pydantic is strict about types and still takes lists for tuples and text for dates.
    adapter: TypeAdapter[T] = _adapter(cast("Any", cls))
    try:
        return adapter.validate_json(encoded, strict=True)
    except ValueError as error:  # pydantic's own is one
        from pydantic import ValidationError

        if not isinstance(error, ValidationError):
            raise
        return Faults(tuple(_faults(cls, document, error.errors(include_url=False, include_context=True))))


def _unfit(value: Any, key: KeyPath = ()) -> Iterator[Fault]:
    """Find what json.dumps refused: numbers without end, and integers too long to print."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _unfit(item, (*key, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unfit(item, (*key, index))
    elif isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):  # noqa: PLR0124
        yield Fault(key, "must be a finite number", "JSON has no inf and nan")
    elif isinstance(value, int) and value.bit_length() > 64 and value.bit_length() > sys.get_int_max_str_digits() * 3:
        yield Fault(key, "is too large a number")


_WANTED = {
    "string": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "dict": "a table",
    "mapping": "a table",
    "dataclass": "a table",
    "tuple": "a list",
    "list": "a list",
    "date": "a date such as 2027-06-30",
}
_PATTERNS = {
    r"^[a-zA-Z0-9_-]{1,64}$": "must be 1 to 64 letters a-z and A-Z, digits, `_` and `-`",
    r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$": "must look like `package.module:function`",
}


def _faults(cls: type[Any], document: Mapping[str, Any], errors: Sequence[ErrorDetails]) -> Iterator[Fault]:
    alternatives: dict[KeyPath, list[str]] = {}
    for error in errors:
        key = _real_key(document, error["loc"])
        kind, context = error["type"], error.get("ctx", {})
        wanted = _WANTED.get(kind.partition("_")[0])
        if kind in ("unexpected_keyword_argument", "extra_forbidden"):
            yield Fault(key, "unknown key", _near_key(cls, key))
        elif kind == "missing" and isinstance(key[-1], int):
            yield Fault(key[:-1], f"must have at least {key[-1] + 1} items")
        elif kind == "missing":
            yield Fault(key, "is missing")
        elif kind == "string_pattern_mismatch":
            yield Fault(key, _PATTERNS.get(context["pattern"], f"must match {context['pattern']}"))
        elif kind in ("too_short", "string_too_short"):
            yield Fault(key, "must not be empty")
        elif kind == "literal_error":
            yield Fault(key, f"must be one of {context['expected']}", _near_choice(error))
        elif "limit_value" in context or kind in ("greater_than", "greater_than_equal", "less_than_equal"):
            words = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}
            limits = [f"{words[name]} {value:g}" for name, value in context.items() if name in words]
            yield Fault(key, f"must be {' and '.join(limits)}")
        elif wanted is not None and kind.endswith(("_type", "_parsing", "_exact", "_inexact")):
            # A key that may be of several types fails once for each; that is one fault to its reader.
            alternatives.setdefault(key, []).append(wanted)
        else:
            message = error["msg"]
            yield Fault(key, "is nested too deeply" if "recursion" in message else message[:1].lower() + message[1:])
    for key, wanted_types in alternatives.items():
        # Never the value itself: it may be a password at the wrong place.
        yield Fault(key, f"must be {', or '.join(dict.fromkeys(wanted_types))}, not {_toml_type(document, key)}")


def _real_key(document: Any, location: Sequence[str | int]) -> KeyPath:
    """Drop what pydantic adds to a location, such as the name of a union's member."""
    key: list[str | int] = []
    value = document
    for index, part in enumerate(location):
        if isinstance(value, Mapping) and part in value:
            value = value[str(part)]
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        elif not isinstance(value, Mapping | list) or index < len(location) - 1 or "[" in str(part):
            continue
        key.append(part)
    return tuple(key)


def _toml_type(document: Any, key: KeyPath) -> str:
    value = document
    for part in key:
        value = value[part]
    names: list[tuple[Any, str]] = [(bool, "true or false"), (str, "text"), (int, "a whole number")]
    names += [(float, "a number"), (Mapping, "a table"), (list, "a list"), (dt.date, "a date"), (dt.time, "a time")]
    return next((name for kind, name in names if isinstance(value, kind)), type(value).__name__)


def _near_choice(error: ErrorDetails) -> str:
    from difflib import get_close_matches

    choices = re.findall(r"'([^']*)'", error["ctx"]["expected"])
    given = str(error["input"])
    near = [choice for choice in choices if choice.lower() == given.lower()] or get_close_matches(given, choices, 1)
    return f"did you mean {json.dumps(near[0])}?" if near else ""


def _near_key(cls: type[Any], key: KeyPath) -> str:
    owner = _class_at(cls, key[:-1])
    if owner is None:
        return ""
    import dataclasses

    known = [field.name for field in dataclasses.fields(owner)]
    near = near_word(str(key[-1]), known)
    if near:
        return f"did you mean `{near}`?"
    # TOML's commonest trap: a key written after [tool.http] belongs to that table.
    if (
        len(key) > 1
        and dataclasses.is_dataclass(cls)
        and key[-1] in {field.name for field in dataclasses.fields(cls)}
    ):
        return f"`{key[-1]}` belongs above the table that it stands in now"
    return f"known keys: {', '.join(known)}" if len(known) <= 12 else ""


def near_word(word: str, known: Sequence[str]) -> str:
    """Return the one of ``known`` that a mistyped ``word`` most likely meant, or an empty string."""
    from difflib import get_close_matches

    spelled = {re.sub(r"[\W_]+", "", name).lower(): name for name in known}
    plain = re.sub(r"[\W_]+", "", word).lower()
    near = get_close_matches(plain, spelled, 1, 0.7)
    return spelled[near[0]] if near else ""


def _class_at(cls: Any, key: KeyPath) -> type[Any] | None:
    import dataclasses
    import typing

    for part in key:
        if not dataclasses.is_dataclass(cls):
            return None
        hint = typing.get_type_hints(cls).get(str(part)) if isinstance(part, str) else cls
        members = [hint, *typing.get_args(hint)]
        cls = next((member for member in members if dataclasses.is_dataclass(member)), None)
    return cls if isinstance(cls, type) and dataclasses.is_dataclass(cls) else None
