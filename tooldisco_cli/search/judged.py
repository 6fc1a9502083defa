"""Reads what a search is evaluated on: catalogs and judged queries, as JSON Lines or from manifests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tooldisco_cli.catalog.snapshot import Entry
from tooldisco_cli.catalog.tool import Layer, Source, Tool
from tooldisco_cli.errors import NothingFound, UsageError
from tooldisco_cli.search.evaluation import JudgedQuery

_CHINESE = ("\u3400", "\u9fff")


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """Tools, the queries to ask of them, and what was left out and why."""

    entries: tuple[Entry, ...]
    queries: tuple[JudgedQuery, ...]
    notes: tuple[str, ...] = ()


def language_of(query: str) -> str:
    """Return ``zh`` for a query with a Chinese character, else ``en``."""
    return "zh" if any(_CHINESE[0] <= character <= _CHINESE[1] for character in query) else "en"


def expected_queries(entries: Iterable[Entry]) -> tuple[JudgedQuery, ...]:
    """Return the ``expected_queries`` of a catalog; a query that several tools expect is right with each of them."""
    wanted: dict[str, set[str]] = {}
    for entry in entries:
        for query in entry.tool.expected_queries:
            wanted.setdefault(query, set()).add(entry.name)
    return tuple(
        JudgedQuery(query, frozenset(names), language_of(query), f"expected-{number}")
        for number, (query, names) in enumerate(wanted.items(), 1)
    )


def read_catalog(path: Path) -> tuple[Entry, ...]:
    """Return the tools of a JSON Lines file (name, description, input_schema, maybe category and tags).

    Names are taken as they are, whatever they hold. Raises UsageError with the line of what cannot be read.
    """
    entries = []
    seen: set[str] = set()
    for number, row in _rows(path):
        name = row.get("name")
        if not isinstance(name, str) or not name or name in seen:
            raise UsageError(f"{path}:{number}: {'is a second ' + repr(name) if name in seen else 'has no name'}")
        seen.add(name)
        schema = row.get("input_schema")
        tags = row.get("tags")
        tool = Tool(
            name=name,
            description=str(row.get("description") or ""),
            category=str(row.get("category") or "utility"),
            tags=tuple(str(tag) for tag in tags if tag) if isinstance(tags, list) else (),
            input_schema=schema if isinstance(schema, dict) else {"type": "object"},
        )
        entries.append(Entry(tool=tool, source=Source(Layer("code", str(path)), str(path), number), digest=""))
    if not entries:
        raise NothingFound(f"{path} has no tool")
    return tuple(entries)


def read_queries(path: Path, names: Iterable[str]) -> tuple[tuple[JudgedQuery, ...], tuple[str, ...]]:
    """Return the queries of a JSON Lines file (query, relevant, maybe lang and id), and notes on those left out.

    A right tool that the catalog lacks is dropped, and a query without any other too; both are told.
    Raises UsageError with the line of what cannot be read, NothingFound when no query is left.
    """
    known = set(names)
    queries = []
    missing: list[str] = []
    left_out = 0
    for number, row in _rows(path):
        text, relevant = row.get("query"), row.get("relevant")
        if not isinstance(text, str) or not isinstance(relevant, list):
            raise UsageError(f"{path}:{number}: needs query as text and relevant as a list of names")
        wanted = frozenset(str(name) for name in relevant)
        missing += sorted(wanted - known)
        if not wanted & known:
            left_out += 1
            continue
        language = str(row.get("lang") or language_of(text))
        queries.append(JudgedQuery(text, wanted & known, language, str(row.get("id") or f"line-{number}")))
    notes = []
    if missing:
        shown = ", ".join(list(dict.fromkeys(missing))[:5])
        notes.append(f"{len(missing):,} right tools are not in the catalog, such as {shown}")
    if left_out:
        notes.append(f"{left_out:,} queries have no right tool in the catalog and are left out")
    if not queries:
        raise NothingFound(f"{path} has no query that this catalog could answer", hint="; ".join(notes))
    return tuple(queries), tuple(notes)


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{path}:{number}: is no JSON: {error}") from error
        if not isinstance(row, dict):
            raise UsageError(f"{path}:{number}: is no JSON object")
        yield number, row
