"""The user's settings: ``config.toml`` in the configuration folder, and the variables that override it.

``TOOLDISCO_MODEL``, ``TOOLDISCO_BASE_URL`` and ``TOOLDISCO_SEARCH_BY_MEANING`` (0 or 1) win over the file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from tooldisco_cli import paths
from tooldisco_cli.errors import SettingsInvalid
from tooldisco_cli.tomlfile import Faults, Problem, decode, located, parse, read_bytes

_NO = frozenset({"0", "false", "no", "off"})
_STRICT: dict[str, Any] = {"extra": "forbid", "use_attribute_docstrings": True}


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Which tools run without asking. Everything else asks, or is refused where nobody can be asked."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    allow_tools: tuple[str, ...] = ()
    """Names of tools; also the only way for a policy to allow a destructive one."""
    allow_categories: tuple[str, ...] = ()
    allow_annotations: tuple[str, ...] = ()
    """Of ``idempotent`` and ``closed_world`` (not ``open_world``): tools that have all that are named here."""
    deny_tools: tuple[str, ...] = ()
    """Names that never run, whatever else says so."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything a user can set; each key has a default that needs no file."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    tools_dirs: tuple[str, ...] = ()
    """More ``tools.d`` folders, above the project's; as with ``--tools-dir``, later ones win."""
    policy: Policy = field(default_factory=Policy)
    allowed_folders: tuple[str, ...] = ()
    """Folders that file tools may read and write; empty means the working folder."""
    allow_private_addresses: bool = False
    """Whether http tools may reach private, loopback and link-local addresses."""
    mcp_servers: Mapping[str, Any] = field(default_factory=dict)
    """MCP servers by name, with the keys of ``[mcp_servers.NAME]`` in a manifest."""
    model: str = ""
    """Model of ``tooldisco run``; empty means the built-in default."""
    base_url: str = ""
    """Address of the Messages API; empty means the SDK's own."""
    search_by_meaning: bool = True
    """Whether sessions search by meaning, too, where the semantic extra is installed."""
    search_by_usage: bool = True
    """Whether sessions put the tool that was used more before others that fit a search equally well."""


def settings_file(environment: Mapping[str, str] | None = None) -> Path:
    """Return the path of the user's settings, which need not exist."""
    return paths.config_folder(environment) / "config.toml"


def load_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """Return the user's settings; all defaults where there is no file.

    Raises SettingsInvalid with every fault's line, key and remedy in ``details["problems"]``.
    """
    environment = os.environ if environment is None else environment
    path = settings_file(environment)
    settings = _read(path) if os.path.lexists(path) else Settings()
    model, base_url = environment.get("TOOLDISCO_MODEL"), environment.get("TOOLDISCO_BASE_URL")
    by_meaning = environment.get("TOOLDISCO_SEARCH_BY_MEANING", "").strip().lower()
    return replace(
        settings,
        model=model or settings.model,
        base_url=base_url or settings.base_url,
        search_by_meaning=by_meaning not in _NO if by_meaning else settings.search_by_meaning,
    )


def _read(path: Path) -> Settings:
    data = read_bytes(path)
    if isinstance(data, Problem):
        raise _invalid([data])
    parsed = parse(data, str(path))
    if isinstance(parsed, Problem):
        raise _invalid([parsed])
    document, text = parsed
    settings = decode(Settings, document)
    if isinstance(settings, Faults):
        raise _invalid(located(settings.faults, str(path), text))
    return settings


def _invalid(problems: list[Problem]) -> SettingsInvalid:

    return SettingsInvalid(
        "\n".join(map(str, problems)),
        hint="correct the settings file, or move it away",
        details={"problems": [problem._asdict() for problem in problems]},
    )
