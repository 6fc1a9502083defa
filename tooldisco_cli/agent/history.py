"""The messages of a session, and the rules of the Messages API that they must keep at every moment.

Every ``tool_use`` of an assistant message is answered in the next user message, all together and in order. Thinking
goes back unchanged. The last message carries a cache breakpoint, so that each turn reads what the turn before wrote.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tooldisco_cli.meta.wording import estimated_tokens

JsonObject = dict[str, Any]

KEPT_RESULTS = 6
"""So many of the newest tool results stay whole when old ones are cleared."""
CLEARED = "[cleared to save room; call the tool again, or read_result with its handle, if it is needed]"
_WORTH_CLEARING = 400
"""Characters below which clearing a result would save nothing."""


def user_text(text: str) -> JsonObject:
    """Return what a person says, as a message."""
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def tool_result(use_id: str, content: Sequence[JsonObject], *, is_error: bool) -> JsonObject:
    """Return the answer to one ``tool_use`` as a content block."""
    block: JsonObject = {"type": "tool_result", "tool_use_id": use_id, "content": list(content)}
    return block | ({"is_error": True} if is_error else {})


def uses_of(message: JsonObject) -> list[JsonObject]:
    """Return the ``tool_use`` blocks of a message."""
    return [block for block in message["content"] if isinstance(block, dict) and block.get("type") == "tool_use"]


def unanswered(messages: Sequence[JsonObject]) -> list[JsonObject]:
    """Return the ``tool_use`` blocks of the last message, if it is the assistant's."""
    return uses_of(messages[-1]) if messages and messages[-1]["role"] == "assistant" else []


def repaired(messages: list[JsonObject], why: str) -> list[JsonObject]:
    """Return the messages with every open ``tool_use`` answered as not run, so that they can be continued."""
    open_uses = unanswered(messages)
    if not open_uses:
        return messages
    blocks = [tool_result(use["id"], [{"type": "text", "text": why}], is_error=True) for use in open_uses]
    return [*messages, {"role": "user", "content": blocks}]


def acceptable(content: Sequence[JsonObject], messages: Sequence[JsonObject]) -> list[JsonObject]:
    """Return a model's answer as the API takes it back: no blank text, and no id of a call that was given before.

    A server that does not keep these rules itself would otherwise make every later request of the session fail.
    """
    given = {use["id"] for message in messages if isinstance(message["content"], list) for use in uses_of(message)}
    kept: list[JsonObject] = []
    for block in content:
        if block.get("type") == "text" and not block["text"].strip():
            continue
        if block.get("type") == "tool_use":
            own, number = block["id"], 2
            while own in given:
                own, number = f"{block['id']}-{number}", number + 1
            given.add(own)
            kept.append(block | {"id": own})
            continue
        kept.append(block)
    return kept


def encodable(value: Any) -> Any:
    """Return JSON data whose every text is UTF-8, which is all that the API takes: half a character becomes ``?``."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {encodable(key): encodable(item) for key, item in value.items()}
    return [encodable(item) for item in value] if isinstance(value, list) else value


def with_object_inputs(messages: Sequence[JsonObject]) -> list[JsonObject]:
    """Return the messages with the input of every call an object, which is all that the API takes back."""
    return [
        message | {"content": [_with_object_input(block) for block in message["content"]]}
        if message["role"] == "assistant" and isinstance(message["content"], list)
        else message
        for message in messages
    ]


def _with_object_input(block: JsonObject) -> JsonObject:
    if block.get("type") != "tool_use" or isinstance(block.get("input"), dict):
        return block
    return block | {"input": {"invalid_input": block.get("input")}}


def with_breakpoint(messages: Sequence[JsonObject]) -> list[JsonObject]:
    """Return a copy whose last block carries a cache breakpoint; nothing else differs from turn to turn."""
    if not messages:
        return []
    last = messages[-1]
    content = last["content"]
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not content or content[-1].get("type") in {"thinking", "redacted_thinking"}:
        return list(messages)
    marked = content[-1] | {"cache_control": {"type": "ephemeral"}}
    return [*messages[:-1], last | {"content": [*content[:-1], marked]}]


def without_old_results(messages: Sequence[JsonObject], keep: int = KEPT_RESULTS) -> tuple[list[JsonObject], int]:
    """Return the messages with the content of all but the newest results cleared, and how many were cleared.

    The calls and their order stay, so the conversation remains valid and the model knows what it did. This is done
    here and not by the API's context editing, so that every server gets the same; it costs one cache miss.
    """
    places = [
        (m, b)
        for m, message in enumerate(messages)
        if message["role"] == "user" and isinstance(message["content"], list)
        for b, block in enumerate(message["content"])
        if block.get("type") == "tool_result"
    ]
    cleared = 0
    copied = [dict(message) for message in messages]
    for m, b in places[: max(0, len(places) - keep)]:
        block = copied[m]["content"][b]
        if _size(block) < _WORTH_CLEARING:
            continue
        content = list(copied[m]["content"])
        content[b] = block | {"content": [{"type": "text", "text": CLEARED}]}
        copied[m] = copied[m] | {"content": content}
        cleared += 1
    return copied, cleared


def _size(block: JsonObject) -> int:
    content = block.get("content")
    if isinstance(content, str):
        return len(content)
    return sum(
        len(part.get("text", "")) if part.get("type") == "text" else _WORTH_CLEARING
        for part in content or ()
        if isinstance(part, dict)
    )


def estimated_size(messages: Sequence[JsonObject]) -> int:
    """Return about how many tokens the messages take; an image counts as 1,600."""
    total = 0
    waiting: list[Any] = [messages]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if node.get("type") == "image":
                total += 1600
                continue
            waiting.extend(node.values())
        elif isinstance(node, (list, tuple)):
            waiting.extend(node)
        elif isinstance(node, str):
            total += estimated_tokens(node)
    return total
