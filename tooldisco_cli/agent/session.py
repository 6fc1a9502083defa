"""The loop: a model answers, its calls are run, the results go back, until it is done or a limit is met.

Every call of an answer is replied to in one message, in order; calls that change nothing run side by side. A stream
that breaks is asked for again once: tools run only after an answer is complete, so none of it has run yet, and no
tool ever runs twice. However a session is stopped, its conversation stays one that can be continued.
"""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from tooldisco_cli.agent.backend import Backend, Piece, Request, StreamBroke, Turn
from tooldisco_cli.agent.discovery import Discovery, system_for, tools_for
from tooldisco_cli.agent.events import (
    Event,
    Notice,
    SessionEnded,
    SessionStarted,
    Stop,
    TextDelta,
    TextEnded,
    ThinkingEnded,
    ToolResult,
    ToolUse,
    TurnEnded,
    UserSaid,
)
from tooldisco_cli.agent.history import (
    acceptable,
    encodable,
    estimated_size,
    repaired,
    tool_result,
    unanswered,
    user_text,
    with_breakpoint,
    with_object_inputs,
    without_old_results,
)
from tooldisco_cli.agent.trace import TraceWriter
from tooldisco_cli.catalog.snapshot import Catalog
from tooldisco_cli.errors import ModelUnavailable, TooldiscoError, ToolFailed
from tooldisco_cli.execution.protocol import ImageBlock, TextBlock
from tooldisco_cli.meta.answering import MetaTools, Reply, failed
from tooldisco_cli.meta.definitions import SEARCH, SYSTEM_PROMPT
from tooldisco_cli.meta.wording import compact, estimated_tokens

JsonObject = dict[str, Any]

_SAME_FAILURES = 3
_CUT_OFF = {"max_tokens", "model_context_window_exceeded"}
"""Reasons to stop after which the last call may be half a call."""
_CONTINUATIONS = 3
_PAUSES = 5
"""So many times in a row a paused answer is asked to go on."""
_CONTINUE = "Your answer was cut off at the token limit. Go on exactly where it stopped."
_ADDED_SINCE = "What fits was added after this session began and cannot be called in it. Tell the person so."
_INTERRUPTED = "not run: the person interrupted this turn"


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Where a session stops by itself."""

    max_turns: int = 40
    """Answers of the model to one thing that the person said."""
    max_tokens: int = 8192
    """Tokens of one answer."""
    budget_tokens: int = 0
    """Tokens in and out of the whole session; 0 for no limit."""
    context_tokens: int = 150_000
    """From about this size of the conversation on, old tool results are cleared."""


@dataclass(kw_only=True)
class Session:
    """One conversation: its messages, what it may do, and where it is recorded."""

    id: str
    backend: Backend
    meta: MetaTools
    model: str
    trace: TraceWriter | None = None
    limits: Limits = field(default_factory=Limits)
    discovery: Discovery = "meta"
    pins: Sequence[str] = ()
    system: str = SYSTEM_PROMPT
    messages: list[JsonObject] = field(default_factory=list)
    usage: dict[str, int] = field(default_factory=dict)
    on_change: Callable[[Catalog], None] | None = None
    """Called with a catalog that took the place of another."""

    def __post_init__(self) -> None:
        definitions = self.meta.definitions()
        self.tools = tools_for(self.discovery, self.meta.catalog, definitions, self.pins)
        self.meta.shown.update(self.meta.catalog.get(name).name for name in self.pins)
        self.meta.given = frozenset(str(tool["name"]) for tool in self.tools)
        self.messages = repaired(encodable(self.messages), _INTERRUPTED)
        self.discovery_tokens = estimated_tokens(compact([t for t in self.tools if not t.get("defer_loading")]))
        self._failures: dict[str, int] = {}
        self._last_size = 0

    def started(self) -> SessionStarted:
        """Return the event that the session begins, and record it."""
        event = SessionStarted(
            session=self.id,
            model=self.model,
            discovery=self.discovery,
            tools=len(self.meta.catalog),
            dry_run=self.meta.rehearse,
        )
        self._record(event)
        return event

    async def run(self, text: str) -> AsyncGenerator[Event, None]:
        """Answer one thing that the person says; the last event is SessionEnded, whatever happens.

        When the task that iterates is cancelled, open calls are answered as not run before the cancellation goes on.
        """
        begun = time.monotonic()
        turns = 0
        self._say(user_text(text))
        yield self._record(UserSaid(text=text))
        try:
            async for event in self._loop():
                turns += isinstance(event, TurnEnded)
                if isinstance(event, _Ending):
                    yield self._ended(event.stop, turns, begun, event.error)
                    return
                yield self._record(event)
        except (asyncio.CancelledError, GeneratorExit):
            self._repair()
            self._ended("interrupted", turns, begun)
            raise
        except TooldiscoError as error:
            self._repair()
            yield self._ended("error", turns, begun, error)

    async def _loop(self) -> AsyncIterator[Event]:
        continuations = 0
        made_room = False
        pauses = 0
        for number in range(1, self.limits.max_turns + 1):
            if self.limits.budget_tokens and self._used() >= self.limits.budget_tokens:
                yield _Ending(
                    stop="budget", error=_limit(f"the budget of {self.limits.budget_tokens:,} tokens is used")
                )
                return
            if max(self._last_size, estimated_size(self.messages)) > self.limits.context_tokens:
                notice = self._make_room()
                if notice:
                    yield notice
            turn: Turn | None = None
            async for item in self._answered():
                if isinstance(item, Turn):
                    turn = item
                else:
                    yield item
            assert turn is not None
            turn = replace(turn, content=acceptable(turn.content, self.messages))
            self._count(turn)
            if turn.stop_reason == "model_context_window_exceeded" and not made_room:
                made_room = True
                notice = self._make_room(keep=2)
                if notice:
                    yield TurnEnded(turn=number, stop_reason=turn.stop_reason, usage=turn.usage)
                    yield notice
                    continue
            if turn.content and turn.stop_reason != "refusal":
                self._say({"role": "assistant", "content": turn.content})
            yield TurnEnded(turn=number, stop_reason=turn.stop_reason, usage=turn.usage)
            uses = unanswered(self.messages) if turn.content and turn.stop_reason != "refusal" else []
            if uses:
                async for event in self._calls(uses, cut_off=turn.stop_reason in _CUT_OFF):
                    yield event
                    if isinstance(event, _Ending):
                        return
                pauses = 0
                continue
            if turn.stop_reason == "max_tokens" and turn.content and continuations < _CONTINUATIONS:
                continuations += 1
                yield Notice(text=f"the answer reached {self.limits.max_tokens:,} tokens; asked to go on")
                self._say(user_text(_CONTINUE))
                continue
            if turn.stop_reason == "pause_turn" and turn.content:
                pauses += 1
                if pauses <= _PAUSES:
                    continue
                error = _limit(f"the model service paused its answer {pauses} times in a row and never ended it")
                yield _Ending(stop="max_turns", error=error)
                return
            yield _ending_of(turn, self.limits)
            return
        yield _Ending(stop="max_turns", error=_limit(f"no end after {self.limits.max_turns} turns"))

    async def _answered(self) -> AsyncIterator[Event | Turn]:
        """Yield one answer of the model, asked for again once if it breaks off."""
        for attempt in (1, 2):
            try:
                async for item in self.backend.answer(self._request()):
                    if isinstance(item, Turn):
                        yield item
                        return
                    event = _shown(item)
                    if event is not None:
                        yield event
            except StreamBroke as error:
                if attempt == 2:
                    raise ModelUnavailable(
                        f"the answer broke off twice: {error}", hint="the conversation is kept; resume the session"
                    ) from error
                yield Notice(text=f"the answer broke off ({error}); asking again, nothing of it has run")
            else:
                raise ModelUnavailable("the model service ended its answer without completing it")

    def _request(self) -> Request:
        return Request(
            model=self.model,
            max_tokens=self.limits.max_tokens,
            system=system_for(self.system),
            tools=self.tools,
            messages=with_breakpoint(with_object_inputs(self.messages)),
        )

    async def _calls(self, uses: Sequence[JsonObject], *, cut_off: bool) -> AsyncIterator[Event]:
        """Run the calls of one answer and put all results into one message."""
        results: list[JsonObject] = []
        ending: _Ending | None = None
        position = 0
        while position < len(uses):
            for notice in await self._changes():
                yield notice
            group = [uses[position]]
            while (
                self.meta.is_parallel(group[0]["name"], group[0]["input"])
                and position + len(group) < len(uses)
                and self.meta.is_parallel(uses[position + len(group)]["name"], uses[position + len(group)]["input"])
            ):
                group.append(uses[position + len(group)])
            position += len(group)
            for use in group:
                yield ToolUse(id=use["id"], name=use["name"], input=use["input"])
            broken = uses[-1] if cut_off else None
            answered = await _gathered([self._reply(use, broken=use is broken) for use in group])
            for use, (first, seconds) in zip(group, answered, strict=True):
                reply, ending = self._repeated(use, first, ending)
                results.append(tool_result(use["id"], self._content(use, reply), is_error=reply.is_error))
                yield _result_event(use, reply, seconds)
        self._say({"role": "user", "content": results})
        if self.trace is not None:
            self.trace.state(shown=sorted(self.meta.shown))
        if ending is not None:
            yield ending

    async def take_in_changes(self) -> list[Event]:
        """Bring the catalog up to date between turns; return what there is to tell of it, and record that."""
        return [self._record(notice) for notice in await self._changes()]

    async def _changes(self) -> list[Notice]:
        before = self.meta.catalog
        notices = [Notice(text=text) for text in await self.meta.refresh()]
        if self.on_change is not None and self.meta.catalog is not before:
            self.on_change(self.meta.catalog)
        return notices

    async def _reply(self, use: JsonObject, *, broken: bool) -> tuple[Reply, float]:
        begun = time.monotonic()
        if broken:
            error = ToolFailed(
                "the call was cut off at the token limit and was not run", hint="call again with a shorter input"
            )
            return failed(error), 0.0
        reply = await self.meta.answer(use["name"], use["input"])
        return reply, time.monotonic() - begun

    def _repeated(self, use: JsonObject, reply: Reply, ending: _Ending | None) -> tuple[Reply, _Ending | None]:
        """Tell the model when the same call fails again and again; end the session when it goes on all the same."""
        key = compact([use["name"], use["input"]])
        if not reply.is_error:
            self._failures.pop(key, None)
            return reply, ending
        count = self._failures[key] = self._failures.get(key, 0) + 1
        if count < _SAME_FAILURES:
            return reply, ending
        text = f"This same call has now failed {count} times. Do not make it again: change it, or do without it."
        if count > _SAME_FAILURES:
            error = ToolFailed(f"the model repeated the same failing call of {_called(use, reply)} {count} times")
            ending = ending or _Ending(stop="repeated_failure", error=error)
        return Reply(blocks=(*reply.blocks, TextBlock(text)), is_error=True, tool=reply.tool,
                     execution=reply.execution, answer=reply.answer), ending  # fmt: skip

    def _content(self, use: JsonObject, reply: Reply) -> list[JsonObject]:
        if use["name"] == SEARCH:
            self.discovery_tokens += estimated_tokens(_text_of(reply))
            if self.discovery == "native" and reply.references:
                # A reference must be to a definition of this request, and those are never changed.
                known = [name for name in reply.references if name in self.meta.given]
                references = [{"type": "tool_reference", "tool_name": name} for name in known]
                return references or [{"type": "text", "text": _ADDED_SINCE}]
        return [_block_content(block) for block in reply.blocks]

    # --- the conversation

    def _say(self, message: JsonObject) -> None:
        message = encodable(message)
        self.messages = [*self.messages, message]
        if self.trace is not None:
            self.trace.message(message)

    def _repair(self) -> None:
        mended = repaired(self.messages, _INTERRUPTED)
        if mended is not self.messages:
            self.messages = mended
            if self.trace is not None:
                self.trace.message(mended[-1])

    def _make_room(self, keep: int = 6) -> Notice | None:
        self.messages, cleared = without_old_results(self.messages, keep)
        self._last_size = 0
        if not cleared:
            return None
        if self.trace is not None:
            self.trace.replaced(self.messages)
        return Notice(text=f"{cleared} old tool results were cleared to stay within the model's window")

    def _record(self, event: Event) -> Event:
        if self.trace is not None:
            self.trace.event(event)
        return event

    def _ended(self, stop: Stop, turns: int, begun: float, error: TooldiscoError | None = None) -> Event:
        told = None if error is None else error.as_dict() | {"exit_code": error.exit_code}
        return self._record(
            SessionEnded(
                session=self.id,
                stop=stop,
                turns=turns,
                seconds=round(time.monotonic() - begun, 3),
                usage=dict(self.usage),
                discovery_tokens=self.discovery_tokens,
                error=told,
            )
        )

    def _count(self, turn: Turn) -> None:
        for name, value in turn.usage.items():
            self.usage[name] = self.usage.get(name, 0) + value
        self._last_size = _input_of(turn.usage) + turn.usage.get("output_tokens", 0)

    def _used(self) -> int:
        return _input_of(self.usage) + self.usage.get("output_tokens", 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ending(Event):
    stop: Stop
    error: TooldiscoError | None = None


async def _gathered(work: Sequence[Any]) -> list[Any]:
    """Run coroutines side by side; when this is cancelled, so are they, and are waited for."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(item) for item in work]
    return [task.result() for task in tasks]


def _input_of(usage: dict[str, int]) -> int:
    return sum(
        usage.get(key, 0) for key in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    )


def _called(use: JsonObject, reply: Reply) -> str:
    """Return what a call was really of: a tool of the catalog where it was one, else what it was sent to."""
    given = use["input"].get("tool_name") if isinstance(use["input"], dict) else None
    return (reply.tool or (given if isinstance(given, str) else "") or str(use["name"]))[:200]


def _limit(message: str) -> TooldiscoError:
    return ToolFailed(message, hint="the conversation is kept; resume it with more room")


def _shown(piece: Piece) -> Event | None:
    if piece.kind == "thinking":
        return ThinkingEnded(text=piece.text) if piece.ends else None
    return TextEnded(text=piece.text) if piece.ends else TextDelta(text=piece.text)


def _ending_of(turn: Turn, limits: Limits) -> _Ending:
    if turn.stop_reason == "refusal":
        return _Ending(stop="refusal", error=ToolFailed("the model declined to go on with this"))
    if turn.stop_reason == "max_tokens":
        what = f"the answer is longer than {limits.max_tokens:,} tokens, several times over"
        return _Ending(stop="max_tokens", error=_limit(what))
    if turn.stop_reason == "model_context_window_exceeded":
        error = ToolFailed("the conversation no longer fits the model's window", hint="begin a new session")
        return _Ending(stop="context_window", error=error)
    return _Ending(stop="stop_sequence" if turn.stop_reason == "stop_sequence" else "end_turn")


def _block_content(block: Any) -> JsonObject:
    if isinstance(block, ImageBlock):
        source = {"type": "base64", "media_type": block.media_type, "data": base64.b64encode(block.data).decode()}
        return {"type": "image", "source": source}
    text = block.text if isinstance(block, TextBlock) else compact(asdict(block))
    # The service takes UTF-8 only, and refuses empty text.
    return {"type": "text", "text": text.encode("utf-8", "replace").decode() or "(empty)"}


def _text_of(reply: Reply) -> str:
    return "\n".join(block.text for block in reply.blocks if isinstance(block, TextBlock))


def _result_event(use: JsonObject, reply: Reply, seconds: float) -> ToolResult:
    done = reply.execution
    text = _text_of(reply)
    found = None
    if reply.answer is not None:
        found = [
            {"name": hit.name, "title": hit.title, "category": hit.category, "relevance_score": hit.relevance_score}
            for hit in reply.answer.hits
        ]
    return ToolResult(
        id=use["id"],
        name=use["name"],
        tool=reply.tool,
        is_error=reply.is_error,
        text=text,
        images=sum(isinstance(block, ImageBlock) for block in reply.blocks),
        seconds=round(seconds, 3),
        size=done.size if done and done.ok else len(text),
        shown=len(text),
        cut=asdict(done.cut) if done and done.cut else None,
        handle=done.handle if done else None,
        dry_run=reply.rehearsed,
        found=found,
    )
