"""Says what is wrong with arguments: for a person in one line, for a model as data it can act on."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from tooldisco_cli.errors import InvalidArguments
from tooldisco_cli.execution.schemas import JsonObject, Schema, type_of
from tooldisco_cli.execution.validation import unknown_names
from tooldisco_cli.tomlfile import near_word

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

MAX_RECORDS = 10
_MAX_VALUE = 100
_SENSITIVE = re.compile(
    r"(?:^|[_-])(?:password|passwd|secret|token|api_?key|access_?key|credential)s?$", re.IGNORECASE
)
_IDENTIFIER = re.compile(r"[A-Za-z_][\w-]*")
_FIRST = ("required", "additionalProperties", "unevaluatedProperties", "type")
_KINDS = {"integer": "a whole number", "number": "a number", "string": "a text", "boolean": "true or false"}
_KINDS |= {"array": "a list", "object": "an object", "null": "null"}


@dataclass(frozen=True, slots=True)
class Record:
    """One fault: where (``items[0].name``, empty for the arguments as a whole), which rule, what, and the value."""

    path: str
    rule: str
    message: str
    value: str


def refusal(found: Sequence[ValidationError], schema: Schema, *, secrets: Iterable[str] = ()) -> InvalidArguments:
    """Return the error for arguments that do not fit; ``details`` has ``errors`` and ``schema``.

    At most ten records, the ones that help most first: what is missing or unknown at the top before what is wrong
    inside. Values are shortened; secrets, and values of parameters that are named like one, are not shown.
    """
    records: dict[tuple[str, str, str], Record] = {}
    for error in sorted(found, key=_order):
        for record in _records(error, tuple(secrets)):
            records.setdefault((record.path, record.rule, record.message), record)
    shown = list(records.values())[:MAX_RECORDS]
    lines = [f"{record.path}: {record.message}" if record.path else record.message for record in shown]
    more = len(records) - len(shown)
    message = "; ".join(lines) + (f"; and {more} more" if more > 0 else "")
    return InvalidArguments(
        message,
        hint="give arguments that fit the schema",
        details={"errors": [asdict(record) for record in shown], "schema": dict(schema)},
    )


def _order(error: ValidationError) -> tuple[int, int, str]:
    rule = str(error.validator)
    rank = _FIRST.index(rule) if rule in _FIRST else len(_FIRST)
    return len(error.absolute_path), rank, path_text(error.absolute_path)


def path_text(path: Iterable[str | int]) -> str:
    """Return a path into arguments as people write it: ``rows[0].name``, ``meta["a b"]``."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _IDENTIFIER.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f"[{json.dumps(step[:_MAX_VALUE], ensure_ascii=False)}]"
    return text


def _records(error: ValidationError, secrets: tuple[str, ...]) -> list[Record]:
    wanted: Any = error.validator_value
    value: Any = error.instance
    rule = str(error.validator)
    if rule in {"anyOf", "oneOf"} and error.context:
        return _alternatives(error, secrets)
    path = list(error.absolute_path)
    hidden = _is_sensitive(path, error.schema)
    said = "(not shown)" if hidden else shown_value(value, secrets)
    if rule == "required":
        names = [name for name in wanted if name not in value]
        return [Record(path_text([*path, name]), rule, "is missing", "") for name in names]
    if rule == "additionalProperties" and wanted is False:
        return _unknown(error, path, secrets)
    message = f"must be {_kinds(wanted)}, not {said}" if rule == "type" else _message(error, rule, wanted, said)
    return [Record(path_text(path), rule, message, said)]


def _message(error: ValidationError, rule: str, wanted: Any, said: str) -> str:
    value = error.instance
    size = len(value) if isinstance(value, str | list | dict) else 0
    if rule == "enum" and isinstance(wanted, list):
        near = near_word(value, [item for item in wanted if isinstance(item, str)]) if isinstance(value, str) else ""
        choices = ", ".join(shown_value(item) for item in wanted[:12]) + (", …" if len(wanted) > 12 else "")
        return f"must be one of {choices}, not {said}" + (f"; did you mean {near!r}?" if near else "")
    messages = {
        "const": f"must be {shown_value(wanted)}, not {said}",
        "pattern": f"must match the pattern {wanted}, and {said} does not",
        "format": f"must be of the format {wanted}, and {said} is not",
        "minLength": f"has {size} characters, needs at least {wanted}",
        "maxLength": f"has {size} characters, may have at most {wanted}",
        "minItems": f"has {size} items, needs at least {wanted}",
        "maxItems": f"has {size} items, may have at most {wanted}",
        "minProperties": f"has {size} entries, needs at least {wanted}",
        "maxProperties": f"has {size} entries, may have at most {wanted}",
        "minimum": f"must be at least {wanted}, not {said}",
        "maximum": f"must be at most {wanted}, not {said}",
        "exclusiveMinimum": f"must be above {wanted}, not {said}",
        "exclusiveMaximum": f"must be below {wanted}, not {said}",
        "multipleOf": f"must be a multiple of {wanted}, not {said}",
        "uniqueItems": f"must not hold the same item twice: {error.message}",
        "contains": "holds no item of the kind that is needed",
        "not": f"is of a form that is ruled out: {said}",
        "oneOf": "fits more than one of the forms of which exactly one must fit",
        "None": "is not accepted here",
        "dependentRequired": _last_line(error.message),
        "unevaluatedProperties": _last_line(error.message),
    }
    return messages.get(rule) or f"breaks the rule {rule}: {said}"


def _last_line(message: str) -> str:
    return " ".join(message.split())[:300]


def _unknown(error: ValidationError, path: list[str | int], secrets: tuple[str, ...]) -> list[Record]:
    schema = error.schema if isinstance(error.schema, Mapping) else {}
    given: Any = error.instance
    known = list(schema.get("properties", {}))
    missing = [name for name in known if name not in given]
    records = []
    for name in unknown_names(given, schema):
        near = near_word(name, missing) or near_word(name, known)
        remedy = f"did you mean {near!r}?" if near else f"known: {', '.join(known[:20]) or 'none'}"
        value = "(not shown)" if _SENSITIVE.search(name) else shown_value(given[name], secrets)
        records.append(Record(path_text([*path, name]), "additionalProperties", f"is no parameter; {remedy}", value))
        if len(records) > MAX_RECORDS:
            break
    return records


def _alternatives(error: ValidationError, secrets: tuple[str, ...]) -> list[Record]:
    """Explain a choice by its nearest branch: the one whose type and constants fit, with the fewest faults."""
    depth = len(error.absolute_path)
    branches: dict[int, list[ValidationError]] = {}
    for inner in error.context or ():
        branches.setdefault(int(inner.schema_path[0]), []).append(inner)
    path, said = path_text(error.absolute_path), shown_value(error.instance, secrets)
    if _is_sensitive(list(error.absolute_path), error.schema):
        said = "(not shown)"
    if all(_wrong_type(branch, depth) for branch in branches.values()):
        kinds: dict[str, None] = {}
        for branch in branches.values():
            kinds |= {_kinds(item.validator_value): None for item in branch if item.validator == "type"}
        return [Record(path, str(error.validator), f"must be {' or '.join(kinds)}, not {said}", said)]
    number, nearest = min(branches.items(), key=lambda item: (_distance(item[1], depth), item[0]))
    inside = [record for inner in sorted(nearest, key=_order) for record in _records(inner, secrets)][:3]
    choices: Any = error.validator_value
    title = choices[number].get("title", "") if isinstance(choices[number], Mapping) else ""
    which = f"form {number + 1}" + (f" ({title})" if title else "")
    head = f"fits none of the {len(choices)} forms; nearest is {which}"
    return [Record(path, str(error.validator), head, said), *inside]


def _wrong_type(branch: list[ValidationError], depth: int) -> bool:
    return any(error.validator == "type" and len(error.absolute_path) == depth for error in branch)


def _distance(branch: list[ValidationError], depth: int) -> tuple[bool, int, int]:
    constants = sum(error.validator in {"const", "enum"} for error in branch)
    return _wrong_type(branch, depth), constants, len(branch)


def _kinds(wanted: Any) -> str:
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    return " or ".join(_KINDS.get(name, str(name)) for name in names)


def _is_sensitive(path: Sequence[str | int], schema: Any) -> bool:
    if isinstance(schema, Mapping) and (schema.get("writeOnly") is True or schema.get("format") == "password"):
        return True
    return any(isinstance(step, str) and _SENSITIVE.search(step) for step in path)


def shown_value(value: Any, secrets: Iterable[str] = ()) -> str:
    """Return a value as a message shows it: JSON, at most 100 characters, secrets replaced."""
    if isinstance(value, list | dict) and _is_large(value):
        return f"{'a list' if type_of(value) == 'array' else 'an object'} of {len(value)}"
    text = value[: _MAX_VALUE * 100] if isinstance(value, str) else value
    shown = json.dumps(text, ensure_ascii=False, default=str)
    for secret in secrets:
        shown = shown.replace(secret, "***")
    return shown if len(shown) <= _MAX_VALUE else shown[: _MAX_VALUE - 1] + "…"


def _is_large(value: list[Any] | JsonObject) -> bool:
    return len(value) > 20 or any(
        isinstance(item, list | dict) or (isinstance(item, str) and len(item) > _MAX_VALUE)
        for item in (value.values() if isinstance(value, dict) else value)
    )
