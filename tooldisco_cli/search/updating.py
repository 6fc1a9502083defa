"""A kept index brought up to date when a part of its catalog changed, without analysing the other tools anew.

Beside the engine's files a generation has a record (``record.py``): the footprint of its manifests, a mark of every
tool's document, and which manifests are plain. In a copy (links) of the generation only the documents of tools that
changed, came or went are replaced. There are two ways to find out which these are:

- :func:`plain_change` reads nothing but the manifests that changed. A manifest is plain when it has no fault, is of a
  trusted layer, and shares none of its tools' names, aliases and spellings with any other declaration: whatever
  becomes of it concerns no other tool, but for those whose descriptions mention one of its names.
- :func:`catalog_change` is for all else: it compares the marks of a catalog that was loaded whole.

The engine counts words of replaced documents until it is built anew, so after many updates that is done.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tooldisco_cli.catalog.footprint import Listing, changed_manifests
from tooldisco_cli.search import engine
from tooldisco_cli.search.names import exact_key, mention_key, tool_named, tools_with_key
from tooldisco_cli.search.record import RECORD, UNTRUSTED, Record, Table, read_alone, write_record

if TYPE_CHECKING:
    from tantivy import DocAddress, Searcher

    from tooldisco_cli.catalog.snapshot import Catalog, Entry
    from tooldisco_cli.search.documents import Claim

MOST_UPDATES = 200
MOST_FILES = 50
"""How many changed manifests are taken in by themselves."""
REPLACED_PART = 5
"""After one document in so many has been replaced, the whole is built anew."""
_MOST_MENTIONING = 50
_WRITTEN_ANEW = ("meta.json", ".managed.json")
"""The engine's files that a change replaces; all others are never written again."""


class Change(NamedTuple):
    """What of an index is to be replaced."""

    gone: frozenset[str]
    """Names of the indexed tools that changed or went."""
    come: tuple[Claim, ...]
    """The tools that changed or came, as they are now, by name."""
    record: Record
    """The record of the index afterwards."""


# --- the record


def record_of(catalog: Catalog, listings: Iterable[Listing], claims: Iterable[Claim]) -> Record:
    """Return the record of an index of ``catalog``, whose tools make ``claims`` and whose manifests ``listings``."""
    tangled = {problem.path for problem in catalog.problems}.union(*catalog.contested.values())
    held: dict[str, list[str]] = {}
    marks: dict[str, str] = {}
    for claim in claims:
        source = claim.entry.source
        held.setdefault(source.path, []).append(claim.entry.name)
        if not claim.alone or source.layer.kind in UNTRUSTED or "\n" in source.path:
            tangled.add(source.path)
        marks[claim.entry.name] = _mark(claim, catalog.by_name)
    return Record(
        tuple(listings),
        tuple((layer.kind, layer.path) for layer in catalog.layers),
        frozenset(catalog.contested),
        Table.of({path: " ".join(names) for path, names in held.items() if path not in tangled}),
        Table.of(marks),
    )


def _mark(claim: Claim, names: Collection[str]) -> str:
    """Return a hash of all that a tool's document is made of."""
    from hashlib import blake2b

    entry, source = claim.entry, claim.entry.source
    parts = [entry.digest, source.layer.kind, source.path, str(source.line), str(entry.trusted), *claim.keys]
    parts += ["", *(name for name in claim.mentions if name in names)]
    return blake2b("\0".join(parts).encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()


# --- what changed


def plain_change(record: Record, listings: tuple[Listing, ...], searcher: Searcher) -> Change | None:
    """Return what differs where manifests look as in ``listings`` now; None where that takes the whole catalog."""
    from tooldisco_cli.search.documents import claims_of

    changed = changed_manifests(record.listings, listings)
    if changed is None:
        return None
    left, found = changed
    if len(left | found) > MOST_FILES or any("\n" in path for path in found):
        return None
    held = _held(record, left)
    come = None if held is None else _plain_tools(found, record)
    if held is None or come is None:
        return None
    toggled = {name for names in held.values() for name in names} ^ {entry.name for entry in come}
    mentioning = _mentioning(searcher, toggled)
    more = None if mentioning is None else _held(record, mentioning - found)
    if mentioning is None or more is None:
        return None
    others = _plain_tools(mentioning - left - found, record)
    if others is None:
        return None
    held |= more
    claims = claims_of(come + others)
    gone = frozenset(name for names in held.values() for name in names)
    if not _stand_alone(claims, gone, record, searcher):
        return None
    counts = _counted(record, len(gone), len(claims))
    return (
        None if counts is None else Change(gone, tuple(claims), _after(record, listings, held, gone, claims, counts))
    )


def _held(record: Record, paths: Iterable[str]) -> dict[str, list[str]] | None:
    """Return the tools that some manifests declared; None when one of them is not plain."""
    held = {}
    for path in paths:
        names = record.plain.get(path)
        if names is None:
            return None
        held[path] = names.split()
    return held


def _after(
    record: Record,
    listings: tuple[Listing, ...],
    left: Iterable[str],
    gone: Collection[str],
    come: Sequence[Claim],
    counts: tuple[int, int],
) -> Record:
    marks = record.marks.changed(dict.fromkeys(gone) | {claim.entry.name: "" for claim in come})
    marks = marks.changed({claim.entry.name: _mark(claim, marks) for claim in come})
    declared: dict[str, list[str]] = {}
    for claim in come:
        declared.setdefault(claim.entry.source.path, []).append(claim.entry.name)
    plain = record.plain.changed(dict.fromkeys(left) | {path: " ".join(names) for path, names in declared.items()})
    updates, replaced = counts
    return record._replace(listings=listings, plain=plain, marks=marks, updates=updates, replaced=replaced)


def catalog_change(record: Record, listings: Iterable[Listing], catalog: Catalog) -> Change | None:
    """Return what differs between an index and a catalog; None where it is so much that building anew is better."""
    from tooldisco_cli.search.documents import claims_of

    claims = claims_of(catalog.entries)
    fresh = record_of(catalog, listings, claims)
    known, marks = dict(record.marks.items()), dict(fresh.marks.items())
    gone = frozenset(name for name, mark in known.items() if marks.get(name) != mark)
    come = tuple(claim for claim in claims if known.get(claim.entry.name) != marks[claim.entry.name])
    counts = _counted(record, len(gone), len(come))
    return None if counts is None else Change(gone, come, fresh._replace(updates=counts[0], replaced=counts[1]))


def _plain_tools(paths: Iterable[str], record: Record) -> list[Entry] | None:
    """Return the tools that some manifests declare now; None when more than their own names depends on one."""
    tools: list[Entry] = []
    for path in sorted(paths):
        catalog = read_alone(path, record)
        if catalog is None or catalog.problems or catalog.notes or catalog.contested:
            return None
        tools += catalog
    return tools


def _mentioning(searcher: Searcher, names: Iterable[str]) -> set[str] | None:
    """Return the manifests of tools whose descriptions mention one of some names; None when there are many."""
    addresses: list[DocAddress] = []
    for name in names:
        if searcher.doc_freq("names", mention_key(name)):
            addresses += tools_with_key(searcher, mention_key(name))
        if len(addresses) >= _MOST_MENTIONING:
            return None
    return {_stored(searcher, address)["path"] for address in addresses}


def _stand_alone(come: Sequence[Claim], gone: Collection[str], record: Record, searcher: Searcher) -> bool:
    """Whether none of the tools that come has a name, alias or spelling in common with another."""
    if not all(claim.alone and claim.entry.name not in record.contested for claim in come):
        return False
    return all(
        _stored(searcher, address)["name"] in gone
        for claim in come
        for key in claim.keys
        if searcher.doc_freq("names", key)
        for address in tools_with_key(searcher, key)
    )


def _counted(record: Record, gone: int, come: int) -> tuple[int, int] | None:
    """Return the counts of the record afterwards; None when it is time to build anew."""
    updates, replaced = record.updates + 1, record.replaced + max(gone, come)
    most = max(MOST_FILES, len(record.marks) // REPLACED_PART)
    return None if updates > MOST_UPDATES or replaced > most else (updates, replaced)


def _stored(searcher: Searcher, address: DocAddress) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(engine.stored(searcher, address) or b"{}")
    return document


# --- the index


def updated(old: Path, new: Path, change: Change, searcher: Searcher) -> Searcher | None:
    """Make in the empty folder ``new`` the index of ``old``, which ``searcher`` has open, with a change taken in.

    None when there is no room for a new tool in the catalog's order. Raises IndexBroken, and OSError when the files
    cannot be had.
    """
    from tooldisco_cli.search.documents import tool_document

    marks = change.record.marks
    places = _places(searcher, change)
    if places is None:
        return None
    documents: list[Mapping[str, Any]] = []
    words: set[str] = set()
    for claim in change.come:
        document = tool_document(claim, places[claim.entry.name], marks)
        words.update(document["text"].split(" "))
        documents.append(document)
    fresh = sorted(word for word in words if word and not searcher.doc_freq("text", word))
    bridge = " ".join(_bridged(searcher, fresh, old.parent.parent))
    for path in old.iterdir():
        if path.name in _WRITTEN_ANEW:
            shutil.copyfile(path, new / path.name)
        elif path.name != RECORD and not path.name.endswith(".lock"):
            _link(path, new / path.name)
    write_record(new, change.record)
    return engine.update(new, map(exact_key, change.gone), [*documents, *([{"bridge": bridge}] if bridge else ())])


def _places(searcher: Searcher, change: Change) -> dict[str, int] | None:
    """Return the place of each tool that comes: its own where it has one, else between those of its neighbours."""
    from tooldisco_cli.search.documents import PLACES_APART

    names = change.record.marks
    places: dict[str, int | None] = {}

    def place(name: str) -> int | None:
        if name not in places:
            address = tool_named(searcher, name)
            places[name] = None if address is None else engine.places(searcher, [address])[0] // 2
        return places[name]

    found: dict[str, int] = {}
    for claim in change.come:
        name = claim.entry.name
        own = place(name)
        if own is not None:
            found[name] = own
            continue
        new = [name]  # the run of tools around it that are all new
        while (lower := names.before(new[0])) is not None and place(lower) is None:
            new.insert(0, lower)
        while (upper := names.after(new[-1])) is not None and place(upper) is None:
            new.append(upper)
        low = place(lower) or 0 if lower else 0
        high = place(upper) if upper else None
        step = PLACES_APART if high is None else (high - low) // (len(new) + 1)
        if step < 1:
            return None
        found[name] = low + step * (new.index(name) + 1)
    return found


def _bridged(searcher: Searcher, fresh: Sequence[str], kept_in: Path) -> Iterator[str]:
    """Yield the terms of the term table that words new to an index bring with them."""
    from tooldisco_cli.search.bridge import bridge_terms, table_lines_with

    lines = table_lines_with(fresh, kept_in)
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
