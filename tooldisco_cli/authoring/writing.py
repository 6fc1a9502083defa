"""Writes a tool as the manifest that declares it."""

from __future__ import annotations

from dataclasses import MISSING, Field, asdict, fields, is_dataclass
from typing import Any

from tooldisco_cli.catalog.tool import FORMAT, JsonObject, Tool


def declared(value: Any) -> JsonObject:
    """Return the keys of a tool, or of a part of one, that differ from their defaults: what a manifest must say."""
    said: JsonObject = {}
    for field in fields(value):
        item = getattr(value, field.name)
        if item is None or item == _default(field):
            continue
        said[field.name] = declared(item) if is_dataclass(item) else _plain(item)
    return said


def manifest_text(tool: Tool) -> str:
    """Return a whole manifest that declares just this tool, and reads back as the same."""
    from tooldisco_cli.authoring.importing import tool_toml

    return f"manifest = {FORMAT}\n\n{tool_toml(declared(tool))}"


def _default(field: Field[Any]) -> Any:
    return field.default_factory() if field.default_factory is not MISSING else field.default


def _plain(item: Any) -> Any:
    if isinstance(item, tuple):
        return [_plain(part) for part in item]
    return {k: v for k, v in asdict(item).items() if v not in (None, "")} if is_dataclass(item) else item  # type: ignore[arg-type]
