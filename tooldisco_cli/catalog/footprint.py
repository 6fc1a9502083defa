"""What the manifests of some folders look like from outside: enough to tell whether anything changed.

This runs at every search, before anything else, so it imports next to nothing and opens no file. It walks as
:func:`tooldisco_cli.catalog.layers.manifest_files` does.
"""

from __future__ import annotations

import os
import stat
from array import array
from collections.abc import Iterable, Sequence
from typing import NamedTuple

GRAIN_NS = 2_000_000_000
"""Two changes of a file within this time could leave it with the same time stamp (FAT and some network disks)."""

_BY_DESCRIPTOR = os.stat in os.supports_dir_fd and os.listdir in os.supports_fd
_MOST = 2**63 - 1
_SPAN = 3 * 256
"""Numbers of stamps that are compared at once, as that is much quicker than one by one."""


class Listing(NamedTuple):
    """The manifests that stand in one folder itself, by name."""

    folder: str
    names: Sequence[str]
    stamps: array[int]
    """Three signed 64-bit numbers for each name: size, time of the last change in ns, inode."""
    faults: Sequence[str]
    """What could not be looked at, each with its error number: a name, or nothing for the folder itself."""


class Footprint(NamedTuple):
    """The names, sizes and times of all manifests below some folders."""

    digest: str
    """Differs when a manifest was added, removed, renamed, or changed in size or time."""
    recent: tuple[str, ...]
    """Manifests whose time is at or after the asked moment: a change within the clock's grain could hide there."""
    listings: tuple[Listing, ...] = ()


def footprint(folders: Iterable[str], since_ns: int) -> Footprint:
    """Return the footprint of folders in their order; ``since_ns`` (epoch) is from when a file counts as recent.

    A folder that is missing or cannot be read has a footprint too, so that its coming back is a change.
    """
    from zlib import crc32

    listings: list[Listing] = []
    parts: list[bytes] = []
    for number, folder in enumerate(folders):
        below = _walk(folder)
        listings += below
        parts.append(b"\0%d" % number)
        for here, names, stamps, faults in below:
            parts += ["\0".join((here, *names, "", *faults)).encode("utf-8", "surrogateescape"), stamps.tobytes()]
    seen = b"\0\0".join(parts)
    # Two checksums and the length tell accidental changes apart; nobody is to be convinced here.
    digest = f"{crc32(seen):08x}{crc32(seen[::-1]):08x}{len(seen):x}"
    return Footprint(digest, tuple(sorted(_recent(listings, since_ns))), tuple(listings))


def changed_manifests(before: Sequence[Listing], after: Sequence[Listing]) -> tuple[set[str], set[str]] | None:
    """Return the paths of manifests as they were that changed or went, and of those that changed or came.

    None when something else than manifests differs, such as a folder that cannot be read.
    """
    old, new = ({listing.folder: listing for listing in listings} for listings in (before, after))
    if len(old) < len(before) or len(new) < len(after):
        return None
    left: set[str] = set()
    come: set[str] = set()
    for folder in old.keys() | new.keys():
        empty = Listing(folder, (), array("q"), ())
        was, now = old.get(folder, empty), new.get(folder, empty)
        if list(was.faults) != list(now.faults):
            return None
        gone, fresh = _differences(was, now)
        left.update(os.path.join(folder, name) for name in gone)  # noqa: PTH118 - as the manifests' own paths are made
        come.update(os.path.join(folder, name) for name in fresh)  # noqa: PTH118
    return left, come


def _differences(was: Listing, now: Listing) -> tuple[set[str], set[str]]:
    gone: set[str] = set()
    fresh: set[str] = set()
    if was.names != now.names:
        gone, fresh = set(was.names).difference(now.names), set(now.names).difference(was.names)
    stayed = [name for name in now.names if name not in fresh] if fresh else now.names
    before, after = _stamps_without(was, gone), _stamps_without(now, fresh)
    touched: set[str] = set()
    for start in range(0, len(before), _SPAN) if before != after else ():
        one, other = before[start : start + _SPAN], after[start : start + _SPAN]
        if one != other:
            touched.update(stayed[(start + i) // 3] for i in range(len(one)) if one[i] != other[i])
    return gone | touched, fresh | touched


def _stamps_without(listing: Listing, names: set[str]) -> array[int]:
    if not names:
        return listing.stamps
    kept = array("q")
    start = 0
    for number, name in enumerate(listing.names):
        if name in names:
            kept += listing.stamps[start * 3 : number * 3]
            start = number + 1
    return kept + listing.stamps[start * 3 :]


def _recent(listings: Iterable[Listing], since_ns: int) -> Iterable[str]:
    for listing in listings:
        times = listing.stamps[1::3]
        if times and max(times) >= since_ns:
            for name, changed in zip(listing.names, times, strict=True):
                if changed >= since_ns:
                    yield os.path.join(listing.folder, name)  # noqa: PTH118


def _walk(folder: str) -> list[Listing]:
    listings = []
    seen: set[tuple[int, int]] = set()
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        try:
            status = os.stat(here)  # noqa: PTH116 - a Path for each of 10,000 files would cost more than the call
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            listings.append(_listing(here, waiting))
        except OSError as error:
            listings.append(Listing(here, (), array("q"), (f"\0{error.errno}",)))
    return listings


def _listing(here: str, below: list[str]) -> Listing:
    """Return what stands in a folder, and add the folders in it to ``below``. Raises OSError.

    Its loop runs ten thousand times before a search of ten thousand files.
    """
    names: list[str] = []
    numbers: list[int] = []
    faults: list[str] = []
    look, put = os.stat, numbers.append
    # Looking names up from an open folder saves the walk down its path for each of them.
    descriptor = os.open(here, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)) if _BY_DESCRIPTOR else -1
    try:
        found = os.listdir(here if descriptor < 0 else descriptor)  # noqa: PTH208
        found.sort()
        for name in found:
            if name[0] == ".":
                continue
            try:
                status = look(os.path.join(here, name)) if descriptor < 0 else look(name, dir_fd=descriptor)  # noqa: PTH118
            except OSError as error:
                faults.append(f"{name}\0{error.errno}")
                continue
            if name.endswith(".toml") or name[-5:].lower() == ".toml":
                names.append(name)
                put(status.st_size)
                put(status.st_mtime_ns)
                put(status.st_ino)
            elif stat.S_ISDIR(status.st_mode):
                below.append(os.path.join(here, name))  # noqa: PTH118
    finally:
        if descriptor >= 0:
            os.close(descriptor)
    return Listing(here, names, _signed(numbers), faults)


def _signed(numbers: list[int]) -> array[int]:
    try:
        return array("q", numbers)
    except OverflowError:  # inodes of some file systems use the 64th bit
        return array("q", [number & _MOST for number in numbers])
