"""The view of a session: the model's words as Markdown, its calls and their results, and what it all came to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from tooldisco_cli.agent.events import (
    Event,
    Notice,
    SessionEnded,
    SessionStarted,
    TextDelta,
    TextEnded,
    ThinkingEnded,
    ToolResult,
    ToolUse,
    TurnEnded,
    UserSaid,
)
from tooldisco_cli.meta.definitions import EXECUTE, SEARCH
from tooldisco_cli.render.streams import Output, json_text, print_line, print_note
from tooldisco_cli.render.terminal import WIDEST, styled, terminal
from tooldisco_cli.render.untrusted import visible, visible_lines
from tooldisco_cli.render.wrapping import wrap

if TYPE_CHECKING:
    from rich.console import Console

_SHOWN_LINES = 12
_SHOWN_CHARS = 1500
_STOPS = {
    "max_tokens": "the answer was cut off",
    "max_turns": "stopped at the limit of turns",
    "budget": "stopped at the budget of tokens",
    "repeated_failure": "stopped: the same call failed again and again",
    "context_window": "the conversation no longer fits the model",
    "refusal": "the model declined",
    "interrupted": "interrupted",
    "error": "stopped",
}


def session_view(output: Output, *, console: Console | None = None) -> Callable[[Event], None]:
    """Return what shows each event of a session in turn, in the way that the user wants to be answered."""
    if output.as_json:
        return lambda event: print_line(json_text(event.as_dict()))
    if output.quiet:
        return _AnswerOnly()
    console = console or terminal(output)
    return _OnTerminal(console) if console else _Plain()


class _AnswerOnly:
    """Prints the model's last words only."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def __call__(self, event: Event) -> None:
        if isinstance(event, ToolUse):
            self._texts.clear()
        elif isinstance(event, TextEnded):
            self._texts.append(event.text)
        elif isinstance(event, SessionEnded):
            if self._texts:
                print_line(visible_lines("\n\n".join(self._texts)))
            self._texts.clear()
            _show_error(event)


class _Plain:
    """Plain lines for a pipe or a log: ``>`` what was called, ``<`` what came of it."""

    def __call__(self, event: Event) -> None:
        if isinstance(event, UserSaid):
            print_line(f"# {visible(event.text)}")
        elif isinstance(event, TextEnded):
            print_line(visible_lines(event.text))
        elif isinstance(event, ToolUse):
            name, given = call_of(event)
            print_line(f"> {visible(name)} {_short(json_text(given), 400)}")
        elif isinstance(event, ToolResult):
            print_line(f"< {outcome(event)}: {_short(_result_line(event), 400)}")
        elif isinstance(event, Notice):
            print_line(f"! {visible(event.text)}")
        elif isinstance(event, SessionEnded):
            print_line(f"= {summary_line(event)}")
            _show_error(event)


class _OnTerminal:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._answer = Paragraphs()

    def __call__(self, event: Event) -> None:
        if isinstance(event, TextDelta):
            self._stream(event.text)
        elif isinstance(event, TextEnded):
            self._flush()
        elif isinstance(event, ThinkingEnded):
            if event.text.strip():
                self._print(wrap(visible(event.text), self._width, most=3), "dim italic")
        elif isinstance(event, SessionStarted):
            mode = " · rehearsal: nothing is run" if event.dry_run else ""
            about = f"session {event.session} · {event.model} · {event.tools:,} tools · {event.discovery}{mode}"
            self._print(wrap(visible(about), self._width), "dim")
        elif isinstance(event, UserSaid):
            self._print([f"› {line}" for line in wrap(visible(event.text), self._width - 2)], "bold")
            self._console.print()
        elif isinstance(event, ToolUse):
            self._flush()
            self._call(event)
        elif isinstance(event, ToolResult):
            self._result(event)
        elif isinstance(event, TurnEnded):
            self._flush()
        elif isinstance(event, Notice):
            # What was streamed before it would otherwise stand under the next answer.
            self._flush()
            self._print(wrap(f"! {visible(event.text)}", self._width), "yellow")
        elif isinstance(event, SessionEnded):
            self._flush()
            self._print(wrap(summary_line(event), self._width), "dim")
            self._error(event)

    @property
    def _width(self) -> int:
        return max(20, min(self._console.width, WIDEST))

    def _print(self, lines: Iterable[str], style: str) -> None:
        for line in lines:
            self._console.print(styled((line, style)))

    def _stream(self, text: str) -> None:
        """Show Markdown by paragraphs: each as soon as it is complete, and a code block only as a whole."""
        for paragraph in self._answer.feed(text):
            self._markdown(paragraph)

    def _flush(self) -> None:
        rest = self._answer.rest()
        if rest.strip():
            self._markdown(rest)

    def _markdown(self, text: str) -> None:
        from rich.markdown import Markdown

        self._console.print(Markdown(visible_lines(text), hyperlinks=False), width=self._width, soft_wrap=False)
        self._console.print()

    def _call(self, event: ToolUse) -> None:
        name, given = call_of(event)
        if event.name == SEARCH and isinstance(event.input, dict):
            where = f" in {event.input['category']}" if event.input.get("category") else ""
            self._console.print(
                styled(("⌕ search ", "bold magenta"), (visible(f"{event.input.get('query', '')}{where}"), ""))
            )
            return
        self._panel(visible(name), _argument_lines(given), "cyan")

    def _result(self, event: ToolResult) -> None:
        if event.found is not None:
            self._found(event.found)
            return
        style = "red" if event.is_error else "green"
        lines = _result_lines(event)
        self._panel(f"{visible(event.tool or event.name)} {outcome(event)}", lines, style)

    def _found(self, found: list[dict[str, Any]]) -> None:
        from tooldisco_cli.render.terminal import Column, print_grid

        if not found:
            self._print(["  nothing fits"], "yellow")
        rows = [
            [
                f"{hit.get('relevance_score', 0):.2f}",
                visible(str(hit.get("name"))),
                visible(str(hit.get("title", ""))),
            ]
            for hit in found
        ]
        print_grid(self._console, [Column("dim"), Column("cyan", most=32), Column("", lines=1)], rows, indent=2)
        self._console.print()

    def _error(self, event: SessionEnded) -> None:
        """Tell why it ended: on stderr while it happens, in the page itself when one is written."""
        if not self._console.record:
            _show_error(event)
            return
        for line in error_lines(event):
            self._print(wrap(visible(line), self._width), "red")

    def _panel(self, title: str, lines: list[str], style: str) -> None:
        from rich.panel import Panel
        from rich.text import Text

        width = self._width
        body = Text("\n".join(part for line in lines for part in _indented(line, width - 4)))
        self._console.print(
            Panel(body, title=Text(title, f"bold {style}"), title_align="left", border_style=style, width=width),
            soft_wrap=False,
        )
        self._console.print()


def _indented(line: str, width: int) -> list[str]:
    """Break a line and keep its indentation, which carries the structure of JSON and lists."""
    margin = line[: min(len(line) - len(line.lstrip(" ")), width // 2)]
    return [margin + part for part in wrap(line, width - len(margin))] or [""]


def call_of(event: ToolUse) -> tuple[str, Any]:
    """Return which tool a call is really about, and its arguments."""
    if event.name == EXECUTE and isinstance(event.input, dict) and event.input.get("tool_name"):
        return str(event.input["tool_name"]), event.input.get("tool_input", {})
    return event.name, event.input


def _argument_lines(given: Any) -> list[str]:
    if not isinstance(given, dict):
        return [_short(visible(str(given)), _SHOWN_CHARS)]
    lines: list[str] = []
    for key, value in given.items():
        text = value if isinstance(value, str) else json_text(value)
        shown = visible_lines(text).split("\n")
        lines.append(f"{visible(str(key))}: {_short(shown[0], _SHOWN_CHARS)}")
        lines += [f"  {_short(line, _SHOWN_CHARS)}" for line in shown[1:_SHOWN_LINES]]
        if len(shown) > _SHOWN_LINES:
            lines.append(f"  … {len(shown) - _SHOWN_LINES:,} more lines")
    return lines or ["(no arguments)"]


def _result_lines(event: ToolResult) -> list[str]:
    text = _pretty(event.text)
    lines = visible_lines(text[: _SHOWN_CHARS * 4]).split("\n")
    shown = [_short(line, _SHOWN_CHARS) for line in lines[:_SHOWN_LINES]]
    if len(lines) > _SHOWN_LINES:
        shown.append(f"… {len(lines) - _SHOWN_LINES:,} more lines")
    if event.images:
        shown.append(f"[{event.images} image{'s' if event.images > 1 else ''}]")
    return shown


def _result_line(event: ToolResult) -> str:
    if event.found is not None:
        return ", ".join(
            f"{visible(str(hit.get('name')))} {hit.get('relevance_score', 0):.2f}" for hit in event.found
        )
    return visible(event.text)


def _pretty(text: str) -> str:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    if isinstance(value, dict) and isinstance(value.get("error"), dict):
        error = value["error"]
        return "\n".join(str(error[key]) for key in ("message", "hint") if error.get(key))
    return json.dumps(value, ensure_ascii=False, indent=2) if isinstance(value, (dict, list)) else text


def outcome(event: ToolResult) -> str:
    """Return in a few words how a call went: status, duration, size, and what was cut."""
    status = "failed" if event.is_error else "rehearsed, not run" if event.dry_run else "ok"
    parts = [status, f"{event.seconds:.1f} s", f"{event.size:,} characters"]
    if event.cut:
        parts.append(f"{event.cut['shown']:,} of {event.cut['total']:,} {event.cut['unit']} shown")
    return " · ".join(parts)


def summary_line(event: SessionEnded) -> str:
    """Return the last line of a session: how it ended, turns, tokens, cost of discovery, time."""
    usage = event.usage
    read = usage.get("cache_read_input_tokens", 0)
    came_in = usage.get("input_tokens", 0) + usage.get("cache_creation_input_tokens", 0) + read
    parts = [_STOPS[event.stop]] if event.stop in _STOPS else []
    parts.append(f"{event.turns} turn{'' if event.turns == 1 else 's'}")
    if came_in:
        cached = f" ({read:,} cached)" if read else ""
        parts.append(f"{came_in:,} tokens in{cached}, {usage.get('output_tokens', 0):,} out")
    parts += [f"discovery about {event.discovery_tokens:,} tokens", f"{event.seconds:.1f} s"]
    return " · ".join(parts)


def error_lines(event: SessionEnded) -> list[str]:
    """Return what went wrong, and what to do about it; not made safe for a terminal."""
    error = event.error or {}
    lines = [f"tooldisco: {error.get('message', '')}"] if error else []
    return [*lines, *(f"  {line}" for line in str(error.get("hint") or "").splitlines())]


def _show_error(event: SessionEnded) -> None:
    for line in error_lines(event):
        print_note(visible_lines(line))


def _short(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text):,} characters)"


class Paragraphs:
    """Cuts streamed Markdown at blank lines outside of code blocks; looks at each character once."""

    def __init__(self) -> None:
        self._line: list[str] = []
        self._lines: list[str] = []
        self._fence = ""

    def feed(self, text: str) -> Iterator[str]:
        """Yield each paragraph that is complete with ``text``."""
        *ends, rest = text.split("\n")
        for end in ends:
            line = "".join((*self._line, end))
            self._line.clear()
            if not line.strip() and not self._fence:
                if self._lines:
                    yield "\n".join(self._lines)
                    self._lines.clear()
                continue
            self._lines.append(line)
            mark = line.lstrip()[:3]
            if self._fence:
                self._fence = "" if mark == self._fence else self._fence
            elif mark in {"```", "~~~"}:
                self._fence = mark
        if rest:
            self._line.append(rest)

    def rest(self) -> str:
        """Return what came after the last complete paragraph, and begin anew."""
        text = "\n".join((*self._lines, "".join(self._line)))
        self._line, self._lines, self._fence = [], [], ""
        return text
