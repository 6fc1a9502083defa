"""CSV, Parquet and JSON files as tables."""

from __future__ import annotations

import csv
import io
import threading
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tooldisco_cli.builtin import places, rows
from tooldisco_cli.builtin.context import Context
from tooldisco_cli.builtin.files import MAX_TEXT_BYTES, detected_encoding

if TYPE_CHECKING:
    import duckdb

MEMORY_LIMIT = "1GB"
QUERY_SECONDS = 100.0
_MAX_CELL = 1_000_000
_READERS = {
    ".csv": "read_csv_auto",
    ".tsv": "read_csv_auto",
    ".parquet": "read_parquet",
    ".json": "read_json_auto",
    ".jsonl": "read_json_auto",
    ".ndjson": "read_json_auto",
}


def read_csv(
    *,
    path: str,
    delimiter: str | None = None,
    encoding: str | None = None,
    has_header: bool = True,
    skip_rows: int = 0,
    max_rows: int = 200,
    context: Context,
) -> dict[str, Any]:
    """Return rows of a CSV file: records when it has a header, else lists. Raises ValueError for what is no CSV."""
    with places.open_file(path, context, max_bytes=MAX_TEXT_BYTES) as file:
        head = file.read(65536)
        file.seek(0)
        used = encoding or detected_encoding(head, path)
        separator = delimiter or _separator(head.decode(used, "ignore"))
        with io.TextIOWrapper(file, encoding=used, newline="") as text:
            reader = csv.reader(_sane(text), delimiter=separator)
            try:
                header = next(reader, []) if has_header else []
                body = list(islice(reader, skip_rows, skip_rows + max_rows + 1))
            except UnicodeDecodeError as error:
                raise ValueError(f"{path} is not in {used}: {error.reason}; give encoding") from None
            except csv.Error as error:
                raise ValueError(f"{path} is no CSV with {separator!r}: {error}") from None
    columns = _unique(header)
    shown: list[Any] = [row if not has_header else _record(columns, row) for row in body[:max_rows]]
    return {
        "columns": columns,
        "rows": shown,
        "row_count": len(shown),
        "more": len(body) > max_rows,
        "encoding": used.removesuffix("-sig"),
        "delimiter": separator,
    }


def _sane(lines: io.TextIOWrapper) -> Any:
    """Yield lines without NUL, in pieces of bounded size, so that a file of one endless line costs no memory."""
    while line := lines.readline(_MAX_CELL + 1):
        if len(line) > _MAX_CELL:
            raise csv.Error(f"a line of more than {_MAX_CELL:,} characters")
        if "\0" in line:
            raise csv.Error("it holds NUL characters")
        yield line


def _separator(head: str) -> str:
    sample = head[: head.rfind("\n") + 1] or head
    try:
        return csv.Sniffer().sniff(sample[:16384], delimiters=",;\t|").delimiter
    except csv.Error:
        first = sample.split("\n", 1)[0]
        return max(",;\t|", key=first.count)


def _unique(header: list[str]) -> list[str]:
    names: list[str] = []
    for position, name in enumerate(header, 1):
        wanted = name.strip() or f"column_{position}"
        number, free = 2, wanted
        while free in names:
            free, number = f"{wanted}_{number}", number + 1
        names.append(free)
    return names


def _record(columns: list[str], row: list[str]) -> dict[str, Any]:
    record: dict[str, Any] = dict(zip(columns, row, strict=False))
    if len(row) > len(columns):
        record["_more"] = row[len(columns) :]
    return record


def query_files(
    *, files: dict[str, str], sql: str, params: list[Any] | None = None, max_rows: int = 200, context: Context
) -> dict[str, Any]:
    """Run one SELECT over files, each a view by its name.

    The engine may open these files only, has no network, loads no extension, and runs nothing but a SELECT, by its
    own parser's word. Raises ValueError for SQL that it refuses.
    """
    import duckdb

    places_by_name = {name: places.existing_file(path, context) for name, path in files.items()}
    connection = _engine(list(places_by_name.values()))
    try:
        for name, place in places_by_name.items():
            reader = _READERS.get(place.suffix.lower())
            if reader is None:
                raise ValueError(f"{files[name]} is no CSV, Parquet or JSON file")
            connection.execute(f'CREATE VIEW "{name}" AS SELECT * FROM {reader}({_literal(place)})')  # noqa: S608 - a quoted literal
        statements = connection.extract_statements(sql)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise ValueError("give exactly one SELECT; anything else is refused")
        return _answer(connection, sql, params or [], max_rows)
    except duckdb.Error as error:
        raise ValueError(f"the query failed: {error}") from None
    finally:
        connection.close()


def read_parquet(*, path: str, max_rows: int = 20, context: Context) -> dict[str, Any]:
    """Return columns, types, number of rows and first rows of a Parquet file."""
    import duckdb

    place = places.existing_file(path, context)
    connection = _engine([place])
    try:
        described = connection.execute(f"DESCRIBE SELECT * FROM read_parquet({_literal(place)})").fetchall()  # noqa: S608 - a quoted literal
        count = connection.execute(f"SELECT count(*) FROM read_parquet({_literal(place)})").fetchone()  # noqa: S608 - a quoted literal
        answer = _answer(connection, f"SELECT * FROM read_parquet({_literal(place)})", [], max_rows)  # noqa: S608 - a quoted literal
    except duckdb.Error as error:
        raise ValueError(f"{path} cannot be read as Parquet: {error}") from None
    finally:
        connection.close()
    return {**answer, "types": [row[1] for row in described], "total_rows": count[0] if count else 0}


def _engine(allowed: list[Path]) -> duckdb.DuckDBPyConnection:
    import duckdb

    connection = duckdb.connect(
        ":memory:",
        config={
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "memory_limit": MEMORY_LIMIT,
            "threads": "2",
            "temp_directory": "",
        },
    )
    connection.execute(f"SET allowed_paths = [{', '.join(map(_literal, allowed))}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def _answer(connection: duckdb.DuckDBPyConnection, sql: str, params: list[Any], max_rows: int) -> dict[str, Any]:
    timer = threading.Timer(QUERY_SECONDS, connection.interrupt)
    timer.daemon = True
    timer.start()
    try:
        cursor = connection.execute(sql, params)
        columns = [column[0] for column in cursor.description or ()]
        return rows.table(columns, cursor.fetchmany(max_rows + 1), max_rows)
    finally:
        timer.cancel()


def _literal(place: Path) -> str:
    return "'" + str(place).replace("'", "''") + "'"
