"""A few tools, each read from its own manifest, where the record of the kept index tells that no other has a say.

So `tooldisco tools exec` among 100,000 tools reads one file of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tooldisco_cli.errors import IndexBroken
from tooldisco_cli.search import engine
from tooldisco_cli.search.names import tool_named
from tooldisco_cli.search.record import read_alone
from tooldisco_cli.search.store import Message, current_parts

if TYPE_CHECKING:
    from tantivy import Searcher

    from tooldisco_cli.catalog.snapshot import Catalog
    from tooldisco_cli.catalog.tool import McpServer


def declared_tools(
    references: Iterable[str],
    tools_dirs: Sequence[str | Path] = (),
    *,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> tuple[Catalog, tuple[Message, ...]] | None:
    """Return a catalog that has each of some tools as the whole one has, and the messages of the whole.

    A reference is a name, or ``name@version``. None where the kept index is not current, and for a tool that the
    whole catalog may have otherwise: masked or overridden, with versions in several places, of a project's layer.
    """
    found = current_parts(tools_dirs, cwd=cwd, environment=environment)
    if found is None:
        return None
    record, searcher, messages = found
    names = {reference.partition("@")[0] for reference in references}
    paths = _paths_of(names, searcher) if names.isdisjoint(record.contested) else None
    if paths is None:
        return None
    from dataclasses import replace

    from tooldisco_cli.catalog.snapshot import Catalog

    catalog = Catalog()
    for path in sorted(paths):
        alone = read_alone(path, record)
        if alone is None:
            return None
        here = {name: alone.by_name[name] for name in names & alone.by_name.keys()}
        catalog = replace(catalog, layers=(*catalog.layers, *alone.layers), by_name={**catalog.by_name, **here})
    if catalog.by_name.keys() != names:
        return None
    if any(entry.tool.mcp for entry in catalog):
        catalog = replace(catalog, servers=_servers(environment))
    return catalog, messages


def _paths_of(names: Iterable[str], searcher: Searcher) -> set[str] | None:
    """Return the manifests of the tools of some names; None when one is no tool's."""
    paths = set()
    try:
        with engine.engine_errors():
            for name in names:
                address = tool_named(searcher, name)
                stored = json.loads((engine.stored(searcher, address) if address else None) or b"{}")
                if stored.get("name") != name:
                    return None
                paths.add(stored["path"])
    except IndexBroken:
        return None
    return paths


def _servers(environment: Mapping[str, str] | None) -> dict[str, McpServer]:
    from tooldisco_cli.catalog.loading import settings_servers
    from tooldisco_cli.settings import load_settings

    return settings_servers(load_settings(environment), environment)[0]
