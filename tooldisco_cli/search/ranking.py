"""From concepts to engine queries, and from a score back to what each word in each field added to it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tantivy import Occur, Query

from tooldisco_cli.search import engine
from tooldisco_cli.search.answer import Contribution
from tooldisco_cli.search.documents import COUNTED_ONCE, FIELD_WEIGHTS, field_texts
from tooldisco_cli.search.query import Concept, Form, QueryAnalyzer
from tooldisco_cli.search.words import latin_terms

if TYPE_CHECKING:
    from tantivy import DocAddress, Searcher

SATURATION = 2.2
"""The engine's k1 + 1: what BM25 multiplies a word's rarity by when a document is full of it."""


def form_query(form: Form, boost: float) -> Query:
    """Return the engine query of one form of a concept."""
    schema = engine.schema()
    terms = [Query.term_query(schema, form.field, term, "freq") for term in form.terms]
    if len(terms) == 1:
        return Query.boost_query(terms[0], boost)
    together = Query.boolean_query([(Occur.Must, term) for term in terms])
    return Query.boost_query(together, boost / len(terms))


def boosts(concept: Concept, analyzer: QueryAnalyzer) -> list[float]:
    """Return each form's boost.

    The forms of a concept share the rarity of the most frequent one, as in Pirkola's structured queries ("The effects
    of query structure and dictionary setups in dictionary-based cross-language information retrieval", 1998): a
    rare wrong translation must not outweigh the right one because it is rare.
    """
    worth = concept.weight
    if len(concept.forms) == 1:
        return [worth * concept.forms[0].weight]
    shared, share = concept.rarity, analyzer.weights.shared_rarity
    idf = analyzer.vocabulary.idf
    return [worth * form.weight * (shared / (idf(form.doc_freq) or 1.0)) ** share for form in concept.forms]


def concept_query(concept: Concept, analyzer: QueryAnalyzer) -> Query:
    """Return the engine query of a concept: its best form counts."""
    queries = [form_query(form, boost) for form, boost in zip(concept.forms, boosts(concept, analyzer), strict=True)]
    return queries[0] if len(queries) == 1 else Query.disjunction_max_query(queries, analyzer.weights.tie or None)


def any_of(queries: Iterable[Query]) -> Query:
    """Return the query of all concepts, each adding to the score."""
    return Query.boolean_query([(Occur.Should, query) for query in queries])


def filters(categories: Sequence[str], tags: Sequence[str]) -> list[Query]:
    """Return the conditions of a search: one of the categories, and every tag; they add nothing to a score."""
    schema = engine.schema()
    found = []
    if categories:
        found.append(Query.term_set_query(schema, "category", [engine.utf8(name) for name in categories]))
    found.extend(Query.term_query(schema, "tag", engine.utf8(tag), "basic") for tag in tags)
    return [Query.const_score_query(condition, 0.0) for condition in found]


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
