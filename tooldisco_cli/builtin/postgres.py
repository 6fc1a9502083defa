"""PostgreSQL: ``POSTGRES_DSN`` says where, such as ``postgresql://user:password@host:5432/database``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

from tooldisco_cli.builtin import rows
from tooldisco_cli.builtin.context import Context, variable
from tooldisco_cli.builtin.statements import require_reading

if TYPE_CHECKING:
    from psycopg import Connection

QUERY_SECONDS = 50
_READING = frozenset({"SELECT", "WITH", "VALUES", "TABLE", "SHOW", "EXPLAIN"})


def query_postgres(
    *, sql: str, params: list[Any] | None = None, max_rows: int = 200, context: Context
) -> dict[str, Any]:
    """Run one reading statement in a transaction that the server keeps read-only, and return its rows.

    The extended protocol is used, in which the server takes a single statement; and a first query fixes the
    transaction's snapshot, after which PostgreSQL lets nothing turn it back to read-write.
    """
    require_reading(sql, _READING)
    with _connection(context) as connection:
        connection.read_only = True
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            with closing(cursor.stream(_text(sql), params or None)) as stream:  # type: ignore[type-var]
                found = list(islice(stream, max_rows + 1))
                columns = [column.name for column in cursor.description or ()]
        connection.rollback()
    return rows.table(columns, found, max_rows)


def write_postgres(
    *, sql: str, params: list[Any] | None = None, max_changes: int = 100, context: Context
) -> dict[str, Any]:
    """Run one statement and commit it, or roll back when it changed more than ``max_changes`` rows.

    ``rows`` holds what a RETURNING clause gave, the first 200.
    """
    with _connection(context) as connection, connection.cursor() as cursor:
        cursor.execute(_text(sql), params or None, prepare=True)
        changed = max(cursor.rowcount, 0)
        if changed > max_changes:
            connection.rollback()
            raise ValueError(f"the statement would change {changed} rows, more than {max_changes}: rolled back")
        answer = rows.table(
            [column.name for column in cursor.description or ()],
            cursor.fetchmany(200) if cursor.description else [],
            200,
        )
        connection.commit()
    return {"changed_rows": changed, "columns": answer["columns"], "rows": answer["rows"]}


def list_postgres_tables(*, name_contains: str = "", context: Context) -> dict[str, Any]:
    """Return tables and views outside the system's schemas, with their columns."""
    like = "%" + name_contains.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
    with _connection(context) as connection, connection.cursor() as cursor:
        connection.read_only = True
        cursor.execute(
            "SELECT c.oid, n.nspname, c.relname, c.relkind, c.reltuples::bigint,"
            " coalesce(obj_description(c.oid, 'pg_class'), '')"
            " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT LIKE 'pg\\_%%'"
            " AND n.nspname <> 'information_schema' AND c.relname LIKE %s"
            " AND has_table_privilege(c.oid, 'SELECT') ORDER BY 2, 3 LIMIT 1000",
            [like],
        )
        kinds = {"r": "table", "p": "table", "v": "view", "m": "materialized view", "f": "foreign table"}
        tables = {
            oid: {
                "schema": schema,
                "name": name,
                "kind": kinds[kind if isinstance(kind, str) else kind.decode()],
                "rows_estimated": max(estimate, 0),
                "comment": comment,
                "columns": [],
            }
            for oid, schema, name, kind, estimate, comment in cursor.fetchall()
        }
        cursor.execute(
            "SELECT a.attrelid, a.attname, format_type(a.atttypid, a.atttypmod), NOT a.attnotnull,"
            " coalesce(col_description(a.attrelid, a.attnum), '') FROM pg_attribute a"
            " WHERE a.attrelid = ANY(%s) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attrelid, a.attnum",
            [list(tables)],
        )
        for oid, name, kind, nullable, comment in cursor.fetchall():
            tables[oid]["columns"].append({"name": name, "type": kind, "null": nullable, "comment": comment})
        connection.rollback()
    return {"tables": list(tables.values())}


@contextmanager
def _connection(context: Context) -> Iterator[Connection[Any]]:
    import psycopg

    try:
        connection: Connection[Any] = psycopg.connect(
            variable(context, "POSTGRES_DSN"),
            connect_timeout=10,
            application_name="tooldisco",
            options=f"-c statement_timeout={QUERY_SECONDS}s -c idle_in_transaction_session_timeout=120s",
        )
    except psycopg.Error as error:
        raise ConnectionError(f"the database cannot be reached: {error}") from None
    try:
        yield connection
    except psycopg.Error as error:
        raise ValueError(f"the database refused: {error}") from None
    finally:
        connection.close()


def _text(sql: str) -> Any:
    """Return the statement for psycopg, whose types want a literal string; it is the caller's whole statement."""
    return sql.encode()
