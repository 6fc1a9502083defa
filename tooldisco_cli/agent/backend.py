"""What a session needs of a model: one answer to a conversation, streamed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request to a model, in the terms of the Messages API."""

    model: str
    max_tokens: int
    system: Sequence[JsonObject]
    tools: Sequence[JsonObject]
    messages: Sequence[JsonObject]


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of an answer while it streams: text or thinking; ``ends`` closes the block with its whole text."""

    kind: Literal["text", "thinking"]
    text: str
    ends: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A complete answer: content blocks as they must be sent back, why it stopped, and what it used."""

    content: list[JsonObject]
    stop_reason: str
    usage: dict[str, int] = field(default_factory=dict)
    model: str = ""


class StreamBroke(Exception):
    """The answer stopped midway for a passing reason; asking again may help."""


class Backend(Protocol):
    """A model, or what stands in for one."""

    name: str

    def answer(self, request: Request) -> AsyncIterator[Piece | Turn]:
        """Yield pieces as they come, and the complete turn last.

        Raises ModelUnavailable where asking again would not help, StreamBroke where it may.
        """

    async def close(self) -> None:
        """Give back connections."""
