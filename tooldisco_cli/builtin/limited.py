"""Runs one Python program under limits that the system enforces, on it and on whatever it starts.

Started as a script of its own by :mod:`tooldisco_cli.builtin.programs`, with seconds of processor time, bytes of
address space, bytes of a file, and the program's path. Where a system lacks a limit, that one is left out.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

_MORE_PROCESSES = 64
_OPEN_FILES = 64


def main() -> None:
    """Set the limits and run the program as ``__main__``."""
    seconds, memory, file_size = map(int, sys.argv[1:4])
    program = Path(sys.argv[4]).read_text(encoding="utf-8")
    _limit(
        RLIMIT_NPROC=_running() + _MORE_PROCESSES,
        RLIMIT_CPU=seconds,
        RLIMIT_AS=memory,
        RLIMIT_FSIZE=file_size,
        RLIMIT_NOFILE=_OPEN_FILES,
        RLIMIT_CORE=0,
    )
    sys.argv = ["program.py"]
    exec(compile(program, "program.py", "exec"), {"__name__": "__main__", "__builtins__": __builtins__})  # noqa: S102


def _limit(**limits: int) -> None:
    try:
        import resource
    except ImportError:
        return
    for name, most in limits.items():
        with contextlib.suppress(AttributeError, ValueError, OSError):
            resource.setrlimit(getattr(resource, name), (most, most))


def _running() -> int:
    """Return how many tasks the user has: the limit on processes counts them all. Root is exempt from it."""
    count = 0
    with contextlib.suppress(OSError):
        for entry in os.scandir("/proc"):
            if entry.name.isdigit():
                with contextlib.suppress(OSError):
                    if entry.stat().st_uid == os.getuid():
                        count += sum(1 for _ in os.scandir(f"{entry.path}/task"))
    return count or 2000


if __name__ == "__main__":
    main()
