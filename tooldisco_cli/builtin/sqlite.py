"""SQLite database files inside the allowed folders."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tooldisco_cli.builtin import places, rows
from tooldisco_cli.builtin.context import Context

QUERY_SECONDS = 50.0
_STEPS = 20_000
_PRAGMAS = frozenset(
    {"table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo", "foreign_key_list"}
)
_READING = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE})
_REFUSED_FUNCTIONS = frozenset({"load_extension", "readfile", "writefile", "edit"})


def query_sqlite(
    *, path: str, sql: str, params: list[Any] | None = None, max_rows: int = 200, context: Context
) -> dict[str, Any]:
    """Run one reading statement on a file that is opened read-only, under an authorizer that lets only reads pass."""
    place = places.existing_file(path, context)
    with _connection(place, path, writing=False) as connection:
        cursor = connection.execute(sql, params or [])
        return rows.table([column[0] for column in cursor.description or ()], cursor, max_rows)


def write_sqlite(
    *,
    path: str,
    sql: str,
    params: list[Any] | None = None,
    max_changes: int = 100,
    create: bool = False,
    context: Context,
) -> dict[str, Any]:
    """Run one statement and commit it, or roll back when it changed more than ``max_changes`` rows.

    Other files cannot be attached, nor extensions loaded.
    """
    place = places.new_file(path, context, may_exist=True)
    if not place.exists() and not create:
        raise FileNotFoundError(f"there is no file {path}; create makes one")
    with _connection(place, path, writing=True) as connection:
        connection.execute("BEGIN IMMEDIATE")
        before = connection.total_changes
        cursor = connection.execute(sql, params or [])
        cursor.fetchmany(1)
        changed = connection.total_changes - before
        if changed > max_changes:
            connection.rollback()
            raise ValueError(f"the statement would change {changed} rows, more than {max_changes}: rolled back")
        cursor.close()
        connection.execute("COMMIT")
    return {"changed_rows": changed, "last_id": cursor.lastrowid or 0}


def list_sqlite_tables(*, path: str, context: Context) -> dict[str, Any]:
    """Return tables and views with their columns and numbers of rows."""
    place = places.existing_file(path, context)
    with _connection(place, path, writing=False) as connection:
        names = connection.execute(
            "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%'"
            " ESCAPE '\\' ORDER BY name LIMIT 1000"
        ).fetchall()
        return {"tables": [_described(connection, name, kind) for name, kind in names]}


def _described(connection: sqlite3.Connection, name: str, kind: str) -> dict[str, Any]:
    quoted = '"' + name.replace('"', '""') + '"'
    columns = connection.execute(f"PRAGMA table_info({quoted})").fetchall()
    count = connection.execute(f"SELECT count(*) FROM {quoted}").fetchone()[0]  # noqa: S608 - a name, quoted
    return {
        "name": name,
        "kind": kind,
        "rows": count,
        "columns": [
            {"name": column, "type": declared, "null": not required, "primary_key": bool(key)}
            for _, column, declared, required, _, key in columns
        ],
    }


@contextmanager
def _connection(place: Path, path: str, *, writing: bool) -> Iterator[sqlite3.Connection]:
    mode = "rwc" if writing else "ro"
    try:
        connection = sqlite3.connect(f"file:{quote(place.as_posix())}?mode={mode}", uri=True, isolation_level=None)
    except sqlite3.Error as error:
        raise ValueError(f"{path} cannot be opened: {error}") from None
    deadline = time.monotonic() + QUERY_SECONDS
    try:
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.execute("PRAGMA busy_timeout=5000")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 100_000_000)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.set_progress_handler(lambda: int(time.monotonic() > deadline), _STEPS)
        connection.set_authorizer(_writer if writing else _reader)
        yield connection
    except (sqlite3.Error, sqlite3.Warning) as error:
        text = "it took too long" if str(error) == "interrupted" else str(error)
        raise ValueError(f"{path}: {text}") from None
    finally:
        connection.close()


def _reader(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    if action == sqlite3.SQLITE_PRAGMA:
        return sqlite3.SQLITE_OK if first in _PRAGMAS else sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_FUNCTION and second in _REFUSED_FUNCTIONS:
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK if action in _READING else sqlite3.SQLITE_DENY


def _writer(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    if action in {sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH}:
        return sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_PRAGMA:
        return sqlite3.SQLITE_OK if first in _PRAGMAS else sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_FUNCTION and second in _REFUSED_FUNCTIONS:
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK
