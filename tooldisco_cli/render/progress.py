"""How far something slow is, on stderr of a terminal, once it has taken a second; elsewhere nothing is said."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tooldisco_cli.render.streams import Output

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from tooldisco_cli.catalog.parallel import Tell

PATIENCE = 1.0
"""Seconds before a bar appears: what is done by then needs none."""


@contextmanager
def progress(what: str, output: Output) -> Iterator[Tell | None]:
    """Give a function to call with how much is done and how much there is; None where nobody would see it."""
    import sys

    if output.quiet or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    bar = _Bar(what, output)
    try:
        yield bar.tell
    finally:
        bar.close()


class _Bar:
    def __init__(self, what: str, output: Output) -> None:
        self._what = what
        self._output = output
        self._since = time.monotonic()
        self._shown: tuple[Progress, TaskID] | None = None

    def tell(self, done: int, total: int) -> None:
        if self._shown is None:
            if time.monotonic() - self._since < PATIENCE or done >= total:
                return
            self._shown = self._show(total)
        progress, task = self._shown
        progress.update(task, completed=done, total=total)

    def close(self) -> None:
        if self._shown is not None:
            self._shown[0].stop()

    def _show(self, total: int) -> tuple[Progress, TaskID]:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        console = Console(stderr=True, no_color=self._output.no_color or None, highlight=False)
        columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn())
        shown = Progress(*columns, console=console, transient=True)
        shown.start()
        return shown, shown.add_task(self._what, total=total)
