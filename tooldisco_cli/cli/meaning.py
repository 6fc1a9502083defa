"""Hybrid search for commands that end: load the encoder, and take the vectors of a catalog from the cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tooldisco_cli.cli.context import Common

if TYPE_CHECKING:
    from tooldisco_cli.search.index import SearchIndex


def with_meaning(index: SearchIndex, given: Common, *, use_cache: bool = True) -> SearchIndex:
    """Return the index with the vectors of its tools; texts that were never encoded are encoded now.

    Raises UsageError where the semantic extra is not installed.
    """
    from tooldisco_cli.render.progress import progress
    from tooldisco_cli.search.encoders import UniversalSentenceEncoder
    from tooldisco_cli.search.vectors import vectors_of

    encoder = UniversalSentenceEncoder()
    with progress("reading what tools mean", given.output) as tell:
        return index.with_meaning(vectors_of(index, encoder, use_cache=use_cache, tell=tell))
