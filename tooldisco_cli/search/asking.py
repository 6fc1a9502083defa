"""One query put to one index: what it means, which tools it names, and what matches in which order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from tantivy import Occur, Query

from tooldisco_cli.search import engine
from tooldisco_cli.search.intents import cover
from tooldisco_cli.search.names import named_tools
from tooldisco_cli.search.query import BIGRAM, Concept, QueryAnalyzer, clause_texts
from tooldisco_cli.search.ranking import SATURATION, any_of, concept_query, filters

if TYPE_CHECKING:
    from tantivy import DocAddress, Searcher

    from tooldisco_cli.search.vectors import Nearness, Vectors

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
FLOOR, FLOOR_OF_MEANING = 0.27, 0.34
"""Below this relevance of the best match, nothing fits; the latter in hybrid search. Both lose at most one right
answer in a hundred (``benchmarks/retrieval.py --floor``)."""
CONFIDENT, CONFIDENT_OF_MEANING = 0.48, 0.5
"""Below this relevance of the best match an answer is shown, but said to be weak: about half of the queries that no
tool of a catalog answers are below it, and one in ten of the others, more in a mixed catalog."""
DEPTH = 300
"""How many of the best by words, in hybrid search, get what their meaning adds; the tail scores next to nothing."""
UNRELATED = 0.1
"""The cosine of two texts that have nothing to do with each other, with the encoder of the extra."""
TYPICAL_NEARNESS = 0.45
"""How much nearer than that a right tool may be expected to be."""
_HIDDEN_LOOKED_AT = 1_000
_Scored = tuple[int, "DocAddress", float]
"""A place, an address and a score."""


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
    floor: float = FLOOR
    confident_from: float = CONFIDENT

    @property
    def fits(self) -> bool:
        """Whether anything fits: the best match is not below the floor."""
        return bool(self.best) and self.best[0].relevance >= self.floor

    @property
    def confident(self) -> bool:
        """Whether the best match is good enough to expect that it is what was meant."""
        return bool(self.best) and self.best[0].relevance >= self.confident_from


class Asked:
    """A query and an index; the work is done once and shared by everything that an answer needs.

    With ``vectors`` the search is hybrid: a tool's score is what its words attain, plus, in the same units, how near
    it is in meaning. Where words find little, meaning decides; where they find nearly all, it orders what is alike.
    """

    def __init__(
        self,
        searcher: Searcher,
        analyzer: QueryAnalyzer,
        query: str,
        vectors: Vectors | None,
        used: Mapping[int, float],
    ) -> None:
        self._used = used
        self._searcher = searcher
        self._weights = analyzer.weights
        self._text = query
        self._vectors = vectors
        self.analyzer = analyzer
        self._everything = analyzer.concepts(query)
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
            if self._passes(address, must)
        ]
        if not self._askable:
            return Matches(tuple(named), len(named), *self._thresholds)
        scored, total = self._ranked(self.concepts, must, limit + len(named))
        also_named = sum(place in self._named for place, _, _ in scored)
        others = [item for item in scored if item[0] not in self._named]
        best = (*named, *self._ordered(others, must, limit))
        return Matches(best, total + len(named) - also_named, *self._thresholds)

    def hidden(self, categories: Sequence[str], tags: Sequence[str], shown: Sequence[Match]) -> dict[str, int]:
        """Return how many matches, at least as good as the least of ``shown``, each kind of filter hid."""
        at_floor = -math.log(1.0 - self._thresholds[0]) / STEEPNESS * self._attainable * self._expected
        lowest = min((match.score for match in shown), default=at_floor)
        everything = self._at_least(lowest, ())
        in_category = self._at_least(lowest, filters(categories, ()))
        passing = self._at_least(lowest, filters(categories, tags))
        found = {"category": everything - in_category, "tag": in_category - passing}
        return {kind: count for kind, count in found.items() if count > 0}

    def _at_least(self, lowest: float, conditions: Sequence[Query]) -> int:
        must = self._must(conditions)
        named = [place for place, address in self._named.items() if self._passes(address, must)]
        if not self._askable:
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

    def _passes(self, address: DocAddress, must: Sequence[tuple[Any, Query]]) -> bool:
        for _, condition in must:
            try:
                condition.explain(self._searcher, address)
            except ValueError:  # the engine's way to say that a document does not match
                return False
        return True

    def _ranked(
        self,
        concepts: Sequence[Concept],
        must: Sequence[tuple[Any, Query]],
        limit: int,
        *,
        clause: int | None = None,
        count: bool = True,
    ) -> tuple[list[_Scored], int]:
        """Return the best for a clause or for all, by score and then by name, and how many match."""
        found: list[_Scored] = []
        total = 0
        if concepts:
            query = any_of([self._query(concept) for concept in concepts])
            if must:
                query = Query.boolean_query([(Occur.Must, query), *must])
            depth = limit if self._vectors is None else max(limit, DEPTH)
            scored, total = engine.ranked(self._searcher, query, depth, count=count)
            order = engine.places(self._searcher, [address for _, address in scored])
            found = [(place, address, score) for place, (score, address) in zip(order, scored, strict=True)]
        if self._vectors is not None:
            by_words = len(found)
            found = self._with_meaning(found, must, clause)
            total += len(found) - by_words
        safer = 1.0 + self._weights.read_only
        found = [item if item[0] % 2 else (item[0], item[1], item[2] * safer) for item in found]
        return sorted(found, key=lambda item: (-item[2], item[0])), total

    def _with_meaning(
        self, found: Sequence[_Scored], must: Sequence[tuple[Any, Query]], clause: int | None
    ) -> list[_Scored]:
        """Return what words found with what meaning adds to it, and what only meaning finds."""
        near = self._nearness
        worth = self._weights.meaning * (self._attainable if clause is None else self._attainable_by_clause[clause])
        known = {place for place, _, _ in found}
        both = [
            (place, address, score + worth * max(0.0, near.to(place, clause) - UNRELATED))
            for place, address, score in found
        ]
        for place, address in near.nearest(CANDIDATES, clause):
            above = near.to(place, clause) - UNRELATED
            if above > 0.0 and place not in known and self._passes(address, must):
                both.append((place, address, worth * above))
        return both

    def meaning_of(self, place: int) -> float:
        """Return what nearness in meaning to the whole query adds to a tool's score; 0 in a search by words alone."""
        if self._vectors is None:
            return 0.0
        return self._weights.meaning * self._attainable * max(0.0, self._nearness.to(place) - UNRELATED)

    @cached_property
    def _nearness(self) -> Nearness:
        assert self._vectors is not None
        return self._vectors.nearness(clause_texts(self._text))

    @property
    def _thresholds(self) -> tuple[float, float]:
        return (FLOOR, CONFIDENT) if self._vectors is None else (FLOOR_OF_MEANING, CONFIDENT_OF_MEANING)

    @property
    def _askable(self) -> bool:
        return bool(self.concepts) or (self._vectors is not None and self._attainable > 0.0)

    @cached_property
    def _expected(self) -> float:
        """What a right tool may be expected to score, as a part of what is attainable by words.

        Meaning adds to it; and where the index does not know the words of a query, meaning alone must do.
        """
        if self._vectors is None:
            return 1.0
        known = self._reach(self.concepts) / self._attainable if self._attainable else 0.0
        return known + self._weights.meaning * TYPICAL_NEARNESS

    def _ordered(self, scored: Sequence[_Scored], must: Sequence[tuple[Any, Query]], limit: int) -> list[Match]:
        """Return matches in the order of an answer: with several sentences, each gets its tool early."""
        matches = {
            place: Match(place, address, score, self._relevance(score, self._attainable))
            for place, address, score in scored
        }
        clauses = self._clauses
        if len(clauses) > 1:
            rows: dict[int, list[float]] = {item[0]: [0.0] * len(clauses) for item in scored[:CANDIDATES]}
            for number, (clause, concepts, attainable) in enumerate(clauses):
                answers, _ = self._ranked(concepts, must, CANDIDATES, clause=clause, count=False)
                for place, address, score in answers[:CANDIDATES]:
                    if place in self._named:
                        continue
                    rows.setdefault(place, [0.0] * len(clauses))[number] = score
                    relevance = self._relevance(score, attainable)
                    known = matches.get(place)
                    if known is None or known.relevance < relevance:
                        matches[place] = Match(place, address, known.score if known else score, relevance)
            chosen = cover(rows, min(max(limit, 1), CANDIDATES), self._weights.covered)
            matches = {place: matches[place] for place in [*chosen, *(p for p in matches if p not in set(chosen))]}
        elif self._used:
            return self._by_use(matches.values())
        return _descending(matches.values())

    def use_of(self, match: Match) -> float:
        """Return what a tool's earlier use counted for in the order, in the units of its score."""
        if match.relevance >= NAMED or len(self._clauses) > 1:
            return 0.0
        return self._weights.usage * self._used.get(match.place, 0.0) * match.score

    def _by_use(self, matches: Iterable[Match]) -> list[Match]:
        """Order matches of about equal score by earlier use; the relevances, and with them the floor, stay."""
        order = sorted(matches, key=lambda match: (-match.score - self.use_of(match), match.place))
        highest = 0.0
        for number in reversed(range(len(order))):
            highest = max(highest, order[number].relevance)
            order[number] = order[number]._replace(relevance=highest)
        return order

    @cached_property
    def _clauses(self) -> list[tuple[int, list[Concept], float]]:
        """Each sentence that can be asked: its number, its known concepts, and what a tool could reach for it.

        A short sentence such as "Please help me" must not make every tool relevant, so none counts for less than
        the average one.
        """
        found = []
        for clause, attainable in self._attainable_by_clause.items():
            known = [concept for concept in self.concepts if concept.clause == clause]
            if known or (self._vectors is not None and attainable > 0.0):
                found.append((clause, known, attainable))
        return found

    @cached_property
    def _attainable_by_clause(self) -> dict[int, float]:
        clauses: dict[int, list[Concept]] = {}
        for concept in self._everything:
            clauses.setdefault(concept.clause, []).append(concept)
        reach = {clause: self._reach(concepts) for clause, concepts in clauses.items()}
        average = sum(reach.values()) / len(reach) if reach else 0.0
        return {clause: max(one, average) for clause, one in reach.items()}

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
        if not attainable:
            return 0.0
        part = score / (attainable * self._expected)
        return round(min(BEST_UNNAMED, 1.0 - math.exp(-STEEPNESS * part)), 4)


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
