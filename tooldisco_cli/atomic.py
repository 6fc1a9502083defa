"""Files that are replaced whole, so that no reader ever sees half of one and no crash leaves it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

UNFINISHED = "new-"
"""How the name of a file begins that takes another's place once it is written; a crash may leave one behind."""


@contextmanager
def replacing(path: Path, *, durable: bool = False) -> Iterator[IO[bytes]]:
    """Give a file to write that becomes ``path`` at the end, or is removed when anything fails.

    With ``durable`` it is on the disk before it does, for what cannot be made again. Raises OSError.
    """
    import tempfile

    descriptor, name = tempfile.mkstemp(prefix=UNFINISHED, dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
