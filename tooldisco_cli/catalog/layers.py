"""Finds and reads the manifests of one ``tools.d``."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tooldisco_cli.catalog.manifest import Declaration, Manifest, parse_manifest
from tooldisco_cli.catalog.tool import Layer
from tooldisco_cli.catalog.versions import version_identity
from tooldisco_cli.tomlfile import Problem, read_bytes


class LoadedLayer(NamedTuple):
    """One layer with its manifests as parsed, and what is wrong with the folder itself."""

    layer: Layer
    manifests: tuple[Manifest, ...] = ()
    problems: tuple[Problem, ...] = ()

    def declarations(self) -> Iterator[Declaration]:
        """Yield every declaration, in the order of files and of their lines."""
        for manifest in self.manifests:
            yield from manifest.declarations


def manifest_files(folder: str | Path) -> tuple[list[str], list[Problem]]:
    """Return the paths of all manifests below ``folder``, sorted, and the problems met on the way.

    A manifest is a file named ``*.toml``; subfolders are searched too. Names that start with a dot are left out,
    which are hidden folders and editors' swap files. Linked folders are followed, each real folder once.
    """
    files: list[str] = []
    problems: list[Problem] = []
    seen: set[tuple[int, int]] = set()
    waiting = [os.fspath(folder)]
    while waiting:
        here = waiting.pop()
        try:
            status = Path(here).stat()
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            with os.scandir(here) as entries:
                listed = [entry for entry in entries if not entry.name.startswith(".")]
        except OSError as error:
            problems.append(Problem(here, 0, f"cannot be read: {error.strerror or error}"))
            continue
        for entry in listed:
            is_folder = _is_folder(entry)
            if not entry.name.lower().endswith(".toml"):
                if is_folder:
                    waiting.append(entry.path)
            elif is_folder:
                problems.append(Problem(entry.path, 0, "is a folder, not a file", suggestion="rename it"))
            else:
                files.append(entry.path)
    return sorted(files, key=lambda path: path.replace(os.sep, "\0")), problems


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link in a circle; reading it as a file will say so
        return False


def read_manifest(path: str | Path) -> Manifest:
    """Read one manifest file. Never raises for what the file is or holds."""
    data = read_bytes(path)
    if isinstance(data, Problem):
        return Manifest(str(path), problems=(data,))
    return parse_manifest(data, str(path))


def load_layer(layer: Layer) -> LoadedLayer:
    """Read every manifest of a layer."""
    files, problems = manifest_files(layer.path)
    return LoadedLayer(layer, tuple(map(read_manifest, files)), tuple(problems))


def without_duplicates(declarations: Iterable[Declaration]) -> tuple[dict[str, list[Declaration]], list[Problem]]:
    """Return the declarations of one layer by name, less those that are declared twice, and a problem for each.

    Neither of two declarations of the same name and version is taken, so that the order of files never decides.
    Masks stay: what somebody meant to hide stays hidden.
    """
    by_name: dict[str, list[Declaration]] = defaultdict(list)
    for declaration in declarations:
        by_name[declaration.tool.name].append(declaration)
    problems: list[Problem] = []
    for name, same_name in by_name.items():
        if len(same_name) > 1:
            by_name[name] = _unique(name, same_name, problems)
    return dict(by_name), problems


def _unique(name: str, declarations: Sequence[Declaration], problems: list[Problem]) -> list[Declaration]:
    groups: dict[str, list[Declaration]] = defaultdict(list)
    for declaration in declarations:
        groups[version_identity(declaration.tool.version)].append(declaration)
    kept = []
    for group in groups.values():
        if len(group) == 1:
            kept.append(group[0])
            continue
        kept += [declaration for declaration in group if not declaration.tool.enabled][:1]
        first, *others = group
        problems += [
            Problem(
                other.path,
                other.line,
                f"{name!r} version {other.tool.version} is already declared at {first.place}; neither is used",
                key="name",
                suggestion="remove one, or give it another version",
            )
            for other in others
        ]
    return kept
