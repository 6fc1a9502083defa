"""What tools there are: manifests, layers, versions and trust, as one immutable snapshot.

The public names below are imported when first used, so that importing this package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tooldisco_cli.catalog.definition import model_definition
    from tooldisco_cli.catalog.loading import check_catalog, check_paths, load_catalog
    from tooldisco_cli.catalog.schema import manifest_schema
    from tooldisco_cli.catalog.snapshot import Catalog, Entry, Problem
    from tooldisco_cli.catalog.tool import Tool

__all__ = [
    "Catalog",
    "Entry",
    "Problem",
    "Tool",
    "check_catalog",
    "check_paths",
    "load_catalog",
    "manifest_schema",
    "model_definition",
]

_HOMES = {
    "Catalog": "snapshot",
    "Entry": "snapshot",
    "Problem": "snapshot",
    "Tool": "tool",
    "check_catalog": "loading",
    "check_paths": "loading",
    "load_catalog": "loading",
    "manifest_schema": "schema",
    "model_definition": "definition",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
