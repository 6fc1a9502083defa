"""The catalog itself: every tool of all layers after overrides, versions and masks, immutable.

Search, list, the session and execution share one snapshot, so that what was found is what is run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tooldisco_cli.catalog.naming import normalised_name
from tooldisco_cli.catalog.tool import Layer, McpServer, Source, Tool
from tooldisco_cli.errors import UnknownTool
from tooldisco_cli.tomlfile import Problem

__all__ = ["Catalog", "Entry", "Problem", "current_version", "normalised_name"]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One version of a tool at its place in the catalog."""

    tool: Tool
    source: Source
    digest: str
    """SHA-256 over the declaration and the MCP server it uses, in hexadecimal: what trust pins."""
    versions: tuple[str, ...] = ()
    """Every version of this name that can be reached, newest first."""
    deprecated: tuple[str, ...] = ()
    """Those of ``versions`` that should no longer be used."""
    trusted: bool = True
    """Whether it may be executed: false for a project's tool that nobody approved, or that changed since."""
    server: McpServer | None = None
    """The MCP server of an ``mcp`` tool declared in the same manifest."""
    function: Callable[..., Any] | None = None
    """The function of a tool that was registered in code."""

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.tool.name

    @property
    def reference(self) -> str:
        """The name that reaches exactly this version: ``name``, or ``name@version`` for one not current."""
        current = not self.versions or self.tool.version == current_version(self.versions, self.deprecated)
        return self.tool.name if current else f"{self.tool.name}@{self.tool.version}"


def current_version(versions: Iterable[str], deprecated: Iterable[str]) -> str:
    """Return the first of ``versions`` (newest first) that is not deprecated, else the newest."""
    ordered, gone = list(versions), set(deprecated)
    return next((version for version in ordered if version not in gone), ordered[0])


@dataclass(frozen=True)
class Catalog:
    """All tools that can be found and reached.

    ``by_name`` maps each name to its versions, newest first. ``problems`` are the manifests' faults,
    ``notes`` what a person should know though nothing is wrong, such as an override that waits for trust.
    """

    by_name: Mapping[str, tuple[Entry, ...]] = field(default_factory=dict)
    layers: tuple[Layer, ...] = ()
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    servers: Mapping[str, McpServer] = field(default_factory=dict)
    """MCP servers declared in settings, by name."""
    contested: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Names that a mask or more than one declaration has a say in, with the manifests that these stand in."""

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """The current version of every tool, by name."""
        return tuple(_current(self.by_name[name]) for name in sorted(self.by_name))

    @property
    def by_precedence(self) -> tuple[Entry, ...]:
        """The current version of every tool, in the order in which they claim a shared alias or spelling.

        Trusted ones come first, so that a project cannot take over a word that reaches another tool.
        """
        return tuple(sorted(self.entries, key=lambda entry: not entry.trusted))

    def __len__(self) -> int:
        return len(self.by_name)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def categories(self) -> dict[str, int]:
        """Return every category with its number of tools, by name."""
        return dict(sorted(Counter(entry.tool.category for entry in self.entries).items()))

    def tags(self) -> dict[str, int]:
        """Return every tag with its number of tools, by name."""
        return dict(sorted(Counter(tag for entry in self.entries for tag in entry.tool.tags).items()))

    def get(self, reference: str) -> Entry:
        """Return the tool of a name, an alias, another spelling of either, or one version as ``name@1.0``.

        Raises UnknownTool, with at most three near names as its hint.
        """
        versions = self._exact(reference)
        if not versions and "@" in reference:
            name, _, version = reference.rpartition("@")
            versions = self._exact(name) or self._spelled(name)
            if versions and version:
                return _version(versions, version)
        versions = versions or self._spelled(reference)
        if versions:
            return _current(versions)
        near = self.near_names(reference)
        raise UnknownTool(
            f"no tool named {_short(reference)!r}",
            hint=f"did you mean {', '.join(near)}?" if near else "",
            details={"suggestions": near} if near else None,
        )

    def holder(self, word: str) -> Entry | None:
        """Return the tool that a name or alias reaches, no version being meant; None for neither."""
        versions = self._exact(word) or self._spelled(word)
        return _current(versions) if versions else None

    def near_names(self, name: str, limit: int = 3) -> list[str]:
        """Return the names most like a mistyped one, most alike first."""
        from difflib import get_close_matches

        spelled = {normalised_name(known): known for known in self.by_name}
        return [spelled[near] for near in get_close_matches(normalised_name(name), spelled, limit, 0.6)]

    @cached_property
    def _aliases(self) -> Mapping[str, str]:
        """Aliases with the tools that they reach; none of an untrusted tool that spells a trusted one otherwise."""
        trusted = [entry for entry in self.entries if entry.trusted]
        taken: set[str] = set()
        if len(trusted) < len(self.entries):
            taken = {normalised_name(word) for entry in trusted for word in (entry.name, *entry.tool.aliases)}
            taken.discard("")
        return {
            alias: entry.name
            for entry in reversed(self.by_precedence)
            for alias in entry.tool.aliases
            if entry.trusted or normalised_name(alias) not in taken
        }

    @cached_property
    def _normalised(self) -> Mapping[str, str]:
        spelled: dict[str, str] = {}
        for trusted in (False, True):
            entries = [entry for entry in reversed(self.entries) if entry.trusted is trusted]
            spelled |= {normalised_name(alias): entry.name for entry in entries for alias in entry.tool.aliases}
            spelled |= {normalised_name(entry.name): entry.name for entry in entries}
        return spelled

    def _exact(self, name: str) -> tuple[Entry, ...]:
        return self.by_name.get(name) or self.by_name.get(self._aliases.get(name, ""), ())

    def _spelled(self, name: str) -> tuple[Entry, ...]:
        spelled = normalised_name(name)
        return self.by_name.get(self._normalised.get(spelled, ""), ()) if spelled else ()


def _short(name: str) -> str:
    """Return a name as it is repeated to who gave it: whatever is longer than any name may be is cut."""
    return name if len(name) <= 200 else f"{name[:200]}…"


def _current(versions: tuple[Entry, ...]) -> Entry:
    first = versions[0]
    if len(first.versions) < 2:
        return first
    current = current_version(first.versions, first.deprecated)
    return next(entry for entry in versions if entry.tool.version == current)


def _version(versions: tuple[Entry, ...], version: str) -> Entry:
    from tooldisco_cli.catalog.versions import version_identity

    wanted = version_identity(version)
    entry = next((entry for entry in versions if version_identity(entry.tool.version) == wanted), None)
    if entry is None:
        known = ", ".join(entry.tool.version for entry in versions)
        raise UnknownTool(f"tool {versions[0].name!r} has no version {_short(version)!r}", hint=f"versions: {known}")
    return entry
