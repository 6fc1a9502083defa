"""Stacks layers into a catalog: what overrides what, and what waits for trust. Touches no file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from tooldisco_cli.catalog.layers import LoadedLayer, without_duplicates
from tooldisco_cli.catalog.manifest import Declaration
from tooldisco_cli.catalog.snapshot import Catalog, Entry
from tooldisco_cli.catalog.tool import Layer, McpServer, Source
from tooldisco_cli.catalog.versions import newest_first, version_identity
from tooldisco_cli.tomlfile import Problem

if TYPE_CHECKING:
    from tooldisco_cli.catalog.trust import Pins


def assemble(
    layers: Iterable[LoadedLayer],
    pins: Pins | None = None,
    *,
    servers: Mapping[str, McpServer] | None = None,
    problems: Iterable[Problem] = (),
) -> Catalog:
    """Stack layers, lowest first, into a catalog.

    A layer that declares a name replaces all its lower versions. The project layer is not trusted: what it adds is
    marked so until approved, and what it overrides or masks takes effect only once ``pins`` approve it.
    """
    stack = _Stack(pins, list(problems))
    if pins is not None and pins.damage:
        stack.notes.append(pins.damage)
    layers = list(layers)
    for loaded in layers:
        stack.add(loaded)
    by_name = {name: _entries(stack.by_name[name]) for name in sorted(stack.by_name) if stack.by_name[name]}
    alias_problems, alias_notes = _alias_collisions(by_name)
    return Catalog(
        by_name=by_name,
        layers=tuple(loaded.layer for loaded in layers),
        problems=(*stack.problems, *alias_problems),
        notes=(*stack.notes, *alias_notes),
        servers=dict(servers or {}),
        contested=_contested(layers),
    )


def _contested(layers: Iterable[LoadedLayer]) -> dict[str, frozenset[str]]:
    stated: dict[str, list[Declaration]] = defaultdict(list)
    for loaded in layers:
        for declaration in loaded.declarations():
            stated[declaration.tool.name].append(declaration)
    return {
        name: frozenset(declaration.path for declaration in declarations)
        for name, declarations in stated.items()
        if len(declarations) > 1 or not declarations[0].tool.enabled
    }


class _Stated(NamedTuple):
    """A declaration in effect, its layer, and whether it is trusted."""

    declaration: Declaration
    layer: Layer
    trusted: bool


class _Stack:
    def __init__(self, pins: Pins | None, problems: list[Problem]) -> None:
        self.pins = pins
        self.problems = problems
        self.notes: list[str] = []
        self.by_name: dict[str, list[_Stated]] = {}
        """An empty list stands for a name that is masked."""

    def add(self, loaded: LoadedLayer) -> None:
        self.problems += loaded.problems
        for manifest in loaded.manifests:
            self.problems += manifest.problems
        by_name, duplicates = without_duplicates(loaded.declarations())
        self.problems += duplicates
        untrusted = loaded.layer.kind == "project"
        for name, declarations in by_name.items():
            if not declarations:
                continue
            if untrusted:
                self._add_untrusted(loaded.layer, name, declarations)
            else:
                self.by_name[name] = [_Stated(d, loaded.layer, trusted=True) for d in declarations if d.tool.enabled]

    def _add_untrusted(self, layer: Layer, name: str, declarations: list[Declaration]) -> None:
        lower = self.by_name.get(name)
        pins = self.pins
        approved = [pins is not None and pins.approves(layer.path, declaration) for declaration in declarations]
        if lower is None:
            stated = [
                _Stated(declaration, layer, trusted=trusted)
                for declaration, trusted in zip(declarations, approved, strict=True)
                if declaration.tool.enabled
            ]
            if stated:
                self.by_name[name] = stated
            return
        same = {stated.declaration.digest for stated in lower}
        waiting = [
            d for d, trusted in zip(declarations, approved, strict=True) if not trusted and d.digest not in same
        ]
        for declaration in waiting:
            changed = pins is not None and pins.knows(layer.path, declaration)
            self.notes.append(_waiting_note(declaration, lower, changed=changed))
        if any(trusted and d.digest not in same for d, trusted in zip(declarations, approved, strict=True)):
            self.by_name[name] = [
                _Stated(declaration, layer, trusted=True)
                for declaration in declarations
                if declaration not in waiting and declaration.tool.enabled
            ]


def _waiting_note(declaration: Declaration, lower: list[_Stated], *, changed: bool) -> str:
    over = f"the {lower[0].layer.kind} one" if lower else "a mask"
    would = f"would replace {over}" if declaration.tool.enabled else f"would remove {over}"
    why = "it changed since it was approved" if changed else "nobody has approved it"
    return f"{declaration.place}: {declaration.tool.name!r} {would}, but {why}; see `tooldisco trust`"


def _entries(stated: list[_Stated]) -> tuple[Entry, ...]:
    if len(stated) == 1 and not stated[0].declaration.tool.deprecated_versions:
        return (_entry(stated[0], (stated[0].declaration.tool.version,), ()),)
    versions = tuple(newest_first([item.declaration.tool.version for item in stated]))
    gone = {version_identity(text) for item in stated for text in item.declaration.tool.deprecated_versions}
    deprecated = tuple(text for text in versions if version_identity(text) in gone) if gone else ()
    if len(stated) > 1:
        stated = sorted(stated, key=lambda item: versions.index(item.declaration.tool.version))
    return tuple(_entry(item, versions, deprecated) for item in stated)


def _entry(stated: _Stated, versions: tuple[str, ...], deprecated: tuple[str, ...]) -> Entry:
    declaration = stated.declaration
    return Entry(
        tool=declaration.tool,
        source=Source(stated.layer, declaration.path, declaration.line),
        digest=declaration.digest,
        versions=versions,
        deprecated=deprecated,
        trusted=stated.trusted,
        server=declaration.server,
    )


def _alias_collisions(by_name: Mapping[str, tuple[Entry, ...]]) -> tuple[list[Problem], list[str]]:
    """Tell of aliases that reach another tool than the one that declares them: a name wins over any alias."""
    problems: list[Problem] = []
    notes: list[str] = []
    if not any(entry.tool.aliases for versions in by_name.values() for entry in versions):
        return problems, notes
    catalog = Catalog(by_name=by_name)
    for entry in catalog:
        for alias in entry.tool.aliases:
            holder = catalog.holder(alias)
            if holder is None or holder.name == entry.name:
                continue
            what = "also the alias of" if alias in holder.tool.aliases else "another spelling of"
            what = "also the name of" if holder.name == alias else what
            message = f"{alias!r} is {what} {holder.name!r}, which it will reach"
            if holder.source.layer == entry.source.layer:
                problems.append(
                    Problem(entry.source.path, entry.source.line, message, key="aliases", severity="warning")
                )
            else:
                notes.append(f"{entry.source.path}:{entry.source.line}: alias {message}")
    return problems, notes
