"""``tooldisco eval`` and searching with patterns."""

from __future__ import annotations

import json

import jsonschema
import pytest
from test_cli_search import schema_of

ROWS = [
    {"name": "mail.send", "description": "Send an e-mail 发送邮件", "input_schema": {"type": "object"}},
    {"name": "mail/read", "description": "Read e-mails 读取邮件", "input_schema": {"type": "object"}},
    {"name": "boil egg", "description": "Boil an egg 煮鸡蛋", "input_schema": {"type": "object"}},
]
QUERIES = [
    {"query": "发送邮件", "relevant": ["mail.send"], "lang": "zh", "id": "1"},
    {"query": "boil an egg", "relevant": ["boil egg"], "lang": "en", "id": "2"},
    {"query": "read e-mails", "relevant": ["boil egg"], "lang": "en", "id": "3"},
    {"query": "nowhere", "relevant": ["gone"], "lang": "en", "id": "4"},
]


@pytest.fixture
def files(work):
    (work / "catalog.jsonl").write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in ROWS), "utf-8")
    (work / "queries.jsonl").write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in QUERIES), "utf-8")
    return "--catalog", "catalog.jsonl", "--queries", "queries.jsonl"


def test_measures_a_catalog_of_opaque_names(tooldisco, files):
    ran = tooldisco("eval", *files, "--json")
    assert ran.code == 0
    jsonschema.validate(ran.json, schema_of("eval-1"))
    assert (ran.json["tools"], ran.json["queries"]) == (3, 3)
    assert ran.json["measures"]["recall@1"]["mean"] == pytest.approx(2 / 3, abs=1e-3)
    assert ran.json["languages"]["zh"]["measures"]["mrr"]["mean"] == 1.0
    assert [row["id"] for row in ran.json["worst"]] == ["3"]
    assert any("gone" in note for note in ran.json["notes"])


def test_a_gate_that_is_missed_exits_1_and_says_by_how_much(tooldisco, files):
    assert tooldisco("eval", *files, "--fail-under", "recall@10=0.5").code == 0
    ran = tooldisco("eval", *files, "--fail-under", "recall@1=0.9", "--fail-under", "mrr=0.1")
    assert ran.code == 1
    assert "recall@1 is 0.667, below 0.9" in ran.err
    assert "mrr" not in ran.err
    for gate in ("recall@2=0.5", "recall@1", "recall@1=2", "recall@1=x"):
        assert tooldisco("eval", *files, "--fail-under", gate).code == 2


def test_the_shipped_catalog_is_measured_by_its_own_queries(tooldisco):
    ran = tooldisco("eval", "--json", "--fail-under", "recall@1=0.90", "--fail-under", "recall@5=0.98")
    assert ran.code == 0
    for language in ("zh", "en"):
        measures = ran.json["languages"][language]["measures"]
        assert measures["recall@1"]["mean"] >= 0.90
        assert measures["recall@5"]["mean"] >= 0.98


def test_confusions_name_both_tools(tooldisco, files):
    ran = tooldisco("eval", "confusions", *files, "--json")
    jsonschema.validate(ran.json, schema_of("confusions-1"))
    [pair] = ran.json["confusions"]
    assert (pair["wanted"], pair["found"], pair["example"]) == ("boil egg", "mail/read", "read e-mails")
    assert ran.json["without_query"] == ["mail/read"]


@pytest.mark.parametrize("line", ["{", "[]", '{"query": 1, "relevant": []}', '{"query": "x"}'])
def test_what_cannot_be_read_is_told_with_its_line(tooldisco, files, work, line):
    with (work / "queries.jsonl").open("a") as file:
        file.write("\n" + line)
    ran = tooldisco("eval", *files)
    assert ran.code == 2
    assert "queries.jsonl:5" in ran.err


def test_no_query_at_all_is_nothing_found(tooldisco, files):
    assert tooldisco("eval", "--catalog", "catalog.jsonl").code == 1
    assert tooldisco("eval", "--catalog", "nowhere.jsonl").code == 2


def test_a_pattern_searches_the_texts_themselves(tooldisco):
    ran = tooldisco("search", "--mode", "regex", "send_(sms|email)", "--json")
    assert ran.code == 0
    assert {"send_sms", "send_email"} <= {hit["name"] for hit in ran.json["results"]}
    jsonschema.validate(ran.json, schema_of("search-1"))


@pytest.mark.parametrize("pattern", ["(", "[z-a]", "x" * 300])
def test_a_wrong_pattern_is_wrong_usage(tooldisco, pattern):
    assert tooldisco("search", "--mode", "regex", pattern).code == 2


def test_a_pattern_that_would_take_for_ever_elsewhere(tooldisco):
    assert tooldisco("search", "--mode", "regex", "(a+)+$" * 5).code in {0, 1, 2}


def test_meaning_can_be_measured_as_well(tooldisco, files):
    measured = tooldisco("eval", *files, "--mode", "hybrid", "--json")
    assert measured.code == 0
    assert measured.json["languages"]["zh"]["measures"]["mrr"]["mean"] == 1.0
