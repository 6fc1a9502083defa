"""From what a caller gave to arguments that fit the tool's schema, defaults filled in, or an error that explains."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from tooldisco_cli.errors import InvalidArguments
from tooldisco_cli.execution.explaining import path_text, refusal
from tooldisco_cli.execution.limits import check_limits, loads
from tooldisco_cli.execution.pairs import parse_pairs, read_input
from tooldisco_cli.execution.schemas import (
    JsonObject,
    Schema,
    accepted_types,
    default_of,
    part_schema,
    properties,
    type_of,
)

__all__ = ["Checked", "check", "parse_pairs", "read_input"]


@dataclass(frozen=True, slots=True)
class Checked:
    """Valid arguments, and notes on what was done to them."""

    arguments: JsonObject
    notes: tuple[str, ...] = ()


def check(arguments: JsonObject | str, schema: Schema, *, secrets: Iterable[str] = ()) -> Checked:
    """Return the arguments as the tool gets them; what was given is not changed.

    They may be the JSON text of an object. Inside, a JSON text where only an object or list is accepted is read as
    one, with a note; nothing else is converted. Missing properties get the schema's defaults, also inside objects
    and lists that are given, behind references and ``allOf``, but not in alternatives. ``secrets`` are masked in
    messages. Raises InvalidArguments; CatalogInvalid for a schema that cannot be used.
    """
    notes: list[str] = []
    if isinstance(arguments, str):
        given = loads(arguments) if arguments.strip() else {}
        notes.append("the arguments were given as JSON text")
    else:
        check_limits(arguments)
        given = arguments
    if not isinstance(given, dict):
        raise InvalidArguments(
            f"the arguments must be an object, not {type_of(given)}",
            details={"errors": [{"path": "", "rule": "type", "message": "must be an object", "value": ""}]}
            | {"schema": dict(schema)},
        )
    prepared = _prepared(given, schema, schema, (), notes)
    from tooldisco_cli.execution.validation import faults

    found = faults(prepared, schema)
    if found:
        raise refusal(found, schema, secrets=secrets)
    return Checked(prepared, tuple(notes))


def _prepared(value: Any, schema: Any, root: Schema, path: tuple[str | int, ...], notes: list[str]) -> Any:
    """Return a copy of a value with JSON texts read and defaults filled in, as far as the schema is certain."""
    if isinstance(value, str):
        value = _read(value, schema, root, path, notes)
    if isinstance(value, list):
        return [
            _prepared(item, part_schema(schema, root, index), root, (*path, index), notes)
            for index, item in enumerate(value)
        ]
    if not isinstance(value, dict):
        return value
    filled = {
        name: _prepared(item, part_schema(schema, root, name), root, (*path, name), notes)
        for name, item in value.items()
    }
    for name, declared in properties(schema, root).items():
        if name not in filled:
            has_default, default = default_of(declared, root)
            if has_default:
                filled[name] = deepcopy(default)
    return filled


def _read(text: str, schema: Any, root: Schema, path: tuple[str | int, ...], notes: list[str]) -> Any:
    if text.lstrip()[:1] not in {"{", "["}:
        return text
    types = accepted_types(schema, root)
    if types is None or "string" in types or not types & {"object", "array"}:
        return text
    try:
        value = loads(text)
    except InvalidArguments:
        return text
    if type_of(value) not in types:
        return text
    notes.append(
        f"{path_text(path)} was given as JSON text and read as {'a list' if isinstance(value, list) else 'an object'}"
    )
    return value
