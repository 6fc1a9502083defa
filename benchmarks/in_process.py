"""What one process can do: searches beside other engines over the same words, and the parts of a first index.

Used by ``speed.py``, which runs each function here in a process of its own.
"""

from __future__ import annotations

import gc
import importlib.util
import json
import os
import random
import sqlite3
import statistics
import subprocess
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import catalogs
from scorers import entry, full_text

from tooldisco_cli.catalog.loading import load_catalog
from tooldisco_cli.search.folding import fold
from tooldisco_cli.search.index import SearchIndex
from tooldisco_cli.search.segmentation import index_terms

LIMIT = 5
SETS = ("acebench_zh", "sealtools_dev", "bfcl_zhtw_zhq_enc")
SHORT = (
    "发送邮件", "send email", "查询数据库", "query database", "给客户发短信", "weather forecast", "翻译一段文字",
    "translate text", "创建工单", "create ticket", "现在几点", "convert image to png", "读取表格", "read a file",
    "查询汇率", "fasong youjian", "sned emial", "日历", "github issues",
)  # fmt: skip
PER_SET = 100
SLOW = 10_000
"""The most tools that engines which score every tool in Python are asked to hold."""

Ask = Callable[[], object]


class Question(NamedTuple):
    """A query as it is typed, and the words that our own analysis cuts it into: what every other engine is given."""

    text: str
    words: tuple[str, ...]

    @property
    def chinese(self) -> bool:
        return any("\u4e00" <= char <= "\u9fff" for char in self.text)


class Tools(NamedTuple):
    """A catalog as each engine wants it."""

    declared: list[dict[str, Any]]
    words: list[list[str]]

    @property
    def names(self) -> list[str]:
        return [tool["name"] for tool in self.declared]


def questions(data: Path, *, before: bool = False) -> list[Question]:
    """Return the fixed mix: short queries, and where the data is, every n-th query of each set.

    With ``before`` others from between them, which a process may have been asked earlier.
    """
    texts = [] if before else list(SHORT)
    for name in SETS:
        file = data / name / "queries.jsonl"
        if file.is_file():
            rows = [json.loads(line)["query"] for line in file.read_text("utf-8").splitlines() if line.strip()]
            step = max(1, len(rows) // PER_SET)
            texts += rows[step // 2 if before else 0 :: step][: PER_SET if step > 1 or not before else 0]
    asked = [Question(text, tuple(dict.fromkeys(words_of(text)))) for text in dict.fromkeys(texts)]
    return [question for question in asked if question.words]


def words_of(text: str) -> list[str]:
    return index_terms(fold(text))[0]


def words_of_tool(tool: dict[str, Any]) -> list[str]:
    return words_of("\n".join([full_text(tool), tool.get("category") or "", *map(str, tool.get("tags") or ())]))


# --- engines: each is given the tools, and gives for a question what is timed


def tooldisco(folder: Path, earlier: Sequence[Question]) -> Callable[[Question], Ask]:
    """Open an index as a process does that has answered other queries since: it may remember words, not answers."""
    index = SearchIndex.open(folder)
    for question in earlier:
        index.search(question.text, limit=LIMIT)
    return lambda question: lambda: index.search(question.text, limit=LIMIT)


def tantivy(tools: Tools, *, count: bool = True, whole: bool = False) -> Callable[[Question], Ask]:
    """The engine with nothing around it; ``whole`` reads and decodes the stored tools, not only their names."""
    folder = tempfile.TemporaryDirectory(prefix="tooldisco-benchmark-")
    searcher = plain_index(tools, Path(folder.name), whole=whole)
    folder.cleanup()  # what is open stays readable
    from tantivy import Occur, Query

    schema = plain_schema()

    def ask(question: Question) -> Ask:
        def search() -> list[Any]:
            terms = [(Occur.Should, Query.term_query(schema, "text", word)) for word in question.words]
            found = searcher.search(Query.boolean_query(terms), LIMIT, count=count)
            if whole:
                return [json.loads(bytes(searcher.doc(address).get_first("stored"))) for _, address in found.hits]
            return [searcher.doc(address).get_first("stored") for _, address in found.hits]

        return search

    return ask


def tantivy_without_count(tools: Tools) -> Callable[[Question], Ask]:
    return tantivy(tools, count=False)


def tantivy_whole_tools(tools: Tools) -> Callable[[Question], Ask]:
    return tantivy(tools, whole=True)


def plain_schema() -> Any:
    from tantivy import SchemaBuilder

    builder = SchemaBuilder()
    builder.add_text_field("text", tokenizer_name="whitespace", index_option="freq")
    builder.add_bytes_field("stored", stored=True)
    return builder.build()


def plain_index(tools: Tools, folder: Path | None = None, *, whole: bool = False) -> Any:
    """Index names and words with nothing around the engine; as tooldisco does, with one thread of the engine."""
    from tantivy import Document, Index

    index = Index(plain_schema(), path=None if folder is None else str(folder))
    writer = index.writer(64_000_000, 1)
    stored = map(json.dumps, tools.declared) if whole else tools.names
    for text, words in zip(stored, tools.words, strict=True):
        document = Document()
        document.add_bytes("stored", text.encode())
        document.add_text("text", " ".join(words))
        writer.add_document(document)
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    return index.searcher()


def fts5(tools: Tools) -> Callable[[Question], Ask]:
    database = sqlite3.connect(":memory:")
    database.execute("CREATE VIRTUAL TABLE tool USING fts5(name UNINDEXED, words)")
    rows = zip(tools.names, map(" ".join, tools.words), strict=True)
    database.executemany("INSERT INTO tool VALUES (?, ?)", rows)
    statement = f"SELECT name FROM tool WHERE words MATCH ? ORDER BY rank LIMIT {LIMIT}"

    def ask(question: Question) -> Ask:
        match = " OR ".join('"' + word.replace('"', '""') + '"' for word in question.words)
        return lambda: database.execute(statement, (match,)).fetchall()

    return ask


def bm25s(tools: Tools) -> Callable[[Question], Ask]:
    import bm25s as package

    engine = package.BM25()
    engine.index(tools.words, show_progress=False)
    names = tools.names

    def ask(question: Question) -> Ask:
        words = [list(question.words)]

        def search() -> list[str]:
            found, _ = engine.retrieve(words, k=LIMIT, show_progress=False)
            return [names[i] for i in found[0]]

        return search

    return ask


def rank_bm25(tools: Tools) -> Callable[[Question], Ask]:
    from rank_bm25 import BM25Okapi

    engine, names = BM25Okapi(tools.words), tools.names
    return lambda question: lambda: engine.get_top_n(list(question.words), names, LIMIT)


def fastmcp(tools: Tools) -> Callable[[Question], Ask]:
    """What the transform does for each call, less the protocol around it; it cuts texts and queries by itself."""
    from fastmcp.server.transforms.search.bm25 import BM25SearchTransform
    from fastmcp.tools.base import Tool

    declared = [
        Tool(name=t["name"], description=t["description"], parameters=t["input_schema"]) for t in tools.declared
    ]
    transform = BM25SearchTransform(max_results=LIMIT)

    def search(text: str) -> object:
        coroutine = transform._search(declared, text)
        try:
            coroutine.send(None)
        except StopIteration as result:
            return result.value
        raise RuntimeError("the transform waited for something")

    search("warm up")
    return lambda question: lambda: search(question.text)


def fastmcp_ranking(tools: Tools) -> Callable[[Question], Ask]:
    """The transform's ranking alone, without its check that no tool changed, which is most of its time."""
    from fastmcp.server.transforms.search.base import _extract_searchable_text
    from fastmcp.server.transforms.search.bm25 import _BM25Index
    from fastmcp.tools.base import Tool

    index = _BM25Index()
    index.build(
        [
            _extract_searchable_text(Tool(name=t["name"], description=t["description"], parameters=t["input_schema"]))
            for t in tools.declared
        ]
    )
    return lambda question: lambda: index.query(question.text, LIMIT)


class Beside(NamedTuple):
    """An engine to compare with, the package it needs, and up to how many tools it is asked."""

    build: Callable[[Tools], Callable[[Question], Ask]]
    package: str = ""
    most: int = 10**9


ENGINES = {
    "plain tantivy": Beside(tantivy),
    "plain tantivy, uncounted": Beside(tantivy_without_count),
    "plain tantivy, whole tools": Beside(tantivy_whole_tools),
    "SQLite FTS5": Beside(fts5),
    "bm25s": Beside(bm25s, "bm25s"),
    "rank-bm25": Beside(rank_bm25, "rank_bm25", SLOW),
    "FastMCP BM25": Beside(fastmcp, "fastmcp", SLOW),
    "FastMCP BM25, ranking only": Beside(fastmcp_ranking, "fastmcp", SLOW),
}


def searches(
    total: int, data: Path, *, rounds: int, everything: bool, seconds: float
) -> tuple[dict[str, dict[str, float]], list[str], int]:
    """Ask tooldisco and each engine, in turn, all queries over ``total`` tools.

    Return tooldisco's share of each engine's time at percentiles over the queries (of each query, the median of its
    rounds), what was left out and why, and the number of queries. An engine that has had its seconds gets no further
    round.
    """
    asked = questions(data)
    declared = list(islice(catalogs.variations(catalogs.real_tools(data)), total))
    tools = Tools(declared, list(map(words_of_tool, declared)))
    earlier = questions(data, before=True)
    folder = tempfile.TemporaryDirectory(prefix="tooldisco-benchmark-")
    SearchIndex.build(map(entry, declared), Path(folder.name))
    results, notes = {}, []
    for name, engine in ENGINES.items():
        if total > engine.most and not everything:
            notes.append(f"{name} at {total:,} tools: scores every tool in Python, asked only with --everything")
        elif engine.package and importlib.util.find_spec(engine.package) is None:
            notes.append(f"{name}: {engine.package.replace('_', '-')} is not installed")
        else:
            theirs = engine.build(tools)
            gc.collect()
            gc.freeze()
            results[name] = _compare(
                asked, lambda: tooldisco(Path(folder.name), earlier), theirs, rounds=rounds, seconds=seconds
            )
            gc.unfreeze()
    folder.cleanup()
    return results, notes, len(asked)


def _compare(
    asked: Sequence[Question],
    opened: Callable[[], Callable[[Question], Ask]],
    theirs: Callable[[Question], Ask],
    *,
    rounds: int,
    seconds: float,
) -> dict[str, float]:
    chance = random.Random(7)
    times: list[tuple[list[float], list[float]]] = [([], []) for _ in asked]
    other_side = [theirs(question) for question in asked]
    end = time.monotonic() + seconds
    for number in range(rounds + 1):
        if number > 1 and time.monotonic() > end:
            break
        ours = opened()
        pairs = [(ours(question), ask) for question, ask in zip(asked, other_side, strict=True)]
        for place in chance.sample(range(len(pairs)), len(pairs)):
            for side in chance.sample((0, 1), 2):
                ask = pairs[place][side]
                start = time.thread_time()  # of the CPU, so that other people's processes do not count
                ask()
                taken = time.thread_time() - start
                if number:  # the first round warms up
                    times[place][side].append(taken)
    medians = [(statistics.median(ours), statistics.median(theirs)) for ours, theirs in times]
    chinese = [one for one, question in zip(medians, asked, strict=True) if question.chinese]
    other = [one for one, question in zip(medians, asked, strict=True) if not question.chinese]
    return {
        "p50": _share(medians, 0.5),
        "p99": _share(medians, 0.99),
        "Chinese p50": _share(chinese, 0.5),
        "other p50": _share(other, 0.5),
    }


def _share(times: Sequence[tuple[float, float]], part: float) -> float:
    ours, theirs = (sorted(side) for side in zip(*times, strict=True))
    at = min(len(times) - 1, int(part * len(times)))
    return ours[at] / theirs[at]


# --- the first index


class Stages(NamedTuple):
    """CPU seconds of each part of a first index, children included, and the number of tools."""

    tools: int
    tomllib: float
    """Parsing the same files, and nothing else."""
    tantivy: float
    """Writing the same words, already cut, into a plain index."""
    catalog: float
    index: float
    command: float
    """A whole ``tooldisco search`` that finds no index."""


def first_index(folder: Path, command: Sequence[str]) -> Stages:
    """Do each part of a first index of a folder of manifests once, as a process that has just started would."""
    prefix = "tooldisco-benchmark-"
    with tempfile.TemporaryDirectory(prefix=prefix) as home, tempfile.TemporaryDirectory(prefix=prefix) as empty:
        environment = {"TOOLDISCO_HOME": home}
        clock = _cpu()
        next(clock)
        catalog = load_catalog([folder], cwd=Path(home), environment=environment)
        loaded = next(clock)
        built = Path(home) / "index"
        built.mkdir()
        next(clock)
        SearchIndex.build(catalog, built)
        indexed = next(clock)
        subprocess.run(
            [*command, "--tools-dir", str(folder)],
            check=True, cwd=empty, env={**os.environ, "TOOLDISCO_HOME": empty}, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        whole = next(clock)
        texts = [file.read_text("utf-8") for file in sorted(folder.glob("*.toml"))]
        next(clock)
        for text in texts:
            tomllib.loads(text)
        parsed = next(clock)
        declared = [
            {"name": e.name, "description": e.tool.description, "input_schema": e.tool.input_schema,
             "category": e.tool.category, "tags": e.tool.tags}
            for e in catalog
        ]  # fmt: skip
        tools = Tools(declared, list(map(words_of_tool, declared)))
        plain = Path(home) / "plain"
        plain.mkdir()
        next(clock)
        plain_index(tools, plain)
        written = next(clock)
        return Stages(len(declared), parsed, written, loaded, indexed, whole)


def _cpu() -> Iterator[float]:
    """Yield the CPU seconds since the last time, of this process and the children it has waited for."""
    before = 0.0
    while True:
        now = sum(os.times()[:4])
        elapsed, before = now - before, now
        yield elapsed
