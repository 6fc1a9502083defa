"""Tools that read and write files: real workbooks, tables and texts, and what they must refuse."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest
from services import program
from shipped import failure, run

READERS: list[tuple[str, str, dict[str, Any]]] = [
    ("read_text_file", "txt", {}),
    ("read_csv", "csv", {}),
    ("read_json", "json", {}),
    ("read_excel", "xlsx", {}),
    ("read_parquet", "parquet", {}),
    ("query_sqlite", "db", {"sql": "SELECT 1"}),
    ("list_sqlite_tables", "db", {}),
    ("get_image_info", "png", {}),
    ("read_qr_code", "png", {}),
    ("read_pdf", "pdf", {}),
    ("compute_hash", "txt", {}),
    ("get_media_info", "mp3", {}),
]
WRITERS: list[tuple[str, str, dict[str, Any]]] = [
    ("write_text_file", "txt", {"text": "x"}),
    ("write_excel", "xlsx", {"columns": ["a"], "rows": []}),
    ("create_calendar_invite", "ics", {"title": "x", "start": "2027-01-01T10:00"}),
    ("make_qr_code", "png", {"text": "x", "output": ""}),
    ("plot_chart", "png", {"kind": "line", "series": [{"y": [1]}], "output": ""}),
    ("write_sqlite", "db", {"sql": "CREATE TABLE t (x)", "create": True}),
]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


class TestPlaces:
    @pytest.mark.parametrize(("tool", "ending", "more"), READERS, ids=[name for name, *_ in READERS])
    def test_nothing_outside_is_read(self, tool: str, ending: str, more: dict[str, Any], work: Path) -> None:
        secret = work.parent / f"secret.{ending}"
        secret.write_bytes(b"TOP-SECRET")
        (work / f"link.{ending}").symlink_to(secret)
        (work / "door").symlink_to(work.parent)
        for path in (
            f"../secret.{ending}",
            str(secret),
            f"link.{ending}",
            f"door/secret.{ending}",
            f"x/../../secret.{ending}",
        ):
            said = failure(tool, {"path": path, **more}, folder=work)
            assert "outside the folders" in said
            assert "TOP-SECRET" not in said

    @pytest.mark.parametrize(("tool", "ending", "more"), WRITERS, ids=[name for name, *_ in WRITERS])
    def test_nothing_outside_is_written(self, tool: str, ending: str, more: dict[str, Any], work: Path) -> None:
        (work / f"link.{ending}").symlink_to(work.parent / f"new.{ending}")
        (work / "door").symlink_to(work.parent)
        before = sorted(work.parent.iterdir())
        for path in (f"../new.{ending}", str(work.parent / f"new.{ending}"), f"link.{ending}", f"door/new.{ending}"):
            arguments = {"path": path, **more}
            if "output" in more:
                arguments["output"] = arguments.pop("path")
            assert "outside the folders" in failure(tool, arguments, folder=work)
        assert sorted(path for path in work.parent.iterdir() if path.name != "tooldisco-home") == before

    def test_allowed_folders_of_the_settings_are_open(self, work: Path) -> None:
        other = work.parent / "other"
        other.mkdir()
        (other / "a.txt").write_text("hello")
        where = {"folder": work, "allowed": (str(other),)}
        assert run("read_text_file", {"path": str(other / "a.txt")}, **where)["text"] == "hello"
        (work / "b.txt").write_text("x")
        assert "outside the folders" in failure("read_text_file", {"path": "b.txt"}, **where)

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
    def test_what_is_no_regular_file_is_refused_at_once(self, work: Path) -> None:
        os.mkfifo(work / "pipe")
        (work / "null").symlink_to("/dev/zero")
        assert "no regular file" in failure("read_text_file", {"path": "pipe"}, folder=work)
        assert "outside the folders" in failure("compute_hash", {"path": "null"}, folder=work)

    def test_a_folder_is_no_file(self, work: Path) -> None:
        (work / "sub").mkdir()
        assert "no regular file" in failure("read_text_file", {"path": "sub"}, folder=work)


class TestText:
    def test_reads_lines_of_a_page(self, work: Path) -> None:
        (work / "app.log").write_text("".join(f"line {number}\n" for number in range(1, 11)))
        got = run("read_text_file", {"path": "app.log", "first_line": 4, "max_lines": 2}, folder=work)
        assert got == {
            "text": "line 4\nline 5\n", "first_line": 4, "line_count": 2, "more": True,
            "encoding": "utf-8", "size": 71,
        }  # fmt: skip

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030"])
    def test_finds_the_encoding(self, encoding: str, work: Path) -> None:
        (work / "a.txt").write_bytes("会议取消，时间另行通知。\n".encode(encoding))
        assert run("read_text_file", {"path": "a.txt"}, folder=work)["text"] == "会议取消，时间另行通知。\n"

    def test_a_character_across_the_first_block_is_no_trouble(self, work: Path) -> None:
        (work / "a.txt").write_text("a" * 65535 + "中" * 10 + "\n", encoding="utf-8")
        got = run("read_text_file", {"path": "a.txt"}, folder=work)
        assert got["encoding"] == "utf-8"

    def test_binary_is_told(self, work: Path) -> None:
        (work / "a.bin").write_bytes(b"\x00\x01\x02")
        assert "binary" in failure("read_text_file", {"path": "a.bin"}, folder=work)

    def test_writes_in_three_ways(self, work: Path) -> None:
        assert run("write_text_file", {"path": "a.md", "text": "# 待办\n"}, folder=work)["bytes_written"] == 9
        assert "exists already" in failure("write_text_file", {"path": "a.md", "text": "x"}, folder=work)
        run("write_text_file", {"path": "a.md", "text": "- 一\n", "mode": "append"}, folder=work)
        assert (work / "a.md").read_text() == "# 待办\n- 一\n"
        run("write_text_file", {"path": "a.md", "text": "新", "mode": "overwrite"}, folder=work)
        assert (work / "a.md").read_text() == "新"
        assert sorted(path.name for path in work.iterdir()) == ["a.md"]


class TestExcel:
    def book(self, path: Path) -> None:
        import openpyxl

        book = openpyxl.Workbook()
        page = book.active
        page.title = "客户"
        for row in (["name", "amount", "name", None], ["韩梅梅", 12000, "x"], [], ["李雷", 0.5, None, "extra"]):
            page.append(row)
        page["B5"] = "=SUM(B2:B4)"
        book.create_sheet("空")
        book.save(path)

    def test_reads_records(self, work: Path) -> None:
        self.book(work / "customers.xlsx")
        got = run("read_excel", {"path": "customers.xlsx"}, folder=work)
        assert got["sheets"] == ["客户", "空"]
        assert got["columns"] == ["name", "amount", "name_2"]
        assert got["rows"] == [
            {"name": "韩梅梅", "amount": 12000, "name_2": "x"},
            {"name": "李雷", "amount": 0.5, "name_2": None, "column_4": "extra"},
        ]
        got = run("read_excel", {"path": "customers.xlsx", "max_rows": 1, "header_row": 0}, folder=work)
        assert (got["rows"], got["more"]) == ([["name", "amount", "name"]], True)
        assert run("read_excel", {"path": "customers.xlsx", "sheet": "空"}, folder=work)["rows"] == []
        assert "客户, 空" in failure("read_excel", {"path": "customers.xlsx", "sheet": "无"}, folder=work)

    def test_what_is_written_can_be_read_again(self, work: Path) -> None:
        rows = [["韩梅梅", 12000, True, None], ["李雷", 1.5, False, "x"]]
        arguments = {"path": "r.xlsx", "columns": ["姓名", "金额", "新", "注"], "rows": rows, "sheet": "客户"}
        assert run("write_excel", arguments, folder=work)["row_count"] == 2
        got = run("read_excel", {"path": "r.xlsx", "header_row": 0}, folder=work)
        assert got["rows"] == [["姓名", "金额", "新", "注"], ["韩梅梅", 12000, True], ["李雷", 1.5, False, "x"]]
        assert "exists already" in failure("write_excel", arguments, folder=work)

    @pytest.mark.parametrize(
        "text", ["=1+1", '=HYPERLINK("http://evil","x")', "+1", "-2+3", "@SUM(A1)", "\t=1", "=cmd|' /C calc'!A0"]
    )
    def test_no_text_becomes_a_formula(self, text: str, work: Path) -> None:
        import openpyxl

        arguments = {"path": "r.xlsx", "columns": [text], "rows": [[text], ["plain"]]}
        assert run("write_excel", arguments, folder=work)["escaped_texts"] == 1
        page = openpyxl.load_workbook(work / "r.xlsx").active
        for cell in (page["A1"], page["A2"]):
            assert (cell.data_type, cell.value) == ("s", text)
            assert cell.quotePrefix
        with zipfile.ZipFile(work / "r.xlsx") as archive:
            assert b"<f>" not in archive.read("xl/worksheets/sheet1.xml")

    def test_a_row_that_is_too_long_is_told(self, work: Path) -> None:
        assert "row 1 has 2" in failure(
            "write_excel", {"path": "r.xlsx", "columns": ["a"], "rows": [[1, 2]]}, folder=work
        )

    def test_zip_bombs_are_refused(self, work: Path) -> None:
        with zipfile.ZipFile(work / "bomb.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("xl/worksheets/sheet1.xml", b"0" * 100_000_000)
        assert "zip bomb" in failure("read_excel", {"path": "bomb.xlsx"}, folder=work)
        (work / "not.xlsx").write_text("hello")
        assert "no Excel workbook" in failure("read_excel", {"path": "not.xlsx"}, folder=work)

    def test_entity_bombs_are_refused(self, work: Path) -> None:
        self.book(work / "good.xlsx")
        laughs = (
            '<!DOCTYPE x [<!ENTITY a "ha">'
            + "".join(
                f'<!ENTITY {chr(98 + n)} "{"&" + chr(97 + n) + ";"}{"&" + chr(97 + n) + ";"}">' for n in range(20)
            )
            + "]>"
        )
        with zipfile.ZipFile(work / "good.xlsx") as good, zipfile.ZipFile(work / "bad.xlsx", "w") as bad:
            for item in good.infolist():
                data = good.read(item)
                if item.filename == "xl/workbook.xml":
                    data = laughs.encode() + data
                bad.writestr(item, data)
        assert "no Excel workbook" in failure("read_excel", {"path": "bad.xlsx"}, folder=work)


class TestCsv:
    def test_finds_separator_and_encoding(self, work: Path) -> None:
        (work / "a.csv").write_bytes("编号;城市;金额\n1;上海;2,5\n2;北京;3\n".encode("gb18030"))
        got = run("read_csv", {"path": "a.csv", "max_rows": 1}, folder=work)
        assert got == {
            "columns": ["编号", "城市", "金额"], "rows": [{"编号": "1", "城市": "上海", "金额": "2,5"}],
            "row_count": 1,
            "more": True, "encoding": "gb18030", "delimiter": ";",
        }  # fmt: skip
        got = run("read_csv", {"path": "a.csv", "skip_rows": 1}, folder=work)
        assert [row["城市"] for row in got["rows"]] == ["北京"]

    def test_reads_quotes_and_line_breaks(self, work: Path) -> None:
        (work / "a.csv").write_text('a,a,\n"x\ny","he said ""hi""",3,4\n', newline="")
        got = run("read_csv", {"path": "a.csv"}, folder=work)
        assert got["rows"] == [{"a": "x\ny", "a_2": 'he said "hi"', "column_3": "3", "_more": ["4"]}]

    def test_empty_and_endless_lines(self, work: Path) -> None:
        (work / "empty.csv").write_text("")
        assert run("read_csv", {"path": "empty.csv"}, folder=work)["rows"] == []
        (work / "long.csv").write_text("a,b\n" + "x" * 2_000_000)
        assert "a line of more" in failure("read_csv", {"path": "long.csv"}, folder=work)


@pytest.fixture
def tables(work: Path) -> Path:
    import duckdb

    (work / "orders.csv").write_text("id,city,total\n1,上海,100\n2,上海,29.5\n3,北京,7\n")
    (work / "cities.json").write_text(json.dumps([{"city": "上海", "zone": "东"}, {"city": "北京", "zone": "北"}]))
    (work.parent / "secret.csv").write_text("word\nTOP-SECRET\n")
    (work / "other.csv").write_text("word\nTOP-SECRET\n")
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT range AS id, 'k' || range AS kind FROM range(30)) TO '{work}/e.parquet'")
    return work


class TestQueryFiles:
    def test_joins_files(self, tables: Path) -> None:
        got = run("query_files", {
            "files": {"orders": "orders.csv", "cities": "cities.json"}, "params": [10],
            "sql": "SELECT zone, sum(total) AS total FROM orders JOIN cities USING (city)"
                   " WHERE total > ? GROUP BY zone",
        }, folder=tables)  # fmt: skip
        assert got == {"columns": ["zone", "total"], "rows": [["东", 129.5]], "row_count": 1, "more": False}

    @pytest.mark.parametrize("sql", [
        "COPY (SELECT 1) TO 'stolen.csv'", "COPY orders TO 'orders.csv'", "SELECT * FROM read_csv('../secret.csv')",
        "SELECT * FROM read_csv('other.csv')", "SELECT * FROM 'other.csv'", "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM glob('/etc/*')", "ATTACH 'x.db'", "INSTALL httpfs", "LOAD httpfs", "SELECT 1; SELECT 2",
        "SET enable_external_access = true", "PRAGMA version", "CREATE TABLE t AS SELECT 1", "CALL pragma_version()",
        "SELECT * FROM read_csv('http://127.0.0.1/x.csv')", "EXPORT DATABASE 'x'",
        "SELECT * FROM query('COPY orders TO ''x''')",
        "SELECT * FROM sniff_csv('/etc/passwd')", "SELECT * FROM read_blob('orders.csv/../other.csv')", "",
    ])  # fmt: skip
    def test_reaches_nothing_else_and_writes_nothing(self, sql: str, tables: Path) -> None:
        before = {path.name: path.read_bytes() for path in tables.iterdir()}
        said = failure("query_files", {"files": {"orders": "orders.csv"}, "sql": sql}, folder=tables)
        assert "TOP-SECRET" not in said
        assert {path.name: path.read_bytes() for path in tables.iterdir()} == before

    def test_a_name_is_no_sql(self, tables: Path) -> None:
        (tables / "it's.csv").write_text("a\n1\n")
        assert run("query_files", {"files": {"t": "it's.csv"}, "sql": "SELECT a FROM t"}, folder=tables)["rows"] == [
            [1]
        ]
        arguments = {"files": {'t" AS SELECT 1; --': "orders.csv"}, "sql": "SELECT 1"}
        assert failure("query_files", arguments, folder=tables).startswith("invalid_arguments")

    def test_stops_a_query_that_never_ends(self, tables: Path, monkeypatch) -> None:
        from tooldisco_cli.builtin import tables as module

        monkeypatch.setattr(module, "QUERY_SECONDS", 0.3)
        sql = "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range * b.range % 7 = 1"
        assert "nterrupt" in failure("query_files", {"files": {"o": "orders.csv"}, "sql": sql}, folder=tables)

    def test_memory_is_bounded(self, tables: Path) -> None:
        sql = "SELECT string_agg(repeat('x', 1000000), '') FROM range(4000)"
        said = failure("query_files", {"files": {"o": "orders.csv"}, "sql": sql}, folder=tables)
        assert "emory" in said

    def test_reads_parquet(self, tables: Path) -> None:
        got = run("read_parquet", {"path": "e.parquet", "max_rows": 1}, folder=tables)
        assert got == {
            "columns": ["id", "kind"], "types": ["BIGINT", "VARCHAR"], "total_rows": 30, "rows": [[0, "k0"]],
            "row_count": 1, "more": True,
        }  # fmt: skip
        (tables / "bad.parquet").write_text("x")
        assert "cannot be read as Parquet" in failure("read_parquet", {"path": "bad.parquet"}, folder=tables)


class TestJson:
    def test_selects(self, work: Path) -> None:
        users = {"users": [{"name": "李雷", "age": 31}, {"name": "韩梅梅", "age": 29}], "a/b": {"~": 1}}
        (work / "u.json").write_text(json.dumps(users))
        read = lambda **more: run("read_json", {"path": "u.json", **more}, folder=work)  # noqa: E731
        assert read() == {"value": users}
        assert read(select="/users/1/name") == {"value": "韩梅梅"}
        assert read(select="/a~1b/~0") == {"value": 1}
        assert read(select="$.users[?@.age > 30].name") == {"values": ["李雷"], "match_count": 1, "more": False}
        assert read(select="$..name", max_matches=1) == {"values": ["李雷"], "match_count": 1, "more": True}
        assert "nothing at" in failure("read_json", {"path": "u.json", "select": "/users/9"}, folder=work)
        assert "is wrong" in failure("read_json", {"path": "u.json", "select": "$.users[?"}, folder=work)

    def test_deep_and_broken_files_are_told(self, work: Path) -> None:
        (work / "deep.json").write_text("[" * 100_000)
        (work / "broken.json").write_text("{")
        for name in ("deep.json", "broken.json"):
            assert "is not JSON" in failure("read_json", {"path": name}, folder=work)


class TestSearchFiles:
    @pytest.fixture(autouse=True)
    def ripgrep(self) -> None:
        program("rg")

    def test_finds_lines_below_the_folder_only(self, work: Path) -> None:
        (work / "a.py").write_text("x = 1\n# TODO: 重试\n")
        (work / "b.md").write_text("todo\n")
        (work / ".hidden").write_text("TODO\n")
        (work.parent / "c.py").write_text("TODO outside\n")
        (work / "door").symlink_to(work.parent)
        assert run("search_files", {"pattern": "TODO"}, folder=work) == ["./a.py:2:3:# TODO: 重试"]
        assert run("search_files", {"pattern": "todo", "glob": "*.md"}, folder=work) == ["./b.md:1:1:todo"]
        assert run("search_files", {"pattern": "nowhere"}, folder=work) in ([], None)

    @pytest.mark.parametrize("pattern", ["--pre=/bin/sh", "-f/etc/passwd", "--files"])
    def test_a_pattern_is_no_option(self, pattern: str, work: Path) -> None:
        (work / "a.txt").write_text(f"see {pattern} here\n")
        assert run("search_files", {"pattern": pattern}, folder=work) == [f"./a.txt:1:5:see {pattern} here"]

    def test_a_glob_does_not_leave_the_folder(self, work: Path) -> None:
        (work.parent / "c.py").write_text("TODO\n")
        assert run("search_files", {"pattern": "TODO", "glob": "../*"}, folder=work) in ([], None)
        assert "unclosed group" in failure("search_files", {"pattern": "("}, folder=work)
