"""Views of recorded sessions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tooldisco_cli.agent.events import Event, TextDelta, TextEnded
from tooldisco_cli.errors import ToolFailed
from tooldisco_cli.render.session import session_view
from tooldisco_cli.render.streams import Output, print_json
from tooldisco_cli.render.terminal import print_columns
from tooldisco_cli.render.untrusted import visible

if TYPE_CHECKING:
    from tooldisco_cli.agent.trace import Trace

SCHEMA = "tooldisco.sessions/1"


def show_sessions(traces: Sequence[Trace], output: Output) -> None:
    """Print a list of sessions."""
    if output.as_json:
        rows = [
            {
                "session": trace.session,
                "path": str(trace.path),
                "model": str(trace.header.get("model", "")),
                "task": trace.task,
                "stop": trace.ended.stop if trace.ended else None,
                "turns": trace.ended.turns if trace.ended else None,
            }
            for trace in traces
        ]
        print_json(SCHEMA, {"sessions": rows})
        return
    if not traces:
        output.note("no session is recorded")
    rows_shown = []
    for trace in traces:
        how = trace.ended.stop if trace.ended else "cut off"
        task = visible(trace.task)
        rows_shown.append([visible(trace.session), how, task[:80] + ("…" if len(task) > 80 else "")])
    print_columns(rows_shown)


def replayed(trace: Trace) -> Iterator[Event]:
    """Yield a session's events as they were seen; whole texts stand in for the pieces they streamed in."""
    for event in trace.events:
        if isinstance(event, TextEnded):
            yield TextDelta(text=event.text)
        yield event


def write_page(trace: Trace, path: Path, width: int, output: Output, *, as_svg: bool) -> None:
    """Write a session as one HTML page or SVG picture, without scripts and without addresses to load anything from.

    Raises ToolFailed when it cannot be written.
    """
    import io
    import re

    from rich.console import Console

    console = Console(
        record=True,
        width=width,
        file=io.StringIO(),
        highlight=False,
        markup=False,
        emoji=False,
        force_terminal=True,
        color_system="truecolor",
        soft_wrap=True,
    )
    view = session_view(Output(), console=console)
    for event in replayed(trace):
        view(event)
    if as_svg:
        # Rich's pictures fetch their fonts from a site; without that, the viewer's own monospace does.
        page = re.sub(r"@font-face\s*\{.*?\}", "", console.export_svg(title="tooldisco"), flags=re.DOTALL)
    else:
        page = console.export_html(inline_styles=True)
    try:
        path.write_text(page, "utf-8")
    except OSError as error:
        raise ToolFailed(f"{path} cannot be written: {error.strerror or error}") from error
    output.note(f"written to {visible(str(path))}")
