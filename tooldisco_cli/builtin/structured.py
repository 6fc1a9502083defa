"""JSON, YAML and TOML."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

from tooldisco_cli.builtin import places
from tooldisco_cli.builtin.context import Context
from tooldisco_cli.builtin.files import detected_encoding

MAX_BYTES = 20_000_000
_MAX_NODES = 500_000
_MAX_DEPTH = 200


def read_json(*, path: str, select: str = "", max_matches: int = 200, context: Context) -> dict[str, Any]:
    """Return a JSON file, the value at a JSON Pointer, or the values that a JSONPath matches.

    Raises ValueError for what is no JSON, and for an expression that is wrong or finds nothing at a pointer.
    """
    data = places.read_bytes(path, context, max_bytes=MAX_BYTES)
    try:
        value = json.loads(data.decode(detected_encoding(data[:65536], path) if data else "utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: {error}") from None
    if not select:
        return {"value": value}
    if select.startswith("/"):
        return {"value": _pointed(value, select)}
    import jsonpath_rfc9535

    try:
        found = jsonpath_rfc9535.compile(select).finditer(value)
        matches = [node.value for node, _ in zip(found, range(max_matches + 1), strict=False)]
    except (jsonpath_rfc9535.JSONPathError, RecursionError) as error:
        raise ValueError(f"the JSONPath {select!r} is wrong: {error}") from None
    return {
        "values": matches[:max_matches],
        "match_count": min(len(matches), max_matches),
        "more": len(matches) > max_matches,
    }


def convert_data_format(*, text: str, from_: str, to: str, indent: int = 2) -> dict[str, Any]:
    """Return a text in another format.

    Raises ValueError for what is not well-formed, and for what the other format has no form for.
    """
    value = _parsed(text, from_)
    if to == "json":
        compact = (",", ":") if indent == 0 else None
        return {
            "text": json.dumps(
                value,
                ensure_ascii=False,
                indent=indent or None,
                separators=compact,
                default=_time_text,
                allow_nan=False,
            )
        }
    if to == "yaml":
        import yaml

        return {"text": yaml.safe_dump(value, allow_unicode=True, sort_keys=False, indent=max(indent, 2))}
    import tomli_w

    if not isinstance(value, dict):
        raise ValueError("a TOML document is a table, and this is none")  # noqa: TRY004 - the text is at fault
    try:
        return {"text": tomli_w.dumps(value)}
    except (TypeError, ValueError) as error:
        raise ValueError(f"TOML has no form for this: {error}") from None


def _parsed(text: str, kind: str) -> Any:
    try:
        if kind == "json":
            return json.loads(text)
        if kind == "toml":
            import tomllib

            return tomllib.loads(text)
        return _yaml(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the text is not well-formed {kind.upper()}: {error}") from None


def _yaml(text: str) -> Any:
    """Return a YAML document of plain data; aliases that would unfold to very much (a bomb) are refused."""
    import yaml

    try:
        value = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None
    _check_size(value)
    return value


def _check_size(value: Any) -> None:
    count = 0
    pending = [(value, 1)]
    while pending:
        item, depth = pending.pop()
        count += 1
        if count > _MAX_NODES or depth > _MAX_DEPTH:
            raise ValueError("its aliases unfold to too much")
        if isinstance(item, dict):
            wrong = next((key for key in item if not isinstance(key, str)), None)
            if wrong is not None:
                raise ValueError(f"the key {wrong!r} is no text")
            pending += [(inner, depth + 1) for inner in item.values()]
        elif isinstance(item, list | set | tuple):
            pending += [(inner, depth + 1) for inner in item]


def _time_text(value: Any) -> Any:
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, set):
        return sorted(value)
    raise ValueError(f"JSON has no form for {type(value).__name__}")


def _pointed(value: Any, pointer: str) -> Any:
    for step in pointer[1:].split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isascii() and name.isdigit() and int(name[:9]) < len(value):
            value = value[int(name[:9])]
        else:
            raise ValueError(f"there is nothing at {pointer}: {name!r} is not there")
    return value
