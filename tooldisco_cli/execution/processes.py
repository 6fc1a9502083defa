"""Child processes that never outlive their purpose.

Each runs in a session of its own, so that it and all it starts can be ended together: by ``end``, SIGTERM and soon
after SIGKILL. On Linux that also reaches children that left the group (a daemon that forked twice), by a mark in
their environment. When tooldisco itself dies, even by SIGKILL, a watchdog does the same: one small process, started
beside the first child, that holds the reading end of a pipe and acts when the pipe closes. Chosen over
``PR_SET_PDEATHSIG``, which needs code between fork and exec (unsafe beside threads), fires when a *thread* ends, and
reaches no grandchildren; and over a launcher in front of each child, which every call would wait for.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tooldisco_cli.execution import watchdog

GRACE_SECONDS = 2.0
"""How long a child may take to end by itself after SIGTERM."""

_POSIX = os.name == "posix"
_NEW_GROUP: int = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)


@dataclass(frozen=True, slots=True)
class Child:
    """A running child, and the mark that all it started carries."""

    process: asyncio.subprocess.Process
    mark: str

    async def end(self, grace_seconds: float = GRACE_SECONDS) -> None:
        """End the child and everything it started, and wait until it is gone.

        Cancelled while waiting, it kills at once and still waits for the child itself.
        """
        try:
            if grace_seconds > 0 and self.process.returncode is None:
                self._signal(terminate=True)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(grace_seconds):
                        await self.process.wait()
        finally:
            self._signal(terminate=False)
            await asyncio.shield(self.process.wait())
            watchdog.forget(self.mark)

    def sweep(self, *, beyond_group: bool = False) -> None:
        """Kill what a child that ended by itself has left running in its group, or anywhere when ``beyond_group``."""
        if _POSIX and beyond_group:
            watchdog.signal_all(self.process.pid, self.mark, signal.SIGKILL)
        elif _POSIX:
            watchdog.signal_group(self.process.pid, signal.SIGKILL)
        watchdog.forget(self.mark)

    def _signal(self, *, terminate: bool) -> None:
        if _POSIX:
            watchdog.signal_all(self.process.pid, self.mark, signal.SIGTERM if terminate else signal.SIGKILL)
        elif self.process.returncode is None:
            force = [] if terminate else ["/F"]
            with contextlib.suppress(OSError, subprocess.SubprocessError):
                subprocess.run(
                    ["taskkill", "/T", *force, "/PID", str(self.process.pid)],
                    capture_output=True,
                    timeout=5,
                    check=False,
                )
            if not terminate:
                with contextlib.suppress(ProcessLookupError):
                    self.process.kill()


async def start(
    program: str,
    arguments: Sequence[str],
    *,
    environment: Mapping[str, str],
    folder: Path,
    stdin: IO[bytes] | int,
    stdout: int,
    stderr: int,
) -> Child:
    """Start a program on given files. Raises OSError, and ValueError for a NUL or an odd variable name."""
    mark = secrets.token_hex(8)
    watchdog.remember(mark)
    try:
        process = await asyncio.create_subprocess_exec(
            program,
            *arguments,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=folder,
            env={**environment, watchdog.MARK: mark},
            start_new_session=_POSIX,
            creationflags=_NEW_GROUP,
        )
    except BaseException:
        watchdog.forget(mark)
        raise
    watchdog.remember(mark, process.pid)
    return Child(process, mark)
