"""Keeps a catalog current in a process that lives long: looks whether manifests changed, and reads those that did.

Looking costs a stat of each manifest, as for every search (``footprint``): .1 ms for the shipped folder, some 30 ms
for 10,000 files. So it is done whenever somebody is about to search or execute, and where it is dear, at most so
often that it takes a twentieth of the time. A thread that watches would have to be started, ended and trusted on
network disks, and would be no sooner.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from tooldisco_cli import paths
from tooldisco_cli.catalog.footprint import GRAIN_NS, footprint
from tooldisco_cli.catalog.layers import LoadedLayer, manifest_files
from tooldisco_cli.catalog.loading import TOOLS_DIR_VARIABLE, find_layers, settings_servers
from tooldisco_cli.catalog.manifest import Manifest, parse_manifest
from tooldisco_cli.catalog.reading import collection_paused, read_folder
from tooldisco_cli.catalog.snapshot import Catalog
from tooldisco_cli.catalog.stacking import assemble
from tooldisco_cli.catalog.tool import Layer
from tooldisco_cli.catalog.trust import Pins, read_pins
from tooldisco_cli.settings import Settings, load_settings
from tooldisco_cli.tomlfile import Problem, content_digest, read_bytes

CHEAP_SECONDS = 0.05
"""A look that takes no longer is taken each time: next to the turn of a model it is nothing."""
LONGEST_REST_SECONDS = 1.0
"""The longest time after a dearer look until the next."""
_SHARE = 20


class Difference(NamedTuple):
    """What two catalogs differ in: names of tools, in order."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    """Declared otherwise, in any version, or trusted now and not before, or the reverse."""
    removed: tuple[str, ...] = ()


def difference(old: Catalog, new: Catalog) -> Difference:
    """Return what became of the tools of one catalog in another."""
    both = old.by_name.keys() & new.by_name.keys()
    return Difference(
        added=tuple(sorted(new.by_name.keys() - both)),
        changed=tuple(sorted(name for name in both if _marks(old, name) != _marks(new, name))),
        removed=tuple(sorted(old.by_name.keys() - both)),
    )


def _marks(catalog: Catalog, name: str) -> list[tuple[str, bool, str]]:
    return [(entry.digest, entry.trusted, entry.source.layer.kind) for entry in catalog.by_name[name]]


@dataclass(frozen=True)
class _File:
    """A manifest as it was last read, and as it was when it last had no error."""

    digest: str
    manifest: Manifest
    good: Manifest | None

    @property
    def is_held_back(self) -> bool:
        return self.good is not None and self.good is not self.manifest

    @property
    def in_use(self) -> Manifest:
        if self.good is None or self.good is self.manifest:
            return self.manifest
        return replace(self.good, problems=self.manifest.problems)


def _read_file(manifest: Manifest, digest: str, last: _File | None = None) -> _File:
    is_broken = any(problem.severity == "error" for problem in manifest.problems)
    good = manifest if not is_broken else last.good if last else None
    return _File(digest, manifest, good)


class WatchedCatalog:
    """The catalog of all layers, as by ``load_catalog``, and again when manifests changed.

    A file that is broken now keeps the declarations of its last good version, whole; its errors are in
    ``catalog.problems``. Settings are those of the beginning. Raises what ``load_catalog`` raises.
    """

    catalog: Catalog

    def __init__(
        self,
        tools_dirs: Sequence[str | Path] = (),
        *,
        cwd: Path | None = None,
        settings: Settings | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._tools_dirs = tuple(tools_dirs)
        self._cwd = paths.working_folder() if cwd is None else cwd
        self._environment = dict(os.environ if environment is None else environment)
        self._settings = load_settings(self._environment) if settings is None else settings
        self._files: dict[str, _File] = {}
        self._next_look = 0.0
        self.reload()

    @property
    def held_back(self) -> frozenset[str]:
        """Paths of the broken files whose last good version is in use, where the catalog is not what files say."""
        return frozenset(path for path, file in self._files.items() if file.is_held_back)

    def is_stale(self) -> bool:
        """Return whether anything changed since the catalog was read; looks no more often than it may cost."""
        begun = time.monotonic()
        if begun < self._next_look:
            return False
        stale = self._differs()
        now = time.monotonic()
        cost = now - begun
        self._next_look = now + (min(LONGEST_REST_SECONDS, _SHARE * cost) if cost > CHEAP_SECONDS else 0.0)
        return stale

    def reload(self) -> None:
        """Read what changed and stack the layers anew. Raises UsageError when a folder of ``tools_dirs`` is gone."""
        since = time.time_ns() - GRAIN_NS
        digest = self._digest(since)[0]
        layers, problems = find_layers(
            self._tools_dirs, cwd=self._cwd, settings=self._settings, environment=self._environment
        )
        in_project = any(layer.kind == "project" for layer in layers)
        pins = read_pins(environment=self._environment) if in_project else Pins()
        servers, server_problems = settings_servers(self._settings, self._environment)
        files: dict[str, _File] = {}
        with collection_paused():
            loaded = [self._layer(layer, files) for layer in layers]
            self.catalog = assemble(loaded, pins, servers=servers, problems=(*problems, *server_problems))
        self._files, self._seen, self._since_ns = files, digest, since

    def _layer(self, layer: Layer, files: dict[str, _File]) -> LoadedLayer:
        if not self._files:
            read = read_folder(layer.path, self._environment)
            files |= {
                reading.manifest.path: _read_file(reading.manifest, reading.digest) for reading in read.readings
            }
            return read.layer(layer)
        found, problems = manifest_files(layer.path)
        for path in found:
            files[path] = self._read(path)
        return LoadedLayer(layer, tuple(files[path].in_use for path in found), tuple(problems))

    def _read(self, path: str) -> _File:
        last = self._files.get(path)
        data = read_bytes(path)
        if isinstance(data, Problem):
            return _read_file(Manifest(path, problems=(data,)), "", last)
        digest = hashlib.sha256(data).hexdigest()
        if last is not None and last.digest == digest:
            return last
        return _read_file(parse_manifest(data, path), digest, last)

    def _differs(self) -> bool:
        now = time.time_ns()
        digest, recent = self._digest(self._since_ns)
        if digest != self._seen or any(self._holds_other(path) for path in recent):
            return True
        self._since_ns = now - GRAIN_NS
        return False

    def _holds_other(self, path: str) -> bool:
        return path in self._files and self._files[path].digest != content_digest(path)

    def _digest(self, since_ns: int) -> tuple[str, tuple[str, ...]]:
        seen = footprint(self._folders(), since_ns)
        try:
            status = (paths.state_folder(self._environment) / "trust.json").stat()
            trust = f"{status.st_size},{status.st_mtime_ns},{status.st_ino}"
        except OSError:
            trust = "-"
        return f"{seen.digest} {trust}", seen.recent

    def _folders(self) -> list[str]:
        """Return the folders where manifests may be, whether they exist yet or not."""
        config = paths.config_folder(self._environment)
        project = paths.project_tools(self._cwd)
        listed = filter(str.strip, self._environment.get(TOOLS_DIR_VARIABLE, "").split(os.pathsep))
        return [
            str(paths.shipped_tools()),
            str(paths.system_tools()),
            str(paths.user_tools(self._environment)),
            str(project or ""),
            *(str(config / paths.expanded(text)) for text in self._settings.tools_dirs),
            *(str(paths.expanded(text).absolute()) for text in (*listed, *self._tools_dirs)),
        ]
