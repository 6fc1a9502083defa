"""Parsed manifests between runs: what one folder's files declared, kept in the user's cache folder.

A file of the cache is text, because a cache must never be able to run code:

    tooldisco.manifests/1 <program's version> <Python's> <CRC-32 of all that follows>
    [[path, size, mtime, inode, SHA-256, when, lines, servers, problems], …]     one row for each manifest, as JSON
    {"tool":{…},"server":…}                                                     the first manifest's declarations
    …

Each declaration is the very text that trust pins, so a tool that comes from here is made from what its digest is of.
Measured for 10,000 tools, with the tools made from it: :mod:`marshal` would save a quarter, but a damaged or planted
file can crash the interpreter; :mod:`sqlite3` takes a third longer.
"""

from __future__ import annotations

import datetime as dt
import json
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from tooldisco_cli import paths
from tooldisco_cli.atomic import UNFINISHED, replacing
from tooldisco_cli.catalog.footprint import GRAIN_NS
from tooldisco_cli.catalog.manifest import Declaration, Manifest
from tooldisco_cli.catalog.tool import (
    Annotations,
    CommandExecutor,
    Example,
    HttpExecutor,
    JsonObject,
    McpExecutor,
    McpServer,
    PythonExecutor,
    Requires,
    Tool,
)
from tooldisco_cli.tomlfile import Problem
from tooldisco_cli.version import __version__

SCHEMA = "tooldisco.manifests/1"
"""Its number grows whenever parsing gives something else for the same file; the program's version counts too."""

_UNUSED_SECONDS = 60 * 86400.0
_ABANDONED_SECONDS = 3600.0


class Stamp(NamedTuple):
    """What tells a file from its later self without opening it."""

    size: int
    mtime_ns: int
    inode: int


class Reading(NamedTuple):
    """One manifest as it was read."""

    manifest: Manifest
    digest: str
    """SHA-256 of the file's bytes in hexadecimal; empty when the file could not be read."""
    stamp: Stamp
    read_ns: int
    """When the stamp was taken, since the epoch."""

    @property
    def is_settled(self) -> bool:
        """Whether a later change is sure to show in the stamp, being outside the clock's grain."""
        return self.stamp.mtime_ns < self.read_ns - GRAIN_NS


def kept_file(folder: str, environment: Mapping[str, str] | None = None) -> Path:
    """Return where the manifests of a folder are kept."""
    name = folder.encode("utf-8", "surrogateescape")
    return paths.cache_folder(environment) / "manifests" / f"{crc32(name):08x}{crc32(name[::-1]):08x}.jsonl"


def read_kept(path: Path) -> dict[str, Reading]:
    """Return the readings kept in a file by their manifest's path; none when it is missing, old or damaged."""
    try:
        head, _, body = path.read_bytes().partition(b"\n")
        return {reading.manifest.path: reading for reading in decoded(body)} if head == _head(body) else {}
    except (OSError, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return {}


def write_kept(path: Path, readings: Iterable[Reading]) -> bool:
    """Replace what is kept in a file, whole; return whether that could be done."""
    body = encoded(readings)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with replacing(path) as file:
            file.write(_head(body) + b"\n")
            file.write(body)
    except OSError:
        return False
    _clean(path.parent)
    return True


def _head(body: bytes) -> bytes:
    python = ".".join(map(str, sys.version_info[:2]))
    return f"{SCHEMA} {__version__} {python} {crc32(body):08x}".encode()


def _clean(folder: Path) -> None:
    """Remove what crashed writers left, and what nobody has needed to write for long."""
    now = time.time()
    try:
        for path in folder.iterdir():
            most = _ABANDONED_SECONDS if path.name.startswith(UNFINISHED) else _UNUSED_SECONDS
            if now - path.stat().st_mtime > most:
                path.unlink()
    except OSError:
        return


# --- as text


def encoded(readings: Iterable[Reading]) -> bytes:
    """Return readings as text: a line of JSON about all of them, and a line for each declaration."""
    rows: list[list[Any]] = []
    contents: list[str] = []
    for manifest, digest, stamp, read_ns in readings:
        servers = {name: asdict(server) for name, server in manifest.servers.items()}
        problems = [problem[1:] for problem in manifest.problems]
        lines = [declaration.line for declaration in manifest.declarations]
        rows.append([manifest.path, *stamp, digest, read_ns, lines, servers, problems])
        contents += [declaration.content for declaration in manifest.declarations]
    return "\n".join([json.dumps(rows, separators=(",", ":")), *contents]).encode()


def decoded(body: bytes) -> list[Reading]:
    """Return the readings that a text holds. Raises ValueError, TypeError, KeyError or IndexError when it is none."""
    lines = body.decode().split("\n")
    rows = json.loads(lines[0])
    at = 1
    decode = json.JSONDecoder().raw_decode
    readings = []
    for path, size, mtime_ns, inode, digest, read_ns, numbers, raw_servers, problems in rows:
        servers = {name: server_of(table) for name, table in raw_servers.items()}
        declarations = []
        for number in numbers:
            content = lines[at]
            at += 1
            document, _ = decode(content)
            tool, server = tool_of(document["tool"]), document["server"]
            if server is not None:
                # Parsing gives all tools of a file the one server; its name is in the tool.
                server = servers[tool.mcp.server]  # type: ignore[union-attr]  # only mcp tools have a server
            declarations.append(Declaration(tool, path, number, content, server))
        manifest = Manifest(path, tuple(declarations), servers, tuple(Problem(path, *row) for row in problems))
        readings.append(Reading(manifest, digest, Stamp(size, mtime_ns, inode), read_ns))
    if at != len(lines):
        raise ValueError("lines are left over")
    return readings


_TUPLES = ("tags", "keywords", "expected_queries", "deprecated_versions", "related", "aliases")
_ANNOTATIONS, _REQUIRES = Annotations(), Requires()
"""What most tools leave out; nothing in them can change, so all may share one."""


def tool_of(table: JsonObject) -> Tool:
    """Return the tool of a declaration's JSON that was found valid before; ``table`` is used up.

    It equals what pydantic makes of the same JSON, without the time that importing pydantic takes.
    """
    for name in _TUPLES:
        if name in table:
            table[name] = tuple(table[name])
    if "timeout_seconds" in table:
        table["timeout_seconds"] = float(table["timeout_seconds"])
    if table.get("sunset") is not None:
        table["sunset"] = dt.date.fromisoformat(table["sunset"])
    annotations, requires = table.get("annotations"), table.get("requires")
    table["annotations"] = Annotations(**annotations) if annotations else _ANNOTATIONS
    table["requires"] = Requires(**_with_tuples(requires, "env", "python", "programs")) if requires else _REQUIRES
    if "examples" in table:
        table["examples"] = tuple(Example(**example) for example in table["examples"])
    if table.get("command") is not None:
        table["command"] = CommandExecutor(**_with_tuples(table["command"], "argv", "success_exit_codes"))
    if table.get("http") is not None:
        table["http"] = HttpExecutor(**_with_tuples(table["http"], "basic_auth"))
    if table.get("mcp") is not None:
        table["mcp"] = McpExecutor(**table["mcp"])
    if table.get("python") is not None:
        table["python"] = PythonExecutor(**table["python"])
    return Tool(**table)


def server_of(table: JsonObject) -> McpServer:
    """Return the server of an ``[mcp_servers.NAME]`` table that was found valid before."""
    table = _with_tuples(table, "command")
    if "timeout_seconds" in table:
        table["timeout_seconds"] = float(table["timeout_seconds"])
    return McpServer(**table)


def _with_tuples(table: JsonObject, *names: str) -> JsonObject:
    return table | {name: tuple(table[name]) for name in names if table.get(name) is not None}
