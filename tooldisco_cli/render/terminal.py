"""Rich on a terminal, plain aligned text everywhere else."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tooldisco_cli.render.streams import print_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

NARROW = 72
"""Below this many columns a table of tools would be mostly borders: entries are stacked instead."""


def terminal(*, no_color: bool = False, stderr: bool = False) -> Console | None:
    """Return a console when the stream is a terminal, else None: the caller then prints plain text."""
    stream = sys.stderr if stderr else sys.stdout
    if not stream.isatty() and not os.environ.get("FORCE_COLOR"):
        return None
    from rich.console import Console

    return Console(file=stream, no_color=no_color or None, highlight=False, markup=False, emoji=False, safe_box=True)


def cell_len(text: str) -> int:
    """Return how many cells of a terminal a text takes: two for most Chinese characters."""
    from rich import cells

    return cells.cell_len(text)


def styled(*parts: tuple[str, str]) -> Text:
    """Return text of parts, each with its style; never markup."""
    from rich.text import Text

    return Text.assemble(*parts)


def columns_text(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as lines with columns aligned by the cells that a terminal gives each character."""
    if not rows:
        return ""
    widths = [max(cell_len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [text + " " * (width - cell_len(text)) for text, width in zip(row, widths, strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def print_columns(rows: Sequence[Sequence[str]]) -> None:
    """Print aligned plain rows; nothing for none."""
    if rows:
        print_line(columns_text(rows))
