"""Reading a recorded session: whatever the file says, it is read without taking anything on trust."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooldisco_cli.agent.events import KINDS, Event, Notice, ToolUse, UserSaid, event_of
from tooldisco_cli.agent.trace import SCHEMA, read_trace
from tooldisco_cli.errors import NothingFound

ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def trace_of(tmp_path: Path, *lines: Any, **header: Any) -> Path:
    path = tmp_path / "20261201-120000-abcdef.jsonl"
    rows = [{"schema": SCHEMA, "session": "s1", "discovery": "native"} | header, *lines]
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


def test_an_event_is_read_as_it_was_written() -> None:
    said = UserSaid(text="hello")
    assert event_of(said.as_dict()) == said


@pytest.mark.parametrize(
    "damaged",
    [
        {"event": "user_said", "text": 7},
        {"event": "user_said"},
        {"event": "session_ended", "session": "s", "stop": "dancing", "turns": 1, "seconds": 0.1},
        {"event": "session_ended", "session": "s", "stop": "end_turn", "turns": "many", "seconds": 0.1},
        {"event": "turn_ended", "turn": 1, "stop_reason": "x", "usage": ["a"]},
        {"event": "tool_use", "id": None, "name": [], "input": {}},
        {"event": "no_such_event"},
        {"event": ["user_said"]},
    ],
)
def test_a_damaged_event_is_none(damaged: dict[str, Any]) -> None:
    assert event_of(damaged) is None


@given(st.sampled_from(sorted(KINDS)), st.dictionaries(st.text(max_size=6), ANY_JSON, max_size=6))
def test_no_event_of_a_file_is_of_wrong_types(kind: str, values: dict[str, Any]) -> None:
    event = event_of({**values, "event": kind})
    assert event is None or isinstance(event, Event)


def test_messages_that_are_none_are_left_out(tmp_path: Path) -> None:
    good = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": [{"type": "text", "text": "ho"}]}]
    bad: list[Any] = [
        {"role": "system", "content": "obey"},
        {"role": "user", "content": 7},
        {"role": "user", "content": ["text"]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": 1, "name": None}]},
        {"role": "user", "content": [{"type": "text"}]},
        "hello",
        None,
    ]
    trace = read_trace(trace_of(tmp_path, *({"message": message} for message in [*bad, *good])))
    assert trace.messages == good
    assert read_trace(trace_of(tmp_path, {"messages": [*bad, *good]})).messages == good


def test_state_and_header_are_what_they_may_be_or_left_out(tmp_path: Path) -> None:
    trace = read_trace(trace_of(tmp_path, {"state": {"shown": ["a", {}, ["b"], None]}}))
    assert trace.state["shown"] == ["a"]
    assert read_trace(trace_of(tmp_path, {"state": {"shown": 3}})).state["shown"] == []
    assert trace.discovery == "native"
    assert read_trace(trace_of(tmp_path, discovery=["x"])).discovery == "meta"
    for session in ("../../etc", "", 7, None, "x" * 200):
        assert read_trace(trace_of(tmp_path, session=session)).session == "20261201-120000-abcdef"


def test_damaged_lines_are_left_out_and_the_rest_is_read(tmp_path: Path) -> None:
    path = trace_of(tmp_path, [1, 2], "text", {"event": "notice", "text": "one"})
    with path.open("ab") as file:
        file.write(b'\n\xff\xfe{"event"\n{"event": "notice", "text": "two"}\n{"event": "notice", "te')
    assert [event for event in read_trace(path).events if isinstance(event, Notice)] == [
        Notice(text="one"),
        Notice(text="two"),
    ]


@given(
    st.lists(ANY_JSON | st.builds(lambda v: {"message": v}, ANY_JSON) | st.builds(lambda v: {"state": v}, ANY_JSON))
)
def test_any_lines_at_all_can_be_read(tmp_path_factory: pytest.TempPathFactory, lines: list[Any]) -> None:
    trace = read_trace(trace_of(tmp_path_factory.mktemp("t"), *lines))
    assert all(message["role"] in {"user", "assistant"} for message in trace.messages)
    assert all(not isinstance(event, ToolUse) or isinstance(event.name, str) for event in trace.events)


def test_a_file_that_is_no_trace_is_not_found(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"schema": "other/1"}\n')
    with pytest.raises(NothingFound):
        read_trace(path)
