"""From a score back to what each word in each field added to it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tooldisco_cli.search.answer import Contribution
from tooldisco_cli.search.documents import COUNTED_ONCE, FIELD_WEIGHTS, field_texts
from tooldisco_cli.search.query import Concept, Form, QueryAnalyzer
from tooldisco_cli.search.ranking import boosts, form_query
from tooldisco_cli.search.words import latin_terms

if TYPE_CHECKING:
    from tantivy import DocAddress, Query, Searcher


def explained(
    searcher: Searcher,
    address: DocAddress,
    document: Mapping[str, Any],
    concepts: Sequence[Concept],
    analyzer: QueryAnalyzer,
) -> tuple[Contribution, ...]:
    """Return what each concept added to a document's score, by field and term, the largest first.

    The engine ranks one field of all words, so what a term added is shared out over the tool's fields by how often
    each has it, times the field's weight.
    """
    counts = _Occurrences(document)
    found = []
    for concept in concepts:
        best: tuple[float, Form] | None = None
        for form, boost in zip(concept.forms, boosts(concept, analyzer), strict=True):
            value = _score_of(form_query(form, boost), searcher, address)
            if value > 0 and (best is None or value > best[0]):
                best = (value, form)
        if best is None:
            continue
        value, form = best
        for name, share in counts.shares(form).items():
            found.append(Contribution(name, " ".join(form.terms), concept.word.removeprefix("~"), value * share))
    return tuple(sorted(found, key=lambda c: (-c.score, c.field, c.term)))


def _score_of(query: Query, searcher: Searcher, address: DocAddress) -> float:
    try:
        return float(json.loads(query.explain(searcher, address).to_json())["value"])
    except ValueError:  # the engine's way to say that the document does not match
        return 0.0


class _Occurrences:
    """In which fields of a stored document a term occurs, by the light analysis that needs no dictionary."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._folded = {name: "\n".join(texts) for name, texts in field_texts(document).items()}
        self._stems = {name: latin_terms(text) for name, text in self._folded.items()}

    def shares(self, form: Form) -> dict[str, float]:
        """Return each field's part of what a form added; together 1."""
        weights: dict[str, float] = {}
        for name in FIELD_WEIGHTS:
            count = sum(self._count(name, term) for term in form.terms)
            if count:
                weights[name] = FIELD_WEIGHTS[name] * (1 if name in COUNTED_ONCE else count)
        total = sum(weights.values())
        return {name: weight / total for name, weight in weights.items()} if total else {"description": 1.0}

    def _count(self, name: str, term: str) -> int:
        stems = self._stems[name].count(term)
        return stems if stems or term.isascii() else self._folded[name].count(term)
