"""The numbers of ranking in one place; ``benchmarks/ablation.md`` shows what each is worth."""

from __future__ import annotations

from typing import NamedTuple


class Weights(NamedTuple):
    """How much each kind of evidence counts, relative to a whole word of the query found as written."""

    translation: float = 0.7
    """A word of the other language that the term table knows for it."""
    rank_decay: float = 0.9
    """Each further translation of a word counts this much less than the one before."""
    prefix: float = 0.8
    typo: float = 0.7
    pinyin: float = 0.9
    split: float = 0.9
    """A word that is two known words written as one."""
    nested: float = 0.3
    """A Chinese word inside a longer one, such as 邮件 in 电子邮件."""
    inner: float = 0.5
    """An English word inside a phrase that the term table knows, such as text and message in ``text message``."""
    crossing: float = 0.0
    """A Chinese word of the index that crosses the border of two better ones."""
    single: float = 0.5
    """A Chinese word of one character."""
    grams: float = 0.3
    """A pair of neighbouring Chinese characters."""
    quoted: float = 0.3
    """Words inside quotation marks: values rather than wishes."""
    opaque: float = 0.0
    """Words inside addresses, paths and ids."""
    number: float = 0.1
    shared_rarity: float = 1.0
    """How far the forms of a concept share the rarity of the most frequent one: 1 wholly, 0 each keeps its own."""
    tie: float = 0.0
    """How much of the lesser forms of a concept is added to its best (disjunction-max with a tie breaker)."""
    covered: float = 0.4
    """How far a sentence of the query counts as answered once a tool before answers it (see ``intents``)."""
    read_only: float = 0.01
    """How much is added to a tool that changes nothing: where words leave it open, the harmless one comes first."""
    usage: float = 0.005
    """How much is added, at most, to a tool that was used often, lately and with success; it only orders. More gains
    nothing when past use was right, and costs up to 1.5 points of recall@1 when it was wrong."""
    meaning: float = 0.5
    """What a nearness of 1 in meaning adds to a score, relative to all that words could attain; in hybrid search."""


DEFAULT = Weights()
