"""Parses many manifests at once: here, and in fresh interpreters beside this one where that pays.

Not by :mod:`multiprocessing`: a forked child would share locks with the threads of the program that uses this
library, and a spawned one would run that program's main module again. A child here is told on its standard input
which files to parse, and answers with what the cache would hold of them (``kept``). Whatever goes wrong with a child,
its files are parsed here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from threading import Thread
from typing import IO, NamedTuple

from tooldisco_cli.catalog.kept import Reading, Stamp, decoded, encoded
from tooldisco_cli.catalog.manifest import Manifest, parse_manifest
from tooldisco_cli.tomlfile import Problem, read_bytes

Tell = Callable[[int, int], None]
"""Called while manifests are parsed, with how many are done and how many there are to parse."""

_BATCH_BYTES = 128 * 1024
_CHILD_BYTES = 1024 * 1024
"""A child must have as much as this to do, about a third of a second, as it takes about that to start."""
_MOST_CHILDREN = 15
_ENDING_SECONDS = 5.0
_CHILD = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from tooldisco_cli.catalog.parallel import serve
serve(sys.stdin.buffer, sys.stdout.buffer)
"""


class Task(NamedTuple):
    """A manifest to be read, and how it looked from outside."""

    path: str
    stamp: Stamp
    read_ns: int


def read_anew(task: Task) -> Reading:
    """Read and parse one manifest. Never raises for what the file is or holds."""
    data = read_bytes(task.path)
    if isinstance(data, Problem):
        return Reading(Manifest(task.path, problems=(data,)), "", task.stamp, task.read_ns)
    return Reading(parse_manifest(data, task.path), sha256(data).hexdigest(), task.stamp, task.read_ns)


def read_all(tasks: Sequence[Task], tell: Tell | None = None) -> list[Reading]:
    """Read and parse manifests, in no order; ``tell`` is called in this thread."""
    results: list[Reading] = []
    work = deque(_batches(tasks))
    children = [child for _ in range(_children(tasks)) if (child := _start()) is not None]
    feeders = [_Feeder(child, work) for child in children]
    try:
        for feeder in feeders:
            feeder.start()
        while work or feeders:
            while (batch := _next(work)) is not None:
                results += map(read_anew, batch)
                if tell is not None:
                    tell(len(results) + sum(feeder.done for feeder in feeders), len(tasks))
            for feeder in feeders:
                feeder.join()  # it may give its last batch back
                results += feeder.readings(work)
            feeders.clear()
    except BaseException:
        for child in children:
            child.kill()  # its feeder may be reading, and would keep the pipe from being closed
        raise
    finally:
        for child in children:
            _end(child)
    if tell is not None and tasks:
        tell(len(tasks), len(tasks))
    return results


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Read batches of tasks, a line each, and answer each with a length, a line end, and readings; to the end."""
    import gc

    gc.disable()  # what a batch makes goes by itself
    for line in requests:
        body = encoded([read_anew(Task(path, Stamp(*stamp), read_ns)) for path, stamp, read_ns in json.loads(line)])
        answers.write(b"%d\n" % len(body))
        answers.write(body)
        answers.flush()


def _batches(tasks: Sequence[Task]) -> Iterator[list[Task]]:
    batch: list[Task] = []
    size = 0
    for task in tasks:
        batch.append(task)
        size += task.stamp.size
        if size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _next(work: deque[list[Task]]) -> list[Task] | None:
    try:
        return work.popleft()
    except IndexError:
        return None


def _children(tasks: Sequence[Task]) -> int:
    size = sum(max(0, task.stamp.size) for task in tasks)
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    program = Path(sys.executable or "").name.lower()
    if getattr(sys, "frozen", False) or not program.startswith(("python", "pypy")):
        return 0  # who knows what that program would do when it is started again
    return min(processors - 1, size // _CHILD_BYTES, _MOST_CHILDREN)


def _start() -> subprocess.Popen[bytes] | None:
    # Isolated, so that nothing in the working folder is imported; with the same packages as here.
    own = str(Path(__file__).resolve().parents[2])
    places = [*(place for place in sys.path if os.path.isabs(place)), own]  # noqa: PTH117 - these are texts
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-c", _CHILD, json.dumps(places)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    except (OSError, ValueError):
        return None


class _Feeder(Thread):
    """Has a child do one batch after another, and ends when there are none, or at the first that went wrong."""

    def __init__(self, child: subprocess.Popen[bytes], work: deque[list[Task]]) -> None:
        super().__init__(daemon=True)
        self.done = 0
        self._child = child
        self._work = work
        self._answers: list[tuple[list[Task], bytes]] = []

    def run(self) -> None:
        while (batch := _next(self._work)) is not None:
            answer = self._ask(batch)
            if answer is None:
                self._work.append(batch)
                return
            self._answers.append((batch, answer))
            self.done += len(batch)

    def readings(self, work: deque[list[Task]]) -> Iterator[Reading]:
        """Yield what the child read; put the tasks of answers that make no sense back to the work."""
        for batch, answer in self._answers:
            try:
                readings = decoded(answer)
            except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
                readings = []
            if [reading.manifest.path for reading in readings] == [task.path for task in batch]:
                yield from readings
            else:
                work.append(batch)

    def _ask(self, batch: list[Task]) -> bytes | None:
        requests, replies = self._child.stdin, self._child.stdout
        if requests is None or replies is None:
            return None
        try:
            requests.write(json.dumps(batch).encode() + b"\n")
            requests.flush()
            length = int(replies.readline())
            answer = replies.read(length)
        except (OSError, ValueError):
            return None
        return answer if len(answer) == length else None


def _end(child: subprocess.Popen[bytes]) -> None:
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    try:
        child.wait(_ENDING_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
