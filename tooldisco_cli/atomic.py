"""Files that are replaced whole, so that no reader ever sees half of one and no crash leaves it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import IO

UNFINISHED = "new-"
"""How the name of a file begins that takes another's place once it is written; a crash may leave one behind."""


_numbers = count()


def unfinished_path(folder: Path) -> Path:
    """Return a path in ``folder`` that nobody else takes, for what is moved to its place when it is whole.

    Made as :mod:`tempfile` would, whose import takes longer than the file.
    """
    return folder / f"{UNFINISHED}{os.getpid():x}-{time.time_ns():x}-{next(_numbers)}"


@contextmanager
def replacing(path: Path, *, durable: bool = False) -> Iterator[IO[bytes]]:
    """Give a file to write that becomes ``path`` at the end, or is removed when anything fails.

    With ``durable`` it is on the disk before it does, for what cannot be made again. Raises OSError.
    """
    unfinished = unfinished_path(path.parent)
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
