"""A catalog and its index that follow the manifests, for sessions: what changed is seen before the next search."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tooldisco_cli.catalog.snapshot import Catalog
from tooldisco_cli.catalog.watching import Difference, WatchedCatalog, difference
from tooldisco_cli.errors import TooldiscoError
from tooldisco_cli.search.index import SearchIndex
from tooldisco_cli.search.store import open_index
from tooldisco_cli.settings import Settings

_NAMES_TOLD = 5


@dataclass(frozen=True, slots=True)
class Current:
    """A catalog and the index of it."""

    catalog: Catalog
    index: SearchIndex


class LiveCatalog:
    """The catalog of all layers and its index, kept current; threads may share it.

    Raises what ``load_catalog`` raises. ``current`` is replaced as a whole, by ``refresh`` only; who holds the one
    before is not disturbed.
    """

    def __init__(
        self,
        tools_dirs: Sequence[str | Path] = (),
        *,
        cwd: Path | None = None,
        settings: Settings | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._where = (tuple(tools_dirs), cwd, environment)
        self._watched = WatchedCatalog(tools_dirs, cwd=cwd, settings=settings, environment=environment)
        self._lock = threading.Lock()
        self._trouble = ""
        self._errors = self._errors_told()
        self.current = Current(self._watched.catalog, self._indexed())

    @property
    def catalog(self) -> Catalog:
        """The catalog as of the last refresh."""
        return self.current.catalog

    @property
    def index(self) -> SearchIndex:
        """The index as of the last refresh."""
        return self.current.index

    def refresh(self) -> tuple[str, ...]:
        """Take in what changed since the last time; return what to tell a person, each thing once.

        Raises IndexBroken.
        """
        with self._lock:
            if not self._watched.is_stale():
                return ()
            try:
                self._watched.reload()
            except TooldiscoError as error:
                return self._kept(error)
            self._trouble = ""
            new, errors = self._watched.catalog, self._errors_told()
            told = [text for path, text in errors.items() if self._errors.get(path) != text]
            self._errors = errors
            tools = difference(self.catalog, new)
            if any(tools):
                told.append(_in_words(tools))
            self.current = Current(new, self._indexed() if any(tools) else self.index)
            return tuple(told)

    def _errors_told(self) -> dict[str, str]:
        """Return what to say of each file with errors, by its path."""
        found: dict[str, list[str]] = {}
        for problem in self._watched.catalog.problems:
            if problem.severity == "error":
                found.setdefault(problem.path, []).append(str(problem))
        held = self._watched.held_back
        return {
            path: texts[0]
            + (f" (and {len(texts) - 1:,} more errors)" if len(texts) > 1 else "")
            + ("; the file's last good version stays in use" if path in held else "")
            for path, texts in found.items()
        }

    def _kept(self, error: TooldiscoError) -> tuple[str, ...]:
        if self._trouble == error.message:
            return ()
        self._trouble = error.message
        return (f"{error.message}; the tools stay as they were",)

    def _indexed(self) -> SearchIndex:
        if self._watched.held_back:
            # The kept index knows only what the files say now.
            return SearchIndex.build(self._watched.catalog)
        tools_dirs, cwd, environment = self._where
        try:
            return open_index(tools_dirs, cwd=cwd, environment=environment).tools
        except TooldiscoError:  # what is wrong with the settings by now does not concern what goes on
            return SearchIndex.build(self._watched.catalog)


def _in_words(tools: Difference) -> str:
    parts = []
    for what, names in zip(("new", "changed", "removed"), tools, strict=True):
        if names:
            more = f" and {len(names) - _NAMES_TOLD:,} more" if len(names) > _NAMES_TOLD else ""
            parts.append(f"{what}: {', '.join(names[:_NAMES_TOLD])}{more}")
    return f"manifests changed; {'; '.join(parts)}"
