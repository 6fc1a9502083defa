"""Ends the children of a tooldisco that died before it could do so itself. POSIX only.

The same file is the library side, which tells the watchdog about children, and the watchdog's own program, which is
run as a plain script with nothing but the standard library, so that it starts in a few milliseconds. A line on its
standard input is ``+ MARK PID`` (PID 0 just before the child is started) or ``- MARK 0``; the end of the input means
that tooldisco is gone.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

MARK = "TOOLDISCO_CHILD"
"""The environment variable by which everything that a child started is known."""

_GRACE_SECONDS = 1.0
_PASSED_ON = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
_lock = threading.Lock()
_running: subprocess.Popen[bytes] | None = None


def remember(mark: str, pid: int = 0) -> None:
    """Have the watchdog end a child when the present process dies; starts the watchdog when needed.

    Called before the child is started, when it has only a mark, and again with its process id.
    """
    _tell(f"+ {mark} {pid}\n", start=True)


def forget(mark: str) -> None:
    """Tell the watchdog that a child has ended."""
    _tell(f"- {mark} 0\n", start=False)


def _tell(line: str, *, start: bool) -> None:
    """Send a line. A watchdog that cannot be had is no reason not to run a tool."""
    global _running  # noqa: PLW0603  # one watchdog per process is the point
    if os.name != "posix" or not sys.executable or getattr(sys, "frozen", False):
        return
    with _lock:
        if _running is not None and _running.poll() is not None:
            _let_go()
        if _running is None and start:
            with contextlib.suppress(OSError):
                _running = _started()
        if _running is not None and _running.stdin is not None:
            with contextlib.suppress(OSError, ValueError):
                _running.stdin.write(line.encode())
                _running.stdin.flush()


def _started() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-I", "-S", __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd="/",
        env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
    )


def _let_go() -> None:
    """Close this process's end of the pipe: the watchdog ends what is left, and then itself."""
    global _running  # noqa: PLW0603  # see _tell
    if _running is not None:
        if _running.stdin is not None:
            with contextlib.suppress(OSError):
                _running.stdin.close()
        _running.returncode = _running.returncode or 0  # nobody waits for it; keeps Popen from warning about that
    _running = None


def _in_fork() -> None:
    """A forked copy of this process must not hold the pipe open, nor the lock that another thread had."""
    global _lock  # noqa: PLW0603  # see _tell
    _lock = threading.Lock()
    _let_go()


def signal_group(pid: int, number: int) -> None:
    """Send a signal to the process group that ``pid`` leads; silent when there is none."""
    if pid <= 1:
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def signal_all(pid: int, mark: str, number: int) -> None:
    """Send a signal to a child's group and, on Linux, to everything that carries its mark."""
    signal_group(pid, number)
    for stray in marked(mark):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(stray, number)


def marked(mark: str) -> list[int]:
    """Return the processes of this user whose environment carries the mark; none where there is no ``/proc``."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    try:
        names = os.listdir("/proc")  # noqa: PTH208  # a script that must start fast imports no pathlib
    except OSError:
        return []
    for name in names:
        if not name.isdigit() or int(name) == os.getpid():
            continue
        with contextlib.suppress(OSError), open(f"/proc/{name}/environ", "rb") as file:  # noqa: PTH123  # as above
            if wanted in file.read().split(b"\0"):
                found.append(int(name))
    return found


def _alive(pid: int, mark: str) -> bool:
    if pid > 1:
        try:
            os.killpg(pid, 0)
        except ProcessLookupError:
            pass
        except PermissionError:
            return True
        else:
            return True
    return bool(marked(mark))


def _watch() -> None:
    children: dict[str, int] = {}
    for line in sys.stdin:
        if not line.endswith("\n"):
            break  # half a line: tooldisco died while it wrote
        sign, mark, pid = line.split()
        if sign == "+":
            children[mark] = int(pid)
        else:
            children.pop(mark, None)
    for number in (signal.SIGTERM, signal.SIGKILL):
        for mark, pid in children.items():
            signal_all(pid, mark, number)
        patience = time.monotonic() + _GRACE_SECONDS
        while time.monotonic() < patience and any(_alive(pid, mark) for mark, pid in children.items()):
            time.sleep(0.02)


if __name__ == "__main__":
    _watch()
else:
    atexit.register(_let_go)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_in_fork)
