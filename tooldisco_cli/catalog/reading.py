"""Reads the manifests of a folder: kept ones where nothing changed, the others anew."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from tooldisco_cli.catalog.kept import Reading, Stamp, kept_file, read_kept, write_kept
from tooldisco_cli.catalog.layers import LoadedLayer, manifest_files
from tooldisco_cli.catalog.tool import Layer
from tooldisco_cli.tomlfile import Problem, content_digest

if TYPE_CHECKING:
    from tooldisco_cli.catalog.parallel import Tell


class Readings(NamedTuple):
    """The manifests of one folder, in the order of their paths, and what is wrong with the folder itself."""

    readings: tuple[Reading, ...]
    problems: tuple[Problem, ...]

    def layer(self, layer: Layer) -> LoadedLayer:
        """Return them as that layer."""
        return LoadedLayer(layer, tuple(reading.manifest for reading in self.readings), self.problems)


def read_layer(
    layer: Layer,
    environment: Mapping[str, str] | None = None,
    *,
    use_cache: bool = True,
    tell: Tell | None = None,
) -> LoadedLayer:
    """Return every manifest of a layer, as ``load_layer`` does; from the cache where that has it as it is now."""
    return read_folder(layer.path, environment, use_cache=use_cache, tell=tell).layer(layer)


def read_folder(
    folder: str,
    environment: Mapping[str, str] | None = None,
    *,
    use_cache: bool = True,
    tell: Tell | None = None,
) -> Readings:
    """Return the readings of every manifest below ``folder``, and keep them where something was read anew.

    A kept reading stands for a file whose size, time and inode are what they were; where they are not, or where the
    file was younger than the clock can tell, for one whose content is the same. ``tell`` hears how parsing goes.
    """
    with collection_paused():
        files, problems = manifest_files(folder)
        place = kept_file(folder, environment)
        kept = read_kept(place) if use_cache else {}
        now = time.time_ns()
        found: dict[str, Reading] = {}
        waiting: list[tuple[str, Stamp]] = []
        for path in files:
            stamp = _stamp(path)
            last = kept.get(path)
            if last is not None and last.stamp == stamp and last.is_settled:
                found[path] = last
            elif last is not None and last.digest == content_digest(path):
                found[path] = last._replace(stamp=stamp, read_ns=now)
            else:
                waiting.append((path, stamp))
        if waiting:
            from tooldisco_cli.catalog.parallel import Task, read_all

            tasks = [Task(path, stamp, now) for path, stamp in waiting]
            found |= {reading.manifest.path: reading for reading in read_all(tasks, tell)}
        readings = tuple(found[path] for path in files)
        if use_cache and _is_news(kept, found):
            write_kept(place, (reading for reading in readings if reading.digest))
        return Readings(readings, tuple(problems))


def _stamp(path: str) -> Stamp:
    try:
        status = os.stat(path)  # noqa: PTH116 - a Path for each of 10,000 files would cost more than the call
    except OSError:
        return Stamp(-1, 0, 0)
    return Stamp(status.st_size, status.st_mtime_ns, status.st_ino)


def _is_news(kept: Mapping[str, Reading], found: Mapping[str, Reading]) -> bool:
    """Whether there is something to write: a file read anew or gone, or one that needs no second look any more."""
    if any(path not in found or not found[path].digest for path in kept):
        return True
    for path, reading in found.items():
        last = kept.get(path)
        if reading is last or not reading.digest:
            continue
        if last is None or last.digest != reading.digest or last.stamp != reading.stamp or reading.is_settled:
            return True
    return False


@contextmanager
def collection_paused() -> Iterator[None]:
    """Keep the garbage collector from walking over many thousand new tools again and again: half of a load's time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
