"""Makes text from manifests, tools and models safe to show: nothing in it is obeyed, and nothing hides.

Control sequences would otherwise move the cursor, change colours or titles, or write to the clipboard; characters
that reorder or hide text would show people something else than models read.
"""

from __future__ import annotations

import re

_ROGUE = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # C0 and C1 controls, escape among them
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # invisible or reordering
    "\U000e0000-\U000e0fff"  # tags and variation selectors that can carry hidden text
    "\ud800-\udfff]"  # lone surrogates, which no stream can encode
)
_ROGUE_IN_LINES = re.compile(_ROGUE.pattern.replace("\x00-\x1f", "\x00-\x08\x0b-\x1f"))


def _shown(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"<U+{code:04X}>"


def visible(text: str) -> str:
    """Return ``text`` as one line in which every control character and invisible mark can be seen.

    Runs of white space become one space; an escape becomes ``␛``, a bidirectional override ``<U+202E>``.
    """
    return _ROGUE.sub(_shown, " ".join(text.split()))


def visible_lines(text: str) -> str:
    """Return ``text`` with its lines kept, tabs as four spaces, and all else made visible."""
    lines = text.replace("\r\n", "\n").replace("\t", "    ")
    return _ROGUE_IN_LINES.sub(_shown, lines)
