"""What a model's calls to the meta tools are answered with."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tooldisco_cli import Toolbox
from tooldisco_cli.execution.pipeline import Workbench
from tooldisco_cli.meta.answering import MetaTools, Reply
from tooldisco_cli.meta.definitions import SEARCH
from tooldisco_cli.search.index import SearchIndex
from tooldisco_cli.settings import Settings


@pytest.fixture
def meta(tmp_path: Path) -> MetaTools:
    box = Toolbox(
        manifests=False, settings=Settings(), environment={"TOOLDISCO_HOME": str(tmp_path)}, folder=tmp_path
    )

    @box.tool(category="communication", read_only=True)
    def send_mail(to: str) -> str:
        """Deliver a letter. 发送邮件。"""
        return to

    @box.tool(category="data", read_only=True)
    def list_orders(customer: str) -> str:
        """Show what was bought; see send_mail."""
        return customer

    bench = Workbench(
        catalog=box.catalog, settings=box.settings, environment=box.environment, folder=box.folder
    )  # fmt: skip
    return MetaTools(catalog=box.catalog, index=SearchIndex.build(box.catalog), bench=bench)


def searched(meta: MetaTools, **given) -> tuple[Reply, dict]:
    reply = asyncio.run(meta.answer(SEARCH, given))
    return reply, json.loads(reply.blocks[0].text)


class TestAPatternAsQuery:
    def test_it_finds_by_the_texts_as_they_were_written_names_before_descriptions(self, meta):
        reply, body = searched(meta, query="^send_|send_mail", regex=True)
        assert not reply.is_error
        assert [tool["name"] for tool in body["tools"]] == ["send_mail", "list_orders"]
        assert reply.references == ("send_mail", "list_orders")
        assert searched(meta, query="发送.件", regex=True)[1]["tools"][0]["name"] == "send_mail"

    def test_what_it_found_may_be_run(self, meta):
        searched(meta, query="^list_", regex=True)
        assert meta.shown == {"list_orders"}

    def test_category_and_number_hold_for_it_too(self, meta):
        _, body = searched(meta, query="mail", regex=True, category="data")
        assert [tool["name"] for tool in body["tools"]] == ["list_orders"]
        _, body = searched(meta, query="mail", regex=True, max_results=1)
        assert ([tool["name"] for tool in body["tools"]], body["more"]) == (["send_mail"], 1)

    @pytest.mark.parametrize(
        ("pattern", "told"),
        [("send_(", "unterminated subpattern"), ("(?=mail)", "no look-around"), ("x" * 201, "at most 200")],
    )
    def test_a_wrong_one_is_an_error_that_says_what_to_change_and_no_empty_answer(self, meta, pattern, told):
        reply, body = searched(meta, query=pattern, regex=True)
        assert reply.is_error
        assert body["error"]["code"] == "invalid_arguments"
        assert told in json.dumps(body, ensure_ascii=False)

    def test_one_that_matches_nothing_says_how_to_go_on(self, meta):
        reply, body = searched(meta, query="SEND_MAIL", regex=True)
        assert not reply.is_error
        assert body["found"] is False
        assert "(?i)" in body["suggestions"][0]
        assert searched(meta, query="(?i)SEND_MAIL", regex=True)[1]["found"] is True

    def test_without_regex_a_query_is_words(self, meta):
        _, body = searched(meta, query="send_(", regex=False)
        assert body["tools"][0]["name"] == "send_mail"
        assert searched(meta, query="mail", regex="yes")[0].is_error
