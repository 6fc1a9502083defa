"""A tool as a model sees it."""

from __future__ import annotations

from tooldisco_cli.catalog.snapshot import Entry, current_version
from tooldisco_cli.catalog.tool import JsonObject


def model_definition(entry: Entry) -> JsonObject:
    """Return ``name``, ``description`` and ``input_schema``: what a model needs to choose and call the tool.

    The description ends with a line about versions. Keywords and queries are for the search alone.
    """
    description = entry.tool.description.strip()
    return {
        "name": entry.name,
        "description": f"{description}\n\n{version_line(entry)}" if description else version_line(entry),
        "input_schema": entry.tool.input_schema,
    }


def version_line(entry: Entry) -> str:
    """Return one line: which version this is, which is current, which are deprecated, and what comes next."""
    tool = entry.tool
    current = current_version(entry.versions, entry.deprecated) if entry.versions else tool.version
    gone = tuple(dict.fromkeys((*entry.deprecated, *tool.deprecated_versions)))
    if tool.version != current:
        said = f"Version {tool.version}{' (deprecated)' if tool.version in gone else ''}; current is {current}."
    elif tool.version in gone:
        said = f"Version {tool.version} (deprecated)."
    else:
        said = f"Version {tool.version} (current)."
    others = [version for version in gone if version != tool.version]
    if others:
        said += f" Deprecated: {', '.join(others)}."
    if tool.superseded_by:
        said += f" Use {tool.superseded_by} instead."
    if tool.sunset is not None:
        said += f" It stops working on {tool.sunset.isoformat()}."
    return said
