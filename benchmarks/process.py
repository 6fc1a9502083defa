"""What a whole process costs, as a ratio to ``python -c "import typer, rich.table"`` run alternately with it.

    python benchmarks/process.py --tools-dir /tmp/catalog-10k [--rounds 21] [--query 发送邮件]

Every round runs the baseline and each command once, in turn, so that a slow moment of the machine hits all alike.
Reported are the median of the rounds' ratios and the ratio of the median peak memories. With ``--cold`` the cache is
removed before each run of a command.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BASELINE = [sys.executable, "-c", "import typer, rich.table"]


def measure(argv: list[str], environment: dict[str, str]) -> tuple[float, int]:
    """Run one process; return its wall time in seconds and its peak resident memory in KiB."""
    start = time.perf_counter()
    process = subprocess.Popen(argv, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    return time.perf_counter() - start, usage.ru_maxrss


def main() -> None:
    """Read the command line, run all rounds and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools-dir", type=Path, action="append", default=[])
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--query", action="append", default=[])
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--only", action="append", default=[], help="measure only rows whose name holds this text")
    options = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="tooldisco-benchmark-"))
    environment = {**os.environ, "TOOLDISCO_HOME": str(home), "PYTHONDONTWRITEBYTECODE": ""}
    tooldisco = [str(Path(sys.executable).with_name("tooldisco"))]
    layers = [word for folder in options.tools_dir for word in ("--tools-dir", str(folder))]
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "tooldisco --version": [*tooldisco, "--version"],
        "tooldisco --help": [*tooldisco, "--help"],
    }
    for query in options.query or ["发送邮件", "send an email to a customer"]:
        commands[f"search {query} --json"] = [*tooldisco, "search", query, "--json", *layers]
        commands[f"search {query}"] = [*tooldisco, "search", query, *layers]
    commands["tools list --json"] = [*tooldisco, "tools", "list", "--json", *layers]
    if options.only:
        commands = {name: argv for name, argv in commands.items() if any(word in name for word in options.only)}
    for argv in (BASELINE, *commands.values()):
        measure(argv, environment)
    ratios: dict[str, list[float]] = {name: [] for name in commands}
    memory: dict[str, list[int]] = {name: [] for name in commands}
    baseline_memory = []
    for _ in range(options.rounds):
        base, peak = measure(BASELINE, environment)
        baseline_memory.append(peak)
        for name, argv in commands.items():
            if options.cold:
                shutil.rmtree(home / "cache", ignore_errors=True)
            seconds, peak = measure(argv, environment)
            ratios[name].append(seconds / base)
            memory[name].append(peak)
    shutil.rmtree(home, ignore_errors=True)
    print("| process | time ratio, median | 10 % to 90 % | memory ratio |\n|---|---|---|---|")
    for name in commands:
        low, *_, high = statistics.quantiles(ratios[name], n=10)
        share = statistics.median(memory[name]) / statistics.median(baseline_memory)
        print(f"| {name} | {statistics.median(ratios[name]):.2f} | {low:.2f} to {high:.2f} | {share:.2f} |")


if __name__ == "__main__":
    main()
