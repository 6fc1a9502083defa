"""Stacks layers into a catalog: which folders, in which order, and what overrides what.

Reading (files to manifests) and assembling (manifests to a catalog) are apart, so that parsed manifests can come
from a cache: :func:`assemble` touches no file.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tooldisco_cli import paths
from tooldisco_cli.catalog.checks import check_schema, schema_faults
from tooldisco_cli.catalog.layers import LoadedLayer, load_layer, manifest_files, read_manifest, without_duplicates
from tooldisco_cli.catalog.manifest import Declaration, Manifest, decode_server
from tooldisco_cli.catalog.reading import collection_paused, read_layer
from tooldisco_cli.catalog.snapshot import Catalog, Entry
from tooldisco_cli.catalog.tool import Layer, McpServer, Source
from tooldisco_cli.catalog.trust import Pins, read_pins
from tooldisco_cli.catalog.versions import newest_first, version_identity
from tooldisco_cli.errors import UsageError
from tooldisco_cli.settings import Settings, load_settings, settings_file
from tooldisco_cli.tomlfile import Fault, Problem, dotted, located, parse, read_bytes

if TYPE_CHECKING:
    from tooldisco_cli.catalog.parallel import Tell

TOOLS_DIR_VARIABLE = "TOOLDISCO_TOOLS_DIR"


def load_catalog(
    tools_dirs: Sequence[str | Path] = (),
    *,
    cwd: Path | None = None,
    settings: Settings | None = None,
    environment: Mapping[str, str] | None = None,
    use_cache: bool = True,
    tell: Tell | None = None,
) -> Catalog:
    """Return the catalog of all layers, lowest first: shipped, system, user, project, settings, variable, argument.

    ``tools_dirs`` are the folders of ``--tools-dir``; ``cwd`` is where the project's ``tools.d`` is looked for.
    Faulty manifests are no exception but ``Catalog.problems``. Manifests that did not change come from the cache
    folder unless ``use_cache`` is false; ``tell`` hears how parsing the others goes.

    Raises UsageError for a folder of ``tools_dirs`` that does not exist, SettingsInvalid for the settings file.
    """
    environment = os.environ if environment is None else environment
    settings = load_settings(environment) if settings is None else settings
    layers, problems = find_layers(tools_dirs, cwd=cwd, settings=settings, environment=environment)
    pins = read_pins(environment=environment) if any(layer.kind == "project" for layer in layers) else Pins()
    servers, server_problems = settings_servers(settings, environment)
    with collection_paused():
        loaded = [read_layer(layer, environment, use_cache=use_cache, tell=tell) for layer in layers]
        return assemble(loaded, pins, servers=servers, problems=(*problems, *server_problems))


def find_layers(
    tools_dirs: Sequence[str | Path] = (),
    *,
    cwd: Path | None = None,
    settings: Settings | None = None,
    environment: Mapping[str, str] | None = None,
) -> tuple[list[Layer], list[Problem]]:
    """Return the layers that exist, lowest first, and a problem for each configured folder that does not.

    A folder that stands twice counts once, at its higher place; the shipped folder is never a project's.

    Raises UsageError for a folder of ``tools_dirs`` that does not exist.
    """
    environment = os.environ if environment is None else environment
    settings = Settings() if settings is None else settings
    shipped = paths.shipped_tools()
    project = paths.project_tools(paths.working_folder() if cwd is None else cwd)
    candidates = [
        Layer("shipped", str(shipped)),
        Layer("system", str(paths.system_tools())),
        Layer("user", str(paths.user_tools(environment))),
    ]
    if project is not None and not _same_folder(project, shipped):
        candidates.append(Layer("project", str(project)))
    problems: list[Problem] = []
    beside = paths.config_folder(environment)
    configured = [
        (str(settings_file(environment)), text, beside / paths.expanded(text)) for text in settings.tools_dirs
    ]
    listed = [text for text in environment.get(TOOLS_DIR_VARIABLE, "").split(os.pathsep) if text.strip()]
    configured += [(TOOLS_DIR_VARIABLE, text, paths.expanded(text).absolute()) for text in listed]
    for origin, text, folder in configured:
        if folder.is_dir():
            candidates.append(Layer("tools-dir", str(folder)))
        else:
            problems.append(Problem(origin, 0, f"no such folder: {text}", key="tools_dirs"))
    for given in tools_dirs:
        folder = paths.expanded(given).absolute()
        if not folder.is_dir():
            what = "is not a folder" if folder.exists() else "does not exist"
            raise UsageError(f"--tools-dir {given}: {what}", hint="give the folder that holds the manifests")
        candidates.append(Layer("tools-dir", str(folder)))
    last = {os.path.realpath(layer.path): layer for layer in candidates}
    return [layer for layer in candidates if last[os.path.realpath(layer.path)] is layer and _exists(layer)], problems


def _exists(layer: Layer) -> bool:
    return Path(layer.path).is_dir()


def _same_folder(one: Path, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def project_layer(cwd: Path | None = None) -> LoadedLayer | None:
    """Return the project's layer with its manifests, for `tooldisco trust`, or None where there is no project."""
    project = paths.project_tools(paths.working_folder() if cwd is None else cwd)
    if project is None or _same_folder(project, paths.shipped_tools()):
        return None
    return load_layer(Layer("project", str(project)))


def settings_servers(
    settings: Settings, environment: Mapping[str, str] | None = None
) -> tuple[dict[str, McpServer], list[Problem]]:
    """Return the MCP servers of the settings file, and what is wrong with those left out."""
    servers: dict[str, McpServer] = {}
    faults: list[Fault] = []
    for name, table in settings.mcp_servers.items():
        server, found = decode_server(table)
        if server is not None:
            servers[name] = server
        faults += [Fault(("mcp_servers", name, *f.key), f.message, f.suggestion, f.severity) for f in found]
    if not faults:
        return servers, []
    path = settings_file(environment)
    data = read_bytes(path)
    parsed = data if isinstance(data, Problem) else parse(data, str(path))
    return servers, located(faults, str(path), "" if isinstance(parsed, Problem) else parsed[1])


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
    pins = Pins() if pins is None else pins
    stack = _Stack(pins, list(problems))
    if pins.damage:
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


@dataclass(frozen=True, slots=True)
class _Stated:
    """A declaration in effect, its layer, and whether it is trusted."""

    declaration: Declaration
    layer: Layer
    trusted: bool


class _Stack:
    def __init__(self, pins: Pins, problems: list[Problem]) -> None:
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
        approved = [self.pins.approves(layer.path, declaration) for declaration in declarations]
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
            self.notes.append(_waiting_note(declaration, lower, changed=self.pins.knows(layer.path, declaration)))
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


def check_paths(given: Iterable[str | Path]) -> list[Problem]:
    """Return everything wrong with manifest files and folders of them, as if each were a layer of its own.

    Beside what loading finds, every schema is held against the JSON Schema meta-schema, and examples against their
    schema. Raises UsageError for a path that does not exist.
    """
    problems: list[Problem] = []
    for path in map(Path, given):
        if path.is_dir():
            files, found = manifest_files(path)
            problems += found
        elif path.exists() or path.is_symlink():
            files = [str(path)]
        else:
            raise UsageError(f"{path} does not exist", hint="give manifest files, or folders of them")
        manifests = [read_manifest(file) for file in files]
        for manifest in manifests:
            problems += manifest.problems
            problems += _deep_problems(manifest)
        problems += without_duplicates(d for manifest in manifests for d in manifest.declarations)[1]
    return problems


def check_catalog(catalog: Catalog) -> list[Problem]:
    """Return the catalog's problems and, as check_paths does, what is wrong with the schemas of its tools."""
    problems = list(catalog.problems)
    for versions in catalog.by_name.values():
        for entry in versions:
            problems += check_schema(entry.tool, path=entry.source.path, line=entry.source.line)
    return problems


def _deep_problems(manifest: Manifest) -> list[Problem]:
    problems: list[Problem] = []
    faulty = [(d, list(schema_faults(d.tool))) for d in manifest.declarations if d.tool.enabled]
    if not any(faults for _, faults in faulty):
        return []
    from tooldisco_cli.tomlposition import key_lines, line_of

    data = read_bytes(manifest.path)
    parsed = data if isinstance(data, Problem) else parse(data, manifest.path)
    text = "" if isinstance(parsed, Problem) else parsed[1]
    lines = key_lines(text)
    places = {lines[key]: key for key in lines if len(key) == 2 and key[0] == "tool"}
    for declaration, faults in faulty:
        own = places.get(declaration.line, ())
        for fault in faults:
            line = line_of(lines, (*own, *fault.key)) if own else declaration.line
            problems.append(Problem(manifest.path, line, fault.message, dotted((*own, *fault.key)), fault.suggestion))
    return problems
