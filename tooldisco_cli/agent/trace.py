"""The record of a session: JSON Lines, appended as it happens, secrets masked.

The first line is a header (``tooldisco.trace/1``). Then one line for each event that is not a mere piece of text, for
each message of the conversation, and for the state that resuming needs. A line that a crash cut short is ignored, so
what was written before it can always be read.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from tooldisco_cli import paths
from tooldisco_cli.agent.discovery import DISCOVERIES, Discovery
from tooldisco_cli.agent.events import Event, SessionEnded, TextDelta, UserSaid, event_of
from tooldisco_cli.errors import NothingFound
from tooldisco_cli.execution.masking import Masker

JsonObject = dict[str, Any]

SCHEMA = "tooldisco.trace/1"
_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[a-z0-9]{6}")
_STRUCTURE = frozenset(
    {"schema", "event", "type", "role", "session", "at", "stop", "stop_reason", "media_type", "id"}
)
_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"


def new_session_id() -> str:
    """Return an id that sorts by time and that nobody else has: ``20261201-093000-k3x9ab``."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    return f"{stamp}-{''.join(secrets.choice(_ALPHABET) for _ in range(6))}"


def sessions_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Return the folder of traces."""
    return paths.state_folder(environment) / "sessions"


class TraceWriter:
    """The open trace of a running session. A disk that cannot be written ends the record, never the session."""

    def __init__(self, path: Path, header: JsonObject, masker: Masker) -> None:
        self.path = path
        self.failure = ""
        self._masker = masker
        self._file: IO[str] | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            _mend(path)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            self._file = os.fdopen(descriptor, "a", encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            self.failure = f"the session is not recorded: {error}"
            return
        if path.stat().st_size == 0:
            self._write({"schema": SCHEMA} | header)

    def mask_with(self, masker: Masker) -> None:
        """Mask other secrets from now on, as after a change of the catalog."""
        self._masker = masker

    def event(self, event: Event) -> None:
        """Record an event; pieces of text are left out, as the whole text follows."""
        if not isinstance(event, TextDelta):
            self._write({"at": _now()} | event.as_dict())

    def message(self, message: JsonObject) -> None:
        """Record a message of the conversation as it is sent."""
        self._write({"message": message})

    def state(self, **state: Any) -> None:
        """Record state that resuming needs; a later value replaces an earlier one."""
        self._write({"state": state})

    def replaced(self, messages: list[JsonObject]) -> None:
        """Record that the conversation was rewritten as a whole, such as by clearing old results."""
        self._write({"messages": messages})

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            with suppress(OSError):
                self._file.close()
            self._file = None

    def _write(self, line: JsonObject) -> None:
        if self._file is None:
            return
        try:
            self._file.write(json.dumps(_masked(line, self._masker), ensure_ascii=False, default=str) + "\n")
            self._file.flush()
        except OSError as error:
            self.failure = f"the session is no longer recorded: {error}"
            self.close()


def _masked(value: Any, masker: Masker) -> Any:
    """Return a line with secrets masked in every text but those that make it a trace; keys stay as they are."""
    if isinstance(value, dict):
        return {
            key: item if key in _STRUCTURE and isinstance(item, str) else _masked(item, masker)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_masked(item, masker) for item in value]
    return masker.json(value)


def _mend(path: Path) -> None:
    """End a line that a crash cut short, so that what is appended begins a line of its own."""
    with suppress(FileNotFoundError), path.open("rb+") as file:
        if file.seek(0, 2) and file.seek(-1, 2) >= 0 and file.read(1) != b"\n":
            file.write(b"\n")


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


@dataclass(frozen=True, kw_only=True)
class Trace:
    """A recorded session, as far as it was written."""

    path: Path
    header: JsonObject
    events: tuple[Event, ...] = ()
    messages: list[JsonObject] = field(default_factory=list)
    state: JsonObject = field(default_factory=dict)

    @property
    def session(self) -> str:
        """The session's id; the file's name where what the file says could be none."""
        said = self.header.get("session")
        return said if isinstance(said, str) and re.fullmatch(r"[A-Za-z0-9_-]{1,64}", said) else self.path.stem

    @property
    def discovery(self) -> Discovery:
        """The way of discovery that it was opened with."""
        said = self.header.get("discovery")
        return said if said in DISCOVERIES else "meta"

    @property
    def task(self) -> str:
        """What was asked first."""
        return next((event.text for event in self.events if isinstance(event, UserSaid)), "")

    @property
    def ended(self) -> SessionEnded | None:
        """How it ended last, or None when it was cut off."""
        last = self.events[-1] if self.events else None
        return last if isinstance(last, SessionEnded) else None


def read_trace(path: Path) -> Trace:
    """Read a trace; lines that are damaged are left out. Raises NothingFound when it is no trace at all.

    Nothing in it is taken on trust: a conversation with a message that is none is read without it.
    """
    lines = _lines(path)
    header = next(lines, None)
    if header is None or header.get("schema") != SCHEMA:
        raise NothingFound(
            f"{path} is no record of a session that this version reads", hint=f"it must begin {SCHEMA}"
        )
    events: list[Event] = []
    messages: list[JsonObject] = []
    state: JsonObject = {}
    for line in lines:
        if "message" in line and "event" not in line:
            messages += filter(_is_message, [line["message"]])
        elif isinstance(line.get("messages"), list):
            messages = list(filter(_is_message, line["messages"]))
        elif isinstance(line.get("state"), dict):
            state |= _checked(line["state"])
        else:
            event = event_of(line)
            if event is not None:
                events.append(event)
    return Trace(path=path, header=header, events=tuple(events), messages=messages, state=state)


def own_trace(trace: Trace, environment: Mapping[str, str] | None = None) -> Trace:
    """Return what going on with a session is recorded in: its own file, or for anybody's file elsewhere a copy.

    The copy is a session of its own in the folder of traces; its header names its ``origin``.
    """
    folder = sessions_folder(environment)
    if trace.path.resolve().parent == folder.resolve():
        return trace
    session = new_session_id()
    header = trace.header | {"session": session, "origin": str(trace.path.resolve())}
    copy = replace(trace, path=folder / f"{session}.jsonl", header=header)
    lines = list(_lines(trace.path))[1:]
    with suppress(OSError):  # whoever appends to it will meet this again, and says so
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(copy.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in (header, *lines))
    return copy


def _is_message(value: Any) -> bool:
    """Whether a value is a message of the Messages API, as far as everything here relies on it."""
    if not isinstance(value, dict) or value.get("role") not in ("user", "assistant"):
        return False
    content = value.get("content")
    return isinstance(content, str) or (isinstance(content, list) and all(map(_is_block, content)))


def _is_block(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    texts = {
        "text": ("text",),
        "tool_use": ("id", "name"),
        "tool_result": ("tool_use_id",),
        "thinking": ("thinking",),
    }
    kind = value.get("type")
    return isinstance(kind, str) and all(isinstance(value.get(key), str) for key in texts.get(kind, ()))


def _checked(state: JsonObject) -> JsonObject:
    shown = state.get("shown")
    if shown is None:
        return state
    return state | {"shown": [name for name in shown if isinstance(name, str)] if isinstance(shown, list) else []}


def _lines(path: Path) -> Iterator[JsonObject]:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            for text in file:
                try:
                    line = json.loads(text)
                except (ValueError, RecursionError):
                    continue
                if isinstance(line, dict):
                    yield line
    except OSError as error:
        raise NothingFound(f"{path}: {error.strerror or error}") from error


def find_trace(name: str, environment: Mapping[str, str] | None = None) -> Path:
    """Return the path of a session by id, the beginning of one, ``last``, or a file's path. Raises NothingFound."""
    if name == "last":
        found = list_traces(environment)
        if not found:
            raise NothingFound("no session is recorded yet", hint="tooldisco run records one")
        return found[0]
    if os.sep in name or name.endswith(".jsonl"):
        return Path(name)
    matching = [path for path in list_traces(environment) if path.stem.startswith(name)]
    if len(matching) != 1:
        what = "several sessions begin" if matching else "no session begins"
        raise NothingFound(f"{what} with {name!r}", hint="tooldisco sessions list")
    return matching[0]


def list_traces(environment: Mapping[str, str] | None = None) -> list[Path]:
    """Return the paths of all recorded sessions, newest first."""
    try:
        found = [path for path in sessions_folder(environment).glob("*.jsonl") if _ID.fullmatch(path.stem)]
    except OSError:
        return []
    return sorted(found, key=lambda path: path.stem, reverse=True)
