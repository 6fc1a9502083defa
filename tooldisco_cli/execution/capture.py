"""Takes in what a child prints without ever holding much of it in memory."""

from __future__ import annotations

import asyncio
import os
import select
import tempfile
import threading
from collections.abc import Callable
from typing import IO

MAX_OUTPUT_BYTES = 1_000_000_000
"""A program that prints more is stopped: it would fill the disk."""
_IN_MEMORY = 1_000_000
_TAIL_BYTES = 64_000
_CHUNK = 262_144
_POLL_MILLISECONDS = 200


class Capture:
    """The reading end of a pipe, emptied by a thread into a temporary file, or only its last bytes kept.

    A thread, because asyncio's own pipes wait for every process that inherited them before the child counts as
    ended. ``done`` is set at the end of the stream, ``overflow`` when it had more than ``MAX_OUTPUT_BYTES``.
    """

    def __init__(self, *, only_tail: bool = False) -> None:
        self.size = 0
        self.done = asyncio.Event()
        self.overflow = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._only_tail = only_tail
        self._tail = bytearray()
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115  # closed by close()
        self._stop = threading.Event()
        self._reader, self.writer = os.pipe()
        self._thread = threading.Thread(target=self._drain, name="tooldisco-capture", daemon=True)

    def begin(self) -> None:
        """Start reading; the writing end now belongs to the child alone."""
        self._close_writer()
        self._thread.start()

    def tail(self, size: int = _TAIL_BYTES) -> bytes:
        """Return the last bytes that were printed, at most 64,000."""
        return bytes(self._tail[-size:])

    def content(self) -> IO[bytes]:
        """Return everything that was printed, as a file at its beginning; valid until ``close``."""
        self._file.seek(0)
        return self._file

    def close(self) -> None:
        """Stop reading and give back the file; safe to call at any time.

        Not a coroutine, so that no cancellation can keep it from happening; with the child gone it waits for
        nothing, at worst for one look at the pipe.
        """
        self._stop.set()
        self._close_writer()
        if self._thread.ident:
            self._thread.join(2 * _POLL_MILLISECONDS / 1000)
        else:
            os.close(self._reader)
        self._file.close()

    def _close_writer(self) -> None:
        if self.writer >= 0:
            os.close(self.writer)
            self.writer = -1

    def _drain(self) -> None:
        try:
            while not self._stop.is_set():
                if not _readable(self._reader):
                    continue
                data = os.read(self._reader, _CHUNK)
                if not data:
                    break
                self._take(data)
        except (OSError, ValueError):
            pass
        finally:
            os.close(self._reader)
            self._tell(self.done.set)

    def _take(self, data: bytes) -> None:
        self.size += len(data)
        self._tail += data[-_TAIL_BYTES:]
        del self._tail[:-_TAIL_BYTES]
        if self._only_tail:
            return
        if self.size > MAX_OUTPUT_BYTES:
            self._tell(self.overflow.set)
            return
        self._file.write(data)

    def _tell(self, what: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(what)
        except RuntimeError:
            self._stop.set()  # the loop is closed: nobody listens any more


def _readable(descriptor: int) -> bool:
    """Whether a read will not block; on Windows, where pipes cannot be asked, always."""
    if not hasattr(select, "poll"):
        return True
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    return bool(poller.poll(_POLL_MILLISECONDS))
