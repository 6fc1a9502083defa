"""Asks a person on the terminal whether a tool may run, after showing what it will do."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from tooldisco_cli.render.execution import preview_lines
from tooldisco_cli.render.streams import print_note
from tooldisco_cli.render.terminal import WIDEST
from tooldisco_cli.render.untrusted import visible
from tooldisco_cli.render.wrapping import wrap

if TYPE_CHECKING:
    from tooldisco_cli.execution.protocol import ApprovalRequest, Approver, Decision


_ROOM = 10
"""Cells that the last line of a question leaves for the answer."""


def terminal_approver(*, reads_stdin: bool = False, session: bool = False) -> Approver | None:
    """Return what asks on the terminal, or None where nobody can be asked.

    ``session`` offers to allow the tool for the rest of the session. Questions go to stderr, so that stdout stays
    the tool's alone.
    """
    if reads_stdin or not (sys.stdin and sys.stdin.isatty() and sys.stderr.isatty()):
        return None

    async def ask(request: ApprovalRequest) -> Decision:
        for line in question_lines(request):
            print_note(line)
        answer = await read_line(_prompt(request, session=session))
        return decision(request, answer, session=session)

    return ask


def question_lines(request: ApprovalRequest) -> list[str]:
    """Return what a person is shown before the question."""
    effect = "may delete or overwrite" if request.destructive else "changes something"
    where = " beyond this machine" if request.open_world else " on this machine"
    return [f"{visible(request.reference)} {effect}{where}:", *preview_lines(request.preview)]


def _prompt(request: ApprovalRequest, *, session: bool) -> str:
    if request.destructive:
        return f"Type {visible(request.reference)} to run it: "
    return "Run it? [y]es, [a]lways in this session, [N]o: " if session else "Run it? [y/N] "


def decision(request: ApprovalRequest, answer: str, *, session: bool) -> Decision:
    """Return what an answer means; anything unclear means no. A destructive tool needs its name in full."""
    text = answer.strip().lower()
    if request.destructive:
        return "once" if answer.strip() == request.reference else "no"
    if text in {"y", "yes", "是", "好"}:
        return "once"
    return "session" if session and text in {"a", "always", "总是"} else "no"


def note_wrapped(text: str, *, hang: int = 0, note: Callable[[str], None] = print_note) -> None:
    """Write safe text to a person in lines that fit the terminal; all but the first begin with ``hang`` spaces."""
    for line in _lines(text, hang):
        note(line)


def _lines(text: str, hang: int, *, room: int = 0) -> list[str]:
    width = max(20, min(shutil.get_terminal_size().columns, WIDEST) - room)
    margin = " " * (len(text) - len(text.lstrip(" ")))
    first, *rest = wrap(text, width - max(len(margin), hang)) or [""]
    # What ``wrap`` strips, such as the indent of an item, belongs to the layout.
    return [margin + first, *(" " * max(hang, len(margin)) + line for line in rest)]


async def read_line(prompt: str) -> str:
    """Return one line from the terminal, without its end; ``""`` at the end of input.

    The thread that waits for it is a daemon: after Ctrl-C nothing waits for a line that nobody will type.
    """
    loop = asyncio.get_running_loop()
    line: asyncio.Future[str] = loop.create_future()

    def settle(text: str) -> None:
        if not line.done():
            line.set_result(text)

    def read() -> None:
        text = sys.stdin.readline()
        with contextlib.suppress(RuntimeError):  # the loop is gone, and so is who asked
            loop.call_soon_threadsafe(settle, text)

    *before, last = _lines(prompt.rstrip(" "), 0, room=_ROOM)
    for shown in before:
        print_note(shown)
    sys.stderr.write(f"{last} ")
    sys.stderr.flush()
    threading.Thread(target=read, name="tooldisco-question", daemon=True).start()
    return (await line).strip()
