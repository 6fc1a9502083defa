"""The analysis that index and query share: runs of one script, words of an identifier, stems, stop words.

Nothing here needs a dictionary, so a query costs none. What only an index needs is in ``segmentation``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from tooldisco_cli.search.folding import without_accents
from tooldisco_cli.search.stopwords import STOP_WORDS_EN

if TYPE_CHECKING:
    from tantivy import TextAnalyzer

Script = Literal["han", "syllabic", "word"]

# Scripts written without spaces: the first group is cut into words, the second (kana, hangul, Thai, Lao, Khmer,
# Burmese) into bigrams.
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3005\u3007\U00020000-\U0003ffff"
_SYLLABIC = "\u3040-\u30ff\u31f0-\u31ff\u1100-\u11ff\u3130-\u318f\uac00-\ud7af\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_LONG = 500
"""Characters of a text from which compiling an expression of all those ranges, 3 ms, is worth it."""

MAX_WORD = 40
"""Longer runs of letters and digits are keys, hashes or encoded data: nobody searches for them."""


class Run(NamedTuple):
    """A stretch of folded text in one kind of script, and where it starts."""

    text: str
    script: Script
    start: int


def runs(folded: str) -> list[Run]:
    """Cut folded text into runs of one script; punctuation and symbols fall away."""
    if folded.isascii():
        return [Run(m.group(), "word", m.start()) for m in re.finditer(r"[^\W_]+", folded)]
    if len(folded) >= _LONG or _expression.cache_info().currsize:
        return [Run(m.group(), m.lastgroup, m.start()) for m in _expression().finditer(folded)]  # type: ignore[arg-type]
    return list(_runs_by_character(folded))


def scripts(folded: str) -> Iterable[tuple[str, Script]]:
    """Return what :func:`runs` does, without the places: for texts of which an index is made."""
    if folded.isascii():
        return [(text, "word") for text in re.findall(r"[^\W_]+", folded)]
    if len(folded) >= _LONG or _expression.cache_info().currsize:
        return [(m.group(), m.lastgroup) for m in _expression().finditer(folded)]  # type: ignore[misc]
    return [(text, script) for text, script, _ in _runs_by_character(folded)]


def _runs_by_character(folded: str) -> Iterator[Run]:
    """Yield what :func:`_expression` finds; slower, but ready at once."""
    start, open_one = 0, None
    for at, char in enumerate(folded):
        script = _script(char)
        if script != open_one:
            if open_one is not None:
                yield Run(folded[start:at], open_one, start)
            start, open_one = at, script
    if open_one is not None:
        yield Run(folded[start:], open_one, start)


def _script(char: str) -> Script | None:
    if "\u4e00" <= char <= "\u9fff":
        return "han"
    if char >= "\u0e00":
        for script, ranges in ("han", _HAN), ("syllabic", _SYLLABIC):
            if any(first <= char <= last for first, last in _bounds(ranges)):
                return script  # type: ignore[return-value]
    return "word" if char.isalnum() else None


@cache
def _bounds(ranges: str) -> list[tuple[str, str]]:
    return [(part[0], part[-1]) for part in re.findall(r".-.|.", ranges)]


@cache
def _expression() -> re.Pattern[str]:
    return re.compile(rf"(?P<han>[{_HAN}]+)|(?P<syllabic>[{_SYLLABIC}]+)|(?P<word>[^\W_{_HAN}{_SYLLABIC}]+)")


@cache
def _case_change() -> re.Pattern[str]:
    return re.compile(r"(?<=[a-z0-9])(?=[A-Z][a-z])|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def identifier_words(run: str) -> list[str]:
    """Return the lower-case words of a run of letters and digits: ``['send', 'email']`` for ``sendEmail``."""
    if len(run) > MAX_WORD * 4:
        return []
    parts = [run] if run.islower() else _case_change().split(run)
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
