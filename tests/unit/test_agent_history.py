"""The rules of the Messages API hold for a conversation at every moment."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooldisco_cli.agent.history import (
    CLEARED,
    acceptable,
    estimated_size,
    repaired,
    tool_result,
    unanswered,
    user_text,
    with_breakpoint,
    with_object_inputs,
    without_old_results,
)

TEXT = st.text(min_size=1, max_size=900)


@st.composite
def conversations(draw) -> list[dict]:
    """A valid conversation, which may end with calls that nobody has answered yet."""
    messages = [user_text(draw(TEXT))]
    for turn in range(draw(st.integers(0, 5))):
        uses = [
            {"type": "tool_use", "id": f"{turn}-{n}", "name": "t", "input": {}}
            for n in range(draw(st.integers(0, 3)))
        ]
        content = [{"type": "text", "text": draw(TEXT)}, *uses] if draw(st.booleans()) or not uses else uses
        messages.append({"role": "assistant", "content": content})
        if not uses:
            messages.append(user_text(draw(TEXT)))
            continue
        results = [
            tool_result(use["id"], [{"type": "text", "text": draw(TEXT)}], is_error=draw(st.booleans()))
            for use in uses
        ]
        messages.append({"role": "user", "content": results})
    if draw(st.booleans()) and messages[-1]["role"] == "user" and len(messages) > 1:
        messages.pop()
    return messages


def is_valid(messages: list[dict]) -> bool:
    for index, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        uses = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
        following = messages[index + 1]["content"] if index + 1 < len(messages) else []
        answered = [block["tool_use_id"] for block in following if block["type"] == "tool_result"]
        if uses and uses != answered[: len(uses)]:
            return False
    return True


@given(conversations())
def test_a_repaired_conversation_is_valid_and_keeps_what_was_there(messages):
    mended = repaired(messages, "not run")
    assert is_valid(mended)
    assert mended[: len(messages)] == messages
    assert unanswered(mended) == [] or mended[-1]["role"] == "user"


@given(conversations(), st.integers(0, 4))
def test_clearing_keeps_every_call_and_answer_and_never_grows(messages, keep):
    messages = repaired(messages, "not run")
    before = json.dumps(messages)
    shorter, cleared = without_old_results(messages, keep)
    assert json.dumps(messages) == before
    assert is_valid(shorter)
    assert [message["role"] for message in shorter] == [message["role"] for message in messages]
    assert json.dumps(shorter).count(CLEARED) == cleared
    assert estimated_size(shorter) <= estimated_size(messages)


@given(conversations())
def test_a_breakpoint_is_the_only_difference_and_the_original_stays(messages):
    before = json.dumps(messages)
    marked = with_breakpoint(messages)
    assert json.dumps(messages) == before
    assert json.dumps(marked).replace(', "cache_control": {"type": "ephemeral"}', "") == before


def test_thinking_never_carries_a_breakpoint():
    messages = [{"role": "assistant", "content": [{"type": "thinking", "thinking": "x", "signature": "y"}]}]
    assert with_breakpoint(messages) == messages


def test_blank_text_and_repeated_ids_of_an_answer_are_not_taken_over():
    before = [{"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "x", "input": {}}]}]
    answer = [
        {"type": "text", "text": " \n"},
        {"type": "tool_use", "id": "c", "name": "x", "input": {}},
        {"type": "tool_use", "id": "d", "name": "x", "input": {}},
        {"type": "tool_use", "id": "d", "name": "x", "input": {}},
    ]
    assert [block["id"] for block in acceptable(answer, before)] == ["c-2", "d", "d-2"]


@pytest.mark.parametrize("value", ["text", [1], None, 5])
def test_an_input_that_is_no_object_goes_back_as_one(value):
    message = {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "x", "input": value}]}
    assert with_object_inputs([message])[0]["content"][0]["input"] == {"invalid_input": value}
    assert message["content"][0]["input"] == value
