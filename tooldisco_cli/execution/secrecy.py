"""The secret values that a tool takes from the environment, to be masked wherever they would show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import unquote, urlsplit

from tooldisco_cli.catalog.tool import McpServer, Tool
from tooldisco_cli.execution.linting import environment_names
from tooldisco_cli.execution.masking import MIN_SECRET_LENGTH, Secret
from tooldisco_cli.execution.templates import is_secret_name, says_secret

__all__ = ["MIN_SECRET_LENGTH", "secrets_of"]

_UNDECLARED_LENGTH = 8


def secrets_of(
    tool: Tool, environment: Mapping[str, str], server: McpServer | None = None, *, more: Iterable[str] = ()
) -> tuple[str, ...]:
    """Return the secret values that a run of ``tool`` may touch, longest first, each a ``Secret`` with its name.

    They are the variables of its templates (and of its MCP ``server``), those it requires, and ``more`` names, as
    far as :func:`is_secret_name` counts them; of any address among them, the password in it too. A Python function
    sees the whole environment, so for it every variable counts whose name says that it is secret.
    """
    found: dict[str, str] = {}
    for name in sorted({*environment_names(tool, server), *tool.requires.env, *more}):
        value = environment.get(name, "")
        if is_secret_name(name):
            found |= {value: name, value.strip(): name}
        found |= dict.fromkeys(_passwords(value), name)
    if tool.command is None and tool.http is None and tool.mcp is None:
        for name, value in environment.items():
            if says_secret(name) and len(value) >= _UNDECLARED_LENGTH:
                found.setdefault(value, name)
    secrets = [Secret(value, name) for value, name in found.items() if len(value) >= MIN_SECRET_LENGTH]
    return tuple(sorted(secrets, key=lambda text: (-len(text), text)))


def _passwords(value: str) -> set[str]:
    if "://" not in value or "@" not in value:
        return set()
    try:
        password = urlsplit(value).password
    except ValueError:
        return set()
    return {password, unquote(password)} if password else set()
