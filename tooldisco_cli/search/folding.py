"""One spelling for what means the same: Unicode compatibility forms, traditional characters, accents, case.

Index and query go through the same functions, so that full-width ``ＥＭＡＩＬ``, ``email`` and ``Émail``, or 郵件 and
邮件, are one word. Folding twice changes nothing.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from pathlib import Path

DATA = Path(__file__).with_name("data")

_CONTROL = r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+"
"""None of these is printable, so that most texts need no look at it."""
_ACCENTS = r"[\u0300-\u036f]+"


@cache
def _simplified() -> dict[int, int]:
    """Traditional to simplified, character by character, from the table in ``data`` (made from OpenCC's)."""
    traditional, simplified = (DATA / "characters.txt").read_text("utf-8").splitlines()
    return str.maketrans(traditional, simplified)


def fold(text: str) -> str:
    """Return ``text`` in one spelling, with its case kept, because case shows where ``sendEmail`` has two words.

    Lone surrogates and control characters become spaces: an engine that speaks UTF-8 cannot take the former.
    """
    if text.isascii():
        return text if text.isprintable() else re.sub(_CONTROL, " ", text)
    if not text.isprintable():
        text = "".join(" " if "\ud800" <= char <= "\udfff" else char for char in text)
    # A character's simplified form may compose or decompose once more, so both steps meet in the middle.
    text = unicodedata.normalize("NFKC", text).translate(_simplified())
    text = unicodedata.normalize("NFKC", text)
    return text if text.isprintable() else re.sub(_CONTROL, " ", text)


def without_accents(word: str) -> str:
    """Return a word without accents: ``resume`` for ``résumé``; other scripts stay as they are."""
    if word.isascii():
        return word
    bare = re.sub(_ACCENTS, "", unicodedata.normalize("NFD", word))
    return unicodedata.normalize("NFC", bare)
