"""Hybrid search for commands that end: load the encoder, and take the vectors of a catalog from the cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tooldisco_cli.catalog.parallel import Tell
    from tooldisco_cli.search.index import SearchIndex


def with_meaning(index: SearchIndex, *, use_cache: bool = True, tell: Tell | None = None) -> SearchIndex:
    """Return the index with the vectors of its tools; texts that were never encoded are encoded now.

    Raises UsageError where the semantic extra is not installed.
    """
    from tooldisco_cli.search.encoders import UniversalSentenceEncoder
    from tooldisco_cli.search.vectors import vectors_of

    return index.with_meaning(vectors_of(index, UniversalSentenceEncoder(), use_cache=use_cache, tell=tell))
