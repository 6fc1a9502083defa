"""Where files may be: paths stay inside the allowed folders, whatever ``..`` and symbolic links say.

A path is resolved completely, and the resolved path must lie inside an allowed folder; it is that path which is
opened, without following a link at its end, so that a link put there in between changes nothing.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from tooldisco_cli.builtin.context import Context

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_BINARY = getattr(os, "O_BINARY", 0)
_NO_BLOCK = getattr(os, "O_NONBLOCK", 0)
_DEVICE_NAMES = {"con", "prn", "aux", "nul", *(f"{kind}{n}" for kind in ("com", "lpt") for n in range(1, 10))}


def existing_file(path: str, context: Context, *, max_bytes: int | None = None) -> Path:
    """Return the resolved path of a regular file inside the allowed folders.

    Raises PermissionError outside of them, FileNotFoundError, or ValueError for what is no file or is too large.
    """
    place = _inside(path, context)
    try:
        facts = place.stat()
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {path}") from None
    if not stat.S_ISREG(facts.st_mode):
        raise ValueError(f"{path} is no regular file")
    if max_bytes is not None and facts.st_size > max_bytes:
        raise ValueError(f"{path} has {facts.st_size:,} bytes; at most {max_bytes:,} are read")
    return place


def new_file(path: str, context: Context, *, may_exist: bool = False) -> Path:
    """Return the resolved path of a file to be written inside the allowed folders.

    Raises PermissionError outside of them, FileNotFoundError when its folder is missing, and FileExistsError.
    """
    place = _inside(path, context)
    if not place.parent.is_dir():
        raise FileNotFoundError(f"there is no folder for {path}")
    if os.path.lexists(place) and not may_exist:
        raise FileExistsError(f"{path} exists already; choose another name")
    if os.path.lexists(place) and not place.is_file():
        raise ValueError(f"{path} is no regular file")
    return place


def read_bytes(path: str, context: Context, *, max_bytes: int) -> bytes:
    """Return a file's content. Raises like :func:`existing_file`."""
    with open_file(path, context, max_bytes=max_bytes) as file:
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise ValueError(f"{path} has more than {max_bytes:,} bytes")
    return data


def open_file(path: str, context: Context, *, max_bytes: int | None = None) -> BinaryIO:
    """Open a file for reading. Raises like :func:`existing_file`."""
    place = existing_file(path, context, max_bytes=max_bytes)
    descriptor = os.open(place, os.O_RDONLY | _NO_FOLLOW | _BINARY | _NO_BLOCK)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise ValueError(f"{path} is no regular file")


def write_new(path: str, data: bytes, context: Context) -> Path:
    """Write a file that must not exist yet, whole or not at all, and return its resolved path."""
    place = new_file(path, context)
    with staged(place) as draft:
        draft.write_bytes(data)
    return place


def replace(path: str, data: bytes, context: Context) -> Path:
    """Write a file, in place of one that may be there, whole or not at all, and return its resolved path."""
    place = new_file(path, context, may_exist=True)
    with staged(place, overwrite=True) as draft:
        draft.write_bytes(data)
    return place


@contextmanager
def staged(place: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Give a draft beside ``place`` to write to, which takes its place at the end and is gone after an error.

    Without ``overwrite`` a file that appeared meanwhile is kept and FileExistsError raised.
    """
    descriptor, name = tempfile.mkstemp(prefix=".draft-", suffix=place.suffix, dir=place.parent)
    os.close(descriptor)
    draft = Path(name)
    try:
        yield draft
        draft.chmod(0o666 & ~_umask())
        if overwrite:
            draft.replace(place)
        else:
            _claim(draft, place)
    finally:
        draft.unlink(missing_ok=True)


def shown(place: Path, context: Context) -> str:
    """Return a path as the caller would write it: relative to the working folder where it lies below."""
    folder = context.folder.resolve()
    return place.relative_to(folder).as_posix() if place.is_relative_to(folder) else str(place)


def _claim(draft: Path, place: Path) -> None:
    try:
        os.link(draft, place)
    except FileExistsError:
        raise FileExistsError(f"{place.name} exists already; choose another name") from None
    except OSError:
        # A file system without hard links: an exclusive create claims the name instead.
        try:
            os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            raise FileExistsError(f"{place.name} exists already; choose another name") from None
        draft.replace(place)


def _umask() -> int:
    """Return the process's umask; reading it is only possible by setting it, which other threads could notice."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    except (OSError, ValueError):
        pass
    return 0o022


def _inside(path: str, context: Context) -> Path:
    if "\0" in path:
        raise ValueError("a path cannot hold a NUL character")
    if os.name == "nt" and Path(path).stem.lower() in _DEVICE_NAMES:
        raise PermissionError(f"{path} names a device")
    try:
        place = (context.folder / path).resolve()
    except (OSError, RuntimeError) as error:
        raise ValueError(f"{path} cannot be resolved: {error}") from error
    allowed = [folder.resolve() for folder in context.allowed_folders]
    if not any(place.is_relative_to(folder) and place != folder for folder in allowed):
        names = ", ".join(map(str, allowed)) or "none"
        raise PermissionError(
            f"{path} is outside the folders that file tools may use ({names}); "
            "allowed_folders in settings says which they are"
        )
    return place
