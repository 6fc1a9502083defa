"""How sessions stop, fail, are interrupted, cached and recorded: the real SDK against a local server."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise

import pytest
from messages_api import Step, run, say, search
from talking import SECRET

from tooldisco_cli.agent.anthropic_backend import DEFAULT_MODEL
from tooldisco_cli.agent.events import Notice, ToolUse
from tooldisco_cli.agent.session import Limits
from tooldisco_cli.agent.trace import read_trace


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


def test_the_default_model_is_one_that_the_sdk_knows():
    from typing import get_args

    from anthropic.types.model import Model

    assert DEFAULT_MODEL in get_args(get_args(Model)[0])
