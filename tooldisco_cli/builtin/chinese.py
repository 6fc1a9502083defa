"""Chinese characters: simplified and traditional, and how they are read."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opencc import OpenCC

_CONFIGURATIONS = {"simplified": "t2s", "traditional": "s2t", "taiwan": "s2twp", "hongkong": "s2hk"}


def convert_chinese(*, text: str, to: str) -> dict[str, Any]:
    """Return a text in simplified or traditional characters; ``taiwan`` and ``hongkong`` follow local usage."""
    return {"text": _converter(_CONFIGURATIONS[to]).convert(text)}


@lru_cache(maxsize=8)
def _converter(configuration: str) -> OpenCC:
    from opencc import OpenCC

    return OpenCC(configuration)


def get_pinyin(*, text: str, tones: str = "marks") -> dict[str, Any]:
    """Return the pinyin of a text, word by word where a character has several readings; other text stays."""
    from pypinyin import Style, pinyin

    style = {"marks": Style.TONE, "numbers": Style.TONE3, "none": Style.NORMAL}[tones]
    syllables = [
        reading[0].strip() for reading in pinyin(text, style=style, neutral_tone_with_five=tones == "numbers")
    ]
    kept = [syllable for syllable in syllables if syllable]
    return {"pinyin": " ".join(kept), "syllables": kept}


def slugify(*, text: str, max_length: int = 80) -> dict[str, Any]:
    """Return a title as lower-case ASCII letters, digits and hyphens. Raises ValueError when nothing is left."""
    from pypinyin import Style, pinyin

    spelled = " ".join(reading[0] for reading in pinyin(text, style=Style.NORMAL))
    plain = unicodedata.normalize("NFKD", spelled.replace("ß", "ss").replace("ü", "v"))
    letters = "".join(letter for letter in plain if not unicodedata.combining(letter)).lower().replace("'", "")
    slug = re.sub(r"[^a-z0-9]+", "-", letters).strip("-")
    if len(slug) > max_length:
        cut = slug[: max_length + 1]
        slug = cut.rpartition("-")[0] if "-" in cut else slug[:max_length]
    if not slug:
        raise ValueError("the title has no letter or digit that a slug could hold")
    return {"slug": slug}
