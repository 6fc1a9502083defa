"""tooldisco: find the right tool among thousands, and run it safely.

The library in one object is :class:`Toolbox`; the command line is :mod:`tooldisco_cli.cli`, and everything it does is
a plain call into the packages below it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tooldisco_cli.version import __version__

if TYPE_CHECKING:
    from tooldisco_cli.toolbox import Toolbox

__all__ = ["Toolbox", "__version__"]


def __getattr__(name: str) -> Any:
    if name != "Toolbox":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Imported when first used: the command line asks this package for its version and pays for nothing else.
    from tooldisco_cli.toolbox import Toolbox

    return Toolbox
