"""Makes text from manifests, tools and models safe to show: nothing in it is obeyed, and nothing hides.

Control sequences would otherwise move the cursor, change colours or titles, or write to the clipboard; characters
that reorder or hide text would show people something else than models read. What writing needs stays: one joiner or
variation selector after a character beyond ASCII, as emoji, Persian and Indic scripts use them.
"""

from __future__ import annotations

import re
from functools import cache

_CONTROLS = "\x00-\x1f\x7f-\x9f"
_CONTROLS_IN_LINES = "\x00-\x09\x0b-\x1f\x7f-\x9f"
_HIDDEN = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff"  # the last: tags and selectors
    "\ud800-\udfff"  # lone surrogates, which no stream can encode
)
_STRAY = (
    "(?:\\A|(?<=[\x00-\x7f\u200c\u200d]))(?!\ufe0f\u20e3)[\u200c\u200d\ufe00-\ufe0f]"  # U+20E3: a keycap, as in 1️⃣
    "|(?<=[\ufe00-\ufe0f])[\ufe00-\ufe0f]"
)


@cache
def _rogue(*, in_lines: bool) -> re.Pattern[str]:
    """Compile when first used, as JSON needs neither."""
    return re.compile(f"[{_CONTROLS_IN_LINES if in_lines else _CONTROLS}{_HIDDEN}]|{_STRAY}")


def _shown(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"<U+{code:04X}>"


def visible(text: str) -> str:
    """Return ``text`` as one line in which every control character and invisible mark can be seen.

    Runs of white space become one space; an escape becomes ``␛``, a bidirectional override ``<U+202E>``.
    """
    text = " ".join(text.split())
    if text.isascii() and text.isprintable():  # most names and descriptions: nothing there can hide
        return text
    return _rogue(in_lines=False).sub(_shown, text)


def visible_lines(text: str) -> str:
    """Return ``text`` with its lines kept, tabs as four spaces, and all else made visible."""
    lines = text.replace("\r\n", "\n").replace("\t", "    ")
    return _rogue(in_lines=True).sub(_shown, lines)
