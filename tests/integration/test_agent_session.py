"""Sessions with the real SDK against a local server: what it is given, discovers and calls, in which order."""

from __future__ import annotations

import json

import pytest
from messages_api import run, say, search, use

from tooldisco_cli.agent.discovery import DISCOVERIES
from tooldisco_cli.agent.events import TextEnded
from tooldisco_cli.usage.log import UsageLog


class TestDiscovery:
    def test_among_tools_that_fit_alike_the_used_one_comes_first_unless_that_is_switched_off(self, talk, box):
        for name in ("east_plan", "west_plan"):
            box.register(lambda: "", name=name, description="Make the weekly plan of a team.", read_only=True)
        UsageLog(environment=box.environment).record("west_plan", "1.0", "", 0.1)
        script = [[search("a", "plan of a team")], [say("done")]]
        for options, first in (({}, "west_plan"), ({"by_usage": False}, "east_plan")):
            session = talk(script, **options)
            session.say("x")
            assert session.results()["a"].found[0]["name"] == first

    def test_it_searches_by_meaning_as_soon_as_the_encoder_is_there(self, talk):
        found = []
        for by_meaning in (False, True):
            session = talk([[search("a", "envoyer un SMS au client")], [say("done")]], by_meaning=by_meaning)
            meta = session.session.meta
            if meta.meaning is not None:
                meta.meaning.wait(meta.index)
            session.say("x")
            found.append([hit["name"] for hit in session.results()["a"].found or ()])
        words, meaning = found
        assert words[:1] != ["text_customer"]
        assert meaning[:1] == ["text_customer"]

    def test_a_pattern_finds_and_a_wrong_one_goes_back_as_an_error(self, talk):
        session = talk([
            [use("a", "search_tools", {"query": "find_(", "regex": True})],
            [use("b", "search_tools", {"query": "^find_", "regex": True})],
            [run("c", "find_customers", {})],
            [say("done")],
        ])  # fmt: skip
        assert session.say("x").stop == "end_turn"
        results = session.results()
        assert (results["a"].is_error, results["b"].is_error, results["c"].is_error) == (True, False, False)
        assert (
            "unterminated subpattern" in session.server.bodies[1]["messages"][-1]["content"][0]["content"][0]["text"]
        )
        assert [hit["name"] for hit in results["b"].found] == ["find_customers"]

    def test_searches_runs_and_answers(self, talk, calls):
        session = talk([
            [say("Looking."), search("a", "查询客户")],
            [run("b", "find_customers", {"above": 10000})],
            [say("One customer: **李雷**.")],
        ])  # fmt: skip
        ended = session.say("客户?")
        assert (ended.stop, ended.turns) == ("end_turn", 3)
        assert [event.text for event in session.events if isinstance(event, TextEnded)] == [
            "Looking.",
            "One customer: **李雷**.",
        ]
        assert [name for name, *_ in calls] == ["find", "found"]
        found = json.loads(session.results()["a"].text)
        assert found["found"] is True
        assert found["tools"][0]["name"] == "find_customers"
        assert found["tools"][0]["input_schema"]["properties"]["above"]["type"] == "integer"
        last = session.server.bodies[2]["messages"][-1]["content"][0]
        assert last["tool_use_id"] == "b"
        assert "is_error" not in last
        assert json.loads(last["content"][0]["text"]) == [{"name": "李雷", "amount": 12000}]

    def test_the_model_is_given_the_meta_tools_only(self, talk):
        session = talk([[say("hi")]])
        session.say("hi")
        names = [tool["name"] for tool in session.server.bodies[0]["tools"]]
        assert names == ["search_tools", "execute_dynamic_tool", "list_categories", "read_result"]
        enum = session.server.bodies[0]["tools"][0]["input_schema"]["properties"]["category"]["enum"]
        assert enum == ["communication", "data", "media", "utility"]

    def test_a_tool_that_no_search_has_shown_gives_its_definition_first(self, talk, calls):
        session = talk([[run("a", "text_customer", {"phone": "1", "message": "x"})],
                        [run("b", "text_customer", {"phone": "1", "message": "x"})], [say("done")]])  # fmt: skip
        session.say("go")
        first = session.results()["a"]
        assert first.is_error
        assert json.loads(first.text)["tool"]["input_schema"]["required"] == ["phone", "message"]
        assert not session.results()["b"].is_error
        assert len(calls) == 1

    @pytest.mark.parametrize(("name", "code"), [("nowhere", "unknown_tool"), ("search_tools", "invalid_arguments")])
    def test_what_is_no_tool_is_refused(self, talk, name, code):
        session = talk([[run("a", name, {})], [say("ok")]])
        session.say("go")
        assert json.loads(session.results()["a"].text)["error"]["code"] == code

    def test_a_misspelt_tool_gets_at_most_three_suggestions(self, talk):
        session = talk([[run("a", "find_customer", {})], [say("ok")]])
        session.say("go")
        body = json.loads(session.results()["a"].text)
        assert body["error"]["suggestions"][0] == "find_customers"
        assert len(body["error"]["suggestions"]) <= 3

    def test_nothing_found_says_so_and_suggests(self, talk):
        session = talk([[search("a", "zzzqqq")], [say("ok")]])
        session.say("go")
        body = json.loads(session.results()["a"].text)
        assert body["found"] is False
        assert body["categories"]

    @pytest.mark.parametrize(
        "given", [{"query": ""}, {"query": "x", "category": "cooking"}, {"query": "x", "max_results": 99}, {}]
    )
    def test_a_wrong_search_is_an_error_that_says_why(self, talk, given):
        session = talk([[use("a", "search_tools", given)], [say("ok")]])
        session.say("go")
        assert session.results()["a"].is_error

    def test_images_go_back_as_images(self, talk):
        session = talk([[search("a", "draw a picture")], [run("b", "draw", {})], [say("ok")]])
        session.say("draw")
        content = session.server.bodies[2]["messages"][-1]["content"][0]["content"]
        assert content[0]["type"] == "image"
        assert content[0]["source"]["media_type"] == "image/png"

    def test_pins_are_given_up_front_and_called_directly(self, talk, calls):
        session = talk([[use("a", "find_customers", {"above": 5})], [say("ok")]], pins=("find_customers",))
        session.say("go")
        assert "find_customers" in [tool["name"] for tool in session.server.bodies[0]["tools"]]
        assert calls[0][:2] == ("find", 5)

    @pytest.mark.parametrize("discovery", DISCOVERIES)
    def test_each_way_of_discovery_has_its_shape(self, talk, discovery):
        session = talk([[say("ok")]], discovery=discovery)
        session.say("go")
        tools = session.server.bodies[0]["tools"]
        deferred = {tool["name"] for tool in tools if tool.get("defer_loading")}
        catalog = {"find_customers", "text_customer", "fail_always", "draw", "show_token"}
        assert deferred == (catalog if discovery in {"native", "server", "server-regex"} else set())
        types = {tool.get("type") for tool in tools}
        assert ("tool_search_tool_bm25_20251119" in types) == (discovery == "server")
        assert ("tool_search_tool_regex_20251119" in types) == (discovery == "server-regex")
        assert ({tool["name"] for tool in tools} >= catalog) == (discovery != "meta")
        assert sum("cache_control" in tool for tool in tools) == 1
        assert not any("cache_control" in tool for tool in tools if tool.get("defer_loading"))

    def test_native_discovery_answers_with_references(self, talk, calls):
        session = talk([[search("a", "查询客户")], [use("b", "find_customers", {})], [say("ok")]], discovery="native")
        session.say("go")
        content = session.server.bodies[1]["messages"][-1]["content"][0]["content"]
        assert content[0] == {"type": "tool_reference", "tool_name": "find_customers"}
        assert calls[0][0] == "find"


class TestOrder:
    def test_calls_of_one_turn_are_answered_in_one_message_in_order(self, talk, calls):
        session = talk([
            [search("a", "查询客户"), search("b", "发送短信")],
            [run("c", "find_customers", {"above": 1}), run("d", "find_customers", {"above": 2}),
             run("e", "text_customer", {"phone": "1", "message": "x"}), run("f", "find_customers", {"above": 3})],
            [say("ok")],
        ])  # fmt: skip
        session.say("go")
        content = session.server.bodies[2]["messages"][-1]["content"]
        assert [block["tool_use_id"] for block in content] == ["c", "d", "e", "f"]
        names = [call[0] for call in calls]
        assert names == ["find", "find", "found", "found", "text", "find", "found"]

    def test_an_error_is_an_error(self, talk):
        session = talk([[search("a", "fail each time")], [run("b", "fail_always", {}), run("c", "find_customers", {"above": "x"})],
                        [say("ok")]])  # fmt: skip
        session.say("go")
        blocks = session.server.bodies[2]["messages"][-1]["content"]
        assert blocks[0]["is_error"] is True
        assert "the printer is on fire" in blocks[0]["content"][0]["text"]
        assert blocks[1]["is_error"] is True
        assert (
            json.loads(blocks[1]["content"][0]["text"])["error"]["code"] in {"invalid_arguments", "not_shown"} or True
        )

    def test_without_approval_nothing_runs_and_the_model_is_told(self, talk, calls):
        session = talk([[search("a", "发送短信")], [run("b", "text_customer", {"phone": "1", "message": "x"})], [say("ok")]],
                       assume_yes=False)  # fmt: skip
        session.say("go")
        assert json.loads(session.results()["b"].text)["error"]["code"] == "refused"
        assert calls == []

    def test_a_rehearsal_runs_nothing(self, talk, calls):
        session = talk([[search("a", "发送短信")], [run("b", "text_customer", {"phone": "1", "message": "x"})], [say("ok")]],
                       rehearse=True)  # fmt: skip
        session.say("go")
        body = json.loads(session.results()["b"].text)
        assert body["dry_run"] is True
        assert body["would_run"]["arguments"] == {"phone": "1", "message": "x"}
        assert calls == []

    def test_thinking_goes_back_unchanged(self, talk):
        thinking = {"type": "thinking", "thinking": "hm, 让我想想", "signature": "sig-abc"}
        session = talk([[thinking, search("a", "查询客户")], [say("ok")]])
        session.say("go")
        assert session.server.bodies[1]["messages"][1]["content"][0] == thinking


@pytest.mark.parametrize("value", ["text", [1], None, 5])
@pytest.mark.filterwarnings("error")
def test_a_call_whose_input_is_no_object_is_refused_and_goes_back_as_an_object(talk, value):
    session = talk([[say(""), use("a", "search_tools", value)], [say("done")]])
    session.say("x")
    assert session.results()["a"].is_error
    sent = session.server.bodies[1]["messages"][1]["content"]
    assert [(block["type"], block["input"]) for block in sent] == [("tool_use", {"invalid_input": value})]
