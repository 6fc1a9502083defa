"""How well tools are found: every evaluation set, beside the scorers that people start from, in one run.

    pip install fastmcp bm25s rank-bm25
    python benchmarks/retrieval.py [--data ../shared/eval] [--only tooldisco] [--floor] [--usage] [--ablation]
        [--markdown FILE]

A set is a folder with ``catalog.jsonl`` (name, description, input_schema, and maybe category and tags) and
``queries.jsonl`` (id, query, lang, relevant). Weights were chosen on the tune half of the queries (by a hash of their
ids) and are reported on the held-out half as well, so that a reader sees what tuning to a set would look like.

The other scorers index the same texts. FastMCP's transform gets what its own code extracts from a tool; bm25s and
rank-bm25 get name, description and all texts of the schema, with bm25s's own tokenizer or words and single Chinese
characters; the whole-word scorer counts query words (``\\w+``) that occur in the text.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scorers import OURS, SCORERS, encoder, entry

from tooldisco_cli.search import documents
from tooldisco_cli.search.answer import Answer
from tooldisco_cli.search.evaluation import Evaluation, JudgedQuery, evaluate, floor_curve
from tooldisco_cli.search.index import SearchIndex
from tooldisco_cli.search.vectors import Vectors, vectors_of
from tooldisco_cli.search.weights import DEFAULT, Weights
from tooldisco_cli.usage.habits import worth
from tooldisco_cli.usage.log import UsageSummary

DEFAULT_DATA = Path(__file__).resolve().parents[1].parent / "shared" / "eval"
FLOORS = {
    ("tooldisco", "acebench_zh", "recall@1"): 0.81,
    ("tooldisco", "acebench_zh", "recall@5"): 0.955,
    ("tooldisco", "sealtools_dev", "recall@5"): 0.90,
    ("tooldisco", "bfcl_zhtw_zhq_enc", "recall@5"): 0.48,
    ("tooldisco hybrid", "bfcl_zhtw_zhq_enc", "recall@5"): 0.80,
}
TOGETHER = "all together"
"""A set made of all others: every catalog and a foreign one as one, and some queries of each."""
COLUMNS = ("recall@1", "recall@3", "recall@5", "recall@10", "hit@1", "mrr", "ndcg@10")


@dataclass(frozen=True)
class DataSet:
    name: str
    tools: list[dict[str, Any]]
    queries: list[JudgedQuery]

    def part(self, held_out: bool) -> list[JudgedQuery]:
        """Return half of the queries, by a hash of their ids."""
        return [
            query for query in self.queries if (hashlib.sha256(query.id.encode()).digest()[0] % 2 == 1) is held_out
        ]


def read(folder: Path) -> DataSet:
    def lines(name: str) -> Iterator[Any]:
        return (json.loads(line) for line in (folder / name).read_text("utf-8").splitlines() if line.strip())

    queries = [
        JudgedQuery(row["query"], frozenset(row["relevant"]), row.get("lang", ""), row["id"])
        for row in lines("queries.jsonl")
    ]
    return DataSet(folder.name, list(lines("catalog.jsonl")), queries)


@dataclass(frozen=True)
class WithoutFloor:
    """The index with its floor taken away, to see what each floor would do."""

    index: SearchIndex

    def search(self, query: str, *, limit: int = 5) -> Answer:
        return self.index.search(query, limit=limit, floor=False)


def table_of(sets: list[DataSet], only: Sequence[str]) -> str:
    lines = [f"| set | scorer | queries | {' | '.join(COLUMNS)} |", f"|---|---|---|{'---|' * len(COLUMNS)}"]
    missed = []
    for data in sets:
        for name, build in SCORERS.items():
            if only and name not in only:
                continue
            index = build(data.tools)
            parts = {"all": data.queries}
            if name in OURS:
                parts |= {"tune": data.part(False), "held out": data.part(True)}
            for part, queries in parts.items():
                result = evaluate(index, queries)
                numbers = []
                for column in COLUMNS:
                    estimate = result.estimate(column)
                    interval = f" ({estimate.low:.3f}–{estimate.high:.3f})" if name in OURS else ""
                    numbers.append(f"{estimate.mean:.3f}{interval}")
                lines.append(f"| {data.name} | {name} | {part} | {' | '.join(numbers)} |")
                if name in OURS and part == "all":
                    missed += [
                        f"{name} {data.name} {measure} {result.mean(measure):.3f} < {floor}"
                        for (which, where, measure), floor in FLOORS.items()
                        if (which, where) == (name, data.name) and result.mean(measure) < floor
                    ]
                    lines += languages(data.name, name, result)
    return "\n".join([*lines, "", "Floors: " + ("; ".join(missed) or "all met")])


def languages(name: str, scorer: str, result: Evaluation) -> list[str]:
    parts = result.by_language()
    if len(parts) < 2:
        return []
    return [
        f"| {name} | {scorer} | all, {language or 'unknown'} | "
        + " | ".join(f"{part.mean(column):.3f}" for column in COLUMNS)
        + " |"
        for language, part in parts.items()
    ]


FLOOR = """\
## When nothing fits, and when that is likely

Hopeless are the queries of a set with their right tools taken out of the catalog (near twins of them often stay,
and then fit after all); foreign are the queries put to a catalog of 753 MCP tools that was made for none of them. For
each threshold of the best hit's relevance: how many of either are below it, how many points of recall@5 an answer
"nothing fits" would lose there, and how many answerable queries are below it, too.

| scorer | set | part | below | hopeless | foreign | recall@5 lost | answerable |
|---|---|---|---|---|---|---|---|"""


def floor_table(sets: list[DataSet], elsewhere: Path) -> str:
    """Return what the answers "nothing fits" and "weak matches" cost and give, on each set and half."""
    lines = [FLOOR]
    floors = (0.26, 0.27, 0.3, 0.34, 0.38, 0.42, 0.46, 0.48, 0.5, 0.54)
    tools = [json.loads(line) for line in elsewhere.read_text("utf-8").splitlines() if line.strip()]
    for scorer in OURS:
        other = WithoutFloor(SCORERS[scorer](tools))
        for data in sets:
            index = WithoutFloor(SCORERS[scorer](data.tools))
            for part, held_out in (("tune", False), ("held out", True)):
                queries = data.part(held_out)
                good = [(o.relevance, o.measures["recall@5"]) for o in evaluate(index, queries).outcomes]
                answers = [other.search(query.text).hits for query in queries]
                foreign = [hits[0].relevance_score if hits else 0.0 for hits in answers]
                for point, abroad in zip(
                    floor_curve(good, hopeless(index, queries), floors),
                    floor_curve([], foreign, floors),
                    strict=True,
                ):
                    below = sum(relevance < point.floor for relevance, _ in good) / len(good)
                    cells = (point.flagged, abroad.flagged, point.recall_lost, below)
                    numbers = " | ".join(f"{cell:.3f}" for cell in cells)
                    lines.append(f"| {scorer} | {data.name} | {part} | {point.floor:.2f} | {numbers} |")
    return "\n".join(lines)


def together(sets: Sequence[DataSet], elsewhere: Path) -> DataSet:
    """Return every catalog as one, as a company has it: tools in two languages, of many owners, with rival names."""
    tools: list[dict[str, Any]] = []
    queries: list[JudgedQuery] = []
    taken: set[str] = set()
    foreign = [json.loads(line) for line in elsewhere.read_text("utf-8").splitlines() if line.strip()]
    for data in (*sets, DataSet(elsewhere.parent.name, foreign, [])):
        renamed = {}
        for tool in data.tools:
            name = tool["name"]
            while name in taken:
                name += "_b"
            taken.add(name)
            renamed[tool["name"]] = name
            tools.append({**tool, "name": name})
        queries += [
            JudgedQuery(query.text, frozenset(renamed[name] for name in query.relevant), query.language, query.id)
            for query in data.queries
            if hashlib.sha256(query.id.encode()).digest()[1] < 100
        ]
    return DataSet(TOGETHER, tools, queries)


def hopeless(index: WithoutFloor, queries: Sequence[JudgedQuery]) -> list[float]:
    """Return the relevance of the best wrong tool of each query: what a catalog without its right tools answers."""
    found = []
    for query in queries:
        hits = index.search(query.text, limit=len(query.relevant) + 1).hits
        found.append(next((hit.relevance_score for hit in hits if hit.name not in query.relevant), 0.0))
    return found


USAGE = """\
## Usage as a tie-breaker

Sessions and the library order tools whose scores are within half a percent by earlier use; `eval` and the tables
above use none. Simulated logs, recall@1 / recall@5:

- none: ordered by words alone;
- random: every tool used at random, how often, how well and how lately (the mean of five logs);
- misleading: the wrong tools that came first or second were used as much as can be, and no other;
- habitual: the right tools of the other half of the queries were used, once for each query.

| set | part | none | random | misleading | habitual |
|---|---|---|---|---|---|"""


def usage_table(sets: list[DataSet]) -> str:
    """Return what earlier use does to recall, on each set and half, with logs that are random, wrong and right."""
    lines = [USAGE]
    for data in sets:
        index = SearchIndex.build(map(entry, data.tools))
        names = [tool["name"] for tool in data.tools]
        for part, held_out in (("tune", False), ("held out", True)):
            queries, others = data.part(held_out), data.part(not held_out)
            logs = {
                "none": [{}],
                "random": [random_log(names, seed) for seed in range(5)],
                "misleading": [misleading_log(index, queries)],
                "habitual": [habitual_log(others)],
            }
            cells = []
            for each in logs.values():
                results = [evaluate(index.with_usage(worths), queries) for worths in each]
                means = [sum(r.mean(m) for r in results) / len(results) for m in ("recall@1", "recall@5")]
                cells.append(f"{means[0]:.3f} / {means[1]:.3f}")
            lines.append(f"| {data.name} | {part} | {' | '.join(cells)} |")
    return "\n".join(lines)


def random_log(names: Sequence[str], seed: int) -> dict[str, float]:
    """Return what use is worth when each tool ran 0 to 50 times, failed now and then, up to half a year ago."""
    chance = random.Random(seed)
    used = {}
    for name in names:
        count = chance.randrange(51)
        used[name] = summary(name, count, chance.randrange(count + 1), chance.uniform(0.0, 180.0))
    return {name: worth(one, 0.0) for name, one in used.items()}


def misleading_log(index: SearchIndex, queries: Sequence[JudgedQuery]) -> dict[str, float]:
    """Return the log that could do most harm: all the wrong tools that come first or second, at the bound itself."""
    found: dict[str, float] = {}
    for query in queries:
        for hit in index.search(query.text, limit=2).hits:
            if hit.name not in query.relevant:
                found[hit.name] = 1.0
    return found


def habitual_log(queries: Sequence[JudgedQuery]) -> dict[str, float]:
    """Return what use is worth when each of the queries has been put once and answered rightly, today."""
    counts = Counter(name for query in queries for name in query.relevant)
    return {name: worth(summary(name, count, 0, 0.0), 0.0) for name, count in counts.items()}


def summary(name: str, count: int, failed: int, days: float) -> UsageSummary:
    return UsageSummary(tool=name, count=count, failed=failed, last_used=-days * 86400.0, mean_seconds=1.0)


def score(
    sets: list[DataSet],
    weights: Weights,
    built: dict[str, SearchIndex],
    vectors: dict[str, Vectors] | None = None,
) -> list[str]:
    numbers = []
    for data in sets:
        index = SearchIndex(built[data.name]._searcher, weights, vectors[data.name] if vectors else None)
        for held_out in (False, True):
            result = evaluate(index, data.part(held_out))
            numbers.append(f"{result.mean('recall@1'):.3f} / {result.mean('recall@5'):.3f}")
    return numbers


QUERY_SIDE: dict[str, list[float]] = {
    "translation": [0.0, 0.5, 0.9],
    "rank_decay": [0.8, 1.0],
    "shared_rarity": [0.0],
    "tie": [0.1],
    "prefix": [0.0],
    "typo": [0.0],
    "nested": [0.0, 0.6],
    "inner": [1.0],
    "crossing": [0.2],
    "single": [0.0, 0.25, 0.75],
    "grams": [0.0, 0.15, 0.5],
    "quoted": [0.0, 1.0],
    "opaque": [1.0],
    "number": [0.0, 1.0],
    "covered": [0.0, 0.2, 0.6, 1.0],
}
MEANING = [0.0, 0.25, 0.75, 1.0]
INDEX_SIDE: dict[str, list[int]] = {
    "name": [0, 1, 2, 5],
    "description": [1, 3],
    "category": [0, 2],
    "parameters": [0, 2],
    "parameter_texts": [0, 2],
    "enum": [0],
}


def ablation_table(sets: list[DataSet]) -> str:
    """Return what each weight is worth: one changed at a time, all sets, both halves, recall@1 / recall@5."""
    head = " | ".join(f"{data.name} {part}" for data in sets for part in ("tune", "held out"))
    lines = [f"| change | {head} |", f"|---|{'---|' * (2 * len(sets))}"]
    built = {data.name: SearchIndex.build(map(entry, data.tools)) for data in sets}
    lines.append(f"| none: the defaults | {' | '.join(score(sets, DEFAULT, built))} |")
    for name, values in QUERY_SIDE.items():
        for value in values:
            changed = score(sets, DEFAULT._replace(**{name: value}), built)  # type: ignore[arg-type]
            lines.append(f"| {name} {getattr(DEFAULT, name)} → {value} | {' | '.join(changed)} |")
    vectors = {name: vectors_of(index, encoder(), use_cache=False) for name, index in built.items()}
    for value in (DEFAULT.meaning, *MEANING):
        changed = score(sets, DEFAULT._replace(meaning=value), built, vectors)
        lines.append(f"| hybrid, meaning {value} | {' | '.join(changed)} |")
    fields = dict(documents.FIELD_WEIGHTS)
    for name, counts in INDEX_SIDE.items():
        for count in counts:
            documents.FIELD_WEIGHTS = {**fields, name: count}  # type: ignore[misc]
            built = {data.name: SearchIndex.build(map(entry, data.tools)) for data in sets}
            changed = score(sets, DEFAULT, built)
            lines.append(f"| words of {name} ×{fields[name]} → ×{count} | {' | '.join(changed)} |")
    documents.FIELD_WEIGHTS = fields  # type: ignore[misc]
    once = documents.COUNTED_ONCE
    for label, fields_once in (
        ("no field counted once", frozenset()),
        ("description counted once, too", once | {"description"}),
    ):
        documents.COUNTED_ONCE = fields_once  # type: ignore[misc]
        built = {data.name: SearchIndex.build(map(entry, data.tools)) for data in sets}
        lines.append(f"| {label} | {' | '.join(score(sets, DEFAULT, built))} |")
    documents.COUNTED_ONCE = once  # type: ignore[misc]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA)
    parser.add_argument("--set", action="append", default=[], help="only this set; may be repeated")
    parser.add_argument("--only", action="append", default=[], choices=list(SCORERS), help="only this scorer")
    parser.add_argument("--floor", action="store_true", help="the curve of the answer that nothing fits")
    parser.add_argument("--usage", action="store_true", help="what earlier use does, with simulated logs")
    parser.add_argument("--ablation", action="store_true", help="what each weight is worth; takes minutes")
    parser.add_argument("--markdown", type=Path, help="write the table there as well")
    options = parser.parse_args()
    folders = [f for f in sorted(options.data.iterdir()) if (f / "queries.jsonl").is_file()]
    sets = [read(folder) for folder in folders]
    elsewhere = options.data / "docker_mcp" / "catalog.jsonl"
    if not options.ablation and not options.usage:
        sets.append(together(sets, elsewhere))
    sets = [data for data in sets if not options.set or data.name in options.set]
    start = time.perf_counter()
    table = (
        floor_table(sets, elsewhere) if options.floor
        else usage_table(sets) if options.usage
        else ablation_table(sets) if options.ablation
        else table_of(sets, options.only)
    )  # fmt: skip
    print(table)
    print(f"\n{time.perf_counter() - start:.0f} s")
    if options.markdown:
        options.markdown.write_text(table + "\n", "utf-8")


if __name__ == "__main__":
    main()
