"""The ways a tool can run; each module has the functions of :class:`ExecutorModule` and is loaded when needed."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from tooldisco_cli.catalog.tool import Tool
from tooldisco_cli.errors import NotReady
from tooldisco_cli.execution.protocol import ExecutorModule


def executor_of(tool: Tool, *, in_code: bool = False) -> ExecutorModule:
    """Return the executor of a tool; ``in_code`` for one whose function was registered in code.

    Raises NotReady for a tool that does not say how it runs.
    """
    name = next((name for name in ("command", "http", "mcp", "python") if getattr(tool, name) is not None), "")
    if in_code:
        name = "python"
    if not name:
        raise NotReady(f"the tool {tool.name!r} does not say how it runs")
    return cast(ExecutorModule, import_module(f"{__name__}.{name}"))
