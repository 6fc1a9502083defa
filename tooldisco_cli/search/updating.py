"""A kept index brought up to date when only what some tools say has changed, without reading the others.

Beside the engine's files a generation has a record, ``manifests.json``: every manifest's line of the footprint, and
for each manifest whose tools are plain what they were called. A tool is plain when one declaration of a trusted layer
is all that has its name, and no other tool has one of its names, aliases or spellings. When the same plain tools
stand in a changed manifest, nothing but their own documents differs in the whole index, so those are replaced in a
copy (links) of the generation. Whatever else changed, such as a name, a version, a fault, or a file that is new or
gone, is not for here: the caller builds anew.

The engine counts words of replaced documents until it is built anew, so after ``MOST_UPDATES`` that is done.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tooldisco_cli.catalog.footprint import manifests_of
from tooldisco_cli.search import engine
from tooldisco_cli.search.names import name_keys, tool_named, tools_with_key

if TYPE_CHECKING:
    from tantivy import Searcher

    from tooldisco_cli.catalog.snapshot import Catalog, Entry
    from tooldisco_cli.catalog.tool import Tool

RECORD = "manifests.json"
MOST_UPDATES = 40
MOST_FILES = 20
"""How many changed manifests are taken in so; more of them come with a new version of a catalog, mostly."""
_WRITTEN_ANEW = ("meta.json", ".managed.json")
"""The engine's files that a change replaces; all others are never written again."""


def record_of(catalog: Catalog, rows: Sequence[str]) -> dict[str, Any]:
    """Return the record of an index of ``catalog`` whose manifests look as ``rows`` (of a footprint)."""
    from tooldisco_cli.search.documents import alone_with_keys

    faulty = {problem.path for problem in catalog.problems}
    plain: dict[str, list[Any]] = {}
    for entry in alone_with_keys(catalog.entries):
        layer = entry.source.layer
        single = len(catalog.by_name[entry.name]) == 1
        if single and entry.trusted and layer.kind not in {"project", "code"} and entry.source.path not in faulty:
            known = plain.setdefault(entry.source.path, [layer.kind, layer.path, []])
            known[2].append(_identity(entry.tool))
    return {"rows": list(rows), "plain": plain, "updates": 0}


def write_record(folder: Path, record: Mapping[str, Any]) -> None:
    """Put a record beside the engine's files. Raises OSError."""
    (folder / RECORD).write_bytes(json.dumps(record, ensure_ascii=True).encode("ascii"))


def read_record(folder: Path) -> dict[str, Any] | None:
    """Return the record of a generation, or None where there is none that can be read."""
    try:
        record = json.loads((folder / RECORD).read_bytes())
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) and {"rows", "plain", "updates"} <= record.keys() else None


def changed_tools(record: Mapping[str, Any], rows: Sequence[str]) -> list[Entry] | None:
    """Return the tools of the manifests that differ, as they are now; None when more than what tools say differs."""
    from tooldisco_cli.catalog.layers import LoadedLayer, read_manifest
    from tooldisco_cli.catalog.loading import assemble
    from tooldisco_cli.catalog.tool import Layer

    before, after = set(record["rows"]), set(rows)
    gone, come = manifests_of(before - after), manifests_of(after - before)
    if gone is None or come is None or gone != come or record["updates"] >= MOST_UPDATES or len(come) > MOST_FILES:
        return None
    found: list[Entry] = []
    for path in sorted(come):
        if path not in record["plain"]:
            return None
        kind, folder, known = record["plain"][path]
        catalog = assemble([LoadedLayer(Layer(kind, folder), (read_manifest(path),))])
        if catalog.problems or sorted(known) != sorted(_identity(entry.tool) for entry in catalog):
            return None
        found += catalog
    return found


def _identity(tool: Tool) -> list[Any]:
    """Return what of a tool concerns others: what calls it, and which version it is."""
    return [tool.name, tool.version, list(tool.aliases), list(tool.deprecated_versions)]


def updated(old: Path, new: Path, entries: Sequence[Entry]) -> Searcher | None:
    """Make in the empty folder ``new`` the index of ``old`` with the documents of some tools replaced.

    None when a tool cannot be found for sure. Raises IndexBroken, and OSError when the files cannot be had.
    """
    from tooldisco_cli.search.documents import own_keys, tool_document

    searcher = engine.load(old)
    names = _Names(searcher)
    documents: dict[str, Mapping[str, Any]] = {}
    for entry in entries:
        place = names.place(entry.name)
        if place is None:
            return None
        keys = own_keys(entry)
        documents[keys[0]] = tool_document(entry, place // 2, names, keys)
    words = {word for document in documents.values() for word in document["text"].split(" ")}
    fresh = sorted(word for word in words if word and not searcher.doc_freq("text", word))
    bridge = " ".join(_bridged(searcher, fresh))
    for path in old.iterdir():
        if path.name in _WRITTEN_ANEW:
            shutil.copyfile(path, new / path.name)
        elif path.name != RECORD and not path.name.endswith(".lock"):
            _link(path, new / path.name)
    return engine.replace(new, documents, [{"bridge": bridge}] if bridge else [])


class _Names:
    """The names of an index's tools, as a container; a tool is looked up without reading the others."""

    def __init__(self, searcher: Searcher) -> None:
        self._searcher = searcher

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and tool_named(self._searcher, name) is not None

    def place(self, name: str) -> int | None:
        """Return the place of the one tool with the key of this name, or None."""
        address = tool_named(self._searcher, name)
        if address is None or len(tools_with_key(self._searcher, next(name_keys(name)))) != 1:
            return None
        return engine.places(self._searcher, [address])[0]


def _bridged(searcher: Searcher, fresh: Sequence[str]) -> Iterator[str]:
    """Yield the terms of the term table that words new to an index bring with them."""
    from tooldisco_cli.search.bridge import bridge_terms, table_lines_with

    lines = table_lines_with(fresh)
    if not lines:
        return
    # A translation of several words counts when the index has each, so all words of these lines are looked up.
    known = {word for line in lines for word in _words_of(line)}
    counts = Counter({word: searcher.doc_freq("text", word) for word in known} | dict.fromkeys(fresh, 1))
    yield from bridge_terms({word: count for word, count in counts.items() if count}, lines)


def _words_of(line: str) -> Iterator[str]:
    word, _, terms = line.split("\t")
    yield word
    for term in terms.split("|"):
        yield term.removeprefix("=")
        yield from term.removeprefix("=").split("_")


def _link(path: Path, to: Path) -> None:
    try:
        to.hardlink_to(path)
    except OSError:
        shutil.copyfile(path, to)
