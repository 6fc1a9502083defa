"""The catalog itself: every tool of all layers after overrides, versions and masks, immutable.

Search, list, the session and execution share one snapshot, so that what was found is what is run.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tooldisco_cli.catalog.tool import Layer, McpServer, Source, Tool
from tooldisco_cli.errors import UnknownTool


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with a manifest: where, what, and what to do.

    ``line`` is 1-based, 0 when the whole file is meant; ``key`` is the dotted path of the offending key.
    A warning leaves the tool usable; an error takes the tool, or the whole file, out of the catalog.
    """

    path: str
    line: int
    message: str
    key: str = ""
    suggestion: str = ""
    severity: str = "error"

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}" if self.line else self.path
        what = f"{self.key}: {self.message}" if self.key else self.message
        return f"{where}: {what}" + (f" ({self.suggestion})" if self.suggestion else "")


@dataclass(frozen=True, slots=True, kw_only=True)
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


def normalised_name(name: str) -> str:
    """Return the form in which ``sendEmail``, ``send-email`` and ``Send Email`` are the same: ``send_email``."""
    text = unicodedata.normalize("NFKC", name).strip()
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", text)
    return re.sub(r"[\W_]+", "_", text).strip("_").lower()


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

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """The current version of every tool, by name."""
        return tuple(
            next(e for e in versions if e.tool.version == current_version(e.versions, e.deprecated))
            for _, versions in sorted(self.by_name.items())
        )

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
        name, _, version = reference.partition("@") if not self._is_alias(reference) else (reference, "", "")
        versions = self._versions(name)
        if versions and version:
            entry = next((e for e in versions if e.tool.version == version), None)
            if entry is None:
                known = ", ".join(e.tool.version for e in versions)
                raise UnknownTool(
                    f"tool {versions[0].name!r} has no version {version!r}", hint=f"versions: {known}"
                )
            return entry
        if versions:
            return next(e for e in self.entries if e.name == versions[0].name)
        near = self.near_names(reference)
        raise UnknownTool(
            f"no tool named {reference!r}",
            hint=f"did you mean {', '.join(near)}?" if near else "",
            details={"suggestions": near} if near else None,
        )

    def near_names(self, name: str, limit: int = 3) -> list[str]:
        """Return the names most like a mistyped one, most alike first."""
        from difflib import get_close_matches

        spelled = {normalised_name(known): known for known in self.by_name}
        return [spelled[near] for near in get_close_matches(normalised_name(name), spelled, limit, 0.6)]

    @cached_property
    def _aliases(self) -> Mapping[str, str]:
        return {alias: entry.name for entry in reversed(self.entries) for alias in entry.tool.aliases}

    @cached_property
    def _normalised(self) -> Mapping[str, str]:
        aliases = {normalised_name(alias): name for alias, name in self._aliases.items()}
        return aliases | {normalised_name(name): name for name in sorted(self.by_name, reverse=True)}

    def _is_alias(self, name: str) -> bool:
        return name in self._aliases

    def _versions(self, name: str) -> tuple[Entry, ...]:
        found = name if name in self.by_name else self._aliases.get(name)
        found = found or self._normalised.get(normalised_name(name), "")
        return self.by_name.get(found, ())
