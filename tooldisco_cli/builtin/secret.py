"""Unique ids and passwords."""

from __future__ import annotations

import math
import secrets
import string
import time
import uuid
from typing import Any

_CONSONANTS = "bdfghjklmnprstvz"
_VOWELS = "aeiou"
_SYMBOLS = "!#$%&*+-=?@_"
_UNLIKE = str.maketrans("", "", "Il1O0")


def generate_uuid(*, count: int = 1, version: int = 4) -> dict[str, Any]:
    """Return ids: version 4 is random, version 7 (RFC 9562) begins with the time in milliseconds."""
    make = _uuid7 if version == 7 else uuid.uuid4
    found = [str(make()) for _ in range(count)]
    return {"uuids": sorted(found) if version == 7 else found}


def generate_password(*, length: int = 20, words: int = 0, symbols: bool = True, count: int = 1) -> dict[str, Any]:
    """Return random passwords and their strength in bits.

    Characters that look alike are left out. With ``words`` each is that many made-up words of two syllables.
    """
    if words:
        syllables = [consonant + vowel for consonant in _CONSONANTS for vowel in _VOWELS]
        made = [
            "-".join(secrets.choice(syllables) + secrets.choice(syllables) for _ in range(words))
            for _ in range(count)
        ]
        return {"passwords": made, "bits": round(words * 2 * math.log2(len(syllables)), 1)}
    kinds = [kind.translate(_UNLIKE) for kind in (string.ascii_lowercase, string.ascii_uppercase, string.digits)]
    kinds += [_SYMBOLS] if symbols else []
    letters = "".join(kinds)
    return {
        "passwords": [_password(length, kinds, letters) for _ in range(count)],
        "bits": round(length * math.log2(len(letters)), 1),
    }


def _password(length: int, kinds: list[str], letters: str) -> str:
    """Return a password with a character of each kind, each such password as likely as the others."""
    while True:
        made = "".join(secrets.choice(letters) for _ in range(length))
        if all(any(letter in kind for letter in made) for kind in kinds):
            return made


def _uuid7() -> uuid.UUID:
    value = (time.time_ns() // 1_000_000) << 80 | secrets.randbits(80)
    value = value & ~(0xF << 76) | 0x7 << 76
    return uuid.UUID(int=value & ~(0x3 << 62) | 0x2 << 62)
