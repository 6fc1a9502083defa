"""``tooldisco search``, as a person, a script and a hostile manifest meet it."""

from __future__ import annotations

import json
import subprocess
from importlib.resources import files

import jsonschema
import pytest
from conftest import COMMAND


def schema_of(name: str) -> dict:
    return json.loads(files("tooldisco_cli").joinpath(f"render/schemas/{name}.json").read_text("utf-8"))


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("发送邮件", "send_email"),
        ("發送郵件", "send_email"),
        ("通知客户 手机短信", "send_sms"),
        ("query a database", "query_mysql"),
        ("excel 表格", "read_excel"),
        ("bug ticket", "create_jira_ticket"),
        ("send email", "send_email"),
        ("sendEmail", "send_email"),
        ("send-email", "send_email"),
    ],
)
def test_finds_the_obvious_tool_first(tooldisco, query, first):
    ran = tooldisco("search", query, "--json")
    assert ran.code == 0
    assert ran.json["results"][0]["name"] == first


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


def test_a_filter_that_hides_matches_is_said(tooldisco):
    ran = tooldisco("search", "发送邮件", "--category", "data")
    assert ran.code == 1
    assert "--category hides" in ran.err


def test_limit_bounds_the_results_and_says_that_there_are_more(tooldisco):
    ran = tooldisco("search", "发送", "-n", "1")
    assert len(ran.out.splitlines()) == 1
    assert "--limit shows more" in ran.err


@pytest.mark.parametrize("limit", ["0", "-1", "many"])
def test_a_limit_that_is_none_is_wrong_usage(tooldisco, limit):
    assert tooldisco("search", "x", "--limit", limit).code == 2


def test_explains_what_each_word_added(tooldisco):
    ran = tooldisco("search", "发送邮件", "--explain", "-n", "1")
    assert "send_email: what each word added" in ran.out
    assert "邮件" in ran.out


def test_explains_why_a_tool_did_not_come_up(tooldisco):
    assert "no tool of this name" in tooldisco("search", "邮件", "--explain-tool", "nothing_here").out
    assert "filter hides it" in tooldisco("search", "邮件", "-c", "data", "--explain-tool", "send_email").out


def test_a_query_of_the_engine_s_own_syntax_is_only_words(tooldisco):
    for query in ('AND OR NOT "(', "name:[a TO b]", "*", "'; DROP TABLE tools; --", "\u202e", "🙂"):
        assert tooldisco("search", query).code in {0, 1}


def test_a_query_of_bytes_that_are_no_text_is_searched_all_the_same(work, environment):
    done = subprocess.run([*COMMAND, "search", b"\xff\xfe send email", "--json"], cwd=work, env=environment,
                          capture_output=True)  # fmt: skip
    assert done.returncode == 0
    assert json.loads(done.stdout)["results"][0]["name"] == "send_email"


def test_a_reader_that_stops_early_is_no_failure(work, environment, user_tools):
    many = "".join(
        f'[[tool]]\nname = "mail_{i}"\ndescription = "{"mail " * 40}"\ncommand.argv = ["x"]\n' for i in range(900)
    )
    user_tools("manifest = 1\n" + many)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*COMMAND, "search", "mail", "-n", "900"], cwd=work, env=environment, **pipes) as command:
        head = subprocess.run(["head", "-n", "1"], stdin=command.stdout, capture_output=True)
        command.stdout.close()
        err = command.stderr.read()
    assert head.stdout
    assert b"Traceback" not in err
    assert b"Broken" not in err


def test_output_that_is_not_utf_8_is_escaped_and_stays_json(tooldisco):
    ran = tooldisco("search", "发送邮件", "--json", PYTHONIOENCODING="ascii")
    assert ran.out.isascii()
    assert ran.json["query"] == "发送邮件"
    assert tooldisco("search", "发送邮件", PYTHONIOENCODING="ascii").code == 0
