"""The database tools against MariaDB, PostgreSQL and SQLite themselves."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from shipped import failure, run

Ask = Callable[..., Any]


@pytest.fixture(scope="module")
def mysql(mariadb: dict[str, str]) -> Iterator[dict[str, str]]:
    import pymysql

    connection = pymysql.connect(
        host="127.0.0.1",
        port=int(mariadb["MYSQL_PORT"]),
        user="agent",
        password="agent-password",
        database="shop",
        autocommit=True,
    )
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS customers")
        cursor.execute(
            "CREATE TABLE customers (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(50) NOT NULL COMMENT '姓名',"
            " phone VARCHAR(20), amount DECIMAL(12,2), joined DATETIME, photo BLOB) COMMENT '客户'"
        )
        cursor.execute(
            "INSERT INTO customers (name, phone, amount, joined, photo) VALUES"
            " ('韩梅梅', '+8613800138000', 12000.50, '2026-01-02 03:04:05', x'ff00'),"
            " ('李雷', NULL, 9000, NULL, NULL)"
        )
        cursor.execute("CREATE OR REPLACE VIEW rich AS SELECT name FROM customers WHERE amount > 10000")
    connection.close()
    yield mariadb


@pytest.fixture(scope="module")
def pg(postgres: dict[str, str]) -> Iterator[dict[str, str]]:
    import psycopg

    with psycopg.connect(postgres["POSTGRES_DSN"], autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS customers CASCADE")
        connection.execute(
            "CREATE TABLE customers (id serial PRIMARY KEY, name text NOT NULL, amount numeric(12,2),"
            " joined timestamptz, tags text[], facts jsonb, photo bytea)"
        )
        connection.execute("COMMENT ON COLUMN customers.name IS '姓名'")
        connection.execute(
            "INSERT INTO customers (name, amount, joined, tags, facts, photo) VALUES"
            " ('韩梅梅', 12000.50, '2026-01-02T03:04:05Z', '{a,b}', '{\"k\": 1}', '\\xff00'),"
            " ('李雷', 9000, NULL, NULL, NULL, NULL)"
        )
        connection.execute("CREATE VIEW rich AS SELECT name FROM customers WHERE amount > 10000")
    yield postgres


class TestQueryMysql:
    def test_binds_parameters_and_returns_rows(self, mysql, tmp_path: Path) -> None:
        got = run("query_mysql", {"sql": "SELECT name, amount, joined, photo FROM customers WHERE amount > %s",
                                  "params": [10000]}, folder=tmp_path, environment=mysql)  # fmt: skip
        assert got == {
            "columns": ["name", "amount", "joined", "photo"],
            "rows": [["韩梅梅", 12000.5, "2026-01-02T03:04:05", {"base64": "/wA="}]],
            "row_count": 1,
            "more": False,
        }

    def test_says_when_there_are_more_rows_and_does_not_fetch_them(self, mysql, tmp_path: Path) -> None:
        sql = "SELECT seq FROM seq_1_to_100000000 LIMIT 100000000"
        got = run("query_mysql", {"sql": sql, "max_rows": 3}, folder=tmp_path, environment=mysql)
        assert (got["rows"], got["more"]) == ([[1], [2], [3]], True)

    def test_a_value_is_never_sql(self, mysql, tmp_path: Path) -> None:
        for value in ("' OR '1'='1", "'; DROP TABLE customers; -- ", "\\' OR 1=1 -- "):
            arguments = {"sql": "SELECT name FROM customers WHERE name = %s", "params": [value]}
            assert run("query_mysql", arguments, folder=tmp_path, environment=mysql)["rows"] == []

    @pytest.mark.parametrize("sql", ["SHOW TABLES", "DESCRIBE customers", "EXPLAIN SELECT 1",
                                     "(SELECT 1)", "VALUES (1)",
                                     "-- note\nSELECT 1", "/* note */ WITH x AS (SELECT 1) SELECT * FROM x",
                                     "SELECT name FROM customers WHERE name LIKE '%梅%'",
                                     "SELECT 'into outfile x'"])  # fmt: skip
    def test_reads_in_every_form(self, sql: str, mysql, tmp_path: Path) -> None:
        assert run("query_mysql", {"sql": sql}, folder=tmp_path, environment=mysql)["rows"]

    @pytest.mark.parametrize("sql", [
        "DELETE FROM customers", "/* x */ delete from customers", "/*!50000 DELETE FROM customers */",
        "SELECT 1; DELETE FROM customers", "EXPLAIN DELETE FROM customers", "SELECT * FROM customers FOR UPDATE",
        "WITH x AS (SELECT 1) DELETE FROM customers", "GRANT ALL ON *.* TO thief@localhost",
        "SET GLOBAL general_log = 1",
        "CALL anything()", "DO SLEEP(0)", "LOCK TABLES customers WRITE", "COMMIT", "ANALYZE DELETE FROM customers",
        "SELECT * FROM customers INTO OUTFILE '/tmp/tooldisco-stolen'",
        "SELECT * FROM customers INTO/**/OUTFILE '/tmp/tooldisco-stolen'",
        "SELECT * FROM customers INTO # x\n DUMPFILE '/tmp/tooldisco-stolen'",
        "SELECT * FROM customers /*!50000 INTO OUTFILE '/tmp/tooldisco-stolen' */",
        "SELECT '/*' INTO OUTFILE '/tmp/tooldisco-stolen' -- */",
        "SELECT '\\' INTO OUTFILE '/tmp/tooldisco-stolen' -- '",
    ])  # fmt: skip
    def test_changes_nothing_whatever_is_asked(self, sql: str, mysql, tmp_path: Path) -> None:
        assert failure("query_mysql", {"sql": sql}, folder=tmp_path, environment=mysql).startswith("tool_failed")
        count = run("query_mysql", {"sql": "SELECT count(*) FROM customers"}, folder=tmp_path, environment=mysql)
        assert count["rows"] == [[2]]
        assert not Path("/tmp/tooldisco-stolen").exists()

    def test_the_server_itself_keeps_it_read_only(self, mysql, tmp_path: Path, monkeypatch) -> None:
        """Even a statement that gets past the look at its first word changes nothing."""
        from tooldisco_cli.builtin import mysql as module

        monkeypatch.setattr(module, "require_reading", lambda *_, **__: None)
        for sql in ("DELETE FROM customers", "CREATE TABLE t (id INT)", "TRUNCATE customers", "DROP TABLE customers"):
            said = failure("query_mysql", {"sql": sql}, folder=tmp_path, environment=mysql)
            assert "READ ONLY" in said

    def test_a_wrong_password_shows_no_password(self, mysql, tmp_path: Path) -> None:
        wrong = mysql | {"MYSQL_PASSWORD": "wrong-password-123"}
        said = failure("query_mysql", {"sql": "SELECT 1"}, folder=tmp_path, environment=wrong)
        assert "cannot be reached" in said
        assert "wrong-password-123" not in said


class TestWriteMysql:
    def test_changes_rows_up_to_a_number(self, mysql, tmp_path: Path) -> None:
        where = {"folder": tmp_path, "environment": mysql}
        arguments = {"sql": "INSERT INTO customers (name) VALUES (%s), (%s)", "params": ["甲", "乙'; --"]}
        assert run("write_mysql", arguments, **where)["changed_rows"] == 2
        said = failure("write_mysql", {"sql": "DELETE FROM customers", "max_changes": 3}, **where)
        assert "4 rows" in said
        got = run("write_mysql", {"sql": "DELETE FROM customers WHERE amount IS NULL", "max_changes": 2}, **where)
        assert got["changed_rows"] == 2

    def test_needs_approval_as_destructive(self, mysql, tmp_path: Path) -> None:
        from shipped import catalog

        assert catalog().get("write_mysql").tool.annotations.may_destroy
        assert not catalog().get("query_mysql").tool.annotations.may_destroy


def test_lists_mysql_tables(mysql, tmp_path: Path) -> None:
    got = run("list_mysql_tables", {"name_contains": "customers"}, folder=tmp_path, environment=mysql)
    [table] = got["tables"]
    assert (table["name"], table["kind"], table["comment"]) == ("customers", "table", "客户")
    assert table["columns"][0] == {"name": "id", "type": "int(11)", "null": False, "key": "PRI", "comment": ""}
    assert table["columns"][1]["comment"] == "姓名"
    got = run("list_mysql_tables", {"name_contains": "100%"}, folder=tmp_path, environment=mysql)
    assert got == {"tables": []}


class TestQueryPostgres:
    def test_binds_parameters_and_returns_rows(self, pg, tmp_path: Path) -> None:
        sql = "SELECT name, amount, joined, tags, facts, photo FROM customers WHERE amount > %s"
        got = run("query_postgres", {"sql": sql, "params": [10000]}, folder=tmp_path, environment=pg)
        [row] = got["rows"]
        assert row[:2] == ["韩梅梅", 12000.5]
        assert row[2].startswith("2026-01-02T")
        assert row[3:] == [["a", "b"], {"k": 1}, {"base64": "/wA="}]

    def test_says_when_there_are_more_rows_and_does_not_fetch_them(self, pg, tmp_path: Path) -> None:
        sql = "SELECT generate_series(1, 1000000000)"
        got = run("query_postgres", {"sql": sql, "max_rows": 3}, folder=tmp_path, environment=pg)
        assert (got["rows"], got["more"]) == ([[1], [2], [3]], True)

    def test_a_percent_sign_needs_no_doubling_without_parameters(self, pg, tmp_path: Path) -> None:
        sql = "SELECT name FROM customers WHERE name LIKE '%梅%'"
        assert run("query_postgres", {"sql": sql}, folder=tmp_path, environment=pg)["rows"] == [["韩梅梅"]]

    @pytest.mark.parametrize("sql", [
        "DELETE FROM customers", "SELECT 1; DELETE FROM customers", "SELECT 1; COMMIT; DELETE FROM customers",
        "WITH x AS (DELETE FROM customers RETURNING 1) SELECT * FROM x", "EXPLAIN ANALYZE DELETE FROM customers",
        "COPY (SELECT 1) TO PROGRAM 'touch /tmp/tooldisco-stolen'", "DO $$ BEGIN DELETE FROM customers; END $$",
        "SELECT set_config('transaction_read_only', 'off', false)", "SET TRANSACTION READ WRITE", "COMMIT",
        "SELECT nextval('customers_id_seq')", "SELECT * INTO stolen FROM customers", "CALL anything()",
    ])  # fmt: skip
    def test_changes_nothing_whatever_is_asked(self, sql: str, pg, tmp_path: Path) -> None:
        assert failure("query_postgres", {"sql": sql}, folder=tmp_path, environment=pg).startswith("tool_failed")
        count = run("query_postgres", {"sql": "SELECT count(*) FROM customers"}, folder=tmp_path, environment=pg)
        assert count["rows"] == [[2]]
        assert not Path("/tmp/tooldisco-stolen").exists()

    def test_the_server_itself_keeps_it_read_only(self, pg, tmp_path: Path, monkeypatch) -> None:
        from tooldisco_cli.builtin import postgres as module

        monkeypatch.setattr(module, "require_reading", lambda *_, **__: None)
        for sql in ("DELETE FROM customers", "DROP TABLE customers", "SET TRANSACTION READ WRITE",
                    "DO $$ BEGIN DELETE FROM customers; END $$", "DO $$ BEGIN COMMIT; DELETE FROM customers; END $$",
                    "DO $$ BEGIN SET TRANSACTION READ WRITE; DELETE FROM customers; END $$"):  # fmt: skip
            said = failure("query_postgres", {"sql": sql}, folder=tmp_path, environment=pg)
            assert "read-only" in said or "transaction" in said
        count = run("query_postgres", {"sql": "SELECT count(*) FROM customers"}, folder=tmp_path, environment=pg)
        assert count["rows"] == [[2]]

    def test_a_failed_connection_shows_no_password(self, pg, tmp_path: Path) -> None:
        wrong = {"POSTGRES_DSN": pg["POSTGRES_DSN"].replace("agent-password", "wrong-password-123")}
        said = failure("query_postgres", {"sql": "SELECT 1"}, folder=tmp_path, environment=wrong)
        assert "cannot be reached" in said
        assert "wrong-password-123" not in said


def test_writes_postgres_up_to_a_number_of_rows(pg, tmp_path: Path) -> None:
    where = {"folder": tmp_path, "environment": pg}
    arguments = {"sql": "INSERT INTO customers (name) VALUES (%s), (%s) RETURNING name", "params": ["甲", "乙'; --"]}
    got = run("write_postgres", arguments, **where)
    assert (got["changed_rows"], got["rows"]) == (2, [["甲"], ["乙'; --"]])
    assert "4 rows" in failure("write_postgres", {"sql": "DELETE FROM customers", "max_changes": 3}, **where)
    got = run("write_postgres", {"sql": "DELETE FROM customers WHERE amount IS NULL"}, **where)
    assert got["changed_rows"] == 2
    said = failure("write_postgres", {"sql": "DELETE FROM customers; DROP TABLE customers"}, **where)
    assert "multiple commands" in said


def test_lists_postgres_tables(pg, tmp_path: Path) -> None:
    got = run("list_postgres_tables", {"name_contains": "customer"}, folder=tmp_path, environment=pg)
    [table] = got["tables"]
    assert (table["schema"], table["name"], table["kind"]) == ("public", "customers", "table")
    assert table["columns"][1] == {"name": "name", "type": "text", "null": False, "comment": "姓名"}
    everything = run("list_postgres_tables", {}, folder=tmp_path, environment=pg)
    assert {one["name"] for one in everything["tables"]} >= {"customers", "rich"}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    connection = sqlite3.connect(folder / "app.db")
    connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, total REAL NOT NULL, note TEXT)")
    connection.executemany("INSERT INTO orders (total, note) VALUES (?, ?)", [(129.5, "加急"), (20, None)])
    connection.commit()
    connection.close()
    other = sqlite3.connect(tmp_path / "secret.db")
    other.execute("CREATE TABLE secrets (word TEXT)")
    other.commit()
    other.close()
    return folder


class TestSqlite:
    def test_reads(self, shop: Path) -> None:
        sql = "SELECT id, total, note FROM orders WHERE total > ?"
        got = run("query_sqlite", {"path": "app.db", "sql": sql, "params": [100]}, folder=shop)
        assert got == {
            "columns": ["id", "total", "note"],
            "rows": [[1, 129.5, "加急"]],
            "row_count": 1,
            "more": False,
        }

    @pytest.mark.parametrize("sql", [
        "DELETE FROM orders", "INSERT INTO orders (total) VALUES (1)", "DROP TABLE orders", "VACUUM",
        "VACUUM INTO 'copy.db'", "ATTACH 'new.db' AS new", "ATTACH '../secret.db' AS other",
        "PRAGMA writable_schema = ON",
        "PRAGMA journal_mode = WAL", "SELECT 1; DELETE FROM orders", "SELECT load_extension('x')",
        "CREATE TEMP TABLE t (x)",
        "WITH RECURSIVE c(x) AS (SELECT 1) INSERT INTO orders SELECT 9, x, x FROM c",
    ])  # fmt: skip
    def test_changes_nothing_whatever_is_asked(self, sql: str, shop: Path) -> None:
        before = (shop / "app.db").read_bytes()
        failure("query_sqlite", {"path": "app.db", "sql": sql}, folder=shop)
        assert (shop / "app.db").read_bytes() == before
        assert sorted(path.name for path in shop.iterdir()) == ["app.db"]

    def test_stops_a_query_that_never_ends(self, shop: Path, monkeypatch) -> None:
        from tooldisco_cli.builtin import sqlite

        monkeypatch.setattr(sqlite, "QUERY_SECONDS", 0.2)
        sql = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
        assert "took too long" in failure("query_sqlite", {"path": "app.db", "sql": sql}, folder=shop)

    def test_writes_up_to_a_number_of_rows(self, shop: Path) -> None:
        insert = {"path": "app.db", "sql": "INSERT INTO orders (total, note) VALUES (?, ?)", "params": [1, "'); --"]}
        assert run("write_sqlite", insert, folder=shop) == {"changed_rows": 1, "last_id": 3}
        delete = {"path": "app.db", "sql": "DELETE FROM orders", "max_changes": 2}
        assert "3 rows" in failure("write_sqlite", delete, folder=shop)
        assert run("query_sqlite", {"path": "app.db", "sql": "SELECT count(*) FROM orders"}, folder=shop)["rows"] == [
            [3]
        ]

    @pytest.mark.parametrize(
        "sql", ["ATTACH '../secret.db' AS other", "VACUUM INTO '../copy.db'", "COMMIT; SELECT 1"]
    )
    def test_a_write_reaches_no_other_file(self, sql: str, shop: Path) -> None:
        failure("write_sqlite", {"path": "app.db", "sql": sql}, folder=shop)
        assert not (shop.parent / "copy.db").exists()

    def test_makes_a_file_only_when_asked(self, shop: Path) -> None:
        create = {"path": "new.db", "sql": "CREATE TABLE notes (text TEXT)"}
        assert "create makes one" in failure("write_sqlite", create, folder=shop)
        run("write_sqlite", create | {"create": True}, folder=shop)
        [table] = run("list_sqlite_tables", {"path": "new.db"}, folder=shop)["tables"]
        assert (table["name"], table["rows"]) == ("notes", 0)

    def test_lists_tables(self, shop: Path) -> None:
        got = run("list_sqlite_tables", {"path": "app.db"}, folder=shop)
        assert got["tables"][0]["rows"] == 2
        assert got["tables"][0]["columns"][0] == {"name": "id", "type": "INTEGER", "null": True, "primary_key": True}

    @pytest.mark.parametrize("path", ["../secret.db", "missing.db", "."])
    def test_refuses_other_places(self, path: str, shop: Path) -> None:
        failure("query_sqlite", {"path": path, "sql": "SELECT 1"}, folder=shop)
        (shop / "text.db").write_text("no database at all, but some text that is long enough" * 10)
        assert "not a database" in failure("query_sqlite", {"path": "text.db", "sql": "SELECT * FROM x"}, folder=shop)
