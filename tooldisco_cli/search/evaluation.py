"""How good a search is: measures over queries whose right tools are known, and what goes wrong where.

Nothing here knows tooldisco's own index: anything that gives ranked names can be measured, so that scorers are
compared on the same ground.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tooldisco_cli.search.answer import Answer

DEPTH = 10
"""How many hits are looked at."""
MEASURES = ("recall@1", "recall@3", "recall@5", "recall@10", "hit@1", "mrr", "ndcg@10")


class Searches(Protocol):
    """What can be evaluated: the search index, or anything that answers alike."""

    def search(self, query: str, *, limit: int = 5) -> Answer:
        """Return an answer with at most ``limit`` hits."""


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """A query and the names of the tools that are right for it."""

    text: str
    relevant: frozenset[str]
    language: str = ""
    id: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one query found, in order, and every measure of it."""

    query: JudgedQuery
    found: tuple[str, ...]
    measures: Mapping[str, float]
    relevance: float = 0.0
    """The relevance of the first hit."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over queries with its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Confusion:
    """Two tools whose queries find each other first: ``wanted`` was right, ``found`` came first, ``count`` times."""

    wanted: str
    found: str
    count: int
    example: str


@dataclass(frozen=True)
class Evaluation:
    """The outcome of every query, and what can be said of them together."""

    outcomes: tuple[Outcome, ...]
    catalog: tuple[str, ...] = field(default=(), repr=False)
    """The names of all tools, when they are known."""

    def mean(self, measure: str) -> float:
        """Return the mean of a measure over all queries, 0 when there are none."""
        return _mean([outcome.measures[measure] for outcome in self.outcomes])

    def estimate(self, measure: str, *, rounds: int = 1000, seed: int = 0) -> Estimate:
        """Return a measure's mean and its bootstrap interval (Efron 1979, percentiles); same seed, same result."""
        values = [outcome.measures[measure] for outcome in self.outcomes]
        if not values:
            return Estimate(0.0, 0.0, 0.0)
        chance = random.Random(seed)  # noqa: S311  # resampling, not secrets
        means = sorted(_mean(chance.choices(values, k=len(values))) for _ in range(rounds))
        return Estimate(_mean(values), means[int(rounds * 0.025)], means[min(rounds - 1, int(rounds * 0.975))])

    def by_language(self) -> dict[str, Evaluation]:
        """Return one evaluation for each language of the queries."""
        groups: dict[str, list[Outcome]] = defaultdict(list)
        for outcome in self.outcomes:
            groups[outcome.query.language].append(outcome)
        return {language: Evaluation(tuple(group), self.catalog) for language, group in sorted(groups.items())}

    def worst(self, limit: int = 10) -> list[Outcome]:
        """Return the queries that were answered worst: least recall@5 first, then the lowest reciprocal rank."""
        failed = [outcome for outcome in self.outcomes if outcome.measures["recall@5"] < 1.0]
        return sorted(failed, key=lambda o: (o.measures["recall@5"], o.measures["mrr"], o.query.text))[:limit]

    def confusions(self) -> list[Confusion]:
        """Return pairs of tools where one came first for the other's query, the most frequent first.

        Only pairs with a clear culprit: the first hit is wrong, and the query has one right tool.
        """
        pairs: Counter[tuple[str, str]] = Counter()
        examples: dict[tuple[str, str], str] = {}
        for outcome in self.outcomes:
            if len(outcome.query.relevant) == 1 and outcome.found and outcome.found[0] not in outcome.query.relevant:
                pair = (next(iter(outcome.query.relevant)), outcome.found[0])
                pairs[pair] += 1
                examples.setdefault(pair, outcome.query.text)
        ordered = sorted(pairs.items(), key=lambda item: (-item[1], item[0]))
        return [Confusion(wanted, found, count, examples[wanted, found]) for (wanted, found), count in ordered]

    def never_found(self, depth: int = 5) -> list[str]:
        """Return the tools that are right for some query and in the first ``depth`` hits of none of those queries."""
        wanted = {name for outcome in self.outcomes for name in outcome.query.relevant}
        found = {name for outcome in self.outcomes for name in outcome.query.relevant & set(outcome.found[:depth])}
        return sorted(wanted - found)

    def without_query(self) -> list[str]:
        """Return the tools of the catalog that no query asks for."""
        return sorted(set(self.catalog) - {name for outcome in self.outcomes for name in outcome.query.relevant})


def measures(found: Sequence[str], relevant: frozenset[str]) -> dict[str, float]:
    """Return every measure of one ranking; relevance is binary.

    recall@k is the part of the right tools among the first k; hit@1 whether the first is right; mrr the reciprocal
    rank of the first right tool within ten, else 0; ndcg@10 the discounted gain over that of an ideal ranking
    (Järvelin and Kekäläinen, 2002).
    """
    if not relevant:
        raise ValueError("a judged query needs at least one right tool")
    hits = [name in relevant for name in found[:DEPTH]]
    result = {f"recall@{k}": sum(hits[:k]) / len(relevant) for k in (1, 3, 5, 10)}
    result["hit@1"] = float(bool(hits) and hits[0])
    result["mrr"] = next((1.0 / rank for rank, hit in enumerate(hits, 1) if hit), 0.0)
    gain = sum(1.0 / math.log2(rank + 1) for rank, hit in enumerate(hits, 1) if hit)
    ideal = sum(1.0 / math.log2(rank + 1) for rank in range(1, min(len(relevant), DEPTH) + 1))
    result["ndcg@10"] = gain / ideal
    return result


def evaluate(
    index: Searches,
    queries: Iterable[JudgedQuery],
    *,
    catalog: Iterable[str] = (),
    progress: Callable[[int], None] | None = None,
) -> Evaluation:
    """Ask every query and return how well each was answered; ``progress`` is told how many are done."""
    outcomes = []
    for number, query in enumerate(queries, 1):
        hits = index.search(query.text, limit=DEPTH).hits
        found = tuple(hit.name for hit in hits)
        first = hits[0].relevance_score if hits else 0.0
        outcomes.append(Outcome(query, found, measures(found, query.relevant), first))
        if progress is not None:
            progress(number)
    return Evaluation(tuple(outcomes), tuple(catalog))


@dataclass(frozen=True, slots=True)
class FloorPoint:
    """One setting of a floor: queries below it are told that nothing fits."""

    floor: float
    flagged: float
    """The part of queries without a right tool in the catalog that are told so."""
    recall_lost: float
    """Recall@5 that is lost on queries that do have one."""


def floor_curve(
    answerable: Iterable[tuple[float, float]], hopeless: Iterable[float], floors: Iterable[float]
) -> list[FloorPoint]:
    """Return what each floor costs and gives.

    ``answerable`` has the confidence and the recall@5 of queries whose tools are in the catalog, ``hopeless`` the
    confidence of the same queries after their right tools were taken out of it.
    """
    good, bad = list(answerable), list(hopeless)
    return [
        FloorPoint(
            floor,
            _mean([float(confidence < floor) for confidence in bad]),
            _mean(
                [recall for confidence, recall in good if confidence < floor] + [0.0 for c, _ in good if c >= floor]
            ),
        )
        for floor in floors
    ]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0
