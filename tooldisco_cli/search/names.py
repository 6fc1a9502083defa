"""Tools that a query calls by name: they come first, whatever the words in their descriptions.

A name counts as called when the query is that name, when it is written like an identifier inside a sentence
(``send_email``, ``sendEmail``, ``twilio:sendSms``), or when the query is a list of names and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tooldisco_cli.catalog.naming import normalised_name
from tooldisco_cli.search import engine
from tooldisco_cli.search.folding import fold
from tooldisco_cli.search.stopwords import STOP_WORDS_EN

if TYPE_CHECKING:
    from tantivy import DocAddress, Searcher

MAX_NAMED_QUERY = 2_000
"""Characters of a query in which names are looked for."""
_MAX_NAMED = 50
_LONGEST_NAME = 8
_LIST = r"[,，、;；\n|]+|\s(?:and|or)\s|[和与及或]|\s&\s"
_IDENTIFIER = r"(?<![\w])[A-Za-z0-9]+(?:[_.:/\-]+[A-Za-z0-9]+)+|[A-Za-z0-9]*[a-z0-9][A-Z][A-Za-z0-9]*"
_JOINTS = "_.:/-"


def name_keys(name: str) -> Iterator[str]:
    """Yield the forms under which a name or alias is found: as written (after folding), and normalised.

    Spaces become ``\\x1f``, because the engine's name field is cut at white space.
    """
    written = fold(name).strip()
    if written:
        yield "=" + "\x1f".join(written.split())
    normalised = normalised_name(written)
    if normalised:
        yield normalised


def exact_key(name: str) -> str:
    """Return the key of the one tool that has exactly this name, whatever others have it as an alias or spelling."""
    return "!" + "\x1f".join(name.split())


def mention_key(name: str) -> str:
    """Return the key of the tools whose descriptions mention a name, be it a tool's or not."""
    return "@" + name


def named_tools(searcher: Searcher, query: str) -> list[DocAddress]:
    """Return the tools that a query calls by name or alias, in its order; of one name, by the catalog's order."""
    found: dict[tuple[int, int], DocAddress] = {}
    for keys in _called(searcher, fold(query[:MAX_NAMED_QUERY]).strip()):
        for key in keys:
            # The engine still counts the keys of tools that are gone, so it takes the tools to tell.
            called = tools_with_key(searcher, key) if searcher.doc_freq("names", key) else []
            if called:
                for address in called:
                    found.setdefault((address.segment_ord, address.doc), address)
                break
        if len(found) >= _MAX_NAMED:
            break
    return list(found.values())


def tool_named(searcher: Searcher, name: str) -> DocAddress | None:
    """Return the tool of exactly this name, whatever others have it as an alias."""
    return next(iter(tools_with_key(searcher, exact_key(name))), None)


def tools_with_key(searcher: Searcher, key: str) -> list[DocAddress]:
    """Return the tools that a key calls, in the catalog's order."""
    from tantivy import Query

    query = Query.term_query(engine.schema(), "names", key, "basic")
    addresses = [address for _, address in searcher.search(query, _MAX_NAMED, count=False).hits]
    if len(addresses) < 2:
        return addresses
    order = engine.places(searcher, addresses)
    return [addresses[i] for i in sorted(range(len(addresses)), key=order.__getitem__)]


def _called(searcher: Searcher, folded: str) -> Iterator[list[str]]:
    """Yield the keys of each thing in a query that may be a name, the most exact key first."""
    whole = list(name_keys(folded))
    if not whole:
        return
    bare = "_".join(word for word in whole[-1].split("_") if word not in STOP_WORDS_EN)
    if bare and bare != whole[-1] and "_" in bare:
        whole.append(bare)  # "send an email" calls send_email as well
    if any(searcher.doc_freq("names", key) for key in whole):
        yield whole
        return
    parts = [part.strip(" \t'\"`。.?？!！:：") for part in re.split(_LIST, folded)]
    if len(parts) > 1:
        for part in parts:
            yield list(name_keys(part))
    for chunk in folded.split():
        if not chunk.isalnum():
            yield ["=" + chunk.strip("'\"`,，。;；()（）")]
    if folded != folded.lower() or any(joint in folded for joint in _JOINTS):
        for match in re.finditer(_IDENTIFIER, folded, re.ASCII):
            yield list(name_keys(match.group()))
    yield from _tiled(searcher, folded)


def _tiled(searcher: Searcher, folded: str) -> list[list[str]]:
    """Return the keys of the names that a query consists of entirely, such as ``send email query mysql``."""
    words = [word for word in normalised_name(folded).split("_") if word]
    keys = []
    first = 0
    while first < len(words):
        for last in range(min(len(words), first + _LONGEST_NAME), first, -1):
            key = "_".join(words[first:last])
            if searcher.doc_freq("names", key):
                keys.append([key])
                first = last
                break
        else:
            return []
    return keys


def near_names(searcher: Searcher, query: str, limit: int = 3) -> list[DocAddress]:
    """Return the tools whose names are most like a query that found nothing, most alike first."""
    wanted = normalised_name(fold(query[:200]))
    if not wanted:
        return []
    starts = {wanted[:2]} | {word[:2] for word in wanted.split("_") if len(word) > 2}
    from difflib import get_close_matches

    keys = [key for start in sorted(starts)[:6] for key, _ in searcher.terms_with_prefix("names", start, limit=2000)]
    found: dict[tuple[int, int], DocAddress] = {}
    for key in get_close_matches(wanted, keys, limit, 0.6):
        for address in tools_with_key(searcher, key)[:1]:
            found.setdefault((address.segment_ord, address.doc), address)
    return list(found.values())[:limit]


def near_categories(searcher: Searcher, query: str, limit: int = 5) -> list[str]:
    """Return the categories nearest to a query that found nothing: a like name, a shared word, then the largest."""
    from difflib import get_close_matches

    wanted = fold(query[:60]).lower()
    words = set(normalised_name(wanted).split("_"))
    sizes = sorted(searcher.terms_with_prefix("category", "", limit=1000), key=lambda item: (-item[1], item[0]))
    # Comparing letter by letter takes longer than all of a search, so only the larger categories are compared so.
    alike = set(get_close_matches(wanted, [category.lower() for category, _ in sizes[:40]], limit, 0.6))

    def distance(item: tuple[str, int]) -> tuple[bool, bool]:
        name = item[0].lower()
        return name not in alike, words.isdisjoint(re.split(r"[\W_]+", name))

    return [category for category, _ in sorted(sizes, key=distance)[:limit]]
