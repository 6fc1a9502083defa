"""The JSON Schema of the manifest format, for editors that complete and check as one types."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from tooldisco_cli.catalog.tool import FORMAT, JsonObject, McpServer, Tool

_NOT_DEFAULTS = ("name", "aliases")


def manifest_schema() -> JsonObject:
    """Return the JSON Schema (2020-12) of a manifest, made from the model itself."""
    from pydantic import TypeAdapter

    template = "#/$defs/{model}"
    tool = TypeAdapter(Tool).json_schema(ref_template=template)
    server = TypeAdapter(McpServer).json_schema(ref_template=template)
    definitions = tool.pop("$defs", {}) | server.pop("$defs", {})
    for name in ("input_schema", "output_schema"):
        tool["properties"][name] = _schema_or_text(tool["properties"][name])
    defaults = deepcopy(tool)
    defaults["required"] = []
    defaults["title"] = "Defaults"
    defaults["description"] = "What each tool of this file has unless it says otherwise."
    for name in _NOT_DEFAULTS:
        del defaults["properties"][name]
    document: JsonObject = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"tooldisco manifest, format {FORMAT}",
        "type": "object",
        "required": ["manifest"],
        "additionalProperties": False,
        "properties": {
            "manifest": {"const": FORMAT, "description": "The number of the manifest format."},
            "defaults": defaults,
            "tool": {"type": "array", "items": tool, "description": "The tools that this file declares."},
            "mcp_servers": {
                "type": "object",
                "additionalProperties": server,
                "description": "MCP servers by name, for the tools of this file.",
            },
        },
        "$defs": definitions,
    }
    without_null: JsonObject = _without_null(document)
    return without_null


def _schema_or_text(schema: JsonObject) -> JsonObject:
    said = "A table; or JSON in text, which can hold the null that TOML lacks."
    text = {"type": "string", "contentMediaType": "application/json", "contentSchema": {"type": "object"}}
    return {
        "anyOf": [{"type": "object"}, text],
        "description": f"{schema.get('description', '')} {said}".strip(),
    }


def _without_null(value: Any) -> Any:
    """Drop what speaks of null: TOML has none, a key is left out instead."""
    if isinstance(value, list):
        return [_without_null(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {key: _without_null(item) for key, item in value.items() if not (key == "default" and item is None)}
    options = kept.get("anyOf")
    if isinstance(options, list) and {"type": "null"} in options:
        options = [option for option in options if option != {"type": "null"}]
        del kept["anyOf"]
        kept = options[0] | kept if len(options) == 1 else kept | {"anyOf": options}
    return kept
