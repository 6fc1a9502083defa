"""What a function is told about where it runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol


class Context(Protocol):
    """The attributes that functions use; the python executor's own context has them."""

    @property
    def folder(self) -> Path:
        """The folder that relative paths are meant against."""

    @property
    def allowed_folders(self) -> tuple[Path, ...]:
        """Folders whose files may be read and written."""

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables to read addresses and credentials from."""

    @property
    def allow_private_addresses(self) -> bool:
        """Whether private, loopback and link-local addresses may be reached."""


def variable(context: Context, name: str) -> str:
    """Return a variable that must be set. Raises RuntimeError with how to set it."""
    value = context.environment.get(name, "").strip()
    if not value:
        raise RuntimeError(f"the environment variable {name} is not set; set it first: export {name}=...")
    return value


def number_variable(context: Context, name: str, default: int) -> int:
    """Return a variable that is a whole number, ``default`` when it is not set. Raises RuntimeError."""
    text = context.environment.get(name, "").strip()
    if not text:
        return default
    if not text.isascii() or not text.isdigit():
        raise RuntimeError(f"the environment variable {name} is {text!r}, which is no whole number")
    return int(text)
