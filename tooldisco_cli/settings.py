"""The user's settings: ``config.toml`` in the configuration folder, and the variables that override it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

_STRICT: dict[str, Any] = {"extra": "forbid", "use_attribute_docstrings": True}


@dataclass(frozen=True, kw_only=True, slots=True)
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


@dataclass(frozen=True, kw_only=True, slots=True)
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
