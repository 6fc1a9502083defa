"""Arguments as they are typed on a command line: ``-p key=value`` and ``--input``.

- ``key=value``: the schema gives the type. Text stays text (``01`` keeps its zero); an integer, number, boolean or
  null is read strictly as JSON writes it; where text is accepted besides another type, it is text.
- ``key:=JSON``: any JSON value: arrays, objects, null.
- A key of array type takes one item per ``key=value``, and is repeated for more.
- ``key.inner=value`` reaches into an object, unless the schema has a property whose name holds the dot.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tooldisco_cli.errors import InvalidArguments, UsageError
from tooldisco_cli.execution.limits import MAX_BYTES, loads
from tooldisco_cli.execution.schemas import JsonObject, Schema, accepted_types, part_schema, properties

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_MAX_DOTS = 50


def parse_pairs(pairs: Iterable[str], schema: Schema) -> JsonObject:
    """Return the arguments that ``key=value`` and ``key:=JSON`` texts say, typed by the schema.

    Raises UsageError for a text that is no pair or a key given twice, InvalidArguments for a value of a wrong type.
    """
    arguments: JsonObject = {}
    given: set[tuple[str, ...]] = set()
    for pair in pairs:
        key, mark, text = pair.partition("=")
        is_json = key.endswith(":")
        key = key.removesuffix(":")
        if not mark or not key:
            raise UsageError(f"{pair[:60]!r} is no key=value pair", hint="write -p key=value, or -p 'key:=JSON'")
        path = _path(key, schema)
        place, wanted = _place(arguments, path, key, schema)
        types = accepted_types(wanted, schema) or frozenset()
        name = path[-1]
        if is_json:
            _refuse_twice(path, given, key)
            place[name] = loads(text, what=key)
        elif "array" in types and ("string" not in types or name in place):
            before = place.get(name, [])
            items = before if isinstance(before, list) else [before]
            place[name] = [*items, _typed(text, part_schema(wanted, schema, len(items)), schema, key)]
        else:
            _refuse_twice(path, given, key)
            place[name] = _typed(text, wanted, schema, key)
        given.add(path)
    return arguments


def _refuse_twice(path: tuple[str, ...], given: set[tuple[str, ...]], key: str) -> None:
    if path in given:
        raise UsageError(f"{key} is given twice, and it takes one value", hint="give it once, or as 'key:=JSON'")


def _path(key: str, schema: Schema) -> tuple[str, ...]:
    if "." not in key or key in properties(schema, schema):
        return (key,)
    steps = tuple(key.split("."))
    if steps[0] not in properties(schema, schema):
        return (key,)
    if not all(steps) or len(steps) > _MAX_DOTS:
        raise UsageError(f"{key[:60]!r} is no path of names", hint="write -p outer.inner=value")
    return steps


def _place(arguments: JsonObject, path: tuple[str, ...], key: str, schema: Schema) -> tuple[JsonObject, Any]:
    """Return the object that holds the last name of the path, made where needed, and the schema of that name."""
    place = arguments
    wanted: Any = schema
    for step in path[:-1]:
        wanted = part_schema(wanted, schema, step)
        inner = place.setdefault(step, {})
        if not isinstance(inner, dict):
            raise UsageError(f"{key}: {step} already has a value that is no object")
        place = inner
    return place, part_schema(wanted, schema, path[-1])


def _typed(text: str, wanted: Any, root: Schema, key: str) -> Any:
    types = accepted_types(wanted, root)
    if types is None or "string" in types:
        return text
    if "integer" in types | ({"integer"} if "number" in types else set()) and _INTEGER.fullmatch(text):
        return loads(text, what=key)
    if "number" in types and _NUMBER.fullmatch(text):
        return loads(text, what=key)
    if "boolean" in types and text in {"true", "false"}:
        return text == "true"
    if "null" in types and text == "null":
        return None
    if types & {"object", "array"}:
        value = loads(text, what=key)
        if ("object" in types and isinstance(value, dict)) or ("array" in types and isinstance(value, list)):
            return value
    kinds = " or ".join(sorted(types))
    raise InvalidArguments(
        f"{key}: {text[:60]!r} is not of type {kinds}",
        hint=f"write -p '{key}:=JSON' for a value in JSON",
        details={"errors": [{"path": key, "rule": "type", "message": f"must be {kinds}", "value": text[:100]}]},
    )


def read_input(text: str, *, stdin: Callable[[int], bytes] | None = None) -> JsonObject:
    """Return the arguments of ``--input``: a JSON object, ``@file`` with one, or ``-`` for standard input.

    ``stdin`` reads at most so many bytes. Raises UsageError for a file that cannot be read, InvalidArguments for
    what is not a JSON object or too large.
    """
    if text == "-":
        text = _decoded((stdin or sys.stdin.buffer.read)(MAX_BYTES + 1), "standard input")
    elif text.startswith("@"):
        try:
            with Path(text[1:]).expanduser().open("rb") as file:
                text = _decoded(file.read(MAX_BYTES + 1), text[1:])
        except (OSError, ValueError, RuntimeError) as error:
            raise UsageError(f"cannot read {text[1:][:200]!r}: {error}") from error
    value = loads(text, what="--input")
    if not isinstance(value, dict):
        raise InvalidArguments("--input is not a JSON object", hint='write {"name": value}, @file or -')
    return value


def _decoded(data: bytes, what: str) -> str:
    if len(data) > MAX_BYTES:
        raise InvalidArguments(f"{what} has more than {MAX_BYTES // 1_000_000} MB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidArguments(f"{what} is not UTF-8: byte {error.start}") from error
