"""Where tooldisco reads and keeps its files.

``TOOLDISCO_HOME`` puts all three folders below one folder; otherwise they follow the platform's own rules.
``environment`` is where variables are looked up, the process's own when left out.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from tooldisco_cli.errors import UsageError

_XDG = {
    "config": ("XDG_CONFIG_HOME", ".config"),
    "cache": ("XDG_CACHE_HOME", ".cache"),
    "state": ("XDG_STATE_HOME", ".local/state"),
}
"""By kind of folder: the variable, and what stands for it below the home folder (XDG Base Directory, 0.8)."""
_PACKAGE = Path(__file__).resolve().parent


def _folder(kind: str, environment: Mapping[str, str] | None) -> Path:
    home = (os.environ if environment is None else environment).get("TOOLDISCO_HOME")
    if home:
        return expanded(home).absolute() / kind
    plain = _plain_folder(kind)
    if plain is not None:
        return plain
    import platformdirs

    return Path(getattr(platformdirs, f"user_{kind}_dir")("tooldisco", appauthor=False))


def _plain_folder(kind: str) -> Path | None:
    """Return what platformdirs would on Linux in the usual cases; importing it is a tenth of a search's time."""
    if sys.platform != "linux" or "ANDROID_DATA" in os.environ:
        return None
    variable, default = _XDG[kind]
    given = os.environ.get(variable)
    if not given:
        home = os.environ.get("HOME", "")
        return Path(home, default, "tooldisco") if home.startswith("/") else None
    return Path(given, "tooldisco") if given.startswith("/") and given == given.strip() else None


def expanded(text: str | Path) -> Path:
    """Return a path with ``~`` as a home folder; as a shell does, unchanged where there is no such user."""
    path = Path(text)
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def working_folder() -> Path:
    """Return the folder that the process works in.

    Raises UsageError when it was deleted meanwhile.
    """
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise UsageError("the working folder is gone", hint="change to a folder that exists") from error


def config_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Return the folder of the user's settings and the user's own ``tools.d``."""
    return _folder("config", environment)


def cache_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Return the folder of what can be rebuilt at any time: search indexes, parsed manifests."""
    return _folder("cache", environment)


def state_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Return the folder of what cannot be rebuilt: trust, usage counts, results, session traces."""
    return _folder("state", environment)


def shipped_tools() -> Path:
    """Return the ``tools.d`` that comes with the package: inside a wheel, or beside the package in a checkout."""
    inside = _PACKAGE / "tools.d"
    return inside if inside.is_dir() else _PACKAGE.parent / "tools.d"


def system_tools() -> Path:
    """Return the ``tools.d`` that this machine's administrator keeps for everybody."""
    if os.name == "nt":
        return Path(os.environ.get("PROGRAMDATA", r"C:\ProgramData")) / "tooldisco" / "tools.d"
    return Path("/etc/tooldisco/tools.d")


def user_tools(environment: Mapping[str, str] | None = None) -> Path:
    """Return the user's own ``tools.d``."""
    return config_folder(environment) / "tools.d"


def project_tools(start: Path) -> Path | None:
    """Return the nearest ``tools.d`` from ``start`` up to the repository's root, or None.

    A repository's root is the first folder upwards that holds ``.git``. Outside a repository only ``start``
    itself is looked at, so that a stray ``tools.d`` in a home or temporary folder never joins by accident.
    """
    start = start.absolute()
    chain = [start, *start.parents]
    root = next((index for index, folder in enumerate(chain) if (folder / ".git").exists()), 0)
    return next((folder / "tools.d" for folder in chain[: root + 1] if (folder / "tools.d").is_dir()), None)
