"""What one index knows of words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeVar

from tooldisco_cli.search.bridge import SEPARATOR

if TYPE_CHECKING:
    from tantivy import Searcher

REMEMBERED = 20_000
"""Answers of each kind that an index's vocabulary remembers; then it begins anew."""
K = TypeVar("K")
V = TypeVar("V")


def remember(memory: dict[K, V], key: K, value: V) -> V:
    """Put a value into a memory of bounded size and return it."""
    if len(memory) >= REMEMBERED:
        memory.clear()
    memory[key] = value
    return value


class Vocabulary:
    """What one index knows of words, asked of the engine once and remembered: queries repeat each other's words."""

    def __init__(self, searcher: Searcher) -> None:
        self.size = searcher.num_docs
        self._searcher = searcher
        self._freqs: dict[tuple[str, str], int] = {}
        self._starts: dict[str, list[tuple[str, int]]] = {}
        self._bridged: dict[str, list[tuple[str, int]]] = {}
        self._bridged_starts: dict[str, list[tuple[str, str, int]]] = {}
        self._idfs: dict[int, float] = {}

    def doc_freq(self, term: str, field: str = "text") -> int:
        """In how many documents a field has a term."""
        freq = self._freqs.get((field, term))
        if freq is None:
            freq = remember(self._freqs, (field, term), self._searcher.doc_freq(field, term))
        return freq

    def starting_with(self, prefix: str, limit: int | None = None) -> list[tuple[str, int]]:
        """Return the words of the index that start so, with their document frequencies."""
        return self._searcher.terms_with_prefix("text", prefix, limit=limit)

    def starting_with_pair(self, pair: str) -> list[tuple[str, int]]:
        """Return the same for two characters, remembered."""
        found = self._starts.get(pair)
        return remember(self._starts, pair, self.starting_with(pair)) if found is None else found

    def bridged(self, key: str) -> list[tuple[str, int]]:
        """Return the targets of a key of the term table with their ranks, 0 the most usual."""
        targets = self._bridged.get(key)
        if targets is None:
            at = len(key) + 1
            found = self._searcher.terms_with_prefix("bridge", key + SEPARATOR)
            targets = remember(self._bridged, key, [(term[at + 1 :], int(term[at])) for term, _ in found])
        return targets

    def bridged_from(self, prefix: str) -> list[tuple[str, str, int]]:
        """Return every key of the term table that starts so, with its targets and their ranks."""
        found = self._bridged_starts.get(prefix)
        if found is None:
            parts = [term.split(SEPARATOR) for term, _ in self._searcher.terms_with_prefix("bridge", prefix)]
            triples = [(key, target[1:], int(target[0])) for key, target in parts]
            found = remember(self._bridged_starts, prefix, triples)
        return found

    def idf(self, doc_freq: int) -> float:
        """The engine's inverse document frequency (BM25 with the 1 inside the logarithm)."""
        found = self._idfs.get(doc_freq)
        if found is None:
            idf = math.log(1.0 + max(0.0, self.size - doc_freq + 0.5) / (doc_freq + 0.5))
            found = remember(self._idfs, doc_freq, idf)
        return found
