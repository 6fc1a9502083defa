"""The search index: build it from a catalog, ask it in words, by a name, or with a pattern."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tooldisco_cli.catalog.snapshot import Entry
from tooldisco_cli.search import engine
from tooldisco_cli.search.answer import Absence, Answer, Hit
from tooldisco_cli.search.bridge import bridge_terms
from tooldisco_cli.search.documents import (
    COUNTED_ONCE,
    FIELD_WEIGHTS,
    dump,
    field_texts,
    name_keys,
    stored_document,
)
from tooldisco_cli.search.names import named_tools, near_categories, near_names
from tooldisco_cli.search.query import Concept, QueryAnalyzer, Vocabulary
from tooldisco_cli.search.ranking import SATURATION, any_of, explained, filters
from tooldisco_cli.search.segmentation import index_terms
from tooldisco_cli.search.weights import DEFAULT, Weights

if TYPE_CHECKING:
    from tantivy import DocAddress, Query, Searcher

_TYPICAL_SATURATION = 0.75
_HIDDEN_LOOKED_AT = 1_000


class SearchIndex:
    """All tools of a catalog, ready to be asked; it never changes, and threads may share it."""

    def __init__(self, searcher: Searcher, weights: Weights = DEFAULT) -> None:
        self._searcher = searcher
        self._weights = weights

    @classmethod
    def build(
        cls, entries: Iterable[Entry], folder: Path | None = None, *, weights: Weights = DEFAULT
    ) -> SearchIndex:
        """Index the tools of ``entries``, in ``folder`` (which must exist and be empty) or in memory.

        Raises IndexBroken when the engine cannot write.
        """
        return cls(engine.write(_documents(entries), folder), weights)

    @classmethod
    def open(cls, folder: Path) -> SearchIndex:
        """Open an index that ``build`` left in a folder; raises IndexBroken when it cannot be read."""
        return cls(engine.load(folder))

    def search(
        self,
        query: str,
        *,
        categories: Sequence[str] = (),
        tags: Sequence[str] = (),
        limit: int = 5,
        explain: bool = False,
        explain_tool: str | None = None,
    ) -> Answer:
        """Return the tools that fit a query best, at most ``limit``.

        Tools that the query calls by name come first, in its order, with a relevance of 1. The others follow by
        score, ties by name; their relevance is the score's part of what a tool could reach that speaks of everything
        the query asks for (below 1, comparable within an answer, roughly so between answers).
        Several ``categories`` mean any of them, several ``tags`` all of them. Raises IndexBroken.
        """
        with engine.engine_errors():
            asked = _Asked(self._searcher, self._weights, query)
            conditions = filters(categories, tags)
            matches, total = asked.matches(conditions, limit)
            hits = tuple(
                self._hit(address, score, asked, explain=explain) for score, address in matches[: max(limit, 0)]
            )
            answer = Answer(query=query, hits=hits, total=total)
            if conditions:
                lowest = matches[: max(limit, 0)][-1][0] if matches else 0.0
                answer = replace(answer, hidden=asked.hidden(categories, tags, lowest))
            if not hits:
                names = [self._document(address)["name"] for address in near_names(self._searcher, query)]
                near = tuple(near_categories(self._searcher, query))
                answer = replace(answer, near_names=tuple(names), near_categories=near)
            if explain_tool is not None:
                answer = replace(answer, absence=self._absence(explain_tool, asked, conditions, limit))
        return answer

    def _document(self, address: DocAddress) -> dict[str, Any]:
        raw = engine.stored(self._searcher, address)
        document: dict[str, Any] = json.loads(raw or b"{}")
        return document

    def _hit(self, address: DocAddress, score: float, asked: _Asked, *, explain: bool) -> Hit:
        document = self._document(address)
        contributions = (
            explained(self._searcher, address, document, asked.concepts, asked.analyzer) if explain else ()
        )
        return Hit(
            name=document["name"],
            title=document["title"],
            description=document["description"],
            category=document["category"],
            tags=tuple(document["tags"]),
            version=document["version"],
            input_schema=document["input_schema"],
            relevance_score=asked.relevance(score),
            layer=document["layer"],
            path=document["path"],
            line=document["line"],
            contributions=contributions,
        )

    def _absence(self, name: str, asked: _Asked, conditions: Sequence[Query], limit: int) -> Absence | None:
        """Say why a tool is not among the hits; None when it is."""
        addresses = named_tools(self._searcher, name)
        if not addresses:
            return Absence(name, "no tool of this name is in the catalog")
        address = addresses[0]
        document = self._document(address)
        name = document["name"]
        matches, _ = asked.matches((), self._searcher.num_docs)
        rank = next((i for i, (_, found) in enumerate(matches, 1) if _same(found, address)), None)
        if rank is None:
            return Absence(name, "it shares no word with the query, nor a translation of one")
        contributions = explained(self._searcher, address, document, asked.concepts, asked.analyzer)
        if conditions:
            passing, _ = asked.matches(conditions, self._searcher.num_docs)
            rank = next((i for i, (_, found) in enumerate(passing, 1) if _same(found, address)), None)
            if rank is None:
                where = f"category {document['category']!r}, tags {', '.join(document['tags']) or 'none'}"
                return Absence(name, f"a filter hides it: {where}", None, contributions)
        if rank <= limit:
            return None
        return Absence(name, f"it matched, at place {rank}, after the limit of {limit}", rank, contributions)


class _Asked:
    """One query put to one index: its concepts, the tools it names, and what they match."""

    def __init__(self, searcher: Searcher, weights: Weights, query: str) -> None:
        self._searcher = searcher
        self.analyzer = QueryAnalyzer(Vocabulary(searcher), weights)
        self._named = named_tools(searcher, query)
        all_concepts = self.analyzer.concepts(query)
        self.concepts: list[Concept] = [concept for concept in all_concepts if concept.forms]
        self._attainable = (
            sum(concept.weight * self.analyzer.rarity(concept) for concept in all_concepts)
            * SATURATION
            * _TYPICAL_SATURATION
        )

    def relevance(self, score: float) -> float:
        """Return a score as a part of what is attainable, 1 only for named tools."""
        if score == float("inf"):
            return 1.0
        return round(min(0.99, score / self._attainable), 4) if self._attainable else 0.0

    def matches(self, conditions: Sequence[Query], limit: int) -> tuple[list[engine.Scored], int]:
        """Return named tools (scored infinity), then at least the best ``limit`` others; and how many match."""
        from tantivy import Occur, Query

        must = [(Occur.Must, condition) for condition in conditions]
        named = [(float("inf"), address) for address in self._passing(self._named, must)]
        if not self.concepts:
            return named, len(named)
        query = any_of(self.concepts, self.analyzer)
        if must:
            query = Query.boolean_query([(Occur.Must, query), *must])
        scored, total = engine.ranked(self._searcher, query, limit + len(named))
        order = engine.places(self._searcher, [address for _, address in scored])
        by_name = [pair for _, pair in sorted(zip(order, scored, strict=True), key=lambda p: (-p[1][0], p[0]))]
        others = [pair for pair in by_name if not any(_same(pair[1], address) for _, address in named)]
        return [*named, *others], total + len(named) - (len(by_name) - len(others))

    def _passing(self, addresses: Sequence[DocAddress], must: Sequence[Any]) -> list[DocAddress]:
        if not addresses or not must:
            return list(addresses)
        from tantivy import Query

        hits = self._searcher.search(Query.boolean_query(list(must)), self._searcher.num_docs, count=False).hits
        allowed = {(address.segment_ord, address.doc) for _, address in hits}
        return [address for address in addresses if (address.segment_ord, address.doc) in allowed]

    def hidden(self, categories: Sequence[str], tags: Sequence[str], lowest: float) -> dict[str, int]:
        """Return how many matches at least as good as ``lowest`` each kind of filter hid."""
        everything = self._at_least(lowest, ())
        in_category = self._at_least(lowest, filters(categories, ())) if categories else everything
        passing = self._at_least(lowest, filters(categories, tags)) if tags else in_category
        found = {}
        if categories:
            found["category"] = everything - in_category
        if tags:
            found["tag"] = in_category - passing
        return {kind: count for kind, count in found.items() if count > 0}

    def _at_least(self, lowest: float, conditions: Sequence[Query]) -> int:
        matches, _ = self.matches(conditions, _HIDDEN_LOOKED_AT)
        return sum(score >= lowest for score, _ in matches)


def _same(one: DocAddress, other: DocAddress) -> bool:
    return one.doc == other.doc and one.segment_ord == other.segment_ord


def _documents(entries: Iterable[Entry]) -> Iterator[dict[str, Any]]:
    """Yield the engine's document of each tool, by name, then the one that carries the term table."""
    vocabulary: set[str] = set()
    for place, entry in enumerate(sorted(entries, key=lambda entry: entry.name)):
        tool = entry.tool
        document = stored_document(entry)
        words: list[str] = []
        grams: list[str] = []
        for field, texts in field_texts(document).items():
            found, pairs = index_terms("\n".join(texts))
            if field in COUNTED_ONCE:
                found, pairs = list(dict.fromkeys(found)), list(dict.fromkeys(pairs))
            vocabulary.update(found)
            words += found * FIELD_WEIGHTS[field]
            grams += pairs * FIELD_WEIGHTS[field]
        keys = dict.fromkeys(key for name in (tool.name, *tool.aliases) for key in name_keys(name))
        yield {
            "text": " ".join(words),
            "grams": " ".join(grams),
            "names": " ".join(keys),
            "category": tool.category.encode("utf-8", "replace").decode(),
            "tag": [tag.encode("utf-8", "replace").decode() for tag in tool.tags],
            "place": place,
            "document": dump(document),
        }
    yield {"bridge": " ".join(bridge_terms(vocabulary))}
