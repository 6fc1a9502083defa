"""MySQL and MariaDB.

``MYSQL_HOST``, ``MYSQL_USER``, ``MYSQL_PASSWORD`` and ``MYSQL_DATABASE`` say where; ``MYSQL_PORT`` (3306) and
``MYSQL_SSL_CA`` (a file, which makes TLS with that authority a must) are optional.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tooldisco_cli.builtin import rows
from tooldisco_cli.builtin.context import Context, number_variable, variable
from tooldisco_cli.builtin.statements import require_reading

if TYPE_CHECKING:
    from pymysql.connections import Connection
    from pymysql.cursors import SSCursor

QUERY_SECONDS = 50
_READING = frozenset({"SELECT", "WITH", "SHOW", "DESCRIBE", "DESC", "EXPLAIN", "VALUES", "TABLE"})


def query_mysql(
    *, sql: str, params: list[Any] | None = None, max_rows: int = 200, context: Context
) -> dict[str, Any]:
    """Run one reading statement in a transaction that the server keeps read-only, and return its rows."""
    import pymysql.cursors

    require_reading(sql, _READING, mysql=True)
    with _connection(context) as connection:
        with connection.cursor() as setting:
            setting.execute("SET SESSION TRANSACTION READ ONLY")
            setting.execute("START TRANSACTION READ ONLY")
            setting.execute(f"SET SESSION sql_select_limit={max_rows + 1}")
        cursor = connection.cursor(pymysql.cursors.SSCursor)
        try:
            cursor.execute(sql, tuple(params) if params else None)
            columns = [column[0] for column in cursor.description or ()]
            return rows.table(columns, cursor if columns else (), max_rows)
        finally:
            _abandon(cursor)


def _abandon(cursor: SSCursor) -> None:
    """Forget rows that the server may still be sending, which closing the cursor would read to the last."""
    result = getattr(cursor, "_result", None)
    if result is not None:
        result.unbuffered_active = False
    vars(cursor)["connection"] = None


def write_mysql(
    *, sql: str, params: list[Any] | None = None, max_changes: int = 100, context: Context
) -> dict[str, Any]:
    """Run one statement and commit it, or roll back when it changed more than ``max_changes`` rows."""
    with _connection(context) as connection:
        with connection.cursor() as cursor:
            changed = cursor.execute(sql, tuple(params) if params else None)
            last_id = cursor.lastrowid
        if changed > max_changes:
            connection.rollback()
            raise ValueError(f"the statement would change {changed} rows, more than {max_changes}: rolled back")
        connection.commit()
    return {"changed_rows": changed, "last_id": last_id or 0}


def list_mysql_tables(*, name_contains: str = "", context: Context) -> dict[str, Any]:
    """Return tables and views with their columns, from the server's ``information_schema``."""
    like = "%" + name_contains.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
    with _connection(context) as connection, connection.cursor() as cursor:
        cursor.execute("START TRANSACTION READ ONLY")
        cursor.execute(
            "SELECT TABLE_NAME, TABLE_TYPE, TABLE_ROWS, TABLE_COMMENT FROM information_schema.TABLES"
            " WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME LIKE %s ORDER BY TABLE_NAME LIMIT 1000",
            (like,),
        )
        tables = {
            name: {
                "name": name,
                "kind": "view" if "VIEW" in kind else "table",
                "rows_estimated": estimate,
                "comment": "" if "VIEW" in kind else comment,
                "columns": [],
            }
            for name, kind, estimate, comment in cursor.fetchall()
        }
        cursor.execute(
            "SELECT TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLUMN_KEY, COLUMN_COMMENT"
            " FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME LIKE %s"
            " ORDER BY TABLE_NAME, ORDINAL_POSITION LIMIT 50000",
            (like,),
        )
        for table, name, kind, nullable, key, comment in cursor.fetchall():
            if table in tables:
                tables[table]["columns"].append(
                    {"name": name, "type": kind, "null": nullable == "YES", "key": key, "comment": comment}
                )
    return {"tables": list(tables.values())}


@contextmanager
def _connection(context: Context) -> Iterator[Connection[Any]]:
    import pymysql

    authority = context.environment.get("MYSQL_SSL_CA", "").strip()
    host = variable(context, "MYSQL_HOST")
    try:
        connection = pymysql.connect(
            host=host,
            port=number_variable(context, "MYSQL_PORT", 3306),
            user=variable(context, "MYSQL_USER"),
            password=context.environment.get("MYSQL_PASSWORD", ""),
            database=variable(context, "MYSQL_DATABASE"),
            charset="utf8mb4",
            autocommit=False,
            connect_timeout=10,
            read_timeout=QUERY_SECONDS + 5,
            write_timeout=30,
            local_infile=False,
            ssl_ca=authority or None,
            ssl_verify_cert=bool(authority),
            ssl_verify_identity=bool(authority),
        )
    except pymysql.err.OperationalError as error:
        raise ConnectionError(f"the database at {host} cannot be reached: {_said(error)}") from None
    try:
        _limit_time(connection)
        yield connection
    except pymysql.err.Error as error:
        raise ValueError(f"the database refused: {_said(error)}") from None
    finally:
        connection.close()


def _limit_time(connection: Connection[Any]) -> None:
    """Ask the server itself to stop a statement that takes too long; MariaDB and MySQL spell it differently."""
    import pymysql

    for statement in (
        f"SET SESSION max_statement_time={QUERY_SECONDS}",
        f"SET max_execution_time={QUERY_SECONDS}000",
    ):
        try:
            with connection.cursor() as cursor:
                cursor.execute(statement)
        except pymysql.err.Error:
            continue
        return


def _said(error: Exception) -> str:
    return str(error.args[1]) if len(error.args) > 1 else str(error)
