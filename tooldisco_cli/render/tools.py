"""Views of tools: the list, one tool, the categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tooldisco_cli.render.search import summary
from tooldisco_cli.render.standing import Standing, lacks, standing_body, used
from tooldisco_cli.render.streams import Output, json_text, print_json, print_line
from tooldisco_cli.render.terminal import Column, print_columns, print_grid, print_wrapped, terminal
from tooldisco_cli.render.untrusted import visible, visible_lines
from tooldisco_cli.render.wrapping import paragraphs

if TYPE_CHECKING:
    from rich.console import Console

    from tooldisco_cli.catalog.snapshot import Catalog, Entry

TOOLS_SCHEMA = "tooldisco.tools/1"
TOOL_SCHEMA = "tooldisco.tool/1"
CATEGORIES_SCHEMA = "tooldisco.categories/1"
_ROOM_FOR_VERSIONS = 100
_ROOM_FOR_DESCRIPTIONS = 130
"""Columns from which a list has versions and descriptions too."""
_MOST_OF_EXAMPLE = 1000
_MOST_CATEGORIES = 30


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


def show_tools(
    entries: Sequence[Entry], catalog: Catalog, output: Output, standings: Mapping[str, Standing] | None = None
) -> None:
    """Print a list of tools; ``standings`` says of each, by its name, what it lacks and how often it ran."""
    standings = standings or {}
    if output.as_json:
        body = [listed_tool(entry) | standing_body(standings.get(entry.name, Standing())) for entry in entries]
        print_json(TOOLS_SCHEMA, {"tools": body})
        return
    if not entries:
        output.note("no tool fits" if len(catalog) else "the catalog is empty")
        if len(catalog):
            names = list(map(visible, catalog.categories()))
            more = f" and {len(names) - _MOST_CATEGORIES:,} more" if len(names) > _MOST_CATEGORIES else ""
            output.note(f"  categories: {', '.join(names[:_MOST_CATEGORIES])}{more}")
        return
    console = terminal(output)
    if console is None:
        # What keeps a tool from running stands before its description, where it widens no column.
        print_columns(
            [
                [
                    *_cells(entry, {})[:3],
                    visible(entry.tool.title),
                    _marked(entry, summary(entry.tool.description, 100), standings),
                ]
                for entry in entries
            ]
        )
        return
    _list_on_terminal(console, entries, standings)
    output.note(f"{len(entries):,} {'tool' if len(entries) == 1 else 'tools'}")


def _cells(entry: Entry, standings: Mapping[str, Standing]) -> list[str]:
    tool = entry.tool
    title = _marked(entry, visible(tool.title), standings)
    return [visible(tool.name), visible(tool.category), visible(tool.version), title]


def _marked(entry: Entry, title: str, standings: Mapping[str, Standing]) -> str:
    """Return a title with what keeps the tool from running: no approval, or something that is missing."""
    missing = lacks(standings.get(entry.name, Standing()))
    marks = ([] if entry.trusted else ["[not trusted]"]) + ([f"[needs {missing}]"] if missing else [])
    return " ".join([*marks, title]).rstrip()


def _list_on_terminal(console: Console, entries: Sequence[Entry], standings: Mapping[str, Standing]) -> None:
    version, description = console.width >= _ROOM_FOR_VERSIONS, console.width >= _ROOM_FOR_DESCRIPTIONS
    columns = {
        "tool": Column("bold cyan", most=max(24, console.width // 3)),
        "category": Column("green", most=16),
        "version": Column("dim", most=10),
        "title": Column(most=40 if description else None, lines=2),
        "description": Column("dim", lines=1),
    }
    left_out = {name for name, fits in (("version", version), ("description", description)) if not fits}
    rows = []
    for entry in entries:
        cells = dict(zip(columns, [*_cells(entry, standings), summary(entry.tool.description, 200)], strict=True))
        if not description and not entry.tool.title:
            cells["title"] = _marked(entry, summary(entry.tool.description, 80), standings)
        rows.append([text for name, text in cells.items() if name not in left_out])
    shown = [name for name in columns if name not in left_out]
    print_grid(console, [columns[name] for name in shown], rows, heads=shown)


def show_categories(categories: Mapping[str, int], output: Output) -> None:
    """Print the categories with their numbers of tools."""
    if output.as_json:
        body = [{"name": name, "tools": count} for name, count in categories.items()]
        print_json(CATEGORIES_SCHEMA, {"categories": body})
        return
    width = max((len(str(count)) for count in categories.values()), default=0)
    rows = [[str(count).rjust(width), visible(name)] for name, count in categories.items()]
    console = terminal(output)
    if console is None:
        print_columns(rows)
    else:
        print_grid(console, [Column("dim"), Column("green")], rows)


def show_tool(entry: Entry, output: Output, standing: Standing, *, as_toml: bool = False) -> None:
    """Print one tool for people, as JSON, or as the manifest that declares it."""
    if output.as_json:
        print_json(TOOL_SCHEMA, full_tool(entry) | standing_body(standing))
    elif as_toml:
        from tooldisco_cli.authoring.writing import manifest_text

        print_line(manifest_text(entry.tool).rstrip("\n"))
    else:
        _view(terminal(output), entry, standing)


def _view(console: Console | None, entry: Entry, standing: Standing) -> None:
    tool = entry.tool
    print_wrapped(console, f"{visible(entry.reference)}  {visible(tool.title)}".rstrip(), "bold cyan")
    description = visible_lines(tool.description.strip())
    if description:
        print_line("")
        for paragraph in paragraphs(description) if console else description.split("\n"):
            print_wrapped(console, paragraph)
    print_line("")
    _rows(console, [Column("dim"), Column()], _facts(entry, standing))
    parameters = parameter_rows(tool.input_schema)
    if parameters:
        print_line("")
        print_wrapped(console, "parameters (* must be given)", "bold")
        width = console.width if console else 0
        columns = [Column("cyan", most=max(16, width // 4)), Column("green", most=max(14, width // 5)), Column()]
        _rows(console, columns, parameters)
    if tool.examples:
        print_line("")
        print_wrapped(console, "examples", "bold")
        for example in tool.examples:
            # Never broken into lines, so that it can be copied.
            print_line(f"  {summary(json_text(example.input), _MOST_OF_EXAMPLE)}")
            if example.result is not None:
                print_line(f"    → {summary(json_text(example.result), _MOST_OF_EXAMPLE)}")


def _rows(console: Console | None, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
    if console is None:
        print_columns([[f"  {first}", *others] for first, *others in rows])
    else:
        print_grid(console, columns, rows, indent=2)


def _facts(entry: Entry, standing: Standing) -> list[tuple[str, str]]:
    tool = entry.tool
    facts = (
        ("category", visible(tool.category)),
        ("version", _versions(entry)),
        ("tags", ", ".join(map(visible, tool.tags))),
        ("aliases", ", ".join(map(visible, tool.aliases))),
        ("related", ", ".join(map(visible, tool.related))),
        ("instead", visible(tool.superseded_by or "")),
        ("sunset", tool.sunset.isoformat() if tool.sunset else ""),
        ("owner", visible(tool.owner)),
        ("effect", _effect(entry)),
        ("runs", _runs(entry)),
        ("needs", _needs(entry)),
        *(("missing", visible(f"{lack.name}: {lack.remedy}")) for lack in standing.missing),
        ("used", used(standing)),
        ("trust", "" if entry.trusted else "not approved: it cannot run yet; see `tooldisco trust`"),
        ("from", f"{entry.source.layer.kind}: {visible(entry.source.path)}:{entry.source.line}"),
    )
    return [(name, text) for name, text in facts if text]


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
