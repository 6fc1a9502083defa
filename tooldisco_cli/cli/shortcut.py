"""A plain ``tooldisco search``, read without typer: importing that costs more than all else that a search does.

Only what is certain is read here: options of these tables, spelt out, with values that cannot be anything else. All
other command lines, and every mistake, are typer's; the tests hold both to the same reading.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from tooldisco_cli.cli.context import Common
from tooldisco_cli.cli.searching import MODES, MOST, Wanted, find
from tooldisco_cli.render.streams import Output

_SHARED_FLAGS = {"--no-color": "no_color", "--quiet": "quiet", "-q": "quiet"}
_SHARED_VALUES = {"--tools-dir": "tools_dir"}
_FLAGS = _SHARED_FLAGS | {"--json": "as_json", "--explain": "explain", "--no-cache": "no_cache"}
_VALUES = _SHARED_VALUES | {
    "--category": "category",
    "-c": "category",
    "--tag": "tag",
    "-t": "tag",
    "--limit": "limit",
    "-n": "limit",
    "--explain-tool": "explain_tool",
    "--mode": "mode",
}


class _Read(NamedTuple):
    flags: set[str]
    values: dict[str, list[str]]
    words: list[str]


def shortcut(arguments: Sequence[str]) -> Callable[[], int] | None:
    """Return a search that is ready to run and gives its exit code; None for what typer has to read."""
    read = searched(arguments)
    return None if read is None else lambda: find(*read)


def searched(arguments: Sequence[str]) -> tuple[Wanted, Common] | None:
    """Return what a command line asks ``search`` for, if it is one and is plain."""
    if "search" not in arguments:
        return None
    place = arguments.index("search")
    before = _read(arguments[:place], _SHARED_FLAGS, _SHARED_VALUES)
    after = _read(arguments[place + 1 :], _FLAGS, _VALUES)
    if before is None or after is None or before.words or not after.words or after.words == ["-"]:
        return None
    limit = after.values.get("limit", ["5"])[-1]
    mode = after.values.get("mode", [MODES[0]])[-1]
    if not (limit.isascii() and limit.isdigit() and 1 <= len(limit) <= 4 and 1 <= int(limit) <= MOST):
        return None
    if mode not in MODES:
        return None
    flags = before.flags | after.flags
    wanted = Wanted(
        " ".join(after.words),
        after.values.get("category", ()),
        after.values.get("tag", ()),
        int(limit),
        "explain" in flags,
        after.values.get("explain_tool", [None])[-1],
        mode,
        "no_cache" not in flags,
    )
    folders = [*before.values.get("tools_dir", ()), *after.values.get("tools_dir", ())]
    output = Output(as_json="as_json" in flags, no_color="no_color" in flags, quiet="quiet" in flags)
    return wanted, Common(tuple(map(Path, folders)), output)


def _read(arguments: Sequence[str], flags: dict[str, str], values: dict[str, str]) -> _Read | None:
    read = _Read(set(), {}, [])
    rest = iter(arguments)
    for argument in rest:
        if not argument.startswith("-") or argument == "-":
            read.words.append(argument)
        elif argument in flags:
            read.flags.add(flags[argument])
        elif argument in values:
            value = next(rest, "-")
            if value.startswith("-"):
                return None
            read.values.setdefault(values[argument], []).append(value)
        else:
            return None
    return read
