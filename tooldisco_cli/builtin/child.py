"""Child processes with bounded time and output, ended with all that they started."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

# On Linux the system kills the child when the thread that waits for it is gone, however that came about.
_TRAMPOLINE = (
    "import ctypes,os,sys\n"
    "ctypes.CDLL(None).prctl(1, 9)\n"
    "os.getppid() == int(sys.argv[1]) or os._exit(1)\n"
    "try: os.execvp(sys.argv[2], sys.argv[2:])\n"
    "except OSError as error: sys.exit(f'{sys.argv[2]}: {error.strerror}')"
)
_living: set[subprocess.Popen[bytes]] = set()

_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT", "TEMP", "TMP", "TESSDATA_PREFIX")


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended; ``stopped`` says why it was made to, such as ``time`` or ``output``."""

    exit_code: int
    stdout: bytes
    stderr: bytes
    stopped: str
    seconds: float


def run(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    stdin: bytes = b"",
    seconds: float,
    max_output: int = 2_000_000,
    folder: Path | None = None,
    bare: bool = False,
) -> Ended:
    """Run a program and wait for it; it is killed at ``seconds`` or when it prints more than ``max_output`` bytes.

    It gets the variables that programs need to start, and none at all when ``bare``. Raises FileNotFoundError for a
    program that is not there.
    """
    variables = {} if bare else {name: environment[name] for name in _KEPT if name in environment}
    with tempfile.TemporaryFile() as text:
        text.write(stdin)
        text.seek(0)
        start = time.monotonic()
        try:
            process = subprocess.Popen(
                _tied(command, variables),
                stdin=text,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=variables,
                cwd=folder,
                start_new_session=os.name == "posix",
            )
        except FileNotFoundError:
            raise FileNotFoundError(f"the program {command[0]} is not installed") from None
        _living.add(process)
        stopped: list[str] = []
        outputs = [_Reader(stream, max_output, process, stopped) for stream in (process.stdout, process.stderr)]
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            stopped.append("time")
        finally:
            end(process)
            _living.discard(process)
            for output in outputs:
                output.close()
    return Ended(
        exit_code=process.returncode,
        stdout=bytes(outputs[0].data),
        stderr=bytes(outputs[1].data),
        stopped=stopped[0] if stopped else "",
        seconds=round(time.monotonic() - start, 3),
    )


def _tied(command: Sequence[str], variables: Mapping[str, str]) -> list[str]:
    program = shutil.which(command[0], path=variables.get("PATH") or os.defpath)
    if program is None:
        raise FileNotFoundError(command[0])
    tied = [program, *command[1:]]
    return (
        [sys.executable, "-I", "-S", "-c", _TRAMPOLINE, str(os.getpid()), *tied] if sys.platform == "linux" else tied
    )


@atexit.register
def _end_all() -> None:
    for process in list(_living):
        end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a child and its whole process group; harmless when they have ended."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


class _Reader(threading.Thread):
    """Reads a stream to its end, keeps the first bytes, and kills the child that prints too many."""

    def __init__(
        self, stream: IO[bytes] | None, limit: int, process: subprocess.Popen[bytes], stopped: list[str]
    ) -> None:
        super().__init__(daemon=True)
        self.data = bytearray()
        if stream is None:
            raise ValueError("there is no stream to read")
        self._stream, self._limit, self._process, self._stopped = stream, limit, process, stopped
        self.start()

    def close(self) -> None:
        """Wait for the end of the stream; a grandchild that left the group may hold it open, but not for ever."""
        self.join(5)
        with contextlib.suppress(OSError):
            self._stream.close()

    def run(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while chunk := os.read(self._stream.fileno(), 65536):
                self.data += chunk[: self._limit - len(self.data)]
                if len(self.data) >= self._limit and not self._stopped:
                    self._stopped.append("output")
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        if os.name == "posix":
                            os.killpg(self._process.pid, signal.SIGKILL)
                        else:
                            self._process.kill()
