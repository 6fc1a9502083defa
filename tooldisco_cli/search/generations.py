"""Generations of an index on disk: made aside, swapped in whole, and removed when another is current.

meta.json     what the index was built from, and which generation is current; replaced atomically
gen-…/        one generation: the engine's files, never written again
new-…/        a generation that some process is building
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tooldisco_cli import paths
from tooldisco_cli.atomic import UNFINISHED, replacing, unfinished_path
from tooldisco_cli.errors import IndexBroken

META = "meta.json"
FORMAT = 5
"""Grows whenever what is written into an index changes; the version of the program counts too."""
_ABANDONED_SECONDS = 3600.0
_UNUSED_SECONDS = 60 * 86400.0


def root_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Return the folder that holds the indexes of all sets of layers."""
    return paths.cache_folder(environment) / "index"


def read_meta(place: Path) -> dict[str, Any] | None:
    """Return what the index in a place was built from; None where there is none of this format."""
    try:
        meta = json.loads((place / META).read_bytes())
    except (OSError, ValueError):
        return None
    needed = {"format", "digest", "folders", "recent", "generation", "files", "messages"}
    good = isinstance(meta, dict) and needed <= meta.keys() and meta["format"] == FORMAT
    return meta if good else None


def sizes_hold(generation: Path, files: Mapping[str, Sequence[Any]]) -> bool:
    """Whether a generation has its files at their sizes: what can be asked at each search."""
    try:
        with os.scandir(generation) as entries:
            found = {entry.name: entry.stat().st_size for entry in entries}
    except OSError:
        return False
    return all(found.get(name) == size for name, (size, _) in files.items())


@contextmanager
def new_generation(place: Path) -> Iterator[Path | None]:
    """Give a new empty folder, removed afterwards unless it was swapped in; None where there cannot be one."""
    folder: Path | None = None
    try:
        place.mkdir(parents=True, exist_ok=True)
        folder = unfinished_path(place)
        folder.mkdir(mode=0o700)
    except OSError:
        yield None
        return
    try:
        yield folder
    except IndexBroken:
        # The engine could not write: a full disk, most likely. The caller builds in memory.
        pass
    finally:
        remove(folder)


def swap_in(
    place: Path, folder: Path, meta: dict[str, Any], *, known: Mapping[str, Sequence[Any]] | None = None
) -> bool:
    """Make a new folder the current generation; ``known`` has the size and hash of files that it shares."""
    from hashlib import sha256

    try:
        files: dict[str, Sequence[Any]] = {}
        for path in sorted(folder.iterdir()):
            if known and path.name in known and path.stat().st_nlink > 1:
                files[path.name] = known[path.name]
            elif not path.name.endswith(".lock"):
                data = path.read_bytes()
                files[path.name] = (len(data), sha256(data).hexdigest())
        generation = folder.with_name("gen-" + folder.name.removeprefix(UNFINISHED))
        folder.rename(generation)
    except OSError:
        return False
    if not write_meta(place, meta | {"generation": generation.name, "files": files}):
        remove(generation)
        return False
    _clean(place, generation.name)
    return True


def write_meta(place: Path, meta: Mapping[str, Any]) -> bool:
    """Say what is current, in one step for every reader; return whether that could be done."""
    try:
        with replacing(place / META) as file:
            file.write(json.dumps(meta).encode("ascii"))
    except OSError:
        return False
    return True


def _clean(folder: Path, current: str) -> None:
    """Remove older generations, what crashed builds left, and the indexes of layers that nobody asks for any more."""
    now = time.time()
    for path in _children(folder):
        left = path.name.startswith(UNFINISHED) and now - _modified(path) > _ABANDONED_SECONDS
        if left or (path.name.startswith("gen-") and path.name != current):
            remove(path)
    for other in _children(folder.parent):
        if other != folder and now - _modified(other / META) > _UNUSED_SECONDS:
            remove(other)


def _children(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return time.time()


def remove(path: Path) -> None:
    """Remove a file or a folder, if that can be."""
    import shutil

    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        try:
            path.unlink(missing_ok=True)
        except OSError:
            return


def verify(place: Path) -> list[str]:
    """Return what is wrong with the kept index of one set of layers, by the hash of every file; for ``doctor``."""
    from hashlib import sha256

    meta = read_meta(place)
    if meta is None:
        return []  # of an older version, or never finished: nobody reads it, and the next search builds anew
    faults = []
    for name, (size, digest) in meta["files"].items():
        path = place / meta["generation"] / name
        try:
            data = path.read_bytes()
        except OSError as error:
            faults.append(f"{name}: {error.strerror}")
            continue
        if len(data) != size or sha256(data).hexdigest() != digest:
            faults.append(f"{name}: differs from what was written")
    return faults


def kept_indexes(environment: Mapping[str, str] | None = None) -> list[Path]:
    """Return the folders of all kept indexes, each of one set of layers."""
    root = root_folder(environment)
    try:
        return sorted(path for path in root.iterdir() if path.is_dir())
    except OSError:
        return []
