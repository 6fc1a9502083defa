"""How quick tooldisco is, in four parts, each beside something that runs in turn with it in the same run.

    pip install -e . fastmcp bm25s rank-bm25 tomli-w
    python benchmarks/speed.py [--only search] [--sizes 1k,10k] [--quick] [--markdown benchmarks/speed.md]

- search: in one process, p50 and p99 of full searches beside plain tantivy, SQLite FTS5, bm25s, rank-bm25 and FastMCP
- index: the CPU time of a first index, beside parsing the same files and writing the same words
- changes: the next search after one file of 10,000 was edited, added or removed, beside a warm one
- process: time and memory of whole commands, warm and cold, beside ``python -c "import typer, rich.table"``

Everything reported is a ratio. ``--results FILE`` keeps what was measured, so that a later run of one part rewrites
the report with the others as they were. Catalogs are made by ``catalogs.py`` unless ``--catalogs`` names a folder
that has them as ``1k``, ``10k`` and ``100k``.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import Any

import process

DEFAULT_DATA = Path(__file__).resolve().parents[1].parent / "shared" / "eval"
SIZES = {"1k": (1_000, 1_000), "10k": (10_000, 10_000), "100k": (100_000, 1_000)}
"""Tools and files of each catalog."""
PARTS = ("search", "index", "changes", "process")
PER_CORE = 2_000
"""Tools a second per core that a first index should reach."""
Results = dict[str, Any]


def alone(function: str, *arguments: Any, **options: Any) -> Any:
    """Call a function of ``in_process`` in a new process, so that this one stays small and each starts alike."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(_call, function, arguments, options).result()


def _call(function: str, arguments: Sequence[Any], options: dict[str, Any]) -> Any:
    import in_process

    result = getattr(in_process, function)(*arguments, **options)
    return result._asdict() if hasattr(result, "_asdict") else result


# --- measuring


def measure_search(options: argparse.Namespace, _: Callable[[str], Path]) -> Iterator[tuple[str, Any]]:
    for size in options.sizes:
        results, notes, queries = alone(
            "searches",
            SIZES[size][0],
            options.data,
            rounds=2 if options.quick else 7,
            everything=options.everything,
            seconds=10 if options.quick else 20,
        )
        yield size, {"engines": results, "notes": notes, "queries": queries}


def measure_index(options: argparse.Namespace, catalog: Callable[[str], Path]) -> Iterator[tuple[str, Any]]:
    command = [str(Path(options.python).with_name("tooldisco")), "search", process.QUERIES[0], "--json"]
    for size in options.sizes:
        if size == "100k" and options.quick:
            continue
        rounds = 1 if options.quick or size == "100k" else 3
        stages = [alone("first_index", catalog(size), command) for _ in range(rounds)]
        found = {name: median(stage[name] for stage in stages) for name in stages[0]}
        for name in ("catalog", "index", "command"):
            print(f"first index, {size}, {name}: {found['tools'] / found[name]:,.0f} tools a second of CPU")
        both = found["catalog"] + found["index"]
        print(f"first index, {size}, catalog and index: {found['tools'] / both:,.0f} tools a second of CPU")
        yield (
            size,
            {
                "ratios": {
                    beside: {name: found[name] / found[beside] for name in ("catalog", "index", "command")}
                    for beside in ("tomllib", "tantivy")
                },
                "fast enough": {name: bool(found["tools"] / found[name] >= PER_CORE) for name in ("command",)},
                "share of aim": found["tools"] / found["command"] / PER_CORE,
            },
        )


def measure_changes(options: argparse.Namespace, catalog: Callable[[str], Path]) -> Iterator[tuple[str, Any]]:
    for size in options.sizes if options.sizes != list(SIZES) else ["10k"]:
        with process.program(options.python) as run:
            yield size, process.changes(run, catalog(size), rounds=2 if options.quick else 9)


def measure_process(options: argparse.Namespace, catalog: Callable[[str], Path]) -> Iterator[tuple[str, Any]]:
    for size in options.sizes:
        with process.program(options.python) as run:
            lines = process.commands(run.tooldisco, [catalog(size)])
            searches = [name for name in lines if name.startswith("search")]
            if size == options.sizes[0]:
                bare = {
                    "python -c pass": [run.python, "-c", "pass"],
                    "tooldisco --version": [run.tooldisco, "--version"],
                }
                lines = bare | lines
            least = 1 if options.quick or size == "100k" else 3
            warm = process.compare(run, lines, rounds=5 if options.quick else 51, seconds=20, least=least)
            first = {name: lines[name] for name in (searches[:1] if size == "100k" else searches)}
            cold = process.compare(run, first, rounds=1 if options.quick else 5, cold=True, seconds=20, least=1)
        yield size, {"warm": warm, "cold": cold}


# --- the report


def number(value: float) -> str:
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def report_search(found: Results) -> list[str]:
    lines = ["| tools | beside | p50 | p99 | p50, Chinese queries | p50, others |", "|---|---|---|---|---|---|"]
    for size, result in found.items():
        for name, shares in result["engines"].items():
            cells = [number(shares[key]) for key in ("p50", "p99", "Chinese p50", "other p50")]
            lines.append(f"| {SIZES[size][0]:,} | {name} | {' | '.join(cells)} |")
    notes = dict.fromkeys(note for result in found.values() for note in result["notes"])
    return [*lines, "", *(f"- not measured: {note}" for note in notes)]


def report_index(found: Results) -> list[str]:
    lines = [
        "| tools | beside | reading manifests | words and engine | whole command |",
        "|---|---|---|---|---|",
    ]
    beside = {"tomllib": "`tomllib.loads` of the same files", "tantivy": "plain tantivy, words already cut"}
    for size, result in found.items():
        for key, name in beside.items():
            cells = [number(result["ratios"][key][part]) for part in ("catalog", "index", "command")]
            lines.append(f"| {SIZES[size][0]:,} in {SIZES[size][1]:,} files | {name} | {' | '.join(cells)} |")
    return lines


def report_changes(found: Results) -> list[str]:
    lines = [
        "| tools | change | next search ÷ warm search | all rounds | ÷ `import typer, rich.table` |",
        "|---|---|---|---|---|",
    ]
    for size, result in found.items():
        tools = f"{SIZES[size][0]:,} in {SIZES[size][1]:,} files"
        for name, rounds in result.items():
            ratios, to_baseline = zip(*rounds, strict=True)
            spread = f"{number(min(ratios))} to {number(max(ratios))}"
            cells = (tools, name, number(median(ratios)), spread, number(median(to_baseline)))
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def report_process(found: Results) -> list[str]:
    lines = ["| tools | command | | time | 10 % to 90 % | memory | rounds |", "|---|---|---|---|---|---|---|"]
    for size, result in found.items():
        for state in ("warm", "cold"):
            for name, cost in result[state].items():
                time, low, high, memory, rounds = cost
                lines.append(
                    f"| {SIZES[size][0]:,} | `{name}` | {state} | {number(time)} | {number(low)} to {number(high)} "
                    f"| {number(memory)} | {rounds} |"
                )
    return lines


def targets(results: Results) -> list[str]:
    """Return each aim as a row: what was aimed at, what was measured, and whether that is enough."""
    rows: list[tuple[str, float, float]] = []
    for size, most in (("1k", 1.10), ("10k", 1.25), ("100k", 1.25)):
        warm = results.get("process", {}).get(size, {}).get("warm", {})
        chinese, english = (warm.get(f"search {query} --json") for query in process.QUERIES)
        if chinese and english:
            rows.append((f"whole process, warm, {size} tools: `search 发送邮件 --json`", chinese[0], most))
            what = "the same, Chinese ÷ English (1, and .05 for noise)"
            rows.append((f"whole process, warm, {size} tools: {what}", chinese[0] / english[0], 1.05))
            if size == "1k":
                table = warm[f"search {process.QUERIES[0]}"]
                rows.append((f"whole process, warm, {size} tools: `search 发送邮件`", table[0], 1.35))
            if size == "100k":
                rows.append((f"whole process, warm, {size} tools: peak memory", chinese[3], 1.5))
    for size in ("10k", "100k"):
        engines = results.get("search", {}).get(size, {}).get("engines", {})
        for key in ("p50", "p99"):
            if "plain tantivy" in engines:
                rows.append((f"in process, {size} tools: {key} ÷ plain tantivy", engines["plain tantivy"][key], 4.0))
        if "plain tantivy, whole tools" in engines:
            share = engines["plain tantivy, whole tools"]["p50"]
            rows.append((f"in process, {size} tools: p50 ÷ plain tantivy that decodes whole tools, too", share, 4.0))
        if "FastMCP BM25" in engines:
            rows.append((f"in process, {size} tools: p50 ÷ FastMCP BM25", engines["FastMCP BM25"]["p50"], 1 / 15))
    for name, rounds in results.get("changes", {}).get("10k", {}).items():
        rows.append((f"{name} among 10k: next search ÷ warm", median(ratio for ratio, _ in rounds), 1.5))
    lines = ["| aim | at most | measured | met |", "|---|---|---|---|"]
    for what, measured, most in rows:
        met = "yes" if round(measured, 2) <= round(most, 2) else "**no**"
        lines.append(f"| {what} | {number(most)} | {number(measured)} | {met} |")
    for size, result in results.get("index", {}).items():
        share = result["share of aim"]
        met = "yes" if share >= 1 else f"**no**, {share:.2f} of it"
        aim = f"{PER_CORE:,} tools a second per core, of CPU time"
        lines.append(f"| first index, {size} tools, whole command: {aim} | | | {met} |")
    return lines


def versions() -> str:
    found = [f"Python {platform.python_version()}"]
    for name in ("tantivy", "fastmcp", "bm25s", "rank-bm25", "typer", "rich"):
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return ", ".join(found)


TEXT = {
    "search": """## In one process

tooldisco's time ÷ the other's: below 1 tooldisco is quicker. What is timed is the whole of `SearchIndex.search` with
a limit of 5, from the text of the query to the `Answer`, beside what each engine needs for the names of its best 5:

- All get the same words of the same tools, and for a query the words that our analysis cuts it into, cut before the
  clock starts. So plain tantivy is a fair plain engine (one field with a whitespace tokenizer, one boolean query, the
  stored name of each hit), and for the others the cutting is free, too. "Uncounted" does not count all matches,
  which tooldisco does; "whole tools" stores tools and decodes those found, as tooldisco does, where a name is all
  that the others give.
- FastMCP's transform cuts texts and queries by itself, and finds no words in most Chinese queries (a run of Chinese
  is one word to it): they cost it little and find nothing. Timed is its `_search` without the protocol around it.
- {queries} queries: short ones and a fixed selection of the three evaluation sets. Percentiles are over the queries,
  of each the median of its rounds. Two engines run in turn, in random order. Time is the thread's CPU time (none of
  these engines uses a second one for a query), so that other processes do not count.
- In each round tooldisco's index is opened anew and first asked other queries: what it remembers of words counts, an
  answer to the same query given before does not.
""",
    "index": """## A first index

CPU time ÷ CPU time of what is beside it, children included. "Whole command" is a `tooldisco search` that finds no
index. The aim is in tools a second, so how much of it is reached depends on the machine, here a shared one; the
ratios do not.
""",
    "changes": """## After a change

One file of the catalog is edited, added or removed; the time of the next whole search process ÷ that of a warm one
directly before. Each change is searched for afterwards, so a stale answer would be noticed.
""",
    "process": """## Whole processes

Wall time and peak memory ÷ those of `python -c "import typer, rich.table"`, run directly before each. Cold is without
anything that tooldisco keeps; the system's own cache of files is warm in either case.
""",
}  # fmt: skip


def report(results: Results) -> str:
    reports = {
        "search": report_search,
        "index": report_index,
        "changes": report_changes,
        "process": report_process,
    }
    lines = ["# Speed", "", "Made by `speed.py`; every number is a ratio to something that ran in turn with it.", ""]
    lines += [f"{versions()}; two shared cores.", "", "## Aims", "", *targets(results), ""]
    for part in PARTS:
        if found := results.get(part):
            queries = next((str(r["queries"]) for r in found.values() if "queries" in r), "")
            ordered = {size: found[size] for size in SIZES if size in found}
            lines += [TEXT[part].replace("{queries}", queries), *reports[part](ordered), ""]
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    """Read the command line, measure what it asks for and print the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], choices=PARTS)
    parser.add_argument("--sizes", type=lambda text: text.split(","), default=list(SIZES), help="of 1k,10k,100k")
    parser.add_argument("--quick", action="store_true", help="few rounds, for a first look")
    parser.add_argument("--everything", action="store_true", help="the slow engines at 100,000 tools, too")
    parser.add_argument("--python", default=sys.executable, help="whose `tooldisco` is measured as a process")
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA)
    parser.add_argument("--catalogs", type=Path, help="a folder with the catalogs, which is only read")
    parser.add_argument("--results", type=Path, help="where results are kept between runs of parts (JSON)")
    parser.add_argument("--markdown", type=Path, help="write the report there as well")
    options = parser.parse_args()
    if unknown := set(options.sizes) - set(SIZES):
        parser.error(f"no such size: {', '.join(sorted(unknown))}")
    results: Results = {}
    if options.results and options.results.is_file():
        results = json.loads(options.results.read_text("utf-8"))
    measures = {
        "search": measure_search,
        "index": measure_index,
        "changes": measure_changes,
        "process": measure_process,
    }
    with tempfile.TemporaryDirectory(prefix="tooldisco-benchmark-") as folder:

        def catalog(size: str) -> Path:
            ready = (options.catalogs or Path(folder)) / size
            if not ready.is_dir():
                ready = Path(folder) / size
                tools, files = SIZES[size]
                script = str(Path(__file__).with_name("catalogs.py"))
                numbers = [
                    "--tools",
                    str(tools),
                    "--files",
                    str(files),
                    "--to",
                    str(ready),
                    "--data",
                    str(options.data),
                ]
                subprocess.run([sys.executable, script, *numbers], check=True)
            return ready.absolute()

        for part in options.only or PARTS:
            for size, found in measures[part](options, catalog):
                results.setdefault(part, {})[size] = found
                print(f"{part}, {size}: done", flush=True)
                if options.results:
                    options.results.write_text(json.dumps(results), "utf-8")
    text = report(results)
    print("\n" + text)
    if options.markdown:
        options.markdown.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
