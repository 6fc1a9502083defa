"""Line breaking for text that mixes Chinese and English, measured in terminal cells.

Rich takes a run of Chinese for one long word and moves it whole to the next line. Chinese may break between any two
characters, except that closing punctuation never begins a line and opening punctuation never ends one (the core of
GB/T 15834 and of the rules for clreq).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

_WIDE = (
    r"\u1100-\u11ff\u2e80-\ua4cf\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef"
    r"\U00020000-\U0003ffff"
)
_CLOSING = "，。、；：？！）》」』】〕〉”’…—％,.;:?!)]}%"
_OPENING = "（《「『【〔〈“‘([{"
_SEAM = frozenset("/?&=_-:,.;|\\")
"""After these an address, a path or a long name is cut rather than anywhere."""
_OWN_LINE = r"\s|[-*•·#>|]|\d+[.)、]|[（(]\d+[)）]"
"""How a line begins that is no continuation of the one before: indented, a list's item, a heading, a quotation."""


@cache
def _pattern(expression: str) -> re.Pattern[str]:
    """Compile when first used: sets as large as these take longer than a search, which with --json needs none."""
    return re.compile(expression)


def cell_len(text: str) -> int:
    """Return how many cells of a terminal a text takes: two for most Chinese characters."""
    if text.isascii():
        return len(text)
    from rich import cells

    return cells.cell_len(text)


def pieces(text: str) -> Iterator[str]:
    """Yield the parts of a line between which it may break; joined they are the line."""
    at = 0
    piece = rf"[{re.escape(_OPENING)}]*(?:[{_WIDE}]|[^\s{_WIDE}]+)[{re.escape(_CLOSING)}]*\s*|\s+"
    for match in _pattern(piece).finditer(text):
        if match.start() > at:
            yield text[at : match.start()]
        yield match.group()
        at = match.end()
    if at < len(text):
        yield text[at:]


def wrap(text: str, width: int, *, most: int | None = None) -> list[str]:
    """Return ``text`` (one line, safe) as lines of at most ``width`` cells.

    Of more than ``most`` lines the rest is left out, and the last ends in ``…``. A single word wider than a line is
    cut, after a slash or the like where it has one; no line is ever wider, for any width of two cells or more.
    """
    lines: list[str] = []
    line, used = "", 0
    for piece in (part for whole in pieces(text.strip()) for part in _fitting(whole, width)):
        bare = piece.rstrip()
        if line and used + cell_len(bare) > width:
            lines.append(line.rstrip())
            line = piece.lstrip()
            used = cell_len(line)
        else:
            line += piece
            used += cell_len(piece)
        if most is not None and len(lines) > most:
            break
    if line.strip():
        lines.append(line.rstrip())
    if most is not None and len(lines) > most:
        lines = lines[:most]
        lines[-1] = _shortened(lines[-1], width)
    return lines


def shortened(text: str, width: int) -> str:
    """Return ``text`` in at most ``width`` cells, with ``…`` for what is left out."""
    return text if cell_len(text) <= width else _shortened(text, width)


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a text that was broken into lines by hand, each as one line; ``""`` for a blank line.

    Lines that begin like an item of a list, or are indented, stay lines.
    """
    found: list[str] = []
    for line in text.splitlines():
        bare = line.rstrip()
        if not bare or not found or not found[-1] or _pattern(_OWN_LINE).match(bare):
            found.append(bare)
        elif _pattern(f"[{_WIDE}]$").search(found[-1]) and _pattern(f"[{_WIDE}]").match(bare):
            found[-1] += bare
        else:
            found[-1] += f" {bare}"
    return found


def _fitting(piece: str, width: int) -> Iterator[str]:
    if cell_len(piece.rstrip()) <= width:
        yield piece
        return
    part, used = "", 0
    for character in piece:
        wide = cell_len(character)
        if part and used + wide > width:
            cut = max((i + 1 for i, c in enumerate(part) if c in _SEAM), default=0)
            # A seam near the beginning would waste most of the line.
            cut = cut if cut * 2 > len(part) else len(part)
            yield part[:cut]
            part = part[cut:]
            used = cell_len(part)
        part += character
        used += wide
    yield part


def _shortened(line: str, width: int) -> str:
    while line and cell_len(line) > width - 1:
        line = line[:-1]
    return line.rstrip() + "…"
