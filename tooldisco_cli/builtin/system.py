"""Facts about this machine."""

from __future__ import annotations

import os
import platform
import shutil
from typing import Any

from tooldisco_cli.builtin.context import Context


def get_system_info(*, context: Context) -> dict[str, Any]:
    """Return the operating system, processor, memory and disk; None for what the system does not tell."""
    disk = shutil.disk_usage(context.folder)
    return {
        "system": platform.system(),
        "release": platform.release(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "memory_bytes": _memory(),
        "disk_free_bytes": disk.free,
        "disk_total_bytes": disk.total,
        "python": platform.python_version(),
    }


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
