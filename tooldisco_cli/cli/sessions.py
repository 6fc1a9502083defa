"""``tooldisco sessions``: read back, go on with, and re-run recorded sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tooldisco_cli.cli.context import common
from tooldisco_cli.cli.options import AsJson, NoColor, Quiet, ToolsDirs
from tooldisco_cli.cli.run import Confirm, EventsAsJson, MaxTurns, Model, Rehearse, Yes, run_session
from tooldisco_cli.errors import UsageError

app = typer.Typer(
    name="sessions",
    help="Read back, go on with, and re-run recorded sessions.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
)

SessionName = Annotated[
    str,
    typer.Argument(
        metavar="SESSION", help="An id or its beginning, `last`, `example` (one that is shipped), or a file."
    ),
]


@app.callback()
def sessions() -> None:
    """Read back, go on with, and re-run recorded sessions."""


def trace_path(name: str) -> Path:
    """Return the path of a session's record. Raises NothingFound."""
    from tooldisco_cli.agent.trace import find_trace

    if name == "example":
        return Path(__file__).resolve().parent.parent / "agent" / "example.jsonl"
    return find_trace(name)


@app.command("list")
def list_sessions(
    ctx: typer.Context,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many at most.")] = 20,
    as_json: AsJson = False,
    no_color: NoColor = False,
    quiet: Quiet = False,
) -> None:
    """List recorded sessions, newest first."""
    given = common(ctx)
    from tooldisco_cli.agent.trace import list_traces, read_trace
    from tooldisco_cli.errors import NothingFound
    from tooldisco_cli.render.sessions import show_sessions

    traces = []
    for path in list_traces()[:limit]:
        try:
            traces.append(read_trace(path))
        except NothingFound as error:
            given.output.note(f"warning: {error.message}")
    show_sessions(traces, given.output)


@app.command("show", no_args_is_help=True)
def show(
    ctx: typer.Context,
    session: SessionName,
    as_json: EventsAsJson = False,
    no_color: NoColor = False,
    quiet: Quiet = False,
) -> None:
    """Show a session as it was seen, all at once. No key is needed."""
    _replay(ctx, session, pause=0.0)


@app.command("replay", no_args_is_help=True)
def replay(
    ctx: typer.Context,
    session: SessionName,
    rerun: Annotated[
        bool,
        typer.Option("--rerun", help="Run the loop again over today's catalog, with the model's recorded answers."),
    ] = False,
    execute: Annotated[
        bool, typer.Option("--execute", help="With --rerun: really run tools; otherwise they are rehearsed.")
    ] = False,
    pause: Annotated[
        float, typer.Option("--pause", min=0, max=60, help="Seconds between events on a terminal.")
    ] = 0.6,
    yes: Yes = False,
    confirm: Confirm = None,
    as_json: EventsAsJson = False,
    tools_dir: ToolsDirs = None,
    no_color: NoColor = False,
    quiet: Quiet = False,
) -> None:
    """Play a session again as it was seen; no key is needed. With --rerun, test a changed catalog against it."""
    if not rerun:
        if execute:
            raise UsageError("--execute goes with --rerun")
        _replay(ctx, session, pause=pause)
        return
    from tooldisco_cli.agent.replay import ReplayBackend, said_by_user
    from tooldisco_cli.agent.trace import read_trace

    trace = read_trace(trace_path(session))
    said = said_by_user(trace.messages)
    if not said:
        raise UsageError("nothing was said in this session")
    run_session(
        common(ctx),
        said[0],
        model="replay",
        backend=ReplayBackend(trace.messages),
        discovery=trace.discovery,
        rehearse=not execute,
        yes=yes,
        confirm=tuple(confirm or ()),
        record=False,
        by_meaning=False,
        by_usage=False,
    )


def _replay(ctx: typer.Context, session: str, *, pause: float) -> None:
    import sys
    import time

    given = common(ctx)
    from tooldisco_cli.agent.trace import read_trace
    from tooldisco_cli.render.session import session_view
    from tooldisco_cli.render.sessions import replayed

    view = session_view(given.output)
    waits = pause if sys.stdout.isatty() and not given.output.as_json else 0.0
    for event in replayed(read_trace(trace_path(session))):
        view(event)
        if waits:
            time.sleep(waits)


@app.command("export", no_args_is_help=True)
def export(
    ctx: typer.Context,
    session: SessionName,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write one HTML page.")] = None,
    svg: Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Write a picture of a terminal.")] = None,
    width: Annotated[int, typer.Option("--width", min=40, max=200, help="Columns of the page.")] = 100,
    quiet: Quiet = False,
) -> None:
    """Write a session as a page or a picture to send to somebody."""
    if html is None and svg is None:
        raise UsageError("say where to: --html FILE or --svg FILE")
    from tooldisco_cli.agent.trace import read_trace
    from tooldisco_cli.render.sessions import write_page

    trace = read_trace(trace_path(session))
    for path in (html, svg):
        if path is not None:
            write_page(trace, path, width, common(ctx).output, as_svg=path is svg)


@app.command("resume", no_args_is_help=True)
def resume(
    ctx: typer.Context,
    session: SessionName,
    task: Annotated[
        list[str] | None, typer.Argument(metavar="[TASK]...", help="What to say next; left out, a conversation.")
    ] = None,
    model: Model = None,
    max_turns: MaxTurns = 40,
    rehearse: Rehearse = False,
    yes: Yes = False,
    confirm: Confirm = None,
    as_json: EventsAsJson = False,
    tools_dir: ToolsDirs = None,
    no_color: NoColor = False,
    quiet: Quiet = False,
) -> None:
    """Go on with a session: its conversation, and what its searches have shown, are remembered.

    A file from elsewhere is left as it is: a new session goes on from a copy of it.
    """
    from tooldisco_cli.agent.session import Limits
    from tooldisco_cli.agent.trace import own_trace, read_trace
    from tooldisco_cli.render.person import can_ask

    trace = read_trace(trace_path(session))
    if session == "example":
        raise UsageError("the example is only to be seen", hint="tooldisco sessions replay example")
    text = " ".join(task) if task else None
    if text is None and not can_ask():
        raise UsageError("there is nothing to say", hint="give it in words after the session")
    run_session(
        common(ctx),
        text,
        model=model or str(trace.header.get("model") or "") or None,
        discovery=trace.discovery,
        limits=Limits(max_turns=max_turns),
        rehearse=rehearse,
        yes=yes,
        confirm=tuple(confirm or ()),
        resumed=own_trace(trace),
    )
