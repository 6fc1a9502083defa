"""Names, categories and tags by how they begin, straight from the engine's sorted terms: what a shell completes."""

from __future__ import annotations

import json
from typing import Literal

from tooldisco_cli.search import engine
from tooldisco_cli.search.folding import fold
from tooldisco_cli.search.index import SearchIndex
from tooldisco_cli.search.names import tools_with_key

Kind = Literal["name", "category", "tag"]


def beginning_with(index: SearchIndex, kind: Kind, prefix: str, limit: int = 500) -> list[str]:
    """Return at most ``limit`` names, categories or tags that begin with ``prefix``, in order.

    Raises IndexBroken.
    """
    searcher = index._searcher
    with engine.engine_errors():
        if kind != "name":
            terms = searcher.terms_with_prefix(kind, engine.utf8(prefix), limit=limit)
            # The engine still lists those of tools that are gone.
            return [term for term, _ in terms if engine.any_has(searcher, kind, term)]
        keys = searcher.terms_with_prefix("names", "=" + fold(prefix), limit=limit)
        found: dict[str, None] = {}
        for key, _ in keys:
            for address in tools_with_key(searcher, key):
                name = json.loads(engine.stored(searcher, address) or b"{}").get("name", "")
                # A key may also be an alias, which a shell could not tell from what it stands for.
                if name.startswith(prefix):
                    found[name] = None
        return sorted(found)
