"""The secret values that a tool takes from the environment, to be masked wherever they would show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import unquote, urlsplit

from tooldisco_cli.catalog.tool import McpServer, Tool
from tooldisco_cli.execution.linting import environment_names
from tooldisco_cli.execution.templates import is_secret_name

MIN_SECRET_LENGTH = 4
"""Shorter values are not masked: replacing every ``1`` would destroy a text and hide nothing."""


def secrets_of(
    tool: Tool, environment: Mapping[str, str], server: McpServer | None = None, *, more: Iterable[str] = ()
) -> tuple[str, ...]:
    """Return the secret values that a run of ``tool`` may touch, longest first.

    They are the variables of its templates (and of its MCP ``server``), those it requires, and ``more`` names, as
    far as :func:`is_secret_name` counts them. Of any address among them, the password in it is a secret too.
    """
    found: set[str] = set()
    for name in {*environment_names(tool, server), *tool.requires.env, *more}:
        value = environment.get(name, "")
        if is_secret_name(name):
            found |= {value, value.strip()}
        found |= _passwords(value)
    return tuple(
        sorted((text for text in found if len(text) >= MIN_SECRET_LENGTH), key=lambda text: (-len(text), text))
    )


def _passwords(value: str) -> set[str]:
    if "://" not in value or "@" not in value:
        return set()
    try:
        password = urlsplit(value).password
    except ValueError:
        return set()
    return {password, unquote(password)} if password else set()
