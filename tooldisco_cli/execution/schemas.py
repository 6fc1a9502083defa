"""Reading a JSON Schema as far as it is certain: what types it accepts, and the schemas of a value's parts.

Only for giving values a type and filling in defaults; whether a value fits is the validator's business. Where a
schema leaves it open, the answer is "unknown", and nothing is done to the value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

JsonObject = dict[str, Any]
Schema = Mapping[str, Any]

_NULL = ({"type": "null"}, {"const": None}, {"enum": [None]})


def pointed(root: Schema, reference: str) -> Any:
    """Return what a reference within ``root``, such as ``#/$defs/name``, points to; None for any other reference."""
    if reference != "#" and not reference.startswith("#/"):
        return None
    target: Any = root
    for step in reference[2:].split("/") if len(reference) > 1 else ():
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(target, list) and name.isascii() and name.isdigit() and int(name[:6]) < len(target):
            target = target[int(name[:6])]
        elif isinstance(target, Mapping) and name in target:
            target = target[name]
        else:
            return None
    return target


def alternatives(schema: Schema) -> list[Schema]:
    """Return the branches of ``anyOf`` and ``oneOf`` that are not just null."""
    branches = [branch for key in ("anyOf", "oneOf") for branch in _list(schema.get(key))]
    return [branch for branch in branches if isinstance(branch, Mapping) and dict(branch) not in _NULL]


def conjuncts(schema: Any, root: Schema) -> Iterator[Schema]:
    """Yield the schemas that a value must all fit: ``schema``, ``$ref``, ``allOf``, the only alternative to null."""
    seen: set[int] = set()
    pending = [schema]
    while pending:
        part = pending.pop(0)
        if not isinstance(part, Mapping) or id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        if isinstance(part.get("$ref"), str):
            pending.append(pointed(root, part["$ref"]))
        pending += _list(part.get("allOf"))
        choices = alternatives(part)
        if len(choices) == 1:
            pending += choices


def accepted_types(schema: Any, root: Schema, *, depth: int = 0) -> frozenset[str] | None:
    """Return the JSON types that a schema may accept, None when it does not say."""
    if not isinstance(schema, Mapping) or depth > 8:
        return None
    sets: list[frozenset[str]] = []
    types = schema.get("type")
    if isinstance(types, str):
        sets.append(frozenset({types}))
    elif isinstance(types, list) and all(isinstance(name, str) for name in types):
        sets.append(frozenset(types))
    if "const" in schema:
        sets.append(frozenset({type_of(schema["const"])}))
    if isinstance(schema.get("enum"), list):
        sets.append(frozenset(type_of(value) for value in schema["enum"]))
    if isinstance(schema.get("$ref"), str):
        target = accepted_types(pointed(root, schema["$ref"]), root, depth=depth + 1)
        sets += [target] if target is not None else []
    for branch in _list(schema.get("allOf")):
        inside = accepted_types(branch, root, depth=depth + 1)
        sets += [inside] if inside is not None else []
    for key in ("anyOf", "oneOf"):
        branches = [accepted_types(branch, root, depth=depth + 1) for branch in _list(schema.get(key))]
        if branches and None not in branches:
            sets.append(frozenset(name for branch in branches if branch is not None for name in branch))
    if not sets:
        return None
    return frozenset(name for name in frozenset.union(*sets) if all(_allows(known, name) for known in sets))


def _allows(known: frozenset[str], name: str) -> bool:
    return name in known or (name == "integer" and "number" in known)


def type_of(value: Any) -> str:
    """Return the JSON type of a value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    return "array" if isinstance(value, list | tuple) else "object"


def properties(schema: Any, root: Schema) -> dict[str, Any]:
    """Return the declared properties of an object, the outermost declaration first in force."""
    found: dict[str, Any] = {}
    for part in conjuncts(schema, root):
        declared = part.get("properties")
        if isinstance(declared, Mapping):
            found = {**declared, **found}
    return found


def part_schema(schema: Any, root: Schema, key: str | int) -> Any:
    """Return the schema of one property or item of a value, None when none is declared."""
    for part in conjuncts(schema, root):
        if isinstance(key, str):
            declared = part.get("properties")
            if isinstance(declared, Mapping) and key in declared:
                return declared[key]
            if isinstance(part.get("additionalProperties"), Mapping) and "patternProperties" not in part:
                return part["additionalProperties"]
        else:
            prefix = _list(part.get("prefixItems"))
            if key < len(prefix):
                return prefix[key]
            if isinstance(part.get("items"), Mapping):
                return part["items"]
    return None


def default_of(schema: Any, root: Schema) -> tuple[bool, Any]:
    """Return whether a schema has a default, its own or that of what it refers to, and the default."""
    for part in conjuncts(schema, root):
        if "default" in part:
            return True, part["default"]
    return False, None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
