"""What happens in a session, one frozen object each: what is rendered, printed as JSON lines, and recorded.

``as_dict`` is ``tooldisco.event/1``: the event's kind under ``event``, then its fields.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

SCHEMA = "tooldisco.event/1"

Stop = Literal[
    "end_turn", "stop_sequence", "refusal", "max_tokens", "max_turns", "budget", "repeated_failure",
    "context_window", "interrupted", "error",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Base of all events."""

    def as_dict(self) -> dict[str, Any]:
        """Return the event as JSON data."""
        kind = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(self).__name__).lower()
        return {"schema": SCHEMA, "event": kind} | dataclasses.asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStarted(Event):
    """A session begins or goes on: over how many tools, with which model."""

    session: str
    model: str
    discovery: str
    tools: int
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UserSaid(Event):
    """The task, or the next thing that a person says."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta(Event):
    """A piece of the model's text, as it streams."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TextEnded(Event):
    """The end of one block of the model's text, with the whole of it."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingEnded(Event):
    """A block of the model's thinking, as far as it is shown at all."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse(Event):
    """The model calls a tool: a meta tool, or one that it was given directly."""

    id: str
    name: str
    input: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult(Event):
    """What one call came to. ``size`` is the whole result in characters, ``shown`` what the model got of it."""

    id: str
    name: str
    tool: str
    is_error: bool
    text: str
    images: int
    seconds: float
    size: int
    shown: int
    cut: dict[str, Any] | None = None
    handle: str | None = None
    dry_run: bool = False
    found: list[dict[str, Any]] | None = None
    """For a search: name, relevance and title of each tool found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnded(Event):
    """One answer of the model is complete; ``usage`` as the API counts it."""

    turn: int
    stop_reason: str
    usage: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice(Event):
    """Something that a person should know: a retry, old results cleared, a limit near."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEnded(Event):
    """The answer is complete, or the session ended otherwise; ``error`` then says why."""

    session: str
    stop: Stop
    turns: int
    seconds: float
    usage: dict[str, int] = field(default_factory=dict)
    discovery_tokens: int = 0
    """About how many tokens the meta tools and what searches returned took, each counted once."""
    error: dict[str, Any] | None = None


KINDS: dict[str, type[Event]] = {
    re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower(): kind
    for kind in (
        SessionStarted,
        UserSaid,
        TextDelta,
        TextEnded,
        ThinkingEnded,
        ToolUse,
        ToolResult,
        TurnEnded,
        Notice,
        SessionEnded,
    )
}


def event_of(data: dict[str, Any]) -> Event | None:
    """Return an event from its JSON data, or None for a kind that this version does not know or that is damaged.

    A file says what it likes, so every value must be of the type that the event declares.
    """
    from pydantic import ValidationError

    name = str(data.get("event"))
    kind = KINDS.get(name)
    if kind is None:
        return None
    known = {item.name for item in dataclasses.fields(kind)}
    try:
        found: Event = _adapter(name).validate_python({key: value for key, value in data.items() if key in known})
    except (ValidationError, RecursionError):
        return None
    return found


@cache
def _adapter(name: str) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(KINDS[name])
