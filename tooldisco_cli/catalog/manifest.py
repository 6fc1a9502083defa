"""Reads one manifest: from the bytes of a file to tools, MCP servers and problems. A pure function of its arguments.

A tool with a fault is left out and reported; its neighbours in the file stay. Only a file that is not TOML, or not
of a format that this version reads, is left out whole.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from tooldisco_cli.catalog.checks import EXECUTORS, server_faults, tool_faults
from tooldisco_cli.catalog.tool import FORMAT, NAME_PATTERN, JsonObject, McpServer, Tool
from tooldisco_cli.tomlfile import Fault, Faults, Problem, decode, decode_json, encode, located, near_word, parse

if TYPE_CHECKING:
    from tooldisco_cli.tomlposition import KeyPath

_TOP_KEYS = ("manifest", "defaults", "tool", "mcp_servers")
_NOT_DEFAULTS = frozenset({"name", "aliases"})
_TOOL_KEYS = tuple(item.name for item in fields(Tool))
_DEFAULTS_KEYS = tuple(name for name in _TOOL_KEYS if name not in _NOT_DEFAULTS)
_SCHEMAS = ("input_schema", "output_schema")


@dataclass(frozen=True)
class Declaration:
    """One tool as a manifest declares it, before layers are stacked; a mask when ``tool.enabled`` is false."""

    tool: Tool
    path: str
    line: int
    content: str
    """The declaration after defaults, and the MCP server it uses, as compact JSON.

    The tool's own keys are sorted; inside of them order is kept, as a model reads parameters in their order.
    """
    server: McpServer | None = None

    @cached_property
    def digest(self) -> str:
        """SHA-256 of ``content`` in hexadecimal."""
        return hashlib.sha256(self.content.encode()).hexdigest()

    @property
    def place(self) -> str:
        """Where it stands, as ``path:line``."""
        return f"{self.path}:{self.line}"


@dataclass(frozen=True)
class Manifest:
    """What one file declares."""

    path: str
    declarations: tuple[Declaration, ...] = ()
    servers: Mapping[str, McpServer] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()


def parse_manifest(data: bytes, path: str) -> Manifest:
    """Return what the manifest ``data`` declares; ``path`` is only for messages. Never raises for its content."""
    parsed = parse(data, path)
    if isinstance(parsed, Problem):
        return Manifest(path, problems=(parsed,))
    document, text = parsed
    refusal = _format_fault(document, text)
    if refusal is not None:
        return Manifest(path, problems=tuple(located([refusal], path, text)))
    faults = [Fault((name,), "unknown key", _near_top_key(name)) for name in document if name not in _TOP_KEYS]
    defaults = _defaults(document.get("defaults", {}), faults)
    raw_servers = document.get("mcp_servers", {})
    servers = _servers(raw_servers, faults)
    if not isinstance(raw_servers, dict):
        raw_servers = {}
    tools = _tool_tables(document, faults)
    lines = _tool_lines(text, len(tools))
    declarations: list[Declaration] = []
    for index, table in enumerate(tools):
        own = ("tool", index)
        if not isinstance(table, dict):
            faults.append(Fault(own, "must be a table", "write [[tool]] above its keys"))
            continue
        found: list[Fault] = []
        merged = _decoded_schemas(merge_defaults(defaults, table), found)
        merged = {key: merged[key] for key in sorted(merged)}
        encoded = encode(merged)
        tool = _tool(encoded, merged, found)
        server_name = tool.mcp.server if tool is not None and tool.mcp is not None else ""
        if server_name in raw_servers and server_name not in servers:
            found.append(Fault(("mcp", "server"), f"the server {server_name!r} of this file has errors"))
        faults += [
            Fault(_origin(own, fault.key, table, defaults), fault.message, fault.suggestion, fault.severity)
            for fault in found
        ]
        if any(fault.severity == "error" for fault in found) or tool is None:
            tool = _mask_in_spite(table)
            if tool is None:
                continue
            encoded = encode({"enabled": False, "name": tool.name})
        server = encode(raw_servers[server_name]) if server_name in servers else "null"
        content = f'{{"tool":{encoded},"server":{server}}}'
        declarations.append(Declaration(tool, path, lines[index], content, servers.get(server_name)))
    return Manifest(path, tuple(declarations), servers, tuple(located(faults, path, text)))


def merge_defaults(defaults: JsonObject, table: JsonObject) -> JsonObject:
    """Return a tool's table over its file's defaults.

    A key of the tool replaces the default; where both are tables, their keys are merged, one level deep. An
    executor among the defaults is only for tools that declare none, or the same.
    """
    if not defaults:
        return table
    own = [name for name in EXECUTORS if name in table]
    merged = {name: value for name, value in defaults.items() if not (own and name in EXECUTORS and name not in own)}
    for name, value in table.items():
        default = merged.get(name)
        merged[name] = {**default, **value} if isinstance(default, dict) and isinstance(value, dict) else value
    return merged


def _format_fault(document: JsonObject, text: str) -> Fault | None:
    write = f"write manifest = {FORMAT} as its first line"
    if "manifest" not in document:
        return Fault((), "does not say manifest = 1" if text.strip() else "is empty", write)
    number = document["manifest"]
    if type(number) is not int:
        return Fault(("manifest",), "must be a whole number", write)
    if number != FORMAT:
        remedy = "a newer tooldisco may read it" if number > FORMAT else write
        return Fault(("manifest",), f"this version reads format {FORMAT}, not {number}", remedy)
    return None


def _near_top_key(name: str) -> str:
    near = near_word(name, _TOP_KEYS)
    if near:
        return "did you mean [[tool]]?" if near == "tool" else f"did you mean `{near}`?"
    return "a tool's keys stand below [[tool]]" if name in _TOOL_KEYS else f"known keys: {', '.join(_TOP_KEYS)}"


def _defaults(table: Any, faults: list[Fault]) -> JsonObject:
    if not isinstance(table, dict):
        faults.append(Fault(("defaults",), "must be a table", "write [defaults] above its keys"))
        return {}
    kept = {}
    for name, value in table.items():
        if name in _DEFAULTS_KEYS:
            kept[name] = value
        elif name in _NOT_DEFAULTS:
            faults.append(Fault(("defaults", name), "is each tool's own", "move it below [[tool]]"))
        else:
            near = near_word(name, _DEFAULTS_KEYS)
            faults.append(Fault(("defaults", name), "unknown key", f"did you mean `{near}`?" if near else ""))
    executors = [name for name in EXECUTORS if name in kept]
    for name in executors[1:]:
        faults.append(Fault(("defaults", name), f"stands beside {executors[0]}", "at most one executor"))
        del kept[name]
    return _decoded_schemas(kept, faults, ("defaults",))


def _servers(tables: Any, faults: list[Fault]) -> dict[str, McpServer]:
    if not isinstance(tables, dict):
        faults.append(Fault(("mcp_servers",), "must be a table of servers", "write [mcp_servers.NAME]"))
        return {}
    servers = {}
    for name, table in tables.items():
        server, found = decode_server(table)
        faults += [Fault(("mcp_servers", name, *f.key), f.message, f.suggestion, f.severity) for f in found]
        if server is not None:
            servers[name] = server
    return servers


def decode_server(table: Any) -> tuple[McpServer | None, list[Fault]]:
    """Return an ``[mcp_servers.NAME]`` table as a server, or None, and its faults, keys relative to the table."""
    if not isinstance(table, dict):
        return None, [Fault((), "must be a table", "with command or url")]
    server = decode(McpServer, table)
    if isinstance(server, Faults):
        return None, list(server.faults)
    faults = list(server_faults(server))
    return (None if any(fault.severity == "error" for fault in faults) else server), faults


def _tool_tables(document: JsonObject, faults: list[Fault]) -> list[Any]:
    tools = document.get("tool", [])
    if isinstance(tools, list):
        return tools
    faults.append(Fault(("tool",), "must be a list of tables", "write [[tool]], with two brackets"))
    return []


def _tool(encoded: str | Faults, merged: JsonObject, faults: list[Fault]) -> Tool | None:
    decoded = encoded if isinstance(encoded, Faults) else decode_json(Tool, encoded, merged)
    if isinstance(decoded, Faults):
        faults += decoded.faults
        return None
    faults += tool_faults(decoded)
    return decoded


def _mask_in_spite(table: JsonObject) -> Tool | None:
    """Keep a mask that has a fault: what somebody meant to hide must not come back by a typing error."""
    name = table.get("name")
    if table.get("enabled") is False and isinstance(name, str) and re.fullmatch(NAME_PATTERN, name):
        return Tool(name=name, enabled=False)
    return None


def _decoded_schemas(table: JsonObject, faults: list[Fault], prefix: KeyPath = ()) -> JsonObject:
    """Replace a schema that is written as JSON text, which is how it can hold the null that TOML lacks."""
    if not any(isinstance(table.get(key), str) for key in _SCHEMAS):
        return table
    table = dict(table)
    for key in _SCHEMAS:
        if isinstance(table.get(key), str):
            try:
                table[key] = json.loads(table[key], parse_constant=_refuse_constant)
            except (ValueError, RecursionError) as error:
                faults.append(Fault((*prefix, key), f"is not JSON: {error}", "a table, or JSON in text"))
                del table[key]
    return table


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _origin(own: KeyPath, key: KeyPath, table: JsonObject, defaults: JsonObject) -> KeyPath:
    """Return where a faulty value was written: in the tool itself, or in the defaults."""
    if key and key[0] in defaults:
        first, default = table.get(str(key[0])), defaults[str(key[0])]
        merged = len(key) > 1 and isinstance(first, dict) and isinstance(default, dict)
        if first is None or (merged and key[1] not in first and key[1] in default):
            return ("defaults", *key)
    return (*own, *key)


def _tool_lines(text: str, count: int) -> list[int]:
    """Return the line of each ``[[tool]]``: as most people write it, else by the slow exact way."""
    if not count:
        return []
    before = f"\n{text}".split("\n[[tool]]")
    if len(before) == count + 1:
        return list(accumulate(part.count("\n") + 1 for part in before[:-1]))
    from tooldisco_cli.tomlposition import key_lines, line_of

    known = key_lines(text)
    return [line_of(known, ("tool", index)) for index in range(count)]
