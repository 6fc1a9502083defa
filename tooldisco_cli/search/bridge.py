"""From one language to the other: the term table, reduced to what an index can use and kept inside it.

The table of ``data/terms.tsv.gz`` (from CC-CEDICT, see ``data/LICENSES.md``) is read only while an index is built.
Of it, each pair whose target is a word of that index is written into the engine's ``bridge`` field as one term, key
and target with a rank between them. A query then asks the engine for all terms with a key as prefix: one look-up in a
memory-mapped dictionary of terms, in a cold process as in a warm one, and no table to load.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from tooldisco_cli.atomic import replacing
from tooldisco_cli.search.folding import DATA

_PACKED = DATA / "terms.tsv.gz"

SEPARATOR = "\x1f"
PINYIN = "\x1e"
"""Starts the key of a reading: ``\\x1efasong`` leads to 发送."""

MAX_TARGETS = 8
"""How many targets one key keeps: the most usual translations, of these the words most frequent in the index."""


def term_table() -> list[str]:
    """Return the shipped table, by word: each line a word, its pinyin and its terms, with tabs between.

    Terms are joined by ``|``, the most usual first: English stems, or a Chinese synonym after ``=``.
    """
    return _table().decode().splitlines()


def table_lines_with(words: Iterable[str], kept_in: Path | None = None) -> list[str]:
    """Return the lines of the table that have one of some words, as its word or in its terms.

    With ``kept_in``, a folder, the table is kept there unpacked, because unpacking takes longer than a warm search.
    """
    table = _table() if kept_in is None else _kept_table(kept_in / "terms.tsv")
    starts: set[int] = set()
    for word in words:
        sought = word.encode("utf-8", "replace")
        at = table.find(sought)
        while at >= 0:
            end = at + len(sought)
            if table[at - 1 : at] in _BORDERS and table[end : end + 1] in _BORDERS:
                starts.add(table.rfind(b"\n", 0, at) + 1)
            at = table.find(sought, end)
    return [table[start : _end(table, start)].decode() for start in sorted(starts)]


_BORDERS = frozenset({b"", b"\n", b"\t", b"|", b"=", b"_"})


def _end(table: bytes, start: int) -> int:
    end = table.find(b"\n", start)
    return len(table) if end < 0 else end


def _table() -> bytes:
    import zlib

    return zlib.decompress(_PACKED.read_bytes(), zlib.MAX_WBITS | 16)


def _kept_table(path: Path) -> bytes:
    from zlib import crc32

    try:
        with _PACKED.open("rb") as file:
            file.seek(-8, os.SEEK_END)  # where gzip says what it holds: checksum and size (RFC 1952)
            checksum, size = (int.from_bytes(file.read(4), "little") for _ in range(2))
        table = path.read_bytes()
        if len(table) == size and crc32(table) == checksum:
            return table
    except OSError:
        pass
    table = _table()
    with suppress(OSError), replacing(path) as kept:
        kept.write(table)
    return table


def bridge_terms(vocabulary: Mapping[str, int], lines: Iterable[str] | None = None) -> Iterator[str]:
    """Yield the engine terms of every pair of the table, or of some lines of it, whose target ``vocabulary`` has.

    ``vocabulary`` maps the words of an index to the number of documents they are in.

    A target of several words, such as ``exchang_rate``, counts when the vocabulary has each of them.
    """
    ranked: dict[str, dict[str, int]] = defaultdict(dict)
    words = set(vocabulary)

    def add(key: str, target: str, rank: int) -> None:
        known = ranked[key]
        if known.get(target, rank) >= rank:
            known[target] = rank

    for line in term_table() if lines is None else lines:
        word, pinyin, joined = line.split("\t")
        present = word in words and len(word) > 1
        if present:
            add(PINYIN + pinyin, word, 0)
        if not joined:
            continue
        for rank, term in enumerate(joined.split("|")):
            if term in words:
                add(word, term, rank)
            elif term[0] == "=":
                if term[1:] in words:
                    add(word, term[1:], 0)
                if present:
                    add(term[1:], word, 0)
                continue
            elif "_" in term and words.issuperset(term.split("_")):
                add(word, term, rank)
            if present:
                add(term, word, rank)
    for key, targets in ranked.items():
        best = list(targets.items())
        if len(best) > 1:
            best.sort(key=lambda item: (item[1], -vocabulary.get(item[0], 0), item[0]))
        for target, rank in best[:MAX_TARGETS]:
            yield f"{key}{SEPARATOR}{min(rank, 9)}{target}"
