"""The scorers that retrieval is measured with: ours, by words and hybrid, and those that people start from."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from tooldisco_cli.catalog.snapshot import Entry
from tooldisco_cli.catalog.tool import Layer, Source, Tool
from tooldisco_cli.search import documents
from tooldisco_cli.search.answer import Answer, Hit
from tooldisco_cli.search.encoders import Encoder, UniversalSentenceEncoder
from tooldisco_cli.search.index import SearchIndex
from tooldisco_cli.search.vectors import vectors_of


def entry(tool: dict[str, Any]) -> Entry:
    declared = Tool(
        name=tool["name"],
        description=tool["description"],
        category=tool.get("category") or "utility",
        tags=tuple(tool.get("tags") or ()),
        input_schema=tool["input_schema"],
    )
    return Entry(tool=declared, source=Source(Layer("code", ""), "", 0), digest="")


def full_text(tool: dict[str, Any]) -> str:
    names, texts, values = documents.schema_texts(tool["input_schema"])
    return " ".join([tool["name"], tool["description"], *names, *texts, *values])


class Ranker:
    """Another scorer behind the shape that ``evaluate`` asks."""

    def __init__(self, names: Sequence[str], rank: Callable[[str, int], Sequence[int]]) -> None:
        self._names, self._rank = names, rank

    def search(self, query: str, *, limit: int = 5) -> Answer:
        hits = [
            Hit(
                name=self._names[i], title="", description="", category="", tags=(), version="", input_schema={},
                relevance_score=0.0, layer="", path="", line=0,
            )
            for i in self._rank(query, limit)
        ]  # fmt: skip
        return Answer(query=query, hits=tuple(hits))


def whole_words(tools: list[dict[str, Any]]) -> Ranker:
    bags = [set(re.findall(r"\w+", full_text(tool).lower())) for tool in tools]

    def rank(query: str, limit: int) -> list[int]:
        words = set(re.findall(r"\w+", query.lower()))
        scores = [len(words & bag) for bag in bags]
        return [i for i in sorted(range(len(bags)), key=lambda i: -scores[i])[:limit] if scores[i]]

    return Ranker([tool["name"] for tool in tools], rank)


def rank_bm25(tools: list[dict[str, Any]]) -> Ranker:
    import numpy as np
    from rank_bm25 import BM25Okapi

    def words(text: str) -> list[str]:
        return re.findall(r"[\u3400-\u9fff]|[a-z0-9]+", text.lower())

    engine = BM25Okapi([words(full_text(tool)) for tool in tools])

    def rank(query: str, limit: int) -> list[int]:
        scores = engine.get_scores(words(query))
        return [int(i) for i in np.argsort(-scores, kind="stable")[:limit]]

    return Ranker([tool["name"] for tool in tools], rank)


def bm25s(tools: list[dict[str, Any]]) -> Ranker:
    import bm25s as package

    engine = package.BM25()
    engine.index(package.tokenize([full_text(tool) for tool in tools], show_progress=False), show_progress=False)

    def rank(query: str, limit: int) -> list[int]:
        tokens = package.tokenize([query], show_progress=False)
        found, scores = engine.retrieve(tokens, k=limit, show_progress=False)
        return [int(i) for i, score in zip(found[0], scores[0], strict=True) if score > 0]

    return Ranker([tool["name"] for tool in tools], rank)


def fastmcp(tools: list[dict[str, Any]]) -> Ranker:
    from fastmcp.server.transforms.search.bm25 import BM25SearchTransform
    from fastmcp.tools.base import Tool as McpTool

    declared = [McpTool(name=t["name"], description=t["description"], parameters=t["input_schema"]) for t in tools]
    places = {tool["name"]: place for place, tool in enumerate(tools)}
    transform = BM25SearchTransform(max_results=10)
    asyncio.run(transform._search(declared, "warm up"))

    def rank(query: str, limit: int) -> list[int]:
        # Its search re-hashes the whole catalog each time; only the ranking itself is asked for here.
        return transform._index.query(query, limit)

    return Ranker([declared[places[tool["name"]]].name for tool in tools], rank)


class Remembering:
    """An encoder that encodes a text once, as every set and every part asks the same queries again."""

    def __init__(self, real: Encoder) -> None:
        self.name, self.width = real.name, real.width
        self._real = real
        self._known: dict[str, Any] = {}

    def encode(self, texts: Sequence[str]) -> Any:
        import numpy as np

        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known.update(zip(new, self._real.encode(new), strict=True))
        return np.array([self._known[text] for text in texts])


@cache
def encoder() -> Encoder:
    return Remembering(UniversalSentenceEncoder())


def hybrid(tools: list[dict[str, Any]]) -> SearchIndex:
    index = SearchIndex.build(map(entry, tools))
    return index.with_meaning(vectors_of(index, encoder(), use_cache=False))


def encoder_alone(tools: list[dict[str, Any]]) -> Ranker:
    index = SearchIndex.build(map(entry, tools))
    vectors = vectors_of(index, encoder(), use_cache=False)
    names = {place: document["name"] for place, _, document in index.documents()}
    numbers = {name: number for number, name in enumerate(names.values())}

    def rank(query: str, limit: int) -> list[int]:
        near = vectors.nearness([query])
        best = sorted(near.nearest(limit), key=lambda found: -near.to(found[0]))
        return [numbers[names[place]] for place, _ in best]

    return Ranker(list(names.values()), rank)


OURS = ("tooldisco", "tooldisco hybrid")
SCORERS: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "tooldisco": lambda tools: SearchIndex.build(map(entry, tools)),
    "tooldisco hybrid": hybrid,
    "the encoder alone": encoder_alone,
    "FastMCP BM25": fastmcp,
    "bm25s": bm25s,
    "rank-bm25": rank_bm25,
    "whole words": whole_words,
}
