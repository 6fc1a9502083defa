"""Where a text may be cut: never inside what a person sees as one character (Unicode Standard Annex 29)."""

from __future__ import annotations

import unicodedata

_MAX_STEPS = 64
"""Marks stacked higher than this are no writing; cutting them apart harms nobody and keeps the search short."""
_VIRAMA = 9
_JOINER = "\u200d"
_PREPENDED = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd")
_EXTENDING = frozenset("\u200c\u200d\uff9e\uff9f")


def cut_before(text: str, at: int) -> int:
    """Return the last place up to ``at`` where ``text`` may be cut."""
    for place in range(min(at, len(text)), max(at - _MAX_STEPS, 0), -1):
        if may_cut(text, place):
            return place
    return max(at, 0) if at > _MAX_STEPS else 0


def cut_after(text: str, at: int) -> int:
    """Return the first place from ``at`` on where ``text`` may be cut."""
    for place in range(max(at, 0), min(at + _MAX_STEPS, len(text))):
        if may_cut(text, place):
            return place
    return min(at + _MAX_STEPS, len(text))


def may_cut(text: str, place: int) -> bool:
    """Whether ``text[:place]`` and ``text[place:]`` each hold whole characters."""
    if place <= 0 or place >= len(text):
        return True
    before, after = text[place - 1], text[place]
    if before.isascii() and after.isascii():
        return not (before == "\r" and after == "\n")
    if unicodedata.category(before) in {"Cc", "Zl", "Zp"} or unicodedata.category(after) in {"Cc", "Zl", "Zp"}:
        return True
    if _extends(after) or before in _PREPENDED or "\ud800" <= before <= "\udbff":
        return False
    if before == _JOINER and not after.isascii():
        return False
    if unicodedata.combining(before) == _VIRAMA and unicodedata.category(after) == "Lo":
        return False
    if _is_regional(before) and _is_regional(after):
        return _flags_before(text, place) % 2 == 0
    return not _one_syllable(before, after)


def _extends(character: str) -> bool:
    return (
        unicodedata.category(character) in {"Mn", "Me", "Mc"}
        or character in _EXTENDING
        or "\U0001f3fb" <= character <= "\U0001f3ff"
        or "\U000e0020" <= character <= "\U000e007f"
    )


def _is_regional(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _flags_before(text: str, place: int) -> int:
    """Count the regional indicators directly before ``place``: two of them are one flag."""
    count = 0
    while count < place and _is_regional(text[place - 1 - count]):
        count += 1
    return count


def _one_syllable(before: str, after: str) -> bool:
    first, second = _hangul(before), _hangul(after)
    return (first, second) in {
        ("L", "L"), ("L", "V"), ("L", "LV"), ("L", "LVT"), ("LV", "V"), ("LV", "T"), ("V", "V"), ("V", "T"),
        ("LVT", "T"), ("T", "T"),
    }  # fmt: skip


def _hangul(character: str) -> str:
    if "\u1100" <= character <= "\u115f" or "\ua960" <= character <= "\ua97c":
        return "L"
    if "\u1160" <= character <= "\u11a7" or "\ud7b0" <= character <= "\ud7c6":
        return "V"
    if "\u11a8" <= character <= "\u11ff" or "\ud7cb" <= character <= "\ud7fb":
        return "T"
    if "\uac00" <= character <= "\ud7a3":
        return "LV" if (ord(character) - 0xAC00) % 28 == 0 else "LVT"
    return ""
