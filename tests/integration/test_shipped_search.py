"""People find the shipped tools by their own words, in both languages."""

from __future__ import annotations

import re

import pytest
from shipped import catalog

from tooldisco_cli.search.evaluation import Evaluation, JudgedQuery, evaluate
from tooldisco_cli.search.index import SearchIndex


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    queries = [
        JudgedQuery(text, frozenset([entry.name]), "zh" if re.search(r"[\u4e00-\u9fff]", text) else "en")
        for entry in catalog()
        for text in entry.tool.expected_queries
    ]
    return evaluate(SearchIndex.build(catalog()), queries)


@pytest.mark.parametrize("language", ["zh", "en"])
def test_expected_queries_find_their_tools(language: str, evaluation: Evaluation) -> None:
    found = evaluation.by_language()[language]
    assert len(found.outcomes) > 100
    assert found.mean("recall@1") >= 0.90, [outcome.query.text for outcome in found.worst(20)]
    assert found.mean("recall@5") >= 0.98, [outcome.query.text for outcome in found.worst(20)]


@pytest.mark.parametrize(("query", "tool"), [
    ("发送邮件", "send_email"), ("send email", "send_email"), ("通知客户 手机短信", "send_sms"),
    ("query a database", "query_mysql"), ("excel 表格", "read_excel"), ("bug ticket", "create_jira_ticket"),
])  # fmt: skip
def test_the_obvious_tool_comes_first(query: str, tool: str) -> None:
    [first] = SearchIndex.build(catalog()).search(query, limit=1).hits
    assert first.name == tool
