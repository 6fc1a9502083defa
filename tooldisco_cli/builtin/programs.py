"""Python programs in a child process with limits."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from tooldisco_cli.builtin import child
from tooldisco_cli.builtin.context import Context

MAX_OUTPUT = 200_000
MAX_FILE_BYTES = 50_000_000


def run_python(
    *, code: str, stdin: str = "", seconds: int = 10, memory_mb: int = 512, context: Context
) -> dict[str, Any]:
    """Run a program in an empty folder with an empty environment, and return what it printed and how it ended.

    ``stopped`` is ``time``, ``output``, or empty. It is limited, not locked in: it can read what the user can read,
    and reach the network.
    """
    with tempfile.TemporaryDirectory(prefix="tooldisco-python-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        program = folder / "program.py"
        program.write_text(code, encoding="utf-8")
        work = folder / "work"
        work.mkdir()
        ended = child.run(
            [
                sys.executable, "-I", "-X", "utf8", str(Path(__file__).with_name("limited.py")),
                str(seconds), str(memory_mb * 1024 * 1024), str(MAX_FILE_BYTES), str(program),
            ],
            environment=context.environment,
            stdin=stdin.encode(),
            seconds=seconds,
            max_output=MAX_OUTPUT,
            folder=work,
            bare=True,
        )  # fmt: skip
    return {
        "stdout": ended.stdout.decode("utf-8", "replace"),
        "stderr": ended.stderr.decode("utf-8", "replace"),
        "exit_code": ended.exit_code,
        "stopped": ended.stopped,
        "seconds": ended.seconds,
    }
