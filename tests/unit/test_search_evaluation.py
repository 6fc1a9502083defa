"""Measures of retrieval against values worked out by hand, and the order in which sentences are answered."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooldisco_cli.search.answer import Answer, Hit
from tooldisco_cli.search.evaluation import (
    MEASURES,
    Confusion,
    Evaluation,
    JudgedQuery,
    Outcome,
    evaluate,
    floor_curve,
    measures,
)
from tooldisco_cli.search.intents import clause_borders, clause_of, cover


def hit(name: str, relevance: float = 0.5) -> Hit:
    return Hit(
        name=name, title="", description="", category="", tags=(), version="1.0", input_schema={},
        relevance_score=relevance, layer="user", path="", line=1,
    )  # fmt: skip


class Canned:
    """Answers each query with the names after a colon in it."""

    def search(self, query: str, *, limit: int = 5) -> Answer:
        names = query.partition(":")[2].split()
        return Answer(query=query, hits=tuple(hit(name) for name in names[:limit]))


def test_one_right_tool_at_the_second_place() -> None:
    found = measures(["x", "right", "y"], frozenset({"right"}))
    assert found["recall@1"] == 0.0
    assert found["recall@3"] == found["recall@5"] == found["recall@10"] == 1.0
    assert found["hit@1"] == 0.0
    assert found["mrr"] == 0.5
    assert found["ndcg@10"] == pytest.approx(1 / math.log2(3))


def test_two_right_tools_of_which_one_is_found() -> None:
    found = measures(["right", "x"], frozenset({"right", "missing"}))
    assert found["recall@1"] == found["recall@10"] == 0.5
    assert found["hit@1"] == found["mrr"] == 1.0
    assert found["ndcg@10"] == pytest.approx(1 / (1 + 1 / math.log2(3)))


def test_what_comes_after_the_tenth_place_does_not_count() -> None:
    found = measures([f"x{n}" for n in range(10)] + ["right"], frozenset({"right"}))
    assert set(found.values()) == {0.0}
    assert set(found) == set(MEASURES)


def test_a_query_without_right_tools_cannot_be_judged() -> None:
    with pytest.raises(ValueError, match="at least one"):
        measures(["x"], frozenset())


@given(st.lists(st.sampled_from("abcdefghij"), unique=True), st.frozensets(st.sampled_from("abcdefghij"), min_size=1))
def test_every_measure_is_between_zero_and_one_and_recall_grows_with_depth(
    found: list[str], relevant: frozenset[str]
) -> None:
    values = measures(found, relevant)
    assert all(0.0 <= value <= 1.0 + 1e-9 for value in values.values())
    assert values["recall@1"] <= values["recall@3"] <= values["recall@5"] <= values["recall@10"]


def judged(text: str, *relevant: str, language: str = "en") -> JudgedQuery:
    return JudgedQuery(text, frozenset(relevant), language)


def test_an_evaluation_has_means_languages_worst_queries_and_confusions() -> None:
    queries = [
        judged("one: a b", "a"),
        judged("two: a b", "b", language="zh"),
        judged("three: a", "b", language="zh"),
        judged("four:", "c"),
    ]
    seen: list[int] = []
    result = evaluate(Canned(), queries, catalog=["a", "b", "c", "d"], progress=seen.append)
    assert seen == [1, 2, 3, 4]
    assert result.mean("hit@1") == 0.25
    assert result.by_language()["zh"].mean("recall@5") == 0.5
    assert [outcome.query.text for outcome in result.worst()] == ["four:", "three: a"]
    assert result.confusions() == [Confusion("b", "a", 2, "two: a b")]
    assert result.never_found() == ["c"]
    assert result.without_query() == ["d"]


def test_an_interval_contains_its_mean_and_is_the_same_every_time() -> None:
    outcomes = tuple(Outcome(judged(str(n), "x"), (), {"mrr": float(n % 2)}) for n in range(100))
    one, other = Evaluation(outcomes).estimate("mrr"), Evaluation(outcomes).estimate("mrr")
    assert one == other
    assert one.low < one.mean == 0.5 < one.high
    assert one.low > 0.3
    assert Evaluation(()).estimate("mrr").mean == 0.0


def test_a_floor_is_weighed_by_what_it_flags_and_what_it_loses() -> None:
    low, high = floor_curve([(0.2, 1.0), (0.6, 1.0), (0.9, 0.5), (0.8, 1.0)], [0.1, 0.3, 0.7, 0.3], [0.15, 0.5])
    assert (low.flagged, low.recall_lost) == (0.25, 0.0)
    assert (high.flagged, high.recall_lost) == (0.75, 0.25)


@pytest.mark.parametrize(
    ("query", "clauses"),
    [
        ("Check stock. Then send mail", 2),
        ("查询天气，然后发送邮件", 2),
        ("one; two; three", 3),
        ("version 1.5 of a.b", 1),
        ("no border here", 1),
    ],
)
def test_sentences_are_told_apart(query: str, clauses: int) -> None:
    borders = clause_borders(query)
    assert len({clause_of(borders, at) for at, char in enumerate(query) if char.isalnum()}) == clauses


def test_after_the_best_sum_comes_what_answers_the_sentence_left_open() -> None:
    scores = {1: [9.0, 0.0], 2: [8.0, 0.0], 3: [0.0, 5.0]}
    assert cover(scores, 3, covered=0.0) == [1, 2, 3]
    assert cover(scores, 3, covered=1.0) == [1, 3, 2]
    assert cover(scores, 1, covered=1.0) == [1]
    assert cover({}, 3, covered=0.4) == []


@given(
    st.dictionaries(st.integers(0, 20), st.lists(st.floats(0, 50), min_size=3, max_size=3)),
    st.integers(0, 25),
    st.floats(0, 1),
)
def test_a_cover_is_a_prefix_of_a_longer_one_and_begins_with_the_best_sum(
    scores: dict[int, list[float]], wanted: int, covered: float
) -> None:
    order = cover(scores, wanted, covered)
    assert order == cover(scores, 100, covered)[:wanted]
    assert len(set(order)) == len(order) == min(wanted, len(scores))
    if order:
        assert sum(scores[order[0]]) == max(sum(row) for row in scores.values())
