"""Several wishes in one query: find the sentences, and let each have its tool among the first hits.

A query such as "Check the warehouse, then cancel the order. Finally, send an email" is scored sentence by sentence.
The first tool is the one with the highest sum; each further one is chosen for what it adds where the tools before it
left something open, the usual greedy way to cover with few (Nemhauser, Wolsey and Fisher, 1978). With one sentence
this is plain ranking by score.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence

_MARKS = ".;!?。；！？\n"
_ENGLISH = r"then|finally|lastly|additionally|also|afterwards?|next|moreover|furthermore|second(?:ly)?|third(?:ly)?"
_CHINESE = "然后|接着|另外|此外|同时|并且|最后|还想|还要|还需要|顺便|再"
_SIGNS = (*_MARKS, *_CHINESE.split("|"), *(word.split("(")[0].removesuffix("s?") for word in _ENGLISH.split("|")))
_BORDERS = (
    r"[.;!?](?=\s|$|[^\x00-\x7f])|[。；！？\n]"
    rf"|,?\s+(?:{_ENGLISH})\b|{_CHINESE}"
)


def clause_borders(folded: str) -> list[int]:
    """Return where the clauses of a folded query end."""
    lowered = folded.lower()
    if not any(sign in lowered for sign in _SIGNS):
        return []  # most queries are one sentence, and need not wait for the expression to be compiled
    return [match.start() for match in re.finditer(_BORDERS, folded, re.IGNORECASE)]


def clause_of(borders: Sequence[int], start: int) -> int:
    """Return the number of the clause in which a position lies."""
    return bisect_left(borders, start)


def cover(scores: Mapping[int, Sequence[float]], wanted: int, covered: float) -> list[int]:
    """Return up to ``wanted`` keys of ``scores`` (one score a clause each), in the order in which they add most.

    ``covered`` says how far a clause counts as done once a tool answers it: 0 is the plain sum, 1 only what a tool
    adds beyond the best before it. Ties go to the higher sum, then to the lower key.
    """
    left = sorted([(-sum(row), key, row) for key, row in scores.items()])
    done = [0.0] * max(map(len, scores.values()), default=0)
    order: list[int] = []
    while left and len(order) < wanted:
        best, best_gain = 0, -1.0
        for number, (negative, _, row) in enumerate(left):
            if -negative < best_gain:
                break  # what a tool adds is at most its sum, and the others have no higher one
            gain = sum([s - d for s, d in zip(row, done, strict=True) if s > d])
            if gain > best_gain:
                best, best_gain = number, gain
        _, key, row = left.pop(best)
        order.append(key)
        done = [max(d, covered * s) for d, s in zip(done, row, strict=True)]
    return order
