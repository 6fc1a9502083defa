"""What the shell offers after a Tab: names, categories and tags of the catalog. Never prints an error.

Words come from the kept index when it is current; otherwise the catalog is read, which builds nothing.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import typer

from tooldisco_cli.cli.context import tools_dirs

if TYPE_CHECKING:
    from tooldisco_cli.search.prefixes import Kind

_PLAIN = re.compile(r"\w[\w.:/@+,-]*")
"""Words that mean only themselves to every shell. A shell pastes what it is offered into its command line as it is,
so that a tag such as ``$(…)`` of somebody's manifest would be run with the next Enter."""


def answer_a_shell() -> None:
    """Prepare the process for a shell's question: nothing may reach stderr, and help texts need no rich.

    typer would import all of rich to take markup out of help texts; ours have none.
    """
    from typer import _completion_classes

    _completion_classes._sanitize_help_text = lambda text: text
    if not os.environ.get("TOOLDISCO_DEBUG"):
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - open to the end
        os.dup2(sys.stderr.fileno(), 2)


def _offered(ctx: typer.Context, kind: Kind, incomplete: str) -> list[str]:
    try:
        words = _words(ctx, kind, incomplete)
    except Exception:
        # A shell that waits for a completion has no place for an error.
        return []
    return [word for word in words if word.startswith(incomplete) and _PLAIN.fullmatch(word)]


def _words(ctx: typer.Context, kind: Kind, incomplete: str) -> Iterable[str]:
    from tooldisco_cli.errors import IndexBroken
    from tooldisco_cli.search.prefixes import beginning_with
    from tooldisco_cli.search.store import current_index

    try:
        index = current_index(tools_dirs(ctx))
        if index is not None:
            return beginning_with(index, kind, incomplete)
    except IndexBroken:
        pass
    from tooldisco_cli.catalog import load_catalog

    catalog = load_catalog(tools_dirs(ctx))
    return {"name": catalog.by_name, "category": catalog.categories(), "tag": catalog.tags()}[kind]


def complete_tool(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the names of tools that begin with what was typed."""
    return _offered(ctx, "name", incomplete)


def complete_category(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the categories that begin with what was typed."""
    return _offered(ctx, "category", incomplete)


def complete_tag(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the tags that begin with what was typed."""
    return _offered(ctx, "tag", incomplete)
