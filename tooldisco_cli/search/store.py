"""The search index on disk: valid while its manifests are unchanged, built aside, and swapped in whole.

Below the cache folder each set of layers has a folder of its own, ``index/<key>``, in which ``generations`` keeps it.

Nobody waits for anybody: processes that find no valid index each build their own, and the last to finish is the one
that stays. A reader that has opened a generation keeps it although its folder is removed. Nothing that goes wrong
with the cache is a failure of a search: the index is then built in memory.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from tooldisco_cli import paths
from tooldisco_cli.catalog.footprint import GRAIN_NS, footprint
from tooldisco_cli.errors import IndexBroken
from tooldisco_cli.search.generations import (
    FORMAT,
    META,
    new_generation,
    read_meta,
    remove,
    sizes_hold,
    swap_in,
    write_meta,
)
from tooldisco_cli.search.index import SearchIndex
from tooldisco_cli.version import __version__

if TYPE_CHECKING:
    from tooldisco_cli.catalog.parallel import Tell
    from tooldisco_cli.catalog.snapshot import Catalog

T = TypeVar("T")


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
        remove(place.folder / META)
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
            if not os.path.exists(place.folder / META):  # noqa: PTH110 - also when the folder cannot be entered
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


def _from_disk(place: _Place) -> Opened | None:
    meta = read_meta(place.folder)
    if meta is None or not _unchanged(place, meta):
        return None
    generation = place.folder / meta["generation"]
    if not sizes_hold(generation, meta["files"]):
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
    if _digests(recent) != recent:
        return False
    if now - meta["built_ns"] > GRAIN_NS:
        # The files are older than the grain by now, and what they hold is what was indexed: no need to ask again.
        write_meta(place.folder, meta | {"recent": {}})
    return True


def _digests(files: Iterable[str]) -> dict[str, str]:
    """Return the hash of what is in some files, by path: of those few whose times cannot tell a change."""
    if not files:
        return {}
    from tooldisco_cli.tomlfile import content_digest

    return {path: content_digest(path) for path in files}


def _stats(files: Sequence[str]) -> str:
    text = ""
    for file in files:
        try:
            status = os.stat(file)  # noqa: PTH116 - every search pays for this
            text += f":{status.st_size},{status.st_mtime_ns},{status.st_ino}"
        except OSError:
            text += ":-"
    return text


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
    seen = footprint(folders, started - GRAIN_NS)
    digest = seen.digest + _stats(place.files)
    recent = _digests(seen.recent)
    catalog = load_catalog(
        tools_dirs, cwd=cwd, settings=settings, environment=environment, use_cache=use_cache, tell=tell
    )
    messages = tuple(_messages(catalog))
    if use_cache:
        with new_generation(place.folder) as folder:
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
                if swap_in(place.folder, folder, meta):
                    return Opened(index, messages)
    return Opened(SearchIndex.build(catalog, tell=tell), messages)


def _keep_record(folder: Path, catalog: Catalog, rows: Sequence[str]) -> None:
    from tooldisco_cli.search.updating import RECORD, record_of, write_record

    try:
        write_record(folder, record_of(catalog, rows))
    except OSError:  # without it the index is built anew after each change
        remove(folder / RECORD)


def _updated(place: _Place) -> Opened | None:
    """Return the index with what some tools say brought up to date; None where it must be built anew."""
    meta = read_meta(place.folder)
    if meta is None or meta["digest"].partition(":")[2] != _stats(place.files).partition(":")[2]:
        return None
    generation = place.folder / meta["generation"]
    if not sizes_hold(generation, meta["files"]):
        return None
    from tooldisco_cli.search import updating

    started = time.time_ns()
    seen = footprint(meta["folders"], started - GRAIN_NS)
    recent = _digests(seen.recent)
    record = updating.read_record(generation)
    tools = updating.changed_tools(record, seen.rows) if record else None
    if record is None or not tools:
        return None
    seen_anew = {entry.source.path for entry in tools}
    young = {path: digest for path, digest in meta["recent"].items() if path not in seen_anew}
    if _digests(young) != young:
        return None
    with new_generation(place.folder) as folder:
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
        if swap_in(place.folder, folder, meta | changed, known=meta["files"]):
            return Opened(SearchIndex(searcher), tuple(Message(*message) for message in meta["messages"]))
    return None


def _messages(catalog: Catalog) -> Iterator[Message]:
    for problem in catalog.problems:
        yield Message(problem.severity, str(problem))
    for note in catalog.notes:
        yield Message("note", note)
