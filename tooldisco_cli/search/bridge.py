"""From one language to the other: the term table, reduced to what an index can use and kept inside it.

The table of ``data/terms.tsv.xz`` (from CC-CEDICT, see ``data/LICENSES.md``) is read only while an index is built.
Of it, each pair whose target is a word of that index is written into the engine's ``bridge`` field as one term, key
and target with a rank between them. A query then asks the engine for all terms with a key as prefix: one look-up in a
memory-mapped dictionary of terms, in a cold process as in a warm one, and no table to load.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache

from tooldisco_cli.search.folding import DATA

SEPARATOR = "\x1f"
PINYIN = "\x1e"
"""Starts the key of a reading: ``\\x1efasong`` leads to 发送."""

MAX_TARGETS = 24
"""How many targets one key keeps; the most usual translations come first."""


@dataclass(frozen=True, slots=True)
class TableRow:
    """A Chinese word with its reading, its translations (stems joined by ``_``) and its synonyms."""

    word: str
    pinyin: str
    translations: tuple[str, ...]
    synonyms: tuple[str, ...]


@cache
def term_table() -> tuple[TableRow, ...]:
    """Return the shipped table, by word."""
    import lzma

    rows = []
    for line in lzma.decompress((DATA / "terms.tsv.xz").read_bytes()).decode().splitlines():
        word, pinyin, terms = line.split("\t")
        found = terms.split("|") if terms else []
        translations = tuple(term for term in found if term[0] != "=")
        rows.append(TableRow(word, pinyin, translations, tuple(term[1:] for term in found if term[0] == "=")))
    return tuple(rows)


def bridge_terms(vocabulary: Collection[str]) -> Iterator[str]:
    """Yield the engine terms of every pair of the table whose target ``vocabulary`` (words of an index) has.

    A target of several words, such as ``exchang_rate``, counts when the vocabulary has each of them.
    """
    ranked: dict[str, dict[str, int]] = defaultdict(dict)

    def add(key: str, target: str, rank: int) -> None:
        known = ranked[key]
        known[target] = min(known.get(target, rank), rank)

    for row in term_table():
        present = row.word in vocabulary
        if present and len(row.word) > 1:
            add(PINYIN + row.pinyin, row.word, 0)
        for rank, term in enumerate(row.translations):
            if present and len(row.word) > 1:
                add(term, row.word, rank)
            if all(word in vocabulary for word in term.split("_")):
                add(row.word, term, rank)
        for synonym in row.synonyms:
            if synonym in vocabulary:
                add(row.word, synonym, 0)
            if present:
                add(synonym, row.word, 0)
    for key, targets in ranked.items():
        best = sorted(targets.items(), key=lambda item: (item[1], item[0]))[:MAX_TARGETS]
        for target, rank in best:
            yield f"{key}{SEPARATOR}{min(rank, 9)}{target}"
