"""From what somebody typed to concepts: words of the query with all the engine terms that may stand for each.

A query is cut against the vocabulary of the index (the engine's ``doc_freq``), never with a dictionary: every
stretch of a Chinese run that the index knows as a word, or knows a translation of, is a candidate, and the cover with
the fewest words wins. The result is plain data, so it can be tested, explained and turned into engine queries.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from tooldisco_cli.search.bridge import PINYIN
from tooldisco_cli.search.folding import fold
from tooldisco_cli.search.intents import clause_borders, clause_of
from tooldisco_cli.search.stopwords import STOP_WORDS, STOP_WORDS_EN
from tooldisco_cli.search.vocabulary import Vocabulary, remember
from tooldisco_cli.search.weights import DEFAULT, Weights
from tooldisco_cli.search.words import Run, bigrams, identifier_words, joined, runs, stems

if TYPE_CHECKING:
    from tantivy import Query

MAX_QUERY = 4_000
"""Characters of a query that are analysed: its beginning, where people and agents say what they want."""
MAX_CONCEPTS = 96
MAX_GUESSED = 8
"""How many unknown words of a query are guessed at."""
BIGRAM = "~"
"""Starts the word of a concept that is only a pair of characters."""

_QUOTED = (
    r"\"[^\"\n]{1,400}\"|“[^”\n]{1,400}”|‘[^’\n]{1,400}’|「[^」\n]{1,400}」|『[^』\n]{1,400}』"
    r"|(?<!\w)'[^'\n]{1,400}'(?!\w)"
)
_PAYLOAD = (
    r"(?P<opaque>[a-z][a-z0-9+.-]*://[^\s\"'<>，。；、）)]+"
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|(?<![\w/])(?:~|\.{1,2}|[A-Za-z]:)?(?:[/\\][\w.@-]+){2,}[/\\]?"
    r"|\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"
    rf"|[A-Za-z0-9+=_-]{{48,}})|(?P<quoted>{_QUOTED})"
)

_VALUE_MARKS = "\"'“‘「『/\\@"
_LONG_WORD = 36
"""Characters of the shortest value without any of those marks, an id."""
_SPACED_OUT = r"(?<=[\u4e00-\u9fff])(?<![\u4e00-\u9fff]{2}) +(?=[\u4e00-\u9fff](?:[^\u4e00-\u9fff]|$))"
"""The spaces of ``短 信``: between single Chinese characters."""
_SYLLABLE = (
    r"(?:[bpmfdtnlgkhjqxrzcsyw]|[zcs]h)?"
    r"(?:i?ang|i?ong|u?ang|[iu]?an|iao|uai|eng|ing|[iu]?ai?|ao|ou|ei|en|er|iu|in|ie|ue|ve|uo|ui|un|[aeiouv])"
)


class Form(NamedTuple):
    """One way a concept may be written in the index: a term of a field, or several that must occur together."""

    field: str
    terms: tuple[str, ...]
    weight: float
    doc_freq: int
    kind: str = "word"
    """word, prefix, typo, pinyin, translation, part or bigram."""


class Concept(NamedTuple):
    """One thing a query asks for, and every form that may answer it; the best of them counts."""

    word: str
    forms: tuple[Form, ...]
    weight: float
    clause: int
    """The number of the sentence that it stands in."""
    rarity: float
    """The inverse document frequency that its forms share: that of the word itself where the index has it, else of
    its most frequent form."""


class _Word(NamedTuple):
    text: str
    start: int
    weight: float


def payload_spans(folded: str) -> list[tuple[int, int, bool]]:
    """Return the stretches of a query that are values rather than wishes: (start, end, opaque).

    Opaque are addresses, paths, ids and encoded data; the others are quoted texts. A query that is quoted as a whole
    is a wish all the same.
    """
    if not any(mark in folded for mark in _VALUE_MARKS) and max(map(len, folded.split()), default=0) < _LONG_WORD:
        return []
    spans = [(m.start(), m.end(), m.lastgroup == "opaque") for m in re.finditer(_PAYLOAD, folded)]
    return [span for span in spans if span[2] or span[1] - span[0] < 0.8 * len(folded)]


def folded_query(query: str) -> str:
    """Return a query as it is analysed: folded, of bounded length, no spaces between single Chinese characters."""
    folded = fold(query[:MAX_QUERY])
    if " " in folded and not folded.isascii():
        folded = re.sub(_SPACED_OUT, "", folded)
    return folded


def clause_texts(query: str) -> list[str]:
    """Return the clauses of a query, numbered as ``Concept.clause`` numbers them, without opaque values."""
    folded = folded_query(query)
    kept = list(folded)
    for start, end, opaque in payload_spans(folded):
        if opaque:
            kept[start:end] = " " * (end - start)
    borders = [0, *clause_borders(folded), len(folded)]
    return ["".join(kept[start:end]).strip() for start, end in pairwise(borders)]


_Found = tuple[str, Sequence[Form], float, int]
"""A word, its forms, its weight and where it starts."""
_Candidates = dict[tuple[int, int], tuple[int, list[tuple[str, int]]]]
"""Stretches of a run with their document frequency and the targets of the term table."""


class QueryAnalyzer:
    """Cuts queries against one index, and remembers what its words are: queries repeat each other's words."""

    def __init__(self, vocabulary: Vocabulary, weights: Weights = DEFAULT) -> None:
        self.vocabulary = vocabulary
        self.weights = weights
        self._translated: dict[str, tuple[Form, ...]] = {}
        self._stemmed: dict[str, tuple[Form, ...]] = {}
        self.queries: dict[tuple[tuple[Form, ...], float, float], Query] = {}
        """The engine's queries of concepts, by their forms, weight and rarity (``ranking.concept_query``)."""

    def concepts(self, query: str) -> list[Concept]:
        """Return the concepts of a query in its order, each distinct word once; those without forms are unknown."""
        folded = folded_query(query)
        borders = clause_borders(folded)
        found: dict[str, tuple[Sequence[Form], float, int]] = {}
        for word, forms, weight, start in self._words(folded):
            known = found.get(word)
            if known is None or weight > known[1]:
                found[word] = (forms, weight, start if known is None else known[2])
        concepts = [
            Concept(
                word,
                tuple(forms),
                weight,
                clause_of(borders, start) if borders else 0,
                self._rarity(forms),
            )
            for word, (forms, weight, start) in found.items()
        ]
        if len(concepts) > MAX_CONCEPTS:
            worth = sorted(range(len(concepts)), key=lambda i: -concepts[i].weight * concepts[i].rarity)
            concepts = [concepts[i] for i in sorted(worth[:MAX_CONCEPTS])]
        return concepts

    def _rarity(self, forms: Sequence[Form]) -> float:
        own = [form.doc_freq for form in forms if form.kind != "translation"]
        return self.vocabulary.idf(max(own or [form.doc_freq for form in forms], default=0))

    def _words(self, folded: str) -> Iterator[_Found]:
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
                latin.extend(self._cut(run, weight))
            elif run.script == "han":
                yield from self._han(run.text, run.start, weight)
            else:
                for offset, gram in enumerate(bigrams(run.text)):
                    freq = self.vocabulary.doc_freq(gram)
                    forms = [Form("text", (gram,), 1.0, freq)] if freq else []
                    yield gram, forms, weight, run.start + offset
        yield from self._latin(latin)
        yield from self._spelled_out(folded)

    # --- letters and digits

    def _cut(self, run: Run, weight: float) -> Iterator[_Word]:
        """The words of a run; where the index knows ``MySQL`` as one, its parts count less."""
        parts = identifier_words(run.text)
        whole = joined(run.text, parts)
        if whole and self.vocabulary.doc_freq(stems([whole])[0]):
            yield _Word(whole, run.start, weight)
            weight *= self.weights.inner
        for part in parts:
            if part not in STOP_WORDS_EN:
                yield _Word(part, run.start, weight * (self.weights.number if part.isdecimal() else 1.0))

    def _latin(self, words: list[_Word]) -> Iterator[_Found]:
        stemmed = stems([word.text for word in words])
        inner: set[int] = set()
        for first, length, phrase in self._phrases(words, stemmed):
            inner.update(range(first, first + length))
            yield phrase
        guessed = 0
        for number, (word, stem) in enumerate(zip(words, stemmed, strict=True)):
            forms: Sequence[Form] = self._forms_of_stem(stem)
            if not forms and len(word.text) > 1 and not word.text.isdecimal():
                guessed += 1
                forms = self._guesses(word.text, stem) if guessed <= MAX_GUESSED else []
            elif number == len(words) - 1 and len(words) <= 3 and len(stem) >= 3 and not word.text.isdecimal():
                forms = (*forms, *self._prefixed(stem, known=True))
            share = self.weights.inner if number in inner else 1.0
            yield stem, forms, word.weight * share, word.start

    def _forms_of_stem(self, stem: str) -> tuple[Form, ...]:
        forms = self._stemmed.get(stem)
        if forms is None:
            freq = self.vocabulary.doc_freq(stem)
            own = (Form("text", (stem,), 1.0, freq),) if freq else ()
            translations = self._translations(stem, self.vocabulary.bridged(stem))
            forms = remember(self._stemmed, stem, own + translations)
        return forms

    def _phrases(self, words: list[_Word], stemmed: list[str]) -> Iterator[tuple[int, int, _Found]]:
        """Neighbouring words that the term table knows together, such as ``text message`` for 短信, and where."""
        for length in (2, 3):
            for first in range(len(words) - length + 1):
                group = tuple(stemmed[first : first + length])
                key = "_".join(group)
                forms = self._translations(key, self.vocabulary.bridged(key))
                if not forms:
                    continue
                if freq := min(map(self.vocabulary.doc_freq, group)):
                    forms += (Form("text", group, 1.0, freq),)
                weight = min(word.weight for word in words[first : first + length])
                yield first, length, (" ".join(group), forms, weight, words[first].start)

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
            if freq := self.vocabulary.doc_freq(target):
                forms.append(Form("text", (target,), self.weights.pinyin, freq, "pinyin"))
        return forms or self._pinyin_pair(word)

    def _pinyin_pair(self, word: str) -> list[Form]:
        """Two Chinese words spelled as one: ``fasongduanxin``."""
        for cut in range(3, len(word) - 2) if word.isalpha() and len(word) <= 24 else ():
            pair = [self.vocabulary.bridged(PINYIN + part) for part in (word[:cut], word[cut:])]
            if all(pair):
                terms = tuple(targets[0][0] for targets in pair)
                freq = min(map(self.vocabulary.doc_freq, terms))
                return [Form("text", terms, self.weights.pinyin, freq, "pinyin")] if freq else []
        return []

    def _spelled_out(self, folded: str) -> Iterator[_Found]:
        """Chinese words spelled syllable by syllable: ``fa song duan xin``."""
        row: list[tuple[str, int]] = []
        for run in [*runs(folded), None]:
            if run and run.script == "word" and run.text.islower() and re.fullmatch(_SYLLABLE, run.text):
                row.append((run.text, run.start))
                continue
            first = 0
            while first < len(row) - 1:
                for length in (4, 3, 2):
                    word = "".join(text for text, _ in row[first : first + length])
                    forms = self._from_pinyin(word) if len(row) - first >= length else []
                    if forms:
                        yield word, forms, 1.0, row[first][1]
                        first += length - 1
                        break
                first += 1
            row = []

    def _split(self, word: str) -> list[Form]:
        """Two or three known words written as one: ``sendemail``."""
        if not 6 <= len(word) <= 30:
            return []
        best: list[Form] = []
        for cut in range(3, len(word) - 2):
            pair = stems([word[:cut], word[cut:]])
            freqs = [self.vocabulary.doc_freq(part) for part in pair]
            if all(freqs):
                best.append(Form("text", tuple(pair), self.weights.split, min(freqs), "part"))
        return sorted(best, key=lambda form: -form.doc_freq)[:1]

    def _typos(self, word: str, stem: str) -> list[Form]:
        """Words of the index one edit away from a word of five letters or more."""
        if not 5 <= len(stem) <= 24:
            return []
        forms = {}
        for start in _typo_prefixes(stem):
            for term, freq in self.vocabulary.starting_with(start):
                if abs(len(term) - len(stem)) <= 1 + (len(word) - len(stem)) and (
                    one_edit_apart(term, stem) or one_edit_apart(term, word)
                ):
                    forms[term] = Form("text", (term,), self.weights.typo, freq, "typo")
        return sorted(forms.values(), key=lambda form: (-form.doc_freq, form.terms))[:4]

    def _translations(self, key: str, targets: Iterable[tuple[str, int]]) -> tuple[Form, ...]:
        """Return the forms of the targets of a key of the term table."""
        found = self._translated.get(key)
        if found is not None:
            return found
        forms = []
        for target, rank in targets:
            terms = tuple(target.split("_"))
            freq = min([self.vocabulary.doc_freq(term) for term in terms])
            if freq:
                weight = self.weights.translation * self.weights.rank_decay**rank
                forms.append(Form("text", terms, weight, freq, "translation"))
        return remember(self._translated, key, tuple(forms))

    # --- Chinese

    def _han(self, run: str, start: int, weight: float) -> Iterator[_Found]:
        weights = self.weights
        candidates = self._known_words(run)
        cover = _fewest_words(len(run), candidates)
        known = [place for place in cover if candidates[place][0] or _has_synonym(candidates[place][1])]
        for (first, last), (freq, targets) in candidates.items():
            word = run[first:last]
            if word in STOP_WORDS:
                continue
            forms: tuple[Form, ...] = (Form("text", (word,), 1.0, freq),) if freq else ()
            if (first, last) in cover:
                share = weights.single if len(word) == 1 else 1.0
                forms += self._translations(word, targets)
            elif len(word) == 1 or not forms:
                continue
            else:
                inside = [(a, b) for a, b in cover if a <= first and last <= b]
                share = weights.nested if inside else weights.crossing
                if inside and inside[0] not in known:
                    share = 1.0  # the longer word is only in the term table: here its parts are the words
                elif inside:
                    share *= self._no_rarer(freq, candidates[inside[0]])
            if forms and share:
                yield word, forms, weight * share, start + first
        if weights.grams and len(run) > 1:
            for offset, gram in enumerate(bigrams(run)):
                if gram not in STOP_WORDS and (freq := self.vocabulary.doc_freq(gram, "grams")):
                    form = Form("grams", (gram,), 1.0, freq, "bigram")
                    yield BIGRAM + gram, [form], weight * weights.grams, start + offset

    def _no_rarer(self, freq: int, whole: tuple[int, list[tuple[str, int]]]) -> float:
        """Return what keeps a part from counting as rarer than the word: 资料 in 资料库 where 数据库 is usual."""
        most = max([whole[0], *(self.vocabulary.doc_freq(target) for target, _ in whole[1])])
        return min(1.0, self.vocabulary.idf(most) / (self.vocabulary.idf(freq) or 1.0))

    def _known_words(self, run: str) -> _Candidates:
        """Return every stretch of a run that is a word of the index, a key of the term table or a stop word.

        The engine is asked for all that starts with the two characters at each place, which is two look-ups a place,
        however long the words are.
        """
        vocabulary = self.vocabulary
        found: _Candidates = {}
        for first in range(len(run)):
            single = run[first]
            if single not in STOP_WORDS:
                freq, targets = vocabulary.doc_freq(single), vocabulary.bridged(single)
                if freq or targets:
                    found[first, first + 1] = (freq, targets)
            pair = run[first : first + 2]
            if len(pair) < 2:
                break
            for length in (2, 3):
                if run[first : first + length] in STOP_WORDS:
                    found[first, min(first + length, len(run))] = (0, [])
            for word, freq in vocabulary.starting_with_pair(pair):
                if run.startswith(word, first):
                    found[first, first + len(word)] = (freq, [])
            for word, target, rank in vocabulary.bridged_from(pair):
                if run.startswith(word, first):
                    place = (first, first + len(word))
                    if place not in found:
                        found[place] = (0, [])
                    found[place][1].append((target, rank))
        return found


def _has_synonym(targets: Iterable[tuple[str, int]]) -> bool:
    """Whether a word that the index lacks has another in the same language: 数据库 for 资料库, which Taiwan says."""
    return any(not target.isascii() for target, _ in targets)


def _fewest_words(length: int, candidates: Iterable[tuple[int, int]]) -> set[tuple[int, int]]:
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
