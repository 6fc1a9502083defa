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

# Runs in the child before the program: limits that the system enforces on it and on whatever it starts.
_PRELUDE = """
import sys
_seconds, _memory, _file = map(int, sys.argv[1:4])
try:
    import resource as _r
except ImportError:
    _r = None
if _r is not None:
    for _what, _most in (("RLIMIT_CPU", _seconds), ("RLIMIT_AS", _memory), ("RLIMIT_FSIZE", _file),
                         ("RLIMIT_NOFILE", 64), ("RLIMIT_CORE", 0)):
        try:
            _r.setrlimit(getattr(_r, _what), (_most, _most))
        except (AttributeError, ValueError, OSError):
            pass
with open(sys.argv[4], encoding="utf-8") as _source:
    _code = _source.read()
sys.argv = ["program.py"]
_scope = {"__name__": "__main__", "__builtins__": __builtins__}
exec(compile(_code, "program.py", "exec"), _scope)
"""


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
                sys.executable, "-I", "-X", "utf8", "-c", _PRELUDE,
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
