"""Cutting Chinese into words for the index; only here is a dictionary read, and only while an index is written.

rjieba (Rust, same dictionary and rules as jieba) is used where it is installed, else jieba itself. A query is cut
against the finished index, so which of the two built it does not matter to a search.

Loading a dictionary takes about as long as a whole search (rjieba), or several times that (jieba). So a few texts,
such as those of one edited manifest, are cut with the dictionary left on disk: jieba's own code, asking for each word
where it lies in the file.
"""

from __future__ import annotations

import mmap
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from tooldisco_cli import paths
from tooldisco_cli.search.stopwords import STOP_WORDS
from tooldisco_cli.search.words import bigrams, index_words, scripts, stems

Cut = Callable[[str], Iterable[str]]

_BEFORE_RJIEBA, _BEFORE_JIEBA = 15_000, 200_000
"""Characters to cut from disk until loading that dictionary would have been about as quick."""
_MANY_FOR_RJIEBA, _MANY_FOR_JIEBA = 300, 2_000
"""Tools from which on that dictionary is loaded at once: their texts would need it before long."""
_REMEMBERED = 1 << 16
"""Of how many runs the words are remembered: most come again, in another tool or field."""
_ON_DISK_BYTES = 5_071_852
_ON_DISK_TOTAL = 60_101_967
"""The size of the dictionary whose order we know, and the sum of its frequencies."""
_MISPLACED = ("吉林人民出版社", "吉林大学", "吉林工业大学", "高富帅")


class _Cutter:
    """Cuts with the dictionary on disk at first, and with a loaded one when that becomes the quicker way."""

    def __init__(self) -> None:
        from importlib.util import find_spec

        quick = find_spec("rjieba") is not None
        self._left, self._many = (_BEFORE_RJIEBA, _MANY_FOR_RJIEBA) if quick else (_BEFORE_JIEBA, _MANY_FOR_JIEBA)
        self._from_disk: Cut | None = None
        self._from_memory: Cut | None = None

    def expect(self, tools: int) -> None:
        """Do not begin from disk where a dictionary will have to be loaded anyway."""
        if tools >= self._many:
            self._left = 0

    def __call__(self, run: str) -> Iterable[str]:
        self._left -= len(run)
        if self._left >= 0 and self._from_memory is None:
            self._from_disk = self._from_disk or _cut_from_disk()
            if self._from_disk is not None:
                return self._from_disk(run)
        self._from_memory = self._from_memory or _cut_from_memory()
        return self._from_memory(run)


@cache
def _cutter() -> _Cutter:
    return _Cutter()


def _jieba() -> Any:
    import logging

    with _without("pkg_resources"):
        import jieba

    jieba.setLogLevel(logging.ERROR)
    return jieba


@contextmanager
def _without(name: str) -> Iterator[None]:
    """Let a module that would be imported count as missing: jieba does as well without, and it takes long to import.

    It also warns of itself in its newer versions.
    """
    loaded = name in sys.modules
    if not loaded:
        sys.modules[name] = None  # type: ignore[assignment]  # documented to make an import fail
    try:
        yield
    finally:
        if not loaded:
            sys.modules.pop(name, None)


def _cut_from_memory() -> Cut:
    cut: Cut
    try:
        import rjieba  # type: ignore[import-not-found,unused-ignore]  # optional
    except ImportError:
        pass
    else:
        cut = rjieba.cut_for_search
        return cut
    jieba = _jieba()
    # jieba keeps its parsed dictionary as marshalled data in a file of a fixed name, and reads whatever is there:
    # in a folder for everybody, somebody else could have put it there.
    jieba.dt.tmp_dir = _own_folder()
    cut = jieba.cut_for_search
    return cut


def _own_folder() -> str:
    folder = paths.cache_folder() / "jieba"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        import tempfile

        return tempfile.mkdtemp(prefix="tooldisco-jieba-")
    return str(folder)


def _cut_from_disk() -> Cut | None:
    """Return what cuts Chinese with the dictionary on disk; None where that is not the one we know."""
    jieba = _jieba()
    place = Path(jieba.__file__).with_name("dict.txt")
    try:
        with place.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):
        return None
    if len(data) != _ON_DISK_BYTES:
        return None
    tokenizer = jieba.Tokenizer()
    tokenizer.FREQ, tokenizer.total, tokenizer.initialized = FrequenciesOnDisk(data), _ON_DISK_TOTAL, True
    cut: Cut = tokenizer.cut_for_search
    return cut


class FrequenciesOnDisk:
    """The frequency of each Chinese word of jieba's dictionary, and 0 of what a word begins with, as jieba asks.

    ``data`` has a line ``word frequency kind`` for each. Those that begin with a Chinese character are sorted, but
    for the words of ``misplaced``, which stand too early.
    """

    def __init__(self, data: mmap.mmap | bytes, misplaced: Iterable[str] = _MISPLACED) -> None:
        self._data = data
        self._first = data.find("\n一 ".encode()) + 1
        self._known: dict[str, int | None] = {}
        self._bounds: dict[str, int] = {}
        self._skipped: dict[int, int] = {}
        places = {data.find(f"\n{word} ".encode()) + 1: word for word in misplaced}
        for at in sorted(places, reverse=True):
            after = data.find(b"\n", at) + 1
            self._skipped[at] = self._skipped.get(after, after)
            self._known[places[at]] = self._frequency(at + len(places[at].encode()))
        for word in list(self._known):
            for end in range(1, len(word)):
                self._known[word[:end]] = self.get(word[:end], 0)

    def get(self, word: str, default: int | None = None) -> int | None:
        """Return how often a word was counted, 0 when only longer words begin so, ``default`` for neither."""
        if word not in self._known:
            self._known[word] = self._look_up(word)
        found = self._known[word]
        return default if found is None else found

    def __contains__(self, word: str) -> bool:
        return self.get(word) is not None

    def __getitem__(self, word: str) -> int:
        found = self.get(word)
        if found is None:
            raise KeyError(word)
        return found

    def _look_up(self, word: str) -> int | None:
        if not word:
            return None
        # All words with one first character stand together, so its two ends are looked for once.
        begin, follow = word[0], chr(ord(word[0]) + 1)
        for char in (begin, follow):
            if char not in self._bounds:
                self._bounds[char] = self._at_or_after(char.encode(), self._first, len(self._data))
        sought = word.encode()
        at = self._at_or_after(sought, self._bounds[begin], self._bounds[follow])
        end = at + len(sought)
        if self._data[at:end] != sought:
            return None
        return self._frequency(end) if self._data[end : end + 1] == b" " else 0

    def _at_or_after(self, word: bytes, low: int, high: int) -> int:
        """Return where the first line stands that is not before a word; ``low`` and ``high`` are starts of lines."""
        data = self._data
        while low < high:
            middle = data.rfind(b"\n", low, (low + high) // 2) + 1 or low
            line = self._skipped.get(middle, middle)
            if line < high and data[line : data.find(b" ", line)] < word:
                low = data.find(b"\n", line) + 1
            else:
                high = middle
        return self._skipped.get(low, low)

    def _frequency(self, end: int) -> int:
        return int(self._data[end + 1 : self._data.find(b" ", end + 1)])


def expect_tools(count: int) -> None:
    """Prepare for the texts of so many tools."""
    _cutter().expect(count)


@lru_cache(_REMEMBERED)
def _words_of(run: str) -> tuple[str, ...]:
    return tuple(word for word in _cutter()(run) if word not in STOP_WORDS and word.strip())


@lru_cache(_REMEMBERED)
def _stems_of(run: str) -> tuple[str, ...]:
    return tuple(stems(index_words(run)))


def index_terms(folded: str) -> tuple[list[str], list[str]]:
    """Return the words and the character bigrams of folded text, each in order, stop words left out of the words.

    Words are stems for letters and digits, jieba's search mode for Chinese; kana, hangul and the like give bigrams
    to both, as they have no words here.
    """
    words: list[str] = []
    grams: list[str] = []
    for text, script in scripts(folded):
        if script == "word":
            words += _stems_of(text)
        elif script == "han":
            words += _words_of(text)
            grams += bigrams(text)
        else:
            words += bigrams(text)
    return words, grams
