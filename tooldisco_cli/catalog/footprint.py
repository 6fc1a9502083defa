"""What the manifests of some folders look like from outside: enough to tell whether anything changed.

This runs at every search, before anything else, so it imports next to nothing and opens no file. It walks as
:func:`tooldisco_cli.catalog.layers.manifest_files` does.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from typing import NamedTuple

GRAIN_NS = 2_000_000_000
"""Two changes of a file within this time could leave it with the same time stamp (FAT and some network disks)."""

_BY_DESCRIPTOR = os.stat in os.supports_dir_fd and os.listdir in os.supports_fd


class Footprint(NamedTuple):
    """The names, sizes and times of all manifests below some folders."""

    digest: str
    """Differs when a manifest was added, removed, renamed, or changed in size or time."""
    recent: tuple[str, ...]
    """Manifests whose time is at or after the asked moment: a change within the clock's grain could hide there."""
    rows: tuple[str, ...] = ()
    """What the digest is of: a line for each folder and file, a file's as folder, name, size, time and inode."""


def footprint(folders: Iterable[str], since_ns: int) -> Footprint:
    """Return the footprint of folders in their order; ``since_ns`` (epoch) is from when a file counts as recent.

    A folder that is missing or cannot be read has a footprint too, so that its coming back is a change.
    """
    from zlib import crc32

    rows: list[str] = []
    recent: list[str] = []
    for number, folder in enumerate(folders):
        found: list[str] = []
        _walk(folder, found, recent, since_ns)
        rows.append(f"{number}\0{folder}")
        rows += found
    text = "\n".join(rows).encode("utf-8", "surrogateescape")
    # Two checksums and the length tell accidental changes apart; nobody is to be convinced here.
    digest = f"{crc32(text):08x}{crc32(text[::-1]):08x}{len(text):x}"
    return Footprint(digest, tuple(sorted(recent)), tuple(rows))


def manifests_of(rows: Iterable[str]) -> set[str] | None:
    """Return the paths of the manifests that rows of a footprint tell of; None when a row tells of something else."""
    found = set()
    for row in rows:
        folder, _, rest = row.partition("\0")
        name, *stamp = rest.split("\0")
        if len(stamp) != 3:
            return None
        found.add(os.path.join(folder, name))  # noqa: PTH118 - as the manifests' own paths are made
    return found


def _walk(folder: str, rows: list[str], recent: list[str], since_ns: int) -> None:
    seen: set[tuple[int, int]] = set()
    waiting = [folder]
    look = os.stat
    while waiting:
        here = waiting.pop()
        descriptor = -1
        try:
            status = os.stat(here)  # noqa: PTH116 - a Path for each of 10,000 files would cost more than the call
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            if _BY_DESCRIPTOR:
                # Looking names up from an open folder saves the walk down its path for each of them.
                descriptor = os.open(here, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
                names = os.listdir(descriptor)  # noqa: PTH208
            else:
                names = os.listdir(here)  # noqa: PTH208
            # Sorted here, names of one folder at a time, as rows that begin alike take much longer to compare.
            names.sort()
            for name in names:
                if name[0] == ".":
                    continue
                try:
                    status = look(name, dir_fd=descriptor) if descriptor >= 0 else look(os.path.join(here, name))  # noqa: PTH118
                except OSError as error:
                    rows.append(f"{here}\0{name}\0{error.errno}")
                    continue
                if name.endswith(".toml") or name[-5:].lower() == ".toml":
                    changed = status.st_mtime_ns
                    rows.append(f"{here}\0{name}\0{status.st_size}\0{changed}\0{status.st_ino}")
                    if changed >= since_ns:
                        recent.append(os.path.join(here, name))  # noqa: PTH118
                elif stat.S_ISDIR(status.st_mode):
                    waiting.append(os.path.join(here, name))  # noqa: PTH118
        except OSError as error:
            rows.append(f"{here}\0\0{error.errno}")
        finally:
            if descriptor >= 0:
                os.close(descriptor)
