"""A session at the terminal: one task, or a conversation with history, slash commands and clean interruption."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tooldisco_cli.agent.events import Event, Notice, SessionEnded, UserSaid
from tooldisco_cli.agent.trace import sessions_folder
from tooldisco_cli.errors import TooldiscoError
from tooldisco_cli.execution.mcp_connections import McpConnections
from tooldisco_cli.render.asking import note_wrapped
from tooldisco_cli.render.failure import show_failure
from tooldisco_cli.render.streams import Output, print_line, print_note
from tooldisco_cli.render.untrusted import visible

if TYPE_CHECKING:
    from prompt_toolkit.key_binding import KeyBindings

    from tooldisco_cli.agent.session import Session

View = Callable[[Event], None]

COMMANDS = {
    "/help": "what these commands do",
    "/tools": "list tools, of one category: /tools data",
    "/search": "search the catalog yourself: /search 发送邮件",
    "/dry-run": "on or off: whether tools are only rehearsed",
    "/approve": "which tools may run without asking; /approve clear takes that back",
    "/save": "write the conversation to a file: /save FILE",
    "/quit": "leave (also Ctrl-D)",
}


async def run_task(session: Session, text: str, view: View) -> SessionEnded:
    """Run one task to its end; connections to MCP servers and to the model are closed after it."""
    try:
        async with McpConnections():
            return await _answer(session, text, view)
    finally:
        await _close(session)


async def _answer(session: Session, text: str, view: View) -> SessionEnded:
    ended: SessionEnded | None = None
    async with contextlib.aclosing(session.run(text)) as events:
        async for event in events:
            view(event)
            if isinstance(event, SessionEnded):
                ended = event
    assert ended is not None
    return ended


async def _close(session: Session) -> None:
    await session.backend.close()
    if session.trace is not None:
        if session.trace.failure:
            print_note(f"warning: {visible(session.trace.failure)}")
        session.trace.close()


async def converse(session: Session, view: View, output: Output) -> int:
    """Hold a conversation until Ctrl-D; Ctrl-C stops the running turn and keeps the conversation. Return 0."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import WordCompleter
    from prompt_toolkit.history import FileHistory, History, InMemoryHistory

    history: History = InMemoryHistory()
    with contextlib.suppress(OSError):
        folder = sessions_folder()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        history = FileHistory(str(folder / "history"))
    completer = WordCompleter(list(COMMANDS), meta_dict=dict(COMMANDS), sentence=True)
    prompt: PromptSession[str] = PromptSession(history=history, completer=completer, complete_while_typing=False)
    if not output.quiet:
        note_wrapped(
            "A conversation: Enter sends, Alt-Enter breaks the line, Ctrl-C stops a turn, /help, Ctrl-D leaves."
        )
    show = view if output.as_json or not sys.stdout.isatty() else _without_echo(view)
    try:
        async with McpConnections():
            while True:
                try:
                    text = await prompt.prompt_async("› ", key_bindings=_bindings())
                except KeyboardInterrupt:
                    continue
                except EOFError:
                    return 0
                if not text.strip():
                    continue
                if text.startswith("/"):
                    for notice in await session.take_in_changes():
                        view(notice)
                    if _command(session, text.strip(), output):
                        return 0
                    continue
                await _turn(session, text, show)
    finally:
        await _close(session)


def _without_echo(view: View) -> View:
    """Return a view that leaves out what the person said: it stands on the terminal as it was typed."""

    def show(event: Event) -> None:
        if not isinstance(event, UserSaid):
            view(event)

    return show


def _bindings() -> KeyBindings:
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    bindings = KeyBindings()

    @bindings.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return bindings


async def _turn(session: Session, text: str, view: View) -> None:
    """Run one turn that Ctrl-C stops; the conversation then goes on with its calls answered as not run."""
    task = asyncio.ensure_future(_answer(session, text, view))
    loop = asyncio.get_running_loop()
    handled = True
    try:
        loop.add_signal_handler(signal.SIGINT, task.cancel)
    except (NotImplementedError, RuntimeError):
        handled = False
    try:
        await task
    except asyncio.CancelledError:
        if asyncio.current_task() and asyncio.current_task().cancelling():  # type: ignore[union-attr]
            raise
        view(Notice(text="stopped; the conversation goes on"))
    except TooldiscoError as error:
        show_failure(error, as_json=False)
    finally:
        if handled:
            loop.remove_signal_handler(signal.SIGINT)


def _command(session: Session, text: str, output: Output) -> bool:
    """Carry out a slash command; return whether to leave."""
    name, _, rest = text.partition(" ")
    rest = rest.strip()
    meta = session.meta
    if name in {"/quit", "/exit"}:
        return True
    if name == "/help":
        for command, about in COMMANDS.items():
            note_wrapped(f"{command:10} {about}", hang=11, note=print_line)
    elif name == "/tools":
        from tooldisco_cli.render.tools import show_tools

        wanted = [entry for entry in meta.catalog if not rest or entry.tool.category == rest]
        show_tools(wanted, meta.catalog, output)
    elif name == "/search" and rest:
        from tooldisco_cli.render.search import show_answer

        show_answer(meta.index.search(rest), output)
    elif name == "/dry-run" and rest in {"on", "off", ""}:
        meta.rehearse = rest == "on" if rest else not meta.rehearse
        print_line("nothing is run from now on" if meta.rehearse else "tools run again")
    elif name == "/approve":
        if rest == "clear":
            meta.bench.approved.clear()
        approved = sorted(meta.bench.approved)
        print_line(
            "\n".join(f"  {visible(item.partition('#')[0])}" for item in approved) or "every change is asked for"
        )
    elif name == "/save" and rest:
        _save(session, Path(rest).expanduser())
    else:
        print_note(f"no such command: {visible(text)}; /help lists them")
    return False


def _save(session: Session, path: Path) -> None:
    import json

    if session.trace is None:
        print_note("this session is not recorded")
        return
    try:
        path.write_text(json.dumps(session.messages, ensure_ascii=False, indent=1), "utf-8")
    except OSError as error:
        print_note(f"{visible(str(path))} cannot be written: {error.strerror}")
    else:
        print_line(f"written to {visible(str(path))}")
