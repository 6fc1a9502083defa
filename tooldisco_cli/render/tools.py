"""Views of tools: the list, one tool, the categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal

from tooldisco_cli.render.search import WIDEST, summary
from tooldisco_cli.render.streams import json_text, print_json, print_line, print_note
from tooldisco_cli.render.terminal import NARROW, print_columns, styled, terminal
from tooldisco_cli.render.untrusted import visible, visible_lines
from tooldisco_cli.render.wrapping import wrap

if TYPE_CHECKING:
    from rich.console import Console

    from tooldisco_cli.catalog.snapshot import Catalog, Entry

TOOLS_SCHEMA = "tooldisco.tools/1"
TOOL_SCHEMA = "tooldisco.tool/1"
CATEGORIES_SCHEMA = "tooldisco.categories/1"


def listed_tool(entry: Entry) -> dict[str, Any]:
    """Return one element of ``tooldisco.tools/1``: what a list needs, without schemas."""
    tool = entry.tool
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "category": tool.category,
        "tags": list(tool.tags),
        "version": tool.version,
        "versions": list(entry.versions),
        "deprecated_versions": list(entry.deprecated),
        "owner": tool.owner,
        "executor": executor_kind(entry),
        "trusted": entry.trusted,
        "layer": entry.source.layer.kind,
        "path": entry.source.path,
        "line": entry.source.line,
    }


def executor_kind(entry: Entry) -> str:
    """Return ``python``, ``command``, ``http``, ``mcp``, or ``code`` for a tool registered in a program."""
    tool = entry.tool
    return next((kind for kind in ("python", "command", "http", "mcp") if getattr(tool, kind)), "code")


def full_tool(entry: Entry) -> dict[str, Any]:
    """Return the body of ``tooldisco.tool/1``: all that the manifest says, and where it says it."""
    tool = entry.tool
    executor = tool.executor
    return listed_tool(entry) | {
        "reference": entry.reference,
        "keywords": list(tool.keywords),
        "aliases": list(tool.aliases),
        "related": list(tool.related),
        "superseded_by": tool.superseded_by,
        "sunset": tool.sunset.isoformat() if tool.sunset else None,
        "annotations": {
            "read_only": tool.annotations.read_only,
            "destructive": tool.annotations.may_destroy,
            "idempotent": tool.annotations.idempotent,
            "open_world": tool.annotations.open_world,
        },
        "requires": asdict(tool.requires),
        "timeout_seconds": tool.timeout_seconds,
        "max_result_chars": tool.max_result_chars,
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
        "examples": [asdict(example) for example in tool.examples],
        "run": {k: v for k, v in asdict(executor).items() if v not in (None, {}, (), "")} if executor else {},
        "digest": entry.digest,
    }


def show_tools(entries: Sequence[Entry], catalog: Catalog, *, as_json: bool, no_color: bool) -> None:
    """Print a list of tools."""
    if as_json:
        print_json(TOOLS_SCHEMA, {"tools": [listed_tool(entry) for entry in entries]})
        return
    if not entries:
        print_note("no tool fits" if len(catalog) else "the catalog is empty")
        if len(catalog):
            print_note(f"  categories: {', '.join(map(visible, catalog.categories()))}")
        return
    console = terminal(no_color=no_color)
    if not console:
        print_columns([[*_cells(entry), summary(entry.tool.description, 100)] for entry in entries])
        return
    _list_on_terminal(console, entries)


def _cells(entry: Entry) -> list[str]:
    return [visible(entry.name), visible(entry.tool.category), visible(entry.tool.version), visible(entry.tool.title)]


def _list_on_terminal(console: Console, entries: Sequence[Entry]) -> None:
    from rich.table import Table

    wide = console.width >= NARROW
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("tool", overflow="fold", max_width=max(24, console.width // 3))
    table.add_column("category", overflow="fold", max_width=16)
    if wide:
        table.add_column("version", overflow="fold", max_width=10)
    table.add_column("title", overflow="fold", ratio=1)
    for entry in entries:
        name, category, version, title = _cells(entry)
        what = title or summary(entry.tool.description, 80)
        marks = "" if entry.trusted else "  (not trusted)"
        cells = [styled((name, "bold cyan")), styled((category, "green")), styled((what, ""), (marks, "yellow"))]
        if wide:
            cells.insert(2, styled((version, "dim")))
        table.add_row(*cells)
    console.print(table)
    print_note(f"{len(entries):,} tools")


def show_categories(categories: Mapping[str, int], *, as_json: bool) -> None:
    """Print the categories with their numbers of tools."""
    if as_json:
        body = [{"name": name, "tools": count} for name, count in categories.items()]
        print_json(CATEGORIES_SCHEMA, {"categories": body})
        return
    width = max((len(str(count)) for count in categories.values()), default=0)
    print_columns([[str(count).rjust(width), visible(name)] for name, count in categories.items()])


def show_tool(entry: Entry, *, form: Literal["view", "json", "toml"], no_color: bool) -> None:
    """Print one tool for people, as JSON, or as the manifest that declares it."""
    if form == "json":
        print_json(TOOL_SCHEMA, full_tool(entry))
    elif form == "toml":
        from tooldisco_cli.authoring.writing import manifest_text

        print_line(manifest_text(entry.tool).rstrip("\n"))
    else:
        _view(entry, no_color=no_color)


def _view(entry: Entry, *, no_color: bool) -> None:
    console = terminal(no_color=no_color)
    tool = entry.tool
    heading = f"{visible(entry.reference)}  {visible(tool.title)}".rstrip()
    facts = [["category", visible(tool.category)], ["version", _versions(entry)]]
    optional = (
        ("tags", ", ".join(map(visible, tool.tags))),
        ("aliases", ", ".join(map(visible, tool.aliases))),
        ("related", ", ".join(map(visible, tool.related))),
        ("instead", visible(tool.superseded_by or "")),
        ("sunset", tool.sunset.isoformat() if tool.sunset else ""),
        ("owner", visible(tool.owner)),
        ("effect", _effect(entry)),
        ("runs", _runs(entry)),
        ("needs", _needs(entry)),
        ("trust", "" if entry.trusted else "not approved: it cannot run yet; see `tooldisco trust`"),
        ("from", f"{entry.source.layer.kind}: {visible(entry.source.path)}:{entry.source.line}"),
    )
    facts += [[name, text] for name, text in optional if text]
    parameters = parameter_rows(tool.input_schema)
    description = visible_lines(tool.description.strip())
    if console is None:
        print_line(heading)
        print_line(f"\n{description}\n" if description else "")
        print_columns(facts)
        if parameters:
            print_line("\nparameters (* must be given)")
            print_columns([[f"  {name}", kind, text] for name, kind, text in parameters])
        _examples(entry)
        return
    from rich.table import Table
    from rich.text import Text

    console.print(Text(heading, "bold cyan"))
    console.print()
    for paragraph in description.splitlines():
        for line in wrap(paragraph, min(console.width, WIDEST)) or [""]:
            console.print(Text(line))
    console.print()
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim")
    table.add_column(overflow="fold", ratio=1)
    for name, text in facts:
        table.add_row(name, Text(text))
    console.print(table)
    if parameters:
        console.print(Text("\nparameters (* must be given)", "bold"))
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column(style="cyan", overflow="fold", max_width=max(16, console.width // 4))
        table.add_column(style="green", overflow="fold", max_width=max(14, console.width // 5))
        table.add_column(overflow="fold", ratio=1)
        for name, kind, text in parameters:
            table.add_row(Text(name), Text(kind), Text(text))
        console.print(table)
    _examples(entry)


def _versions(entry: Entry) -> str:
    marked = [f"{visible(v)} (deprecated)" if v in entry.deprecated else visible(v) for v in entry.versions]
    shown = visible(entry.tool.version)
    return f"{shown} (of {', '.join(marked)})" if len(marked) > 1 else shown


def _effect(entry: Entry) -> str:
    annotations = entry.tool.annotations
    if annotations.read_only:
        words = ["only reads"]
    else:
        words = ["may delete or overwrite" if annotations.may_destroy else "changes something"]
        words += ["same again does no more"] if annotations.idempotent else []
    words.append("reaches beyond this machine" if annotations.open_world else "stays on this machine")
    return ", ".join(words)


def _runs(entry: Entry) -> str:
    tool = entry.tool
    if tool.http:
        return visible(f"{tool.http.method} {tool.http.url}")
    if tool.command:
        return visible("program " + " ".join(map(str, tool.command.argv)))
    if tool.python:
        return visible(f"Python {tool.python.function}")
    return visible(f"MCP server {tool.mcp.server}, tool {tool.mcp.tool or tool.name}") if tool.mcp else ""


def _needs(entry: Entry) -> str:
    requires = entry.tool.requires
    return visible(", ".join((*requires.env, *requires.programs, *requires.python)))


def _examples(entry: Entry) -> None:
    if not entry.tool.examples:
        return
    print_line("\nexamples")
    for example in entry.tool.examples:
        print_line(f"  {visible(json_text(example.input))}")
        if example.result is not None:
            print_line(f"    → {visible(json_text(example.result))}")


def parameter_rows(schema: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return name (with ``*`` when required), type and description of each top-level property of a schema."""
    properties = schema.get("properties")
    required = schema.get("required")
    required = required if isinstance(required, list) else []
    if not isinstance(properties, Mapping):
        return []
    return [
        (visible(f"{name}*" if name in required else str(name)), visible(type_words(item)), _what(item))
        for name, item in properties.items()
    ]


def type_words(schema: Any) -> str:
    """Return a JSON Schema's type in a few words, such as ``array of string`` or ``"a" | "b"``."""
    if not isinstance(schema, Mapping):
        return "any"
    if isinstance(schema.get("enum"), list):
        return summary(" | ".join(json_text(value) for value in schema["enum"]), 80)
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(map(str, kind))
    if kind == "array":
        items = schema.get("items")
        return f"array of {type_words(items)}" if isinstance(items, Mapping) else "array"
    if kind is None and isinstance(schema.get("anyOf"), list):
        return " | ".join(dict.fromkeys(map(type_words, schema["anyOf"])))
    return str(kind or "any")


def _what(schema: Any) -> str:
    if not isinstance(schema, Mapping):
        return ""
    text = str(schema.get("description") or "")
    if "default" in schema:
        text += f" (default {json_text(schema['default'])})"
    return visible(text)
