"""Keeps whole results that were cut for showing, each behind a handle, for a while and up to a size.

A handle is 16 letters and digits that nobody can guess; it names a file of the state folder that only its owner may
read. Nothing here ever fails an execution: where nothing can be kept, there is no handle.
"""

from __future__ import annotations

import codecs
import os
import re
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tooldisco_cli import paths
from tooldisco_cli.errors import NothingFound

MAX_AGE_SECONDS = 7 * 86400.0
MAX_TOTAL_BYTES = 512 * 1024 * 1024
PAGE_CHARS = 10_000

_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"
_HANDLE = re.compile(rf"[{_ALPHABET}]{{16}}")
_CHUNK = 1 << 20
_PARTIAL_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a kept result; pages count from 1, sizes are in characters."""

    handle: str
    page: int
    pages: int
    text: str
    size: int


@dataclass(frozen=True, slots=True)
class Kept:
    """One kept result: its size in bytes and when it was kept (seconds since the epoch)."""

    handle: str
    size: int
    time: float


class Spool:
    """The folder of kept results."""

    def __init__(
        self,
        folder: Path | None = None,
        *,
        environment: Mapping[str, str] | None = None,
        max_total_bytes: int = MAX_TOTAL_BYTES,
        max_age_seconds: float = MAX_AGE_SECONDS,
    ) -> None:
        self.folder = folder or paths.state_folder(environment) / "results"
        self._max_total = max_total_bytes
        self._max_age = max_age_seconds

    def keep(self, chunks: Iterable[bytes]) -> str | None:
        """Keep UTF-8 text, given in pieces; return its handle, or None where it cannot be kept."""
        handle = "".join(secrets.choice(_ALPHABET) for _ in range(16))
        return handle if self._write(f"{handle}.txt", chunks) else None

    def keep_file(self, data: Iterable[bytes], suffix: str) -> Path | None:
        """Keep bytes that are no text, such as a large image; return the file's path, or None."""
        name = "".join(secrets.choice(_ALPHABET) for _ in range(16)) + (suffix if suffix != ".txt" else ".bin")
        return self.folder / name if self._write(name, data) else None

    def read_page(self, handle: str, page: int = 1, page_chars: int = PAGE_CHARS) -> Page:
        """Return one page; memory stays at a page's size. Raises NothingFound for a handle or page there is not."""
        path, page_chars = self._path(handle), max(1, page_chars)
        first, last = (page - 1) * page_chars, page * page_chars
        total = 0
        parts = []
        for text in _decoded(path):
            start, end = max(first - total, 0), min(last - total, len(text))
            if start < end:
                parts.append(text[start:end])
            total += len(text)
        pages = max(1, -(-total // page_chars))
        if not 1 <= page <= pages:
            raise NothingFound(
                f"result {handle} has no page {page}", hint=f"it has {pages} of {page_chars:,} characters"
            )
        return Page(handle, page, pages, "".join(parts), total)

    def kept(self) -> list[Kept]:
        """Return all kept texts, newest first."""
        found = []
        for path in self._files():
            if path.suffix == ".txt" and _HANDLE.fullmatch(path.stem):
                with suppress(OSError):
                    status = path.stat()
                    found.append(Kept(path.stem, status.st_size, status.st_mtime))
        return sorted(found, key=lambda item: (-item.time, item.handle))

    def _path(self, handle: str) -> Path:
        path = self.folder / f"{handle}.txt"
        if not _HANDLE.fullmatch(handle) or not path.is_file():
            raise NothingFound(
                f"there is no kept result {handle!r}",
                hint=f"results are kept for {int(self._max_age // 86400)} days; `tooldisco results list` shows them",
            )
        return path

    def _files(self) -> list[Path]:
        try:
            return [path for path in self.folder.iterdir() if path.is_file() and not path.is_symlink()]
        except OSError:
            return []

    def _write(self, name: str, chunks: Iterable[bytes]) -> bool:
        temporary = self.folder / f".{name}.{os.getpid()}"
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._clean()
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
            with os.fdopen(os.open(temporary, flags, 0o600), "wb") as file:
                written = 0
                for chunk in chunks:
                    written += len(chunk)
                    if written > self._max_total:
                        raise OSError("larger than all that may be kept")  # noqa: TRY301 - handled as a full disk is
                    file.write(chunk)
            temporary.replace(self.folder / name)
            self._clean(spare=name)
        except OSError:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            return False
        return True

    def _clean(self, spare: str = "") -> None:
        """Remove what is too old, then the oldest beyond the total, and what a killed process left half-written.

        What another process is writing now is left alone, and so is ``spare``.
        """
        now = time.time()
        aged = []
        for path in self._files():
            with suppress(OSError):
                status = path.stat()
                partial = path.name.startswith(".")
                if now - status.st_mtime > (_PARTIAL_SECONDS if partial else self._max_age) and path.name != spare:
                    path.unlink(missing_ok=True)
                elif not partial:
                    aged.append((status.st_mtime, status.st_size, path))
        total = sum(size for _, size, _ in aged)
        for _, size, path in sorted(aged):
            if total <= self._max_total:
                break
            if path.name == spare:
                continue
            with suppress(OSError):
                path.unlink(missing_ok=True)
            total -= size


def _decoded(path: Path) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield decoder.decode(chunk)
    yield decoder.decode(b"", final=True)
