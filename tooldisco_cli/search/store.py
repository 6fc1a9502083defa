"""The search index on disk: valid while its manifests are unchanged, built aside, and swapped in whole.

Below the cache folder each set of layers has a folder of its own:

    index/<key>/meta.json     what the index was built from, and which generation is current; replaced atomically
    index/<key>/gen-…/        one generation: the engine's files, never written again
    index/<key>/new-…/        a generation that some process is building

Nobody waits for anybody: processes that find no valid index each build their own, and the last to finish is the one
that stays. A reader that has opened a generation keeps it although its folder is removed. Nothing that goes wrong
with the cache is a failure of a search: the index is then built in memory.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from tooldisco_cli import paths
from tooldisco_cli.catalog.footprint import footprint
from tooldisco_cli.errors import IndexBroken
from tooldisco_cli.search.index import SearchIndex
from tooldisco_cli.version import __version__

if TYPE_CHECKING:
    from tooldisco_cli.catalog.snapshot import Catalog

T = TypeVar("T")
Tell = Callable[[int, int], None]

FORMAT = 3
"""Grows whenever what is written into an index changes; the version of the program counts too."""

_GRAIN_NS = 2_000_000_000
"""Two changes of a file within this time could leave it with the same time stamp (FAT and some network disks)."""

_ABANDONED_SECONDS = 3600.0
_UNUSED_SECONDS = 60 * 86400.0


class Message(NamedTuple):
    """What a search should tell beside its answer: ``severity`` is ``error``, ``warning`` or ``note``."""

    severity: str
    text: str


class Opened(NamedTuple):
    """An index that is up to date, and what there is to say about its manifests."""

    tools: SearchIndex
    messages: tuple[Message, ...]


class _Place(NamedTuple):
    """Which layers, and where their index is kept."""

    folder: Path
    folders: tuple[str, ...]
    """The layers' folders as far as they are known without reading settings."""
    files: tuple[str, ...]
    """Files beside the manifests that the catalog depends on."""


def ask(
    question: Callable[[SearchIndex], T],
    tools_dirs: Sequence[str | Path] = (),
    *,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    use_cache: bool = True,
    tell: Tell | None = None,
) -> tuple[T, tuple[Message, ...]]:
    """Put a question to the index of all layers; build or mend the index first where that is needed.

    An index that turns out damaged while it is read is rebuilt once. ``tell`` is called with how much of building is
    done, and how much there is. Raises what ``load_catalog`` raises.
    """
    environment = os.environ if environment is None else environment
    opened = open_index(tools_dirs, cwd=cwd, environment=environment, use_cache=use_cache, tell=tell)
    try:
        return question(opened.tools), opened.messages
    except IndexBroken:
        place = _place(tools_dirs, cwd, environment)
        _forget(place)
        opened = _build(place, tools_dirs, cwd, environment, use_cache=use_cache, tell=tell)
        return question(opened.tools), opened.messages


def open_index(
    tools_dirs: Sequence[str | Path] = (),
    *,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    use_cache: bool = True,
    tell: Tell | None = None,
) -> Opened:
    """Return the index of all layers: from disk while nothing changed, else built now and kept.

    Without ``use_cache`` it is built in memory. Raises what ``load_catalog`` raises.
    """
    environment = os.environ if environment is None else environment
    place = _place(tools_dirs, cwd, environment)
    if use_cache:
        for _ in range(2):  # a generation may be swapped out between reading its name and opening it
            opened = _from_disk(place) or _updated(place)
            if opened is not None:
                return opened
            if not os.path.exists(place.folder / "meta.json"):  # noqa: PTH110 - also when the folder cannot be entered
                break
    return _build(place, tools_dirs, cwd, environment, use_cache=use_cache, tell=tell)


def current_index(
    tools_dirs: Sequence[str | Path] = (),
    *,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> SearchIndex | None:
    """Return the kept index when nothing changed since, else None; never builds, for who cannot wait for that."""
    opened = _from_disk(_place(tools_dirs, cwd, os.environ if environment is None else environment))
    return None if opened is None else opened.tools


def verify(place: Path) -> list[str]:
    """Return what is wrong with the kept index of one set of layers, by the hash of every file; for ``doctor``."""
    from hashlib import sha256

    meta = _read_meta(place)
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
    root = paths.cache_folder(environment) / "index"
    try:
        return sorted(path for path in root.iterdir() if path.is_dir())
    except OSError:
        return []


# --- reading


def _place(tools_dirs: Sequence[str | Path], cwd: Path | None, environment: Mapping[str, str]) -> _Place:
    from zlib import crc32

    config = paths.config_folder(environment)
    project = paths.project_tools(paths.working_folder() if cwd is None else cwd)
    folders = [paths.shipped_tools(), paths.system_tools(), config / "tools.d", *([project] if project else [])]
    listed = environment.get("TOOLDISCO_TOOLS_DIR", "").split(os.pathsep)
    given = [paths.expanded(text).absolute() for text in (*filter(str.strip, listed), *tools_dirs)]
    folders += given
    files = (config / "config.toml", paths.state_folder(environment) / "trust.json")
    words = [__version__, str(FORMAT), *map(str, folders), "", *map(str, tools_dirs), *map(str, files)]
    text = "\0".join(words).encode("utf-8", "surrogateescape")
    key = f"{crc32(text):08x}{crc32(text[::-1]):08x}"
    return _Place(paths.cache_folder(environment) / "index" / key, tuple(map(str, folders)), tuple(map(str, files)))


def _read_meta(folder: Path) -> dict[str, Any] | None:
    try:
        meta = json.loads((folder / "meta.json").read_bytes())
    except (OSError, ValueError):
        return None
    needed = {"format", "digest", "folders", "recent", "generation", "files", "messages"}
    good = isinstance(meta, dict) and needed <= meta.keys() and meta["format"] == FORMAT
    return meta if good else None


def _from_disk(place: _Place) -> Opened | None:
    meta = _read_meta(place.folder)
    if meta is None or not _unchanged(place, meta):
        return None
    generation = place.folder / meta["generation"]
    if not _sizes_hold(generation, meta["files"]):
        return None
    try:
        index = _open(generation)
    except IndexBroken:
        return None
    return Opened(index, tuple(Message(*message) for message in meta["messages"]))


def _unchanged(place: _Place, meta: dict[str, Any]) -> bool:
    now = time.time_ns()
    if footprint(meta["folders"], now).digest + _stats(place.files) != meta["digest"]:
        return False
    recent: dict[str, str] = meta["recent"]
    if not recent:
        return True
    if any(_content(path) != digest for path, digest in recent.items()):
        return False
    if now - meta["built_ns"] > _GRAIN_NS:
        # The files are older than the grain by now, and what they hold is what was indexed: no need to ask again.
        _write_meta(place.folder, meta | {"recent": {}})
    return True


def _stats(files: Sequence[str]) -> str:
    text = ""
    for file in files:
        try:
            status = os.stat(file)  # noqa: PTH116 - every search pays for this
            text += f":{status.st_size},{status.st_mtime_ns},{status.st_ino}"
        except OSError:
            text += ":-"
    return text


def _content(path: str) -> str:
    from hashlib import sha256

    from tooldisco_cli.tomlfile import read_bytes

    data = read_bytes(path)
    return sha256(data).hexdigest() if isinstance(data, bytes) else "unreadable"


def _sizes_hold(generation: Path, files: Mapping[str, Sequence[Any]]) -> bool:
    try:
        with os.scandir(generation) as entries:
            found = {entry.name: entry.stat().st_size for entry in entries}
    except OSError:
        return False
    return all(found.get(name) == size for name, (size, _) in files.items())


def _open(generation: Path) -> SearchIndex:
    try:
        return SearchIndex.open(generation)
    except IndexBroken:
        if os.access(generation, os.W_OK):
            raise
    # Opening makes a lock file beside the index. Where that cannot be, links to the files do as well; the opened
    # index outlives them.
    import tempfile

    with tempfile.TemporaryDirectory(prefix="tooldisco-index-") as links:
        for path in generation.iterdir():
            (Path(links) / path.name).symlink_to(path)
        return SearchIndex.open(Path(links))


# --- building


def _build(
    place: _Place,
    tools_dirs: Sequence[str | Path],
    cwd: Path | None,
    environment: Mapping[str, str],
    *,
    use_cache: bool,
    tell: Tell | None,
) -> Opened:
    from tooldisco_cli.catalog.loading import find_layers, load_catalog
    from tooldisco_cli.settings import load_settings

    started = time.time_ns()
    settings = load_settings(environment)
    layers, _ = find_layers(tools_dirs, cwd=cwd, settings=settings, environment=environment)
    folders = tuple(dict.fromkeys((*place.folders, *(layer.path for layer in layers))))
    seen = footprint(folders, started - _GRAIN_NS)
    digest = seen.digest + _stats(place.files)
    recent = {path: _content(path) for path in seen.recent}
    catalog = load_catalog(
        tools_dirs, cwd=cwd, settings=settings, environment=environment, use_cache=use_cache, tell=tell
    )
    messages = tuple(_messages(catalog))
    if use_cache:
        with _new_generation(place) as folder:
            if folder is not None:
                index = SearchIndex.build(catalog, folder, tell=tell)
                _keep_record(folder, catalog, seen.rows)
                meta = {
                    "format": FORMAT,
                    "digest": digest,
                    "folders": folders,
                    "recent": recent,
                    "built_ns": started,
                    "messages": messages,
                }
                if _swap_in(place, folder, meta):
                    return Opened(index, messages)
    return Opened(SearchIndex.build(catalog, tell=tell), messages)


def _keep_record(folder: Path, catalog: Catalog, rows: Sequence[str]) -> None:
    from tooldisco_cli.search.updating import record_of, write_record

    try:
        write_record(folder, record_of(catalog, rows))
    except OSError:  # without it the index is built anew after each change
        _remove(folder / "manifests.json")


def _updated(place: _Place) -> Opened | None:
    """Return the index with what some tools say brought up to date; None where it must be built anew."""
    meta = _read_meta(place.folder)
    if meta is None or meta["digest"].partition(":")[2] != _stats(place.files).partition(":")[2]:
        return None
    generation = place.folder / meta["generation"]
    if not _sizes_hold(generation, meta["files"]):
        return None
    from tooldisco_cli.search import updating

    started = time.time_ns()
    seen = footprint(meta["folders"], started - _GRAIN_NS)
    recent = {path: _content(path) for path in seen.recent}
    record = updating.read_record(generation)
    tools = updating.changed_tools(record, seen.rows) if record else None
    if record is None or not tools:
        return None
    seen_anew = {entry.source.path for entry in tools}
    if any(_content(path) != known for path, known in meta["recent"].items() if path not in seen_anew):
        return None
    with _new_generation(place) as folder:
        if folder is None:
            return None
        try:
            searcher = updating.updated(generation, folder, tools)
            if searcher is None:
                return None
            updating.write_record(folder, record | {"rows": list(seen.rows), "updates": record["updates"] + 1})
        except OSError:
            return None
        digest = seen.digest + _stats(place.files)
        changed = {"digest": digest, "recent": recent, "built_ns": started}
        if _swap_in(place, folder, meta | changed, known=meta["files"]):
            return Opened(SearchIndex(searcher), tuple(Message(*message) for message in meta["messages"]))
    return None


def _messages(catalog: Catalog) -> Iterator[Message]:
    for problem in catalog.problems:
        yield Message(problem.severity, str(problem))
    for note in catalog.notes:
        yield Message("note", note)


@contextmanager
def _new_generation(place: _Place) -> Iterator[Path | None]:
    """Give a new empty folder, removed afterwards unless it was swapped in; None where there cannot be one."""
    import tempfile

    folder: Path | None = None
    try:
        place.folder.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix="new-", dir=place.folder))
    except OSError:
        yield None
        return
    try:
        yield folder
    except IndexBroken:
        # The engine could not write: a full disk, most likely. The caller builds in memory.
        pass
    finally:
        _remove(folder)


def _swap_in(
    place: _Place, folder: Path, meta: dict[str, Any], *, known: Mapping[str, Sequence[Any]] | None = None
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
        generation = folder.with_name("gen-" + folder.name.removeprefix("new-"))
        folder.rename(generation)
    except OSError:
        return False
    if not _write_meta(place.folder, meta | {"generation": generation.name, "files": files}):
        _remove(generation)
        return False
    _clean(place.folder, generation.name)
    return True


def _write_meta(folder: Path, meta: dict[str, Any]) -> bool:
    import tempfile

    try:
        descriptor, name = tempfile.mkstemp(prefix="new-meta-", dir=folder)
    except OSError:
        return False
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(meta, file)
        Path(name).replace(folder / "meta.json")
    except OSError:
        _remove(Path(name))
        return False
    return True


def _forget(place: _Place) -> None:
    _remove(place.folder / "meta.json")


def _clean(folder: Path, current: str) -> None:
    """Remove older generations, what crashed builds left, and the indexes of layers that nobody asks for any more."""
    now = time.time()
    for path in _children(folder):
        left = path.name.startswith("new-") and now - _modified(path) > _ABANDONED_SECONDS
        if left or (path.name.startswith("gen-") and path.name != current):
            _remove(path)
    for other in _children(folder.parent):
        if other != folder and now - _modified(other / "meta.json") > _UNUSED_SECONDS:
            _remove(other)


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


def _remove(path: Path) -> None:
    import shutil

    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        try:
            path.unlink(missing_ok=True)
        except OSError:
            return
