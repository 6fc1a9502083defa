"""One query put to one index: what it means, which tools it names, and what matches in which order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from tantivy import Occur, Query

from tooldisco_cli.search import engine
from tooldisco_cli.search.intents import cover
from tooldisco_cli.search.names import named_tools
from tooldisco_cli.search.query import BIGRAM, Concept, QueryAnalyzer, Vocabulary
from tooldisco_cli.search.ranking import SATURATION, any_of, concept_query, filters
from tooldisco_cli.search.weights import Weights

if TYPE_CHECKING:
    from tantivy import DocAddress, Searcher

NAMED = 1.0
BEST_UNNAMED = 0.99
TYPICAL_SATURATION = 0.75
"""How much of a word's highest BM25 score a tool has that is really about it."""
CANDIDATES = 30
"""How many of the best tools of the whole query, and of each sentence, may answer a sentence."""
UNKNOWN = 0.3
"""How much a word that the index does not know counts against every tool; names and values are often such words."""
TRANSLATED = 0.75
"""How often a right tool uses one of the translations that the term table knows, beside a word as it was asked."""
STEEPNESS = 1.5
"""Turns a part of what is attainable into relevance: half of it is .53, all of it .78, and more comes nearer to 1."""
FLOOR = 0.3
"""Below this relevance of the best match, nothing fits: see ``benchmarks/retrieval.py --floor``."""
_HIDDEN_LOOKED_AT = 1_000


class Match(NamedTuple):
    """A tool that a query found: its place in the catalog by name, its score, and its relevance from 0 to 1."""

    place: int
    address: DocAddress
    score: float
    relevance: float


class Matches(NamedTuple):
    """What a query found, best first: at least as many as were asked for, if there are; ``total`` counts all."""

    best: tuple[Match, ...] = ()
    total: int = 0

    @property
    def fits(self) -> bool:
        """Whether anything fits: the best match is not below the floor."""
        return bool(self.best) and self.best[0].relevance >= FLOOR


class Asked:
    """A query and an index; the work is done once and shared by everything that an answer needs."""

    def __init__(self, searcher: Searcher, weights: Weights, query: str) -> None:
        self._searcher = searcher
        self._weights = weights
        self.analyzer = QueryAnalyzer(Vocabulary(searcher), weights)
        self._everything = self.analyzer.concepts(query)
        self.concepts: list[Concept] = [concept for concept in self._everything if concept.forms]
        self._queries: dict[str, Query] = {}
        named = named_tools(searcher, query)
        self._named = dict(zip(engine.places(searcher, named), named, strict=True))

    def matches(self, conditions: Sequence[Query], limit: int) -> Matches:
        """Return the named tools, then the others by what they add to an answer; all meet the conditions."""
        must = self._must(conditions)
        named = [
            Match(place, address, float("inf"), NAMED)
            for place, address in self._named.items()
            if not must or self._passes(place, must)
        ]
        if not self.concepts:
            return Matches(tuple(named), len(named))
        scored, total = self._ranked(self.concepts, must, limit + len(named))
        also_named = sum(place in self._named for place, _, _ in scored)
        others = [item for item in scored if item[0] not in self._named]
        return Matches((*named, *self._ordered(others, must, limit)), total + len(named) - also_named)

    def hidden(self, categories: Sequence[str], tags: Sequence[str], shown: Sequence[Match]) -> dict[str, int]:
        """Return how many matches, at least as good as the least of ``shown``, each kind of filter hid."""
        lowest = min((match.score for match in shown), default=-math.log(1.0 - FLOOR) / STEEPNESS * self._attainable)
        everything = self._at_least(lowest, ())
        in_category = self._at_least(lowest, filters(categories, ()))
        passing = self._at_least(lowest, filters(categories, tags))
        found = {"category": everything - in_category, "tag": in_category - passing}
        return {kind: count for kind, count in found.items() if count > 0}

    def _at_least(self, lowest: float, conditions: Sequence[Query]) -> int:
        must = self._must(conditions)
        named = [place for place in self._named if not must or self._passes(place, must)]
        if not self.concepts:
            return len(named)
        scored, _ = self._ranked(self.concepts, must, _HIDDEN_LOOKED_AT)
        return len(named) + sum(score >= lowest and place not in self._named for place, _, score in scored)

    def _query(self, concept: Concept) -> Query:
        """The engine query of a concept, made once for the whole query and its sentence."""
        query = self._queries.get(concept.word)
        if query is None:
            query = self._queries[concept.word] = concept_query(concept, self.analyzer)
        return query

    def _must(self, conditions: Iterable[Query]) -> list[tuple[Any, Query]]:
        return [(Occur.Must, condition) for condition in conditions]

    def _passes(self, place: int, must: Sequence[tuple[Any, Query]]) -> bool:
        address = self._named[place]
        for _, condition in must:
            try:
                condition.explain(self._searcher, address)
            except ValueError:  # the engine's way to say that a document does not match
                return False
        return True

    def _ranked(
        self, concepts: Sequence[Concept], must: Sequence[tuple[Any, Query]], limit: int, *, count: bool = True
    ) -> tuple[list[tuple[int, DocAddress, float]], int]:
        """Return (place, address, score) of the best, by score and then by name, and how many match."""
        query = any_of([self._query(concept) for concept in concepts])
        if must:
            query = Query.boolean_query([(Occur.Must, query), *must])
        scored, total = engine.ranked(self._searcher, query, limit, count=count)
        order = engine.places(self._searcher, [address for _, address in scored])
        safer = 1.0 + self._weights.read_only
        found = [
            (place, address, score if place % 2 else score * safer)
            for place, (score, address) in zip(order, scored, strict=True)
        ]
        return sorted(found, key=lambda item: (-item[2], item[0])), total

    def _ordered(
        self, scored: Sequence[tuple[int, DocAddress, float]], must: Sequence[tuple[Any, Query]], limit: int
    ) -> list[Match]:
        """Return matches in the order of an answer: with several sentences, each gets its tool early."""
        matches = {
            place: Match(place, address, score, self._relevance(score, self._attainable))
            for place, address, score in scored
        }
        clauses = self._clauses
        if len(clauses) > 1:
            rows: dict[int, list[float]] = {item[0]: [0.0] * len(clauses) for item in scored[:CANDIDATES]}
            for number, (concepts, attainable) in enumerate(clauses):
                for place, address, score in self._ranked(concepts, must, CANDIDATES, count=False)[0][:CANDIDATES]:
                    if place in self._named:
                        continue
                    rows.setdefault(place, [0.0] * len(clauses))[number] = score
                    relevance = self._relevance(score, attainable)
                    known = matches.get(place)
                    if known is None or known.relevance < relevance:
                        matches[place] = Match(place, address, known.score if known else score, relevance)
            chosen = cover(rows, min(max(limit, 1), CANDIDATES), self._weights.covered)
            matches = {place: matches[place] for place in [*chosen, *(p for p in matches if p not in set(chosen))]}
        return _descending(matches.values())

    @cached_property
    def _clauses(self) -> list[tuple[list[Concept], float]]:
        """The known concepts of each sentence that has any, and what a tool could reach for it.

        A short sentence such as "Please help me" must not make every tool relevant, so none counts for less than
        the average one.
        """
        clauses: dict[int, list[Concept]] = {}
        for concept in self._everything:
            clauses.setdefault(concept.clause, []).append(concept)
        reach = [self._reach(concepts) for concepts in clauses.values()]
        average = sum(reach) / len(reach) if reach else 0.0
        known = [[concept for concept in concepts if concept.forms] for concepts in clauses.values()]
        return [(concepts, max(one, average)) for concepts, one in zip(known, reach, strict=True) if concepts]

    @cached_property
    def _attainable(self) -> float:
        return self._reach(self._everything)

    def _reach(self, concepts: Iterable[Concept]) -> float:
        worth = sum(
            concept.weight * concept.rarity * _expected(concept)
            for concept in concepts
            if not concept.word.startswith(BIGRAM)
        )
        return worth * SATURATION * TYPICAL_SATURATION

    def _relevance(self, score: float, attainable: float) -> float:
        return round(min(BEST_UNNAMED, 1.0 - math.exp(-STEEPNESS * score / attainable)), 4) if attainable else 0.0


def _expected(concept: Concept) -> float:
    """Return which part of a concept's worth a tool that is right may be expected to have."""
    if not concept.forms:
        return UNKNOWN
    return max(form.weight * (TRANSLATED if form.kind == "translation" else 1.0) for form in concept.forms)


def _descending(matches: Iterable[Match]) -> list[Match]:
    """Return matches with no relevance above that of the match before: the order of an answer is what it says."""
    found = []
    highest = BEST_UNNAMED
    for match in matches:
        highest = min(highest, match.relevance)
        found.append(Match(match.place, match.address, match.score, highest))
    return found
