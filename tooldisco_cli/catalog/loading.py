"""Loads the catalog: which folders are its layers, in which order, and what is wrong with them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tooldisco_cli import paths
from tooldisco_cli.catalog.checks import check_schema, schema_faults
from tooldisco_cli.catalog.layers import LoadedLayer, load_layer, manifest_files, read_manifest, without_duplicates
from tooldisco_cli.catalog.manifest import Manifest, decode_server
from tooldisco_cli.catalog.reading import collection_paused, read_layer
from tooldisco_cli.catalog.snapshot import Catalog
from tooldisco_cli.catalog.stacking import assemble
from tooldisco_cli.catalog.tool import Layer, McpServer
from tooldisco_cli.catalog.trust import Pins, read_pins
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
