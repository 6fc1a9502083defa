"""The analysis that index and query share: runs of one script, words of an identifier, stems, stop words.

Nothing here needs a dictionary, so a query costs none. What only an index needs is in ``segmentation``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

from tooldisco_cli.search.folding import without_accents
from tooldisco_cli.search.stopwords import STOP_WORDS_EN

if TYPE_CHECKING:
    from tantivy import TextAnalyzer

Script = Literal["han", "syllabic", "word"]

# Scripts written without spaces: the first group is cut into words, the second (kana, hangul, Thai, Lao, Khmer,
# Burmese) into bigrams.
_HAN = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3005\u3007\U00020000-\U0003ffff"
_SYLLABIC = (
    r"\u3040-\u30ff\u31f0-\u31ff\u1100-\u11ff\u3130-\u318f\uac00-\ud7af\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
)
_RUNS = re.compile(rf"(?P<han>[{_HAN}]+)|(?P<syllabic>[{_SYLLABIC}]+)|(?P<word>[^\W_{_HAN}{_SYLLABIC}]+)")
_CASE_CHANGE = re.compile(r"(?<=[a-z0-9])(?=[A-Z][a-z])|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

MAX_WORD = 40
"""Longer runs of letters and digits are keys, hashes or encoded data: nobody searches for them."""


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of folded text in one kind of script, and where it starts."""

    text: str
    script: Script
    start: int


def runs(folded: str) -> list[Run]:
    """Cut folded text into runs of one script; punctuation and symbols fall away."""
    return [Run(m.group(), m.lastgroup, m.start()) for m in _RUNS.finditer(folded)]  # type: ignore[arg-type]


def identifier_words(run: str) -> list[str]:
    """Return the lower-case words of a run of letters and digits: ``['send', 'email']`` for ``sendEmail``."""
    if len(run) > MAX_WORD * 4:
        return []
    parts = [run] if run.islower() else _CASE_CHANGE.split(run)
    return [without_accents(part.lower()) for part in parts if len(part) <= MAX_WORD]


def joined(run: str, parts: Sequence[str]) -> str:
    """Return a proper name that its case cut in two as one: ``mysql`` for ``MySQL``; nothing for ``sendEmail``.

    Products are written so (GitHub, PostgreSQL, DingTalk), and asked for in small letters.
    """
    return "".join(parts) if len(parts) == 2 and run[0].isupper() else ""


def bigrams(run: str) -> list[str]:
    """Return every pair of neighbouring characters, or the run itself when it is one character."""
    return [run[i : i + 2] for i in range(len(run) - 1)] if len(run) > 1 else [run]


@cache
def _stemmer() -> TextAnalyzer:
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    return TextAnalyzerBuilder(Tokenizer.whitespace()).filter(Filter.stemmer("english")).build()


def stems(words: Sequence[str]) -> list[str]:
    """Return the stem of each word (Snowball English, the engine's own)."""
    if not words:
        return []
    found = _stemmer().analyze(" ".join(words))
    return found if len(found) == len(words) else list(words)


def latin_terms(folded: str) -> list[str]:
    """Return the stems of all words of letters and digits in folded text, in order, without stop words."""
    words: list[str] = []
    for run in runs(folded):
        if run.script == "word":
            words.extend(index_words(run.text))
    return stems(words)


def index_words(run: str) -> list[str]:
    """Return the words under which a run of letters and digits is indexed, without stop words."""
    parts = identifier_words(run)
    whole = joined(run, parts)
    return [word for word in [*parts, *([whole] if whole else ())] if word not in STOP_WORDS_EN]
