"""Which tools a model is given up front, by the way it discovers the others.

- ``meta``: the meta tools only, and what is pinned. Works with every server that speaks the Messages API.
- ``native``: every tool with ``defer_loading``, and our search answering with ``tool_reference`` blocks; the model
  then calls found tools by their names.
- ``server`` and ``server-regex``: every tool with ``defer_loading``, and Anthropic's own tool search.
- ``all``: every definition up front, for comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

from tooldisco_cli.catalog.definition import model_definition
from tooldisco_cli.catalog.snapshot import Catalog, Entry
from tooldisco_cli.meta.definitions import ASK_USER, READ_RESULT, SEARCH

JsonObject = dict[str, Any]
Discovery = Literal["meta", "native", "server", "server-regex", "all"]
DISCOVERIES: tuple[Discovery, ...] = get_args(Discovery)

_SERVER_SEARCH = {
    "server": {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"},
    "server-regex": {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"},
}
_CACHED = {"cache_control": {"type": "ephemeral"}}


def tools_for(
    discovery: Discovery, catalog: Catalog, meta: Sequence[JsonObject], pins: Sequence[str] = ()
) -> list[JsonObject]:
    """Return the ``tools`` of every request of a session; the same bytes each time. Raises UnknownTool for a pin.

    The last tool that is not deferred carries the cache breakpoint, which covers all before it.
    """
    pinned = [catalog.get(name) for name in pins]
    names = {entry.name for entry in pinned}
    if discovery == "meta":
        return _with_breakpoint([*meta, *map(model_definition, pinned)])
    helpers = [tool for tool in meta if tool["name"] in {READ_RESULT, ASK_USER}]
    if discovery == "all":
        return _with_breakpoint([*helpers, *map(model_definition, runnable(catalog))])
    deferred = [
        model_definition(entry) | {"defer_loading": True} for entry in runnable(catalog) if entry.name not in names
    ]
    if discovery == "native":
        search = [tool for tool in meta if tool["name"] == SEARCH]
    else:
        search = [dict(_SERVER_SEARCH[discovery])]
    return [*_with_breakpoint([*search, *helpers, *map(model_definition, pinned)]), *deferred]


def runnable(catalog: Catalog) -> list[Entry]:
    """Return the tools that a model may be given directly: trusted ones."""
    return [entry for entry in catalog if entry.trusted]


def system_for(prompt: str) -> list[JsonObject]:
    """Return the ``system`` of every request, with its cache breakpoint."""
    return [{"type": "text", "text": prompt, **_CACHED}]


def _with_breakpoint(tools: list[JsonObject]) -> list[JsonObject]:
    return [*tools[:-1], tools[-1] | _CACHED] if tools else []
