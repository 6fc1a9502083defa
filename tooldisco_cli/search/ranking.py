"""From concepts to engine queries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tantivy import Occur, Query

from tooldisco_cli.search import engine
from tooldisco_cli.search.query import Concept, Form, QueryAnalyzer
from tooldisco_cli.search.vocabulary import remember

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
    key = (concept.forms, concept.weight, concept.rarity)
    known = analyzer.queries.get(key)
    return remember(analyzer.queries, key, _concept_query(concept, analyzer)) if known is None else known


def _concept_query(concept: Concept, analyzer: QueryAnalyzer) -> Query:
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
