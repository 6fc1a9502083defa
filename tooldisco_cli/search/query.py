"""From what somebody typed to concepts: words of the query with all the engine terms that may stand for each.

A query is cut against the vocabulary of the index (the engine's ``doc_freq``), never with a dictionary: every
stretch of a Chinese run that the index knows as a word, or knows a translation of, is a candidate, and the cover with
the fewest words wins. The result is plain data, so it can be tested, explained and turned into engine queries.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from tooldisco_cli.search.bridge import PINYIN, SEPARATOR
from tooldisco_cli.search.folding import fold
from tooldisco_cli.search.intents import clause_borders, clause_of
from tooldisco_cli.search.stopwords import STOP_WORDS, STOP_WORDS_EN
from tooldisco_cli.search.weights import DEFAULT, Weights
from tooldisco_cli.search.words import bigrams, identifier_words, runs, stems

if TYPE_CHECKING:
    from tantivy import Searcher

MAX_QUERY = 4_000
"""Characters of a query that are analysed: its beginning, where people and agents say what they want."""
MAX_WORD_CHARS = 8
"""The longest Chinese word that is looked for; cost grows with it, and the index has next to none longer."""
MAX_CONCEPTS = 96

_QUOTED = (
    r"\"[^\"\n]{1,400}\"|“[^”\n]{1,400}”|‘[^’\n]{1,400}’|「[^」\n]{1,400}」|『[^』\n]{1,400}』"
    r"|(?<!\w)'[^'\n]{1,400}'(?!\w)"
)
_PAYLOAD = re.compile(
    r"(?P<opaque>[a-z][a-z0-9+.-]*://[^\s\"'<>，。；、）)]+"
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|(?<![\w/])(?:~|\.{1,2}|[A-Za-z]:)?(?:[/\\][\w.@-]+){2,}[/\\]?"
    r"|\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"
    rf"|[A-Za-z0-9+=_-]{{48,}})|(?P<quoted>{_QUOTED})"
)


@dataclass(frozen=True, slots=True)
class Form:
    """One way a concept may be written in the index: a term of a field, or several that must occur together."""

    field: str
    terms: tuple[str, ...]
    weight: float
    doc_freq: int
    kind: str = "word"
    """word, prefix, typo, pinyin, translation, part or bigram."""


@dataclass(frozen=True, slots=True)
class Concept:
    """One thing a query asks for, and every form that may answer it; the best of them counts."""

    word: str
    forms: tuple[Form, ...]
    weight: float
    start: int
    """Where it stands in the folded query."""
    clause: int = 0
    """The number of the sentence that it stands in."""


@dataclass(frozen=True)
class Vocabulary:
    """What the index knows of words, asked of the engine and remembered for one query."""

    searcher: Searcher
    _freqs: dict[tuple[str, str], int] = field(default_factory=dict)

    @cached_property
    def size(self) -> int:
        """How many documents there are."""
        return self.searcher.num_docs

    def doc_freq(self, field_name: str, term: str) -> int:
        """In how many documents a field has a term."""
        key = (field_name, term)
        found = self._freqs.get(key)
        if found is None:
            found = self._freqs[key] = self.searcher.doc_freq(field_name, term)
        return found

    def bridged(self, key: str) -> list[tuple[str, int]]:
        """Return the targets of a key of the term table with their ranks, 0 the most usual."""
        start = len(key) + 1
        found = self.searcher.terms_with_prefix("bridge", key + SEPARATOR)
        return [(term[start + 1 :], int(term[start])) for term, _ in found]

    def starting_with(self, prefix: str, limit: int | None = None) -> list[tuple[str, int]]:
        """Return the words of the index that start so, with their document frequencies."""
        return self.searcher.terms_with_prefix("text", prefix, limit=limit)

    def idf(self, doc_freq: int) -> float:
        """The engine's inverse document frequency (BM25 with the 1 inside the logarithm)."""
        return math.log(1.0 + (self.size - doc_freq + 0.5) / (doc_freq + 0.5)) if doc_freq <= self.size else 0.0


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    start: int
    weight: float
    surface: str = ""


def payload_spans(folded: str) -> list[tuple[int, int, bool]]:
    """Return the stretches of a query that are values rather than wishes: (start, end, opaque).

    Opaque are addresses, paths, ids and encoded data; the others are quoted texts.
    """
    return [(m.start(), m.end(), m.lastgroup == "opaque") for m in _PAYLOAD.finditer(folded)]


class QueryAnalyzer:
    """Cuts queries against one index."""

    def __init__(self, vocabulary: Vocabulary, weights: Weights = DEFAULT) -> None:
        self.vocabulary = vocabulary
        self.weights = weights

    def concepts(self, query: str) -> list[Concept]:
        """Return the concepts of a query, each distinct word once, in the order of their weight times rarity."""
        folded = fold(query[:MAX_QUERY])
        found: dict[str, Concept] = {}
        for concept in self._all_concepts(folded):
            known = found.get(concept.word)
            if known is None or concept.weight > known.weight:
                found[concept.word] = concept if known is None else replace(concept, start=known.start)
        borders = clause_borders(folded)
        concepts = list(found.values())
        if borders:
            concepts = [replace(concept, clause=clause_of(borders, concept.start)) for concept in concepts]
        if len(concepts) > MAX_CONCEPTS:
            worth = sorted(concepts, key=lambda c: -c.weight * self.rarity(c))[:MAX_CONCEPTS]
            concepts = sorted(worth, key=lambda c: c.start)
        return concepts

    def rarity(self, concept: Concept) -> float:
        """The inverse document frequency of a concept: of its most frequent form, so that synonyms share one."""
        best = max((form.doc_freq for form in concept.forms), default=0)
        return self.vocabulary.idf(best)

    def _all_concepts(self, folded: str) -> Iterator[Concept]:
        weights = self.weights
        spans = payload_spans(folded)
        latin: list[_Word] = []
        for run in runs(folded):
            weight = 1.0
            for start, end, opaque in spans:
                if start <= run.start < end:
                    weight = weights.opaque if opaque else weights.quoted
                    break
            if weight == 0.0:
                continue
            if run.script == "word":
                latin.extend(
                    _Word(word, run.start, weight * (weights.number if word.isdecimal() else 1.0))
                    for word in identifier_words(run.text)
                    if word not in STOP_WORDS_EN
                )
            elif run.script == "han":
                yield from self._han(run.text, run.start, weight)
            else:
                for offset, gram in enumerate(bigrams(run.text)):
                    if freq := self.vocabulary.doc_freq("text", gram):
                        form = Form("text", (gram,), 1.0, freq)
                        yield Concept(gram, (form,), weight, run.start + offset)
        yield from self._latin(latin)

    # --- letters and digits

    def _latin(self, words: list[_Word]) -> Iterator[Concept]:
        stemmed = stems([word.text for word in words])
        taken = self._phrases(words, stemmed)
        yield from taken.values()
        known = 0
        for number, (word, stem) in enumerate(zip(words, stemmed, strict=True)):
            forms = self._forms_of_stem(stem)
            if not forms and len(word.text) > 1 and not word.text.isdecimal():
                forms = self._guesses(word.text, stem)
            elif number == len(words) - 1 and len(words) <= 3 and len(stem) >= 3 and not word.text.isdecimal():
                forms += self._prefixed(stem, known=True)
            known += bool(forms)
            yield Concept(stem, tuple(forms), word.weight, word.start)

    def _forms_of_stem(self, stem: str) -> list[Form]:
        forms = []
        if freq := self.vocabulary.doc_freq("text", stem):
            forms.append(Form("text", (stem,), 1.0, freq))
        forms.extend(self._translations(stem))
        return forms

    def _phrases(self, words: list[_Word], stemmed: list[str]) -> dict[str, Concept]:
        """Neighbouring words that the term table knows together, such as ``text message`` for 短信, or as pinyin."""
        found: dict[str, Concept] = {}
        for length in (2, 3):
            for first in range(len(words) - length + 1):
                group = stemmed[first : first + length]
                forms = self._translations("_".join(group))
                if forms:
                    weight = min(word.weight for word in words[first : first + length])
                    concept = Concept(" ".join(group), tuple(forms), weight, words[first].start)
                    found.setdefault(concept.word, concept)
        return found

    def _guesses(self, word: str, stem: str) -> list[Form]:
        """What an unknown word may mean: pinyin, the start of a word, two words run together, or a typing error."""
        return (
            self._from_pinyin(word)
            or self._prefixed(stem, known=False)
            or self._split(word)
            or self._typos(word, stem)
        )

    def _prefixed(self, stem: str, *, known: bool) -> list[Form]:
        weight = self.weights.prefix * (0.5 if known else 1.0)
        found = [(term, freq) for term, freq in self.vocabulary.starting_with(stem, 64) if term != stem]
        found.sort(key=lambda item: (len(item[0]), -item[1], item[0]))
        return [Form("text", (term,), weight, freq, "prefix") for term, freq in found[:12]]

    def _from_pinyin(self, word: str) -> list[Form]:
        forms = []
        for target, _ in self.vocabulary.bridged(PINYIN + word):
            if freq := self.vocabulary.doc_freq("text", target):
                forms.append(Form("text", (target,), self.weights.pinyin, freq, "pinyin"))
        return forms

    def _split(self, word: str) -> list[Form]:
        """Two or three known words written as one: ``sendemail``."""
        if not 6 <= len(word) <= 30:
            return []
        best: list[Form] = []
        for cut in range(3, len(word) - 2):
            pair = stems([word[:cut], word[cut:]])
            freqs = [self.vocabulary.doc_freq("text", part) for part in pair]
            if all(freqs):
                best.append(Form("text", tuple(pair), self.weights.split, min(freqs), "part"))
        return sorted(best, key=lambda form: -form.doc_freq)[:1]

    def _typos(self, word: str, stem: str) -> list[Form]:
        """Words of the index one edit away from a word of five letters or more."""
        if len(word) < 5 or len(word) > 24:
            return []
        forms = {}
        for start in _typo_prefixes(stem):
            for term, freq in self.vocabulary.starting_with(start):
                if abs(len(term) - len(stem)) <= 1 + (len(word) - len(stem)) and (
                    one_edit_apart(term, stem) or one_edit_apart(term, word)
                ):
                    forms[term] = Form("text", (term,), self.weights.typo, freq, "typo")
        return sorted(forms.values(), key=lambda form: (-form.doc_freq, form.terms))[:4]

    def _translations(self, key: str) -> list[Form]:
        forms = []
        for target, rank in self.vocabulary.bridged(key):
            terms = tuple(target.split("_"))
            freq = min(self.vocabulary.doc_freq("text", term) for term in terms)
            if freq:
                weight = self.weights.translation * self.weights.rank_decay**rank
                forms.append(Form("text", terms, weight, freq, "translation"))
        return forms

    # --- Chinese

    def _han(self, run: str, start: int, weight: float) -> Iterator[Concept]:
        vocabulary, weights = self.vocabulary, self.weights
        grams = bigrams(run) if len(run) > 1 else []
        gram_freqs = [vocabulary.doc_freq("grams", gram) for gram in grams]
        candidates: dict[tuple[int, int], tuple[int, list[Form]]] = {}
        for first in range(len(run)):
            for last in range(first + 1, min(len(run), first + MAX_WORD_CHARS) + 1):
                word = run[first:last]
                if word in STOP_WORDS:
                    if len(word) > 1:
                        candidates[first, last] = (0, [])
                    continue
                freq = vocabulary.doc_freq("text", word)
                translated = self._translations(word)
                if freq or translated:
                    candidates[first, last] = (freq, translated)
        cover = _fewest_words(len(run), candidates)
        for (first, last), (freq, translated) in candidates.items():
            word = run[first:last]
            primary = (first, last) in cover
            nested = not primary and any(a <= first and last <= b for a, b in cover)
            share = 1.0 if primary else weights.nested if nested else weights.crossing
            if len(word) == 1:
                share = weights.single if primary else 0.0
            forms = [Form("text", (word,), 1.0, freq)] if freq else []
            if primary:
                forms += translated
            if forms and share:
                yield Concept(word, tuple(forms), weight * share, start + first)
        if weights.grams:
            for offset, (gram, freq) in enumerate(zip(grams, gram_freqs, strict=True)):
                if freq and gram not in STOP_WORDS:
                    form = Form("grams", (gram,), 1.0, freq, "bigram")
                    yield Concept("~" + gram, (form,), weight * weights.grams, start + offset)


def _fewest_words(length: int, candidates: dict[tuple[int, int], tuple[int, list[Form]]]) -> set[tuple[int, int]]:
    """Return the candidates that cover a run with the fewest characters left out, then the fewest words."""
    best: list[tuple[float, tuple[tuple[int, int], ...]]] = [(0.0, ())]
    ending: dict[int, list[int]] = {}
    for first, last in candidates:
        ending.setdefault(last, []).append(first)
    for end in range(1, length + 1):
        cost, path = best[end - 1][0] + 2.1, best[end - 1][1]
        for first in ending.get(end, ()):
            step = best[first][0] + (1.0 if end - first > 1 else 1.6)
            if step < cost:
                cost, path = step, (*best[first][1], (first, end))
        best.append((cost, path))
    return set(best[length][1])


def one_edit_apart(one: str, other: str) -> bool:
    """Whether one insertion, deletion, substitution or swap of neighbours makes ``one`` into ``other``."""
    if one == other or abs(len(one) - len(other)) > 1:
        return False
    if len(one) > len(other):
        one, other = other, one
    at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))
    if len(one) < len(other):
        return one[at:] == other[at + 1 :]
    swapped = at + 1 < len(one) and one[at] == other[at + 1] and one[at + 1] == other[at]
    return one[at + 1 :] == other[at + 1 :] or (swapped and one[at + 2 :] == other[at + 2 :])


def _typo_prefixes(word: str) -> set[str]:
    """Return the starts of every word that is one edit away, two to four letters long."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    found = {word[:3], word[1] + word[0] + word[2:3], word[1:4], word[0] + word[2:4], word[:1] + word[2] + word[1]}
    found |= {letter + word[1:4] for letter in letters} | {word[0] + letter + word[2:4] for letter in letters}
    found |= {word[:2] + letter for letter in letters} if len(word) < 6 else {word[:2]}
    found |= {letter + word[:3] for letter in letters} | {word[0] + letter + word[1:3] for letter in letters}
    return {start for start in found if len(start) >= 2}
