"""What a search answers: hits with what people, scripts and models need of each, and why.

Named tuples, because making a frozen dataclass costs a starting process eight times as much.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Contribution(NamedTuple):
    """What one term found in one field added to a hit's score, in the engine's units."""

    field: str
    term: str
    word: str
    """The word of the query that the term stands for: itself, a stem, a prefix, a typo, a translation."""
    score: float


class Hit(NamedTuple):
    """One tool that a query found; complete enough that no catalog is needed to show it."""

    name: str
    title: str
    description: str
    category: str
    tags: tuple[str, ...]
    version: str
    input_schema: dict[str, Any]
    relevance_score: float
    """0 to 1; 1 for a tool that the query names."""
    layer: str
    """The kind of layer it comes from, such as ``shipped``."""
    path: str
    """The manifest's path."""
    line: int
    trusted: bool = True
    """Whether it may be executed: false for a project's tool that nobody approved."""
    contributions: tuple[Contribution, ...] = ()
    """Empty unless the search was asked to explain."""


class Absence(NamedTuple):
    """Why a named tool is not among the hits: ``reason`` for people, and its own contributions if it has any."""

    name: str
    reason: str
    rank: int | None = None
    """Its 1-based place among all matches, when it matched but came after the limit."""
    contributions: tuple[Contribution, ...] = ()


class Answer(NamedTuple):
    """The result of one search."""

    query: str
    hits: tuple[Hit, ...] = ()
    total: int = 0
    """How many tools matched, before the limit."""
    confident: bool = False
    """Whether the best hit is likely to be what was meant; weak answers are shown, but should be doubted."""
    hidden: Mapping[str, int] = {}
    """How many better or equal matches each filter hid: ``{"category": 3, "tag": 1}``."""
    near_names: tuple[str, ...] = ()
    """Names most like the query; filled when nothing matched."""
    near_categories: tuple[str, ...] = ()
    """Categories nearest to the query; filled when nothing matched."""
    absence: Absence | None = None
    """Filled when the caller asked why a named tool did not come up."""
