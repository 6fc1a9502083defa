"""Line breaking for text that mixes Chinese and English, measured in terminal cells.

Rich takes a run of Chinese for one long word and moves it whole to the next line. Chinese may break between any two
characters, except that closing punctuation never begins a line and opening punctuation never ends one (the core of
GB/T 15834 and of the rules for clreq).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tooldisco_cli.render.terminal import cell_len

_WIDE = (
    r"\u1100-\u11ff\u2e80-\ua4cf\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef"
    r"\U00020000-\U0003ffff"
)
_CLOSING = "，。、；：？！）》」』】〕〉”’…—％,.;:?!)]}%"
_OPENING = "（《「『【〔〈“‘([{"
_PIECE = re.compile(rf"[{re.escape(_OPENING)}]*(?:[{_WIDE}]|[^\s{_WIDE}]+)[{re.escape(_CLOSING)}]*\s*|\s+")


def pieces(text: str) -> Iterator[str]:
    """Yield the parts of a line between which it may break; joined they are the line."""
    at = 0
    for match in _PIECE.finditer(text):
        if match.start() > at:
            yield text[at : match.start()]
        yield match.group()
        at = match.end()
    if at < len(text):
        yield text[at:]


def wrap(text: str, width: int, *, most: int | None = None) -> list[str]:
    """Return ``text`` (one line, safe) as lines of at most ``width`` cells.

    Of more than ``most`` lines the rest is left out, and the last ends in ``…``. A single word wider than a line is
    cut; no line is ever wider, for any width of two cells or more.
    """
    lines: list[str] = []
    line = ""
    for piece in (part for whole in pieces(text.strip()) for part in _fitting(whole, width)):
        if line and cell_len(line + piece.rstrip()) > width:
            lines.append(line.rstrip())
            line = piece.lstrip()
        else:
            line += piece
        if most is not None and len(lines) > most:
            break
    if line.strip():
        lines.append(line.rstrip())
    if most is not None and len(lines) > most:
        lines = lines[:most]
        lines[-1] = _shortened(lines[-1], width)
    return lines


def _fitting(piece: str, width: int) -> Iterator[str]:
    if cell_len(piece.rstrip()) <= width:
        yield piece
        return
    part = ""
    for character in piece:
        if part and cell_len(part + character) > width:
            yield part
            part = ""
        part += character
    yield part


def _shortened(line: str, width: int) -> str:
    while line and cell_len(line) > width - 1:
        line = line[:-1]
    return line.rstrip() + "…"
