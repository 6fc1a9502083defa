"""The search index: build it from a catalog, ask it in words, by a name, or with a pattern."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tooldisco_cli.search import engine
from tooldisco_cli.search.answer import Absence, Answer, Contribution, Hit
from tooldisco_cli.search.asking import Asked, Match, Matches
from tooldisco_cli.search.names import named_tools, near_categories, near_names, tool_named
from tooldisco_cli.search.query import QueryAnalyzer
from tooldisco_cli.search.ranking import filters
from tooldisco_cli.search.vocabulary import Vocabulary
from tooldisco_cli.search.weights import DEFAULT, Weights

if TYPE_CHECKING:
    from tantivy import DocAddress, Query, Searcher

    from tooldisco_cli.catalog.parallel import Tell
    from tooldisco_cli.catalog.snapshot import Entry
    from tooldisco_cli.search.documents import Claim
    from tooldisco_cli.search.vectors import Vectors

NEAR = 3
"""How many names are suggested when nothing fits."""


class SearchIndex:
    """All tools of a catalog, ready to be asked; it never changes, and threads may share it."""

    def __init__(
        self,
        searcher: Searcher,
        weights: Weights = DEFAULT,
        vectors: Vectors | None = None,
        used: Mapping[int, float] | None = None,
        analyzer: QueryAnalyzer | None = None,
    ) -> None:
        self._searcher = searcher
        self._vectors = vectors
        self._used = used or {}
        self._analyzer = analyzer or QueryAnalyzer(Vocabulary(searcher), weights)

    @classmethod
    def build(
        cls,
        entries: Iterable[Entry],
        folder: Path | None = None,
        *,
        claims: Sequence[Claim] | None = None,
        weights: Weights = DEFAULT,
        tell: Tell | None = None,
    ) -> SearchIndex:
        """Index the tools of ``entries``, in ``folder`` (which must exist and be empty) or in memory.

        ``claims`` are those of the entries, where they are known (``documents.claims_of``).
        ``tell`` is called now and then with how many tools are indexed, and how many there are.
        Raises IndexBroken when the engine cannot write.
        """
        from tooldisco_cli.catalog.reading import collection_paused
        from tooldisco_cli.search.documents import claims_of, engine_documents

        with collection_paused():
            claims = claims_of(entries) if claims is None else claims
            return cls(engine.write(engine_documents(claims, tell), folder), weights)

    @classmethod
    def open(cls, folder: Path) -> SearchIndex:
        """Open an index that ``build`` left in a folder; raises IndexBroken when it cannot be read."""
        return cls(engine.load(folder))

    def with_meaning(self, vectors: Vectors) -> SearchIndex:
        """Return the same index with hybrid search: by words and by meaning. ``vectors`` must be of this index."""
        return SearchIndex(self._searcher, vectors=vectors, used=self._used, analyzer=self._analyzer)

    def with_usage(self, worths: Mapping[str, float]) -> SearchIndex:
        """Return the same index with what the earlier use of tools is worth, 0 to 1 by name (``usage.habits``).

        It orders hits whose scores are within half a percent of each other, and does nothing else: no tool is found
        or hidden by it. Names that the index does not have are left out. Raises IndexBroken.
        """
        used = {}
        with engine.engine_errors():
            for name, worth in worths.items():
                address = tool_named(self._searcher, name)
                if address is not None:
                    used[engine.places(self._searcher, [address])[0]] = worth
        return SearchIndex(self._searcher, vectors=self._vectors, used=used, analyzer=self._analyzer)

    def documents(self) -> Iterator[tuple[int, DocAddress, dict[str, Any]]]:
        """Yield every tool: its place in the catalog, its address, and what is stored; raises IndexBroken."""
        with engine.engine_errors():
            addresses = engine.everything(self._searcher)
            places = engine.places(self._searcher, addresses)
        for place, address in zip(places, addresses, strict=True):
            with engine.engine_errors():
                document = self._document(address)
            if document:
                yield place, address, document

    def search(
        self,
        query: str,
        *,
        categories: Sequence[str] = (),
        tags: Sequence[str] = (),
        limit: int = 5,
        explain: bool = False,
        explain_tool: str | None = None,
        floor: bool = True,
    ) -> Answer:
        """Return the tools that fit a query best, at most ``limit``.

        Tools that the query calls by name come first, in its order, with a relevance of 1. The others follow by
        score, ties by name. Their relevance, below 1, is ``1 - exp(-1.5 s / a)`` of the score ``s`` and what a tool
        could attain (``a``) that speaks of everything asked for, or of one of several sentences: comparable within
        an answer, and roughly between answers of one index.
        With ``floor``, an answer whose best match is less relevant than ``asking.FLOOR`` is empty: nothing fits.
        One whose best match is below ``asking.CONFIDENT`` is not confident.
        Several ``categories`` mean any of them, several ``tags`` all of them. Raises IndexBroken.
        """
        limit = max(limit, 0)
        with engine.engine_errors():
            asked = Asked(self._searcher, self._analyzer, query, self._vectors, self._used)
            conditions = filters(categories, tags)
            found = asked.matches(conditions, limit)
            below = () if found.fits or not floor else found.best[:NEAR]
            if below:
                found = Matches()
            shown = found.best[:limit]
            hits = tuple(self._found(match, asked, explain=explain) for match in shown)
            answer = Answer(query=query, hits=hits, total=found.total, confident=found.confident)
            if conditions:
                answer = answer._replace(hidden=asked.hidden(categories, tags, shown))
            if not found.total:
                near = [match.address for match in below] or near_names(self._searcher, query, NEAR)
                names = tuple(self._document(address)["name"] for address in near)
                categories_near = tuple(near_categories(self._searcher, query))
                answer = answer._replace(near_names=names, near_categories=categories_near)
            if explain_tool is not None:
                answer = answer._replace(absence=self._absence(explain_tool, asked, conditions, limit))
        return answer

    def search_regex(
        self, pattern: str, *, categories: Sequence[str] = (), tags: Sequence[str] = (), limit: int = 5
    ) -> Answer:
        """Return the tools in whose texts a regular expression matches: in the name first, in parameters last.

        The syntax is that of Rust's regex crate, case-sensitive unless the pattern starts with ``(?i)``; matching
        takes time linear in the texts. Raises UsageError for a wrong pattern or one of more than 200 characters.
        """
        from tooldisco_cli.search import patterns

        matches = patterns.compiled(pattern)
        found: list[tuple[float, str, dict[str, Any]]] = []
        hidden = {"category": 0, "tag": 0}
        for _, _, document in self.documents():
            relevance = patterns.relevance(document, matches)
            if not relevance:
                continue
            if categories and document["category"] not in categories:
                hidden["category"] += 1
            elif not set(tags) <= set(document["tags"]):
                hidden["tag"] += 1
            else:
                found.append((relevance, document["name"], document))
        with engine.engine_errors():
            near = () if found else tuple(near_categories(self._searcher, pattern))
        found.sort(key=lambda item: (-item[0], item[1]))
        return Answer(
            query=pattern,
            hits=tuple(_hit(document, relevance) for relevance, _, document in found[: max(limit, 0)]),
            total=len(found),
            confident=bool(found),
            hidden={kind: count for kind, count in hidden.items() if count},
            near_categories=near,
        )

    def _document(self, address: DocAddress) -> dict[str, Any]:
        raw = engine.stored(self._searcher, address)
        document: dict[str, Any] = json.loads(raw or b"{}")
        return document

    def _found(self, match: Match, asked: Asked, *, explain: bool) -> Hit:
        document = self._document(match.address)
        if not explain:
            return _hit(document, match.relevance)
        why = self._why(asked, match.place, match.address, document)
        use = asked.use_of(match)
        if use > 0.0:
            why = (*why, Contribution("usage", "earlier use", "earlier use", use))
        return _hit(document, match.relevance, why)

    def _why(
        self, asked: Asked, place: int, address: DocAddress, document: Mapping[str, Any]
    ) -> tuple[Contribution, ...]:
        from tooldisco_cli.search.explaining import explained

        why = explained(self._searcher, address, document, asked.concepts, asked.analyzer)
        meant = asked.meaning_of(place)
        if meant <= 0.0:
            return why
        whole = Contribution("meaning", "the whole query", "the whole query", meant)
        return tuple(sorted((*why, whole), key=lambda one: -one.score))

    def _absence(self, name: str, asked: Asked, conditions: Sequence[Query], limit: int) -> Absence | None:
        """Say why a tool is not among the hits; None when it is."""
        addresses = named_tools(self._searcher, name)
        if not addresses:
            return Absence(name, "no tool of this name is in the catalog")
        address = addresses[0]
        document = self._document(address)
        name = document["name"]
        place = engine.places(self._searcher, [address])[0]
        every_tool = self._searcher.num_docs
        matches = asked.matches((), every_tool)
        rank = _rank(matches, place)
        if rank is None:
            apart = "" if self._vectors is None else ", and its meaning is not among the nearest"
            return Absence(name, f"it shares no word with the query, nor a translation of one{apart}")
        why = self._why(asked, place, address, document)
        if conditions:
            matches = asked.matches(conditions, every_tool)
            rank = _rank(matches, place)
            if rank is None:
                where = f"category {document['category']!r}, tags {', '.join(document['tags']) or 'none'}"
                return Absence(name, f"a filter hides it: {where}", None, why)
        if not matches.fits:
            best = matches.best[0].relevance
            reason = f"nothing fits: the best match has a relevance of {best:.2f}, below the floor of {matches.floor}"
            return Absence(name, reason, rank, why)
        if rank <= limit:
            return None
        return Absence(name, f"it matched, at place {rank}, after the limit of {limit}", rank, why)


def _hit(document: Mapping[str, Any], relevance: float, contributions: tuple[Contribution, ...] = ()) -> Hit:
    return Hit(
        name=document["name"],
        title=document["title"],
        description=document["description"],
        category=document["category"],
        tags=tuple(document["tags"]),
        version=document["version"],
        input_schema=document["input_schema"],
        relevance_score=relevance,
        layer=document["layer"],
        path=document["path"],
        line=document["line"],
        trusted=document["trusted"],
        contributions=contributions,
    )


def _rank(matches: Matches, place: int) -> int | None:
    """Return the 1-based rank of the tool at a place of the catalog, or None when it is not among the matches."""
    return next((rank for rank, match in enumerate(matches.best, 1) if match.place == place), None)
