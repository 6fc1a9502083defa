"""Cutting Chinese into words for the index; only here is a dictionary loaded, and only while an index is built.

rjieba (Rust, same dictionary and rules as jieba) is used where it is installed, else jieba itself. A query is cut
against the finished index, so which of the two built it does not matter to a search.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache

from tooldisco_cli import paths
from tooldisco_cli.search.stopwords import STOP_WORDS
from tooldisco_cli.search.words import bigrams, index_words, runs, stems


@cache
def _cutter() -> Callable[[str], list[str]]:
    try:
        import rjieba  # type: ignore[import-not-found,unused-ignore]  # optional
    except ImportError:
        import logging

        import jieba

        jieba.setLogLevel(logging.ERROR)
        # jieba keeps its parsed dictionary as marshalled data in a file of a fixed name, and reads whatever is there:
        # in a folder for everybody, somebody else could have put it there.
        jieba.dt.tmp_dir = _own_folder()
        return lambda run: list(jieba.cut_for_search(run))
    return lambda run: list(rjieba.cut_for_search(run))


def _own_folder() -> str:
    folder = paths.cache_folder() / "jieba"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return tempfile.mkdtemp(prefix="tooldisco-jieba-")
    return str(folder)


@cache
def _words_of(run: str) -> tuple[str, ...]:
    return tuple(word for word in _cutter()(run) if word.strip())


def index_terms(folded: str) -> tuple[list[str], list[str]]:
    """Return the words and the character bigrams of folded text, each in order, stop words left out of the words.

    Words are stems for letters and digits, jieba's search mode for Chinese; kana, hangul and the like give bigrams
    to both, as they have no words here.
    """
    words: list[str] = []
    grams: list[str] = []
    latin: list[tuple[int, str]] = []
    for run in runs(folded):
        if run.script == "word":
            for word in index_words(run.text):
                latin.append((len(words), word))
                words.append(word)
        elif run.script == "han":
            words.extend(word for word in _words_of(run.text) if word not in STOP_WORDS)
            grams.extend(bigrams(run.text))
        else:
            words.extend(bigrams(run.text))
    for (place, _), stem in zip(latin, stems([word for _, word in latin]), strict=True):
        words[place] = stem
    return words, grams
