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
from tooldisco_cli.catalog.footprint import GRAIN_NS, Footprint, Listing, footprint
from tooldisco_cli.errors import IndexBroken
from tooldisco_cli.search import engine
from tooldisco_cli.search.generations import (
    FORMAT,
    META,
    new_generation,
    read_meta,
    remove,
    root_folder,
    sizes_hold,
    swap_in,
    write_meta,
)
from tooldisco_cli.version import __version__

if TYPE_CHECKING:
    from tantivy import Searcher

    from tooldisco_cli.catalog.parallel import Tell
    from tooldisco_cli.catalog.snapshot import Catalog
    from tooldisco_cli.search.index import SearchIndex
    from tooldisco_cli.search.record import Record
    from tooldisco_cli.search.updating import Change

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
            look = _look(place)
            opened = _from_disk(place, look) or _with_plain_change(place, look)
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
    place = _place(tools_dirs, cwd, os.environ if environment is None else environment)
    opened = _from_disk(place, _look(place))
    return None if opened is None else opened.tools


def current_parts(
    tools_dirs: Sequence[str | Path] = (),
    *,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> tuple[Record, Searcher, tuple[Message, ...]] | None:
    """Return the kept index as its record and the engine's searcher, with the messages; None as in current_index."""
    from tooldisco_cli.search.record import read_record

    place = _place(tools_dirs, cwd, os.environ if environment is None else environment)
    look = _look(place)
    if look is None or not _unchanged(place, look):
        return None
    record = read_record(look.generation)
    if record is None:
        return None
    try:
        return record, engine.load(look.generation), tuple(Message(*message) for message in look.meta["messages"])
    except IndexBroken:
        return None


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
    return _Place(root_folder(environment) / key, tuple(map(str, folders)), tuple(map(str, files)))


class _Look(NamedTuple):
    """What is kept for some layers, and what their manifests look like now."""

    meta: dict[str, Any]
    generation: Path
    now: int
    seen: Footprint
    stats: str

    @property
    def digest(self) -> str:
        return self.seen.digest + self.stats


def _look(place: _Place) -> _Look | None:
    """Return what is kept, if its files are whole; None where there is nothing to start from."""
    meta = read_meta(place.folder)
    if meta is None:
        return None
    now = time.time_ns()
    seen = footprint(meta["folders"], now - GRAIN_NS)
    generation = place.folder / meta["generation"]
    return _Look(meta, generation, now, seen, _stats(place.files)) if sizes_hold(generation, meta["files"]) else None


def _from_disk(place: _Place, look: _Look | None) -> Opened | None:
    if look is None or not _unchanged(place, look):
        return None
    try:
        index = _open(look.generation)
    except IndexBroken:
        return None
    return Opened(index, tuple(Message(*message) for message in look.meta["messages"]))


def _unchanged(place: _Place, look: _Look) -> bool:
    if look.digest != look.meta["digest"]:
        return False
    recent: dict[str, str] = look.meta["recent"]
    if not recent:
        return True
    if _digests(recent) != recent:
        return False
    if look.now - look.meta["built_ns"] > GRAIN_NS:
        # The files are older than the grain by now, and what they hold is what was indexed: no need to ask again.
        write_meta(place.folder, look.meta | {"recent": {}})
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
    from tooldisco_cli.search.index import SearchIndex

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
    meta = {
        "format": FORMAT,
        "digest": digest,
        "folders": folders,
        "recent": recent,
        "built_ns": started,
        "messages": messages,
    }
    if use_cache:
        index = _with_catalog_change(place, catalog, seen.listings, meta) or _anew(
            place, catalog, seen.listings, meta, tell
        )
        if index is not None:
            return Opened(index, messages)
    from tooldisco_cli.search.index import SearchIndex

    return Opened(SearchIndex.build(catalog, tell=tell), messages)


def _anew(
    place: _Place, catalog: Catalog, listings: tuple[Listing, ...], meta: dict[str, Any], tell: Tell | None
) -> SearchIndex | None:
    from tooldisco_cli.search.documents import claims_of
    from tooldisco_cli.search.index import SearchIndex
    from tooldisco_cli.search.record import RECORD, write_record
    from tooldisco_cli.search.updating import record_of

    with new_generation(place.folder) as folder:
        if folder is None:
            return None
        claims = claims_of(catalog)
        index = SearchIndex.build(catalog, folder, claims=claims, tell=tell)
        try:
            write_record(folder, record_of(catalog, listings, claims))
        except OSError:  # without it the index is built anew after each change
            remove(folder / RECORD)
        if swap_in(place.folder, folder, meta):
            return index
    return None


def _with_plain_change(place: _Place, look: _Look | None) -> Opened | None:
    """Return the index with the manifests that changed taken in; None where the whole catalog is needed for that."""
    if look is None or not look.meta["digest"].endswith(look.stats):
        return None
    from tooldisco_cli.search.record import read_record
    from tooldisco_cli.search.updating import plain_change

    record = read_record(look.generation)
    if record is None:
        return None
    recent = _digests(look.seen.recent)
    try:
        searcher = engine.load(look.generation)
        with engine.engine_errors():
            change = plain_change(record, look.seen.listings, searcher)
    except IndexBroken:
        return None
    if change is None:
        return None
    anew = {claim.entry.source.path for claim in change.come}
    young = {path: digest for path, digest in look.meta["recent"].items() if path not in anew}
    if any(_digests([path])[path] != digest for path, digest in young.items() if Path(path).exists()):
        return None
    meta = look.meta | {"digest": look.digest, "recent": recent, "built_ns": look.now}
    index = _updated(place, look.generation, change, searcher, meta)
    return None if index is None else Opened(index, tuple(Message(*message) for message in meta["messages"]))


def _with_catalog_change(
    place: _Place, catalog: Catalog, listings: tuple[Listing, ...], meta: dict[str, Any]
) -> SearchIndex | None:
    """Return the kept index with only those documents replaced that differ from what the catalog has now."""
    from tooldisco_cli.search.record import read_record
    from tooldisco_cli.search.updating import catalog_change

    kept = read_meta(place.folder)
    if kept is None:
        return None
    generation = place.folder / kept["generation"]
    record = read_record(generation) if sizes_hold(generation, kept["files"]) else None
    change = catalog_change(record, listings, catalog) if record else None
    if change is None:
        return None
    try:
        searcher = engine.load(generation)
    except IndexBroken:
        return None
    return _updated(place, generation, change, searcher, meta | {"files": kept["files"]})


def _updated(
    place: _Place, generation: Path, change: Change, searcher: Searcher, meta: dict[str, Any]
) -> SearchIndex | None:
    from tooldisco_cli.search.index import SearchIndex
    from tooldisco_cli.search.updating import updated

    with new_generation(place.folder) as folder:
        if folder is None:
            return None
        try:
            with engine.engine_errors():
                changed = updated(generation, folder, change, searcher)
        except OSError:
            return None
        if changed is not None and swap_in(place.folder, folder, meta, known=meta["files"]):
            return SearchIndex(changed)
    return None


def _messages(catalog: Catalog) -> Iterator[Message]:
    for problem in catalog.problems:
        yield Message(problem.severity, str(problem))
    for note in catalog.notes:
        yield Message("note", note)
