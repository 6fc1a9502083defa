"""A backend that gives the answers of a recorded session again: to see what a changed catalog makes of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from tooldisco_cli.agent.backend import JsonObject, Piece, Request, Turn
from tooldisco_cli.errors import ModelUnavailable


class ReplayBackend:
    """Answers with the assistant messages of a trace, in order, whatever the results of the tools are now."""

    name = "replay"

    def __init__(self, messages: Sequence[JsonObject]) -> None:
        self._turns = [message["content"] for message in messages if message["role"] == "assistant"]
        self._next = 0

    async def answer(self, request: Request) -> AsyncIterator[Piece | Turn]:  # noqa: ARG002 - the record decides
        """Yield the next recorded answer. Raises ModelUnavailable when the record has no more."""
        if self._next >= len(self._turns):
            raise ModelUnavailable("the recorded session has no further answer of the model")
        content = self._turns[self._next]
        self._next += 1
        for block in content:
            if block.get("type") == "text":
                yield Piece("text", block["text"])
                yield Piece("text", block["text"], ends=True)
        calls = any(block.get("type") == "tool_use" for block in content)
        yield Turn(content=content, stop_reason="tool_use" if calls else "end_turn", model="replay")

    async def close(self) -> None:
        """Nothing is held."""


def said_by_user(messages: Sequence[JsonObject]) -> list[str]:
    """Return what the person said in a recorded conversation, in order."""
    return [
        block["text"]
        for message in messages
        if message["role"] == "user" and isinstance(message["content"], list)
        for block in message["content"]
        if block.get("type") == "text"
    ]
