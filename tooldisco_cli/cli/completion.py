"""What the shell offers after a Tab: names, categories and tags of the catalog. Never prints an error."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from tooldisco_cli.catalog import Catalog


def _catalog(ctx: typer.Context) -> Catalog | None:
    from tooldisco_cli.catalog import load_catalog

    given: list[object] = []
    context: object = ctx
    while context is not None:
        given = [*(getattr(context, "params", {}).get("tools_dir") or ()), *given]
        context = getattr(context, "parent", None)
    try:
        return load_catalog([str(folder) for folder in given])
    except Exception:
        # A shell that waits for a completion has no place for an error.
        return None


def _starting(words: Iterable[str], incomplete: str) -> list[str]:
    from tooldisco_cli.render.untrusted import visible

    return [visible(word) for word in words if word.startswith(incomplete)]


def complete_tool(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the names of tools that begin with what was typed."""
    catalog = _catalog(ctx)
    return _starting(catalog.by_name, incomplete) if catalog else []


def complete_category(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the categories that begin with what was typed."""
    catalog = _catalog(ctx)
    return _starting(catalog.categories(), incomplete) if catalog else []


def complete_tag(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the tags that begin with what was typed."""
    catalog = _catalog(ctx)
    return _starting(catalog.tags(), incomplete) if catalog else []
