"""Sessions with the real SDK against a local server: discovery, order, errors, limits, caching, interruption."""

from __future__ import annotations

import asyncio
import json
import os
import time
from itertools import pairwise
from pathlib import Path

import pytest
from messages_api import MessagesApi, Step, run, say, search, use

from tooldisco_cli import Toolbox
from tooldisco_cli.agent.anthropic_backend import DEFAULT_MODEL, AnthropicBackend
from tooldisco_cli.agent.discovery import DISCOVERIES
from tooldisco_cli.agent.events import Notice, SessionEnded, TextEnded, ToolResult, ToolUse
from tooldisco_cli.agent.opening import Opening, open_session
from tooldisco_cli.agent.session import Limits
from tooldisco_cli.agent.trace import read_trace
from tooldisco_cli.execution.protocol import ImageBlock
from tooldisco_cli.search.index import SearchIndex
from tooldisco_cli.settings import Settings
from tooldisco_cli.usage.log import UsageLog

SECRET = "sk-very-secret-1234"


@pytest.fixture
def calls() -> list:
    """What the tools of the catalog were called with, in order."""
    return []


@pytest.fixture
def box(tmp_path: Path, calls: list) -> Toolbox:
    environment = {"TOOLDISCO_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"], "MY_TOKEN": SECRET}
    box = Toolbox(manifests=False, settings=Settings(), environment=environment, folder=tmp_path)

    @box.tool(category="data", read_only=True)
    async def find_customers(above: int = 0) -> list[dict]:
        """Find customers by amount. 查询客户。"""
        calls.append(("find", above, time.monotonic()))
        await asyncio.sleep(0.2)
        calls.append(("found", above, time.monotonic()))
        return [{"name": "李雷", "amount": 12000}]

    @box.tool(category="communication", destructive=False)
    def text_customer(phone: str, message: str) -> str:
        """Send a text message to a phone. 发送短信。"""
        calls.append(("text", phone, message))
        return "queued"

    @box.tool(category="data", read_only=True)
    def fail_always(why: str = "") -> str:
        """Fail each time."""
        calls.append(("fail", why))
        raise ValueError("the printer is on fire")

    @box.tool(category="media", read_only=True)
    def draw() -> ImageBlock:
        """Draw a picture."""
        return ImageBlock("image/png", b"\x89PNG\r\n\x1a\n0000")

    @box.tool(category="utility", read_only=True)
    def show_token() -> str:
        """Show the token."""
        return f"token {SECRET} shown"

    return box


class Talk:
    """One session and what came of it."""

    def __init__(self, box: Toolbox, server: MessagesApi, **options) -> None:
        backend = AnthropicBackend(base_url=server.url, environment=box.environment)
        options.setdefault("assume_yes", True)
        options.setdefault("by_meaning", False)
        self.server = server
        self.events: list = []
        self.session = open_session(
            Opening(catalog=box.catalog, index=SearchIndex.build(box.catalog), settings=box.settings,
                    environment=box.environment, folder=box.folder, backend=backend, model="claude-fake", **options)
        )  # fmt: skip

    def say(self, text: str, seconds: float = 30) -> SessionEnded:
        asyncio.run(asyncio.wait_for(self._say(text), seconds))
        return self.events[-1]

    async def _say(self, text: str) -> None:
        try:
            async for event in self.session.run(text):
                self.events.append(event)
        finally:
            await self.session.backend.close()

    def results(self) -> dict[str, ToolResult]:
        return {event.id: event for event in self.events if isinstance(event, ToolResult)}


@pytest.fixture
def talk(box, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key-12345")
    servers, talks = [], []

    def begin(script, **options) -> Talk:
        server = MessagesApi(script).__enter__()
        servers.append(server)
        talks.append(Talk(box, server, **options))
        return talks[-1]

    yield begin
    for one in talks:
        one.session.trace.close()
    for server in servers:
        server.__exit__()


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


class TestStops:
    def test_a_long_answer_is_continued(self, talk):
        session = talk([Step(content=[say("first half")], stop_reason="max_tokens"), [say("second half")]])
        ended = session.say("go")
        assert ended.stop == "end_turn"
        assert any(isinstance(event, Notice) for event in session.events)
        assert [m["role"] for m in session.server.bodies[1]["messages"]] == ["user", "assistant", "user"]

    def test_an_answer_that_never_ends_is_an_error(self, talk):
        ended = talk([Step(content=[say("more")], stop_reason="max_tokens")]).say("go")
        assert ended.stop == "max_tokens"
        assert ended.error["message"]

    def test_a_call_that_was_cut_off_is_not_run(self, talk, calls):
        session = talk([[search("a", "查询客户")],
                        Step(content=[run("b", "find_customers", {"above": 1})], stop_reason="max_tokens"), [say("ok")]])  # fmt: skip
        session.say("go")
        assert session.results()["b"].is_error
        assert calls == []

    def test_a_pause_goes_on(self, talk):
        session = talk([Step(content=[say("wait")], stop_reason="pause_turn"), [say("ok")]])
        assert session.say("go").stop == "end_turn"
        assert len(session.server.bodies) == 2

    def test_pauses_without_an_end_are_stopped_and_told(self, talk):
        session = talk([Step(content=[say("wait")], stop_reason="pause_turn")])
        ended = session.say("go")
        assert (ended.stop, ended.turns) == ("max_turns", 6)
        assert "paused its answer 6 times" in ended.error["message"]

    def test_half_a_character_does_not_end_or_spoil_a_session(self, talk):
        session = talk([[say("half \ud83d of it"), search("a", "\ud83d")], [say("ok")], [say("still here")]])
        assert session.say("a \udc80 byte").stop == "end_turn"
        assert session.say("and now?").stop == "end_turn"
        json.dumps(session.session.messages, ensure_ascii=False).encode()

    def test_a_refusal_ends_plainly(self, talk):
        session = talk([Step(content=[say("I will")], stop_reason="refusal"), [say("hello again")]])
        ended = session.say("go")
        assert (ended.stop, ended.error["exit_code"]) == ("refusal", 4)
        assert session.say("something else").stop == "end_turn"

    def test_a_stop_sequence_is_an_end(self, talk):
        assert talk([Step(content=[say("x")], stop_reason="stop_sequence")]).say("go").stop == "stop_sequence"

    def test_a_full_window_makes_room_once(self, talk, box):
        box.register(lambda: "long " * 3000, name="long_text", description="A long text.", read_only=True)
        reads = [run(str(i), "long_text", {}) for i in range(4)]
        session = talk([[search("s", "long text")], reads, Step(content=[say("x")], stop_reason="model_context_window_exceeded"),
                        [say("ok")]])  # fmt: skip
        assert session.say("go").stop == "end_turn"
        results = session.server.bodies[3]["messages"][-1]["content"]
        assert [("cleared" in block["content"][0]["text"]) for block in results] == [True, True, False, False]

    def test_a_window_that_stays_full_is_told(self, talk):
        ended = talk([Step(content=[say("x")], stop_reason="model_context_window_exceeded")]).say("go")
        assert ended.stop == "context_window"

    def test_turns_are_limited(self, talk):
        ended = talk([lambda body: [search(f"a{len(body['messages'])}", "客户")]], limits=Limits(max_turns=3)).say(
            "go"
        )
        assert (ended.stop, ended.turns) == ("max_turns", 3)

    def test_tokens_are_limited(self, talk):
        step = Step(content=[search("a", "客户")], usage={"input_tokens": 900, "output_tokens": 200})
        session = talk([step, lambda body: Step(content=[search(f"b{len(body['messages'])}", "x")])],
                       limits=Limits(budget_tokens=1000))  # fmt: skip
        ended = session.say("go")
        assert (ended.stop, ended.turns) == ("budget", 1)

    def test_the_same_failure_three_times_is_told_to_the_model_then_to_the_user(self, talk, calls):
        fails = [[run(f"f{i}", "fail_always", {"why": "x"})] for i in range(6)]
        session = talk([[search("a", "fail each time")], *fails])
        ended = session.say("go")
        assert ended.stop == "repeated_failure"
        assert "failed 3 times" in session.results()["f2"].text
        assert "failing call of fail_always 4 times" in ended.error["message"]
        assert len(calls) == 4


class TestTheService:
    @pytest.mark.parametrize(
        ("status", "word"), [(401, "credentials"), (404, "model"), (429, "often"), (529, "overloaded"), (500, "500")]
    )
    def test_an_error_status_is_told_plainly(self, talk, status, word):
        session = talk([Step(status=status, error=("some_error", "because"), headers={"retry-after": "0"})])
        ended = session.say("go", 60)
        assert (ended.stop, ended.error["exit_code"]) == ("error", 6)
        assert word in ended.error["message"]
        assert "because" in ended.error["message"]
        assert len(session.server.requests) == (1 if status in {401, 404} else 3)

    @pytest.mark.parametrize("status", [400, 401, 529])
    def test_a_service_that_repeats_the_key_is_not_quoted_with_it(self, talk, status):
        said = "x" * 480 + " invalid x-api-key: test-key-12345"
        session = talk([Step(status=status, error=("some_error", said), headers={"retry-after": "0"})])
        ended = session.say("go", 60)
        assert "invalid x-api-key" in ended.error["message"]
        assert "test-key" not in ended.error["message"]
        assert "test-key" not in session.session.trace.path.read_text("utf-8")

    def test_no_credentials(self, talk, monkeypatch):
        monkeypatch.delenv("ANTHROPIC_API_KEY")
        ended = talk([[say("x")]]).say("go")
        assert ended.error["code"] == "model_unavailable"
        assert "ANTHROPIC_API_KEY" in ended.error["hint"]

    def test_nobody_there(self, talk):
        session = talk([[say("x")]])
        session.session.backend._base_url = "http://127.0.0.1:9"
        ended = session.say("go", 60)
        assert "cannot be reached" in ended.error["message"]

    @pytest.mark.parametrize("how", ["drop", "error_event"])
    @pytest.mark.parametrize("after", [3, 6])
    def test_a_stream_that_breaks_is_asked_for_again_and_nothing_runs_twice(self, talk, calls, how, after):
        step = [run("b", "text_customer", {"phone": "1", "message": "x"})]
        session = talk(
            [[search("a", "发送短信")], Step(content=step, breaks_after=after, breaks=how), step, [say("ok")]]
        )
        ended = session.say("go")
        assert ended.stop == "end_turn"
        assert [call[0] for call in calls] == ["text"]
        assert any(isinstance(event, Notice) for event in session.events)

    def test_a_stream_that_breaks_twice_ends_the_turn_and_keeps_the_conversation(self, talk):
        broken = Step(content=[say("a long text " * 9)], breaks_after=4)
        session = talk([broken, broken, [say("ok")]])
        assert session.say("go").error["code"] == "model_unavailable"
        assert session.say("again").stop == "end_turn"


class TestCaching:
    def test_tools_and_system_are_the_same_bytes_in_every_turn_and_session(self, talk):
        one = talk([[search("a", "客户")], [search("b", "短信")], [say("ok")]])
        one.say("go")
        two = talk([[say("ok")]])
        two.say("other")
        fixed = {json.dumps([body["tools"], body["system"]]) for body in (*one.server.bodies, *two.server.bodies)}
        assert len(fixed) == 1

    def test_each_request_has_three_breakpoints_and_history_only_grows(self, talk):
        session = talk([[search("a", "客户")], [search("b", "短信")], [say("ok")]])
        session.say("go")
        for body in session.server.bodies:
            assert json.dumps(body).count("cache_control") == 3
            assert "cache_control" in body["messages"][-1]["content"][-1]
        bare = [json.loads(json.dumps(body["messages"]).replace(', "cache_control": {"type": "ephemeral"}', ""))
                for body in session.server.bodies]  # fmt: skip
        for before, after in pairwise(bare):
            assert after[: len(before)] == before


class TestInterruption:
    def test_a_turn_that_is_cancelled_leaves_a_conversation_that_goes_on(self, talk, calls, box):
        @box.tool(read_only=True)
        async def wait_long() -> str:
            """Wait for long."""
            await asyncio.sleep(60)
            return "never"

        session = talk(
            [
                [search("s", "wait for long")],
                [run("a", "wait_long", {}), run("b", "find_customers", {})],
                [say("fine")],
            ]
        )

        async def interrupted():
            task = asyncio.create_task(session._say("go"))
            while not any(isinstance(event, ToolUse) and event.id == "b" for event in session.events):
                await asyncio.sleep(0.02)
            await asyncio.sleep(0.1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(asyncio.wait_for(interrupted(), 30))
        assert session.say("go on").stop == "end_turn"
        answered = session.server.bodies[-1]["messages"][4]["content"]
        assert [(block["tool_use_id"], block["is_error"]) for block in answered] == [("a", True), ("b", True)]

    def test_a_slow_stream_can_be_stopped(self, talk):
        session = talk([Step(content=[say("slow " * 100)], delay=0.2), [say("ok")]])
        with pytest.raises(TimeoutError):
            session.say("go", 1.5)
        assert session.say("again").stop == "end_turn"


class TestTheRecord:
    def test_a_session_is_recorded_without_secrets_and_resumed_with_what_it_showed(self, talk, box, calls):
        first = talk([[search("a", "查询客户")], [say("found it")]])
        first.say("find")
        first.session.trace.close()
        trace = read_trace(first.session.trace.path)
        assert trace.task == "find"
        assert trace.ended.stop == "end_turn"
        assert "find_customers" in trace.state["shown"]
        assert SECRET not in first.session.trace.path.read_text()
        second = talk([[run("b", "find_customers", {})], [say("done")]], resumed=trace)
        second.say("now run it")
        assert not second.results()["b"].is_error
        assert second.session.id == first.session.id
        assert len(read_trace(first.session.trace.path).messages) == 8

    def test_a_line_that_a_crash_cut_short_is_passed_over(self, talk):
        session = talk([[say("hello")]])
        session.say("hi")
        session.session.trace.close()
        path = session.session.trace.path
        with path.open("a") as file:
            file.write('{"message": {"role": "user", "cont')
        trace = read_trace(path)
        assert [message["role"] for message in trace.messages] == ["user", "assistant"]
        again = talk([[say("ok")]], resumed=trace)
        again.say("more")
        assert [m["role"] for m in read_trace(path).messages] == ["user", "assistant", "user", "assistant"]


@pytest.mark.parametrize("value", ["text", [1], None, 5])
@pytest.mark.filterwarnings("error")
def test_a_call_whose_input_is_no_object_is_refused_and_goes_back_as_an_object(talk, value):
    session = talk([[say(""), use("a", "search_tools", value)], [say("done")]])
    session.say("x")
    assert session.results()["a"].is_error
    sent = session.server.bodies[1]["messages"][1]["content"]
    assert [(block["type"], block["input"]) for block in sent] == [("tool_use", {"invalid_input": value})]


def test_the_default_model_is_one_that_the_sdk_knows():
    from typing import get_args

    from anthropic.types.model import Model

    assert DEFAULT_MODEL in get_args(get_args(Model)[0])
