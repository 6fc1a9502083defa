"""The secret values that a tool takes from the environment, to be masked wherever they would show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import unquote, urlsplit

from tooldisco_cli.catalog.tool import McpServer, Tool
from tooldisco_cli.execution.linting import environment_names
from tooldisco_cli.execution.templates import is_secret_name, says_secret

MIN_SECRET_LENGTH = 4
"""Shorter values are not masked: replacing every ``1`` would destroy a text and hide nothing."""

_UNDECLARED_LENGTH = 8


def secrets_of(
    tool: Tool, environment: Mapping[str, str], server: McpServer | None = None, *, more: Iterable[str] = ()
) -> tuple[str, ...]:
    """Return the secret values that a run of ``tool`` may touch, longest first.

    They are the variables of its templates (and of its MCP ``server``), those it requires, and ``more`` names, as
    far as :func:`is_secret_name` counts them; of any address among them, the password in it too. A Python function
    sees the whole environment, so for it every variable counts whose name says that it is secret.
    """
    found: set[str] = set()
    for name in {*environment_names(tool, server), *tool.requires.env, *more}:
        value = environment.get(name, "")
        if is_secret_name(name):
            found |= {value, value.strip()}
        found |= _passwords(value)
    if tool.command is None and tool.http is None and tool.mcp is None:
        found |= {
            value for name, value in environment.items() if says_secret(name) and len(value) >= _UNDECLARED_LENGTH
        }
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
