"""What a whole process costs, as a ratio to ``python -c "import typer, rich.table"`` run alternately with it.

    python benchmarks/process.py --tools-dir /tmp/catalog-10k [--rounds 21] [--query 发送邮件] [--cold]

Every round runs each command once, in another order, and the baseline directly before each, so that a slow moment of
the machine hits both. Reported are the median of the rounds' ratios and the ratio of the median peak memories. With
``--cold`` everything that tooldisco keeps is removed before each run of a command.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

QUERIES = ("发送邮件", "send an email to a customer")
SETTLED_SECONDS = 2.2
"""After this time a search does not doubt the time stamps of a changed file any more."""


class Cost(NamedTuple):
    """What a command costs, as ratios to the baseline: the median time, its tenth and ninetieth part, peak memory."""

    time: float
    low: float
    high: float
    memory: float
    rounds: int


_LAUNCHER = r"""
import os, sys
from time import perf_counter
null = os.open(os.devnull, os.O_RDWR)
files = [(os.POSIX_SPAWN_DUP2, null, stream) for stream in (0, 1, 2)]
for line in sys.stdin:
    argv = line.rstrip("\n").split("\x1f")
    start = perf_counter()
    child = os.posix_spawn(argv[0], argv, os.environ, file_actions=files)
    _, status, usage = os.wait4(child, 0)
    print(perf_counter() - start, usage.ru_maxrss, os.waitstatus_to_exitcode(status), flush=True)
"""
"""Starts processes from one that is smaller than any of them: a process begins with its parent's peak of memory."""


class Program:
    """The installed command of one interpreter, in a home and working folder of its own."""

    def __init__(self, python: str, home: Path) -> None:
        self.python = python
        self.home = home
        self.tooldisco = str(Path(python).with_name("tooldisco"))
        self.baseline = [python, "-c", "import typer, rich.table"]
        removed = {"TOOLDISCO_TOOLS_DIR", "PYTHONDONTWRITEBYTECODE", "PYTHONPATH"}
        kept = {name: value for name, value in os.environ.items() if name not in removed}
        self._environment = {**kept, "TOOLDISCO_HOME": str(home)}
        self._launcher = subprocess.Popen(
            [sys.executable, "-S", "-E", "-c", _LAUNCHER],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self._environment, cwd=home, encoding="utf-8",
        )  # fmt: skip

    def measure(self, argv: list[str]) -> tuple[float, int]:
        """Run one process; return its wall time in seconds and its peak resident memory in KiB.

        Raises RuntimeError when it fails: a quick failure is no quick answer.
        """
        assert self._launcher.stdin and self._launcher.stdout
        self._launcher.stdin.write("\x1f".join(argv) + "\n")
        self._launcher.stdin.flush()
        seconds, peak, code = self._launcher.stdout.readline().split()
        if code != "0":
            raise RuntimeError(f"exit code {code}: {argv}")
        return float(seconds), int(peak)

    def output(self, argv: list[str]) -> str:
        """Run one process and return what it prints."""
        run = subprocess.run(
            argv, env=self._environment, cwd=self.home, capture_output=True, check=False, encoding="utf-8"
        )
        return run.stdout

    def forget(self) -> None:
        """Remove everything that tooldisco keeps."""
        shutil.rmtree(self.home / "cache", ignore_errors=True)

    def close(self) -> None:
        self._launcher.communicate()


@contextmanager
def program(python: str = sys.executable) -> Iterator[Program]:
    """Give the installed command with an empty home, removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="tooldisco-benchmark-") as home:
        run = Program(python, Path(home))
        try:
            yield run
        finally:
            run.close()


def commands(tooldisco: str, folders: list[Path], queries: tuple[str, ...] = QUERIES) -> dict[str, list[str]]:
    """Return what is measured: each command line by what the report calls it."""
    layers = [word for folder in folders for word in ("--tools-dir", str(folder))]
    found = {}
    for query in queries:
        found[f"search {query} --json"] = [tooldisco, "search", query, "--json", *layers]
    found[f"search {queries[0]}"] = [tooldisco, "search", queries[0], *layers]
    found["tools list --json"] = [tooldisco, "tools", "list", "--json", *layers]
    for folder in folders[:1]:
        name = first_name(folder)
        found["tools show X --json"] = [tooldisco, "tools", "show", name, "--json", *layers]
    return found


def first_name(folder: Path) -> str:
    """Return the name of the first tool of a catalog's middle manifest."""
    files = sorted(folder.glob("*.toml"))
    found = re.search(r'^name = "(.+)"$', files[len(files) // 2].read_text("utf-8"), re.MULTILINE)
    if found is None:
        raise ValueError(f"no tool in {files[len(files) // 2]}")
    return found[1]


def compare(
    run: Program,
    lines: Mapping[str, list[str]],
    *,
    rounds: int,
    cold: bool = False,
    seconds: float = 60.0,
    least: int = 3,
) -> dict[str, Cost]:
    """Run each command line and the baseline in turn; a command that has had its seconds gets only ``least`` rounds.

    A cold run finds nothing kept; before the warm ones each command has run once.
    """
    chance = random.Random(7)
    times: dict[str, list[float]] = {name: [] for name in lines}
    peaks: dict[str, list[int]] = {name: [] for name in lines}
    spent = dict.fromkeys(lines, 0.0)
    base_peaks = []
    run.measure(run.baseline)
    if not cold:
        first = {name: run.measure(argv)[0] for name, argv in lines.items()}
        time.sleep(SETTLED_SECONDS)
        for name, argv in lines.items():
            if first[name] < seconds:
                run.measure(argv)
    for _ in range(rounds):
        for name in chance.sample(list(lines), len(lines)):
            if spent[name] > seconds and len(times[name]) >= least:
                continue
            if cold:
                run.forget()
            base, base_peak = run.measure(run.baseline)
            taken, peak = run.measure(lines[name])
            base_peaks.append(base_peak)
            times[name].append(taken / base)
            peaks[name].append(peak)
            spent[name] += taken
    memory = statistics.median(base_peaks)
    return {name: _cost(times[name], statistics.median(peaks[name]) / memory) for name in lines}


def _cost(ratios: list[float], memory: float) -> Cost:
    ordered = sorted(ratios)
    low, high = ordered[len(ordered) // 10], ordered[-1 - len(ordered) // 10]
    return Cost(statistics.median(ordered), low, high, memory, len(ordered))


def changes(run: Program, folder: Path, *, rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Edit, add and remove one manifest of a copy; return the next search's ratios to a warm search and the baseline.

    Each is beside a warm search of its own, after which nothing recent is left to doubt. Every change is asked for
    afterwards by a word that only it has, so a search that missed it would be noticed.
    """
    copy = run.home / "catalog"
    shutil.copytree(folder, copy)
    layers = ["--tools-dir", str(copy)]
    search = [run.tooldisco, "search", QUERIES[0], "--json", *layers]
    files = sorted(copy.glob("*.toml"))
    added = copy / "added.toml"
    names = ("one file edited", "one file added", "one file removed")
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in names}

    def edit(word: str) -> None:
        file = files[len(files) // 3]
        text = file.read_text("utf-8")
        file.write_text(
            re.sub(r'^description = (""")?"?', rf"\g<0>{word} ", text, count=1, flags=re.MULTILINE), "utf-8"
        )

    def add(word: str) -> None:
        text = f'[[tool]]\nname = "added_tool"\ndescription = "{word} 发送邮件"\ncommand = {{ argv = ["true"] }}\n'
        added.write_text("manifest = 1\n" + text, "utf-8")

    def remove(_: str) -> None:
        added.unlink()

    steps: dict[str, Callable[[str], None]] = dict(zip(found, (edit, add, remove), strict=True))
    run.measure(search)
    for number in range(rounds):
        word = f"qzx{number}w"
        for name, change in steps.items():
            time.sleep(SETTLED_SECONDS)
            run.measure(search)
            baseline, _ = run.measure(run.baseline)
            warm, _ = run.measure(search)
            change(word + name[-3:])
            taken, _ = run.measure(search)
            found[name].append((taken / warm, taken / baseline))
            wanted = word + ("ded" if change is remove else name[-3:])
            answer = json.loads(run.output([run.tooldisco, "search", wanted, "--json", *layers]))
            seen = any(wanted in hit["description"] for hit in answer["results"])
            if seen is (change is remove):
                raise RuntimeError(f"{name}: the search after it does not know of it")
    return found


def main() -> None:
    """Read the command line, run all rounds and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools-dir", type=Path, action="append", default=[])
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--query", action="append", default=[])
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--only", action="append", default=[], help="measure only rows whose name holds this text")
    options = parser.parse_args()
    with program() as run:
        lines = {
            "python -c pass": [run.python, "-c", "pass"],
            "tooldisco --version": [run.tooldisco, "--version"],
            "tooldisco --help": [run.tooldisco, "--help"],
            **commands(
                run.tooldisco, [folder.absolute() for folder in options.tools_dir], tuple(options.query) or QUERIES
            ),
        }
        if options.only:
            lines = {name: argv for name, argv in lines.items() if any(word in name for word in options.only)}
        costs = compare(run, lines, rounds=options.rounds, cold=options.cold)
    print("| process | time ratio, median | 10 % to 90 % | memory ratio |\n|---|---|---|---|")
    for name, cost in costs.items():
        print(f"| {name} | {cost.time:.2f} | {cost.low:.2f} to {cost.high:.2f} | {cost.memory:.2f} |")


if __name__ == "__main__":
    main()
