"""Rich on a terminal, plain aligned text everywhere else."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from tooldisco_cli.render.streams import Output, end_for_closed_pipe, print_line
from tooldisco_cli.render.wrapping import cell_len, wrap

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

WIDEST = 100
"""Lines of prose longer than this are hard to read, however wide the terminal is."""
_GAP = 2
_LEAST = 16
"""Cells that the last column of a grid keeps, as far as the terminal has them."""


def terminal(output: Output, *, stderr: bool = False) -> Console | None:
    """Return a console when the stream is a terminal, else None: the caller then prints plain text."""
    stream = sys.stderr if stderr else sys.stdout
    if not stream.isatty() and not os.environ.get("FORCE_COLOR"):
        return None
    from rich.console import Console

    class Terminal(Console):
        def on_broken_pipe(self) -> None:
            end_for_closed_pipe()

    # Rich takes every dumb terminal to have 80 columns, unless it is told both.
    dumb = os.environ.get("TERM", "").lower() in {"dumb", "unknown"}
    width, height = shutil.get_terminal_size() if dumb else (None, None)
    return Terminal(
        file=stream,
        width=width,
        height=height,
        no_color=output.no_color or None,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=True,
    )


def styled(*parts: tuple[str, str]) -> Text:
    """Return text of parts, each with its style; never markup."""
    from rich.text import Text

    return Text.assemble(*parts)


def print_wrapped(
    console: Console | None, text: str, style: str = "", *, indent: int = 0, most: int | None = None
) -> None:
    """Print safe text broken into lines that fit the terminal; in one line where there is none."""
    margin = " " * indent
    if console is None:
        print_line(margin + text)
        return
    for line in wrap(text, max(2, min(console.width, WIDEST) - indent), most=most) or [""]:
        console.print(styled((margin + line, style)))


class Column(NamedTuple):
    """A column of a grid on a terminal."""

    style: str = ""
    most: int | None = None
    """Cells that it takes at most; longer text is broken into lines."""
    lines: int | None = None
    """Lines that a cell takes at most; the rest is left out."""


def print_grid(
    console: Console,
    columns: Sequence[Column],
    rows: Sequence[Sequence[str]],
    *,
    heads: Sequence[str] = (),
    indent: int = 0,
) -> None:
    """Print rows of safe text with aligned columns that fit the terminal; the last column takes what is left."""
    if not rows:
        return
    shown = [heads, *rows] if heads else rows
    widths = [max(1, *(cell_len(row[i]) for row in shown)) for i in range(len(columns))]
    widths = [min(width, column.most or width) for width, column in zip(widths, columns, strict=True)]
    room = console.width - indent - _GAP * (len(widths) - 1)
    least = min(_LEAST, widths[-1])
    while sum(widths[:-1]) + least > room and max(widths[:-1], default=0) > 4:
        widths[widths.index(max(widths[:-1]))] -= 1
    widths[-1] = min(widths[-1], max(2, room - sum(widths[:-1])))
    text = styled()
    if heads:
        _add_row(text, heads, widths, [Column("dim")] * len(columns), indent)
    for row in rows:
        _add_row(text, row, widths, columns, indent)
    text.right_crop(1)
    console.print(text)


def _add_row(text: Text, row: Sequence[str], widths: Sequence[int], columns: Sequence[Column], indent: int) -> None:
    cells = [wrap(cell, width, most=column.lines) for cell, width, column in zip(row, widths, columns, strict=True)]
    for number in range(max(1, *map(len, cells))):
        text.append(" " * indent)
        pending = ""
        for cell, width, column in zip(cells, widths, columns, strict=True):
            part = cell[number] if number < len(cell) else ""
            if part:
                text.append(pending)
                text.append(part, column.style)
                pending = ""
            pending += " " * (width - cell_len(part) + _GAP)
        text.append("\n")


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
