"""Runs a coroutine to its end, and ends it cleanly when the process is told to stop."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

from tooldisco_cli.errors import Interrupted

T = TypeVar("T")


def run_until_interrupted(work: Coroutine[Any, Any, T]) -> T:
    """Return what ``work`` returns. SIGINT and SIGTERM cancel it, so that whatever it started is ended first.

    Raises Interrupted after that.
    """

    async def watched() -> T:
        task = asyncio.ensure_future(work)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            try:
                loop.add_signal_handler(number, task.cancel)
            except (NotImplementedError, RuntimeError):
                # Windows has no handlers in the loop; KeyboardInterrupt does the same there.
                break
        return await task

    try:
        return asyncio.run(watched())
    except (asyncio.CancelledError, KeyboardInterrupt):
        raise Interrupted("stopped; what was started has been ended") from None
