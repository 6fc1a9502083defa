"""Reading TOML: whatever a file is or holds becomes a value or a problem that says what to do."""

from __future__ import annotations

import datetime as dt
import os
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest

from tooldisco_cli.tomlfile import (
    MAX_BYTES,
    Fault,
    Faults,
    Problem,
    decode,
    dotted,
    located,
    near_word,
    parse,
    read_bytes,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Inner:
    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}

    url: str
    method: Literal["GET", "POST"] = "GET"


@dataclass(frozen=True, kw_only=True, slots=True)
class Outer:
    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}

    name: str
    description: str = ""
    tags: tuple[str, ...] = ()
    pair: tuple[str, str] | None = None
    seconds: float = 1.0
    count: int = 1
    on: bool = False
    day: dt.date | None = None
    free: dict[str, Any] = field(default_factory=dict)
    result: str | dict[str, str] | None = None
    inner: Inner | None = None
    inners: tuple[Inner, ...] = ()


def read_problem(path: Path, limit: int = MAX_BYTES) -> Problem:
    found = read_bytes(path, limit)
    assert isinstance(found, Problem)
    assert found.path == str(path)
    return found


def parse_problem(data: bytes) -> Problem:
    found = parse(data, "x.toml")
    assert isinstance(found, Problem)
    return found


def faults(document: dict[str, Any]) -> dict[str, str]:
    found = decode(Outer, document)
    assert isinstance(found, Faults)
    return {dotted(f.key): f.message + (f" ({f.suggestion})" if f.suggestion else "") for f in found.faults}


class TestReadBytes:
    def test_returns_what_a_file_holds(self, tmp_path: Path) -> None:
        (tmp_path / "x.toml").write_bytes(b"a = 1\n")
        assert read_bytes(tmp_path / "x.toml") == b"a = 1\n"

    def test_follows_a_link(self, tmp_path: Path) -> None:
        (tmp_path / "x.toml").write_bytes(b"a = 1\n")
        (tmp_path / "y.toml").symlink_to("x.toml")
        assert read_bytes(tmp_path / "y.toml") == b"a = 1\n"

    def test_a_folder(self, tmp_path: Path) -> None:
        assert read_problem(tmp_path).message == "is a folder, not a file"

    def test_a_missing_file(self, tmp_path: Path) -> None:
        assert "No such file" in read_problem(tmp_path / "x.toml").message

    def test_a_link_to_nothing_says_where_it_points(self, tmp_path: Path) -> None:
        (tmp_path / "x.toml").symlink_to(tmp_path / "gone")
        problem = read_problem(tmp_path / "x.toml")
        assert problem.message == "cannot be read: is a link to nothing"
        assert str(tmp_path / "gone") in problem.suggestion

    def test_a_link_in_a_circle(self, tmp_path: Path) -> None:
        (tmp_path / "x.toml").symlink_to("x.toml")
        assert "cannot be read" in read_problem(tmp_path / "x.toml").message

    def test_a_named_pipe_that_nobody_writes_to_is_refused_at_once(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "x.toml")
        assert read_problem(tmp_path / "x.toml").message == "is a named pipe, not a file"

    def test_a_socket(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)  # a socket's path may have no more than about 100 characters
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("x.toml")
            assert read_problem(tmp_path / "x.toml").message == "is a socket, not a file"

    @pytest.mark.parametrize("device", ["/dev/zero", "/dev/full"])
    def test_a_device(self, tmp_path: Path, device: str) -> None:
        (tmp_path / "x.toml").symlink_to(device)
        assert read_problem(tmp_path / "x.toml").message == "is a device, not a file"

    def test_a_huge_file_is_refused_unread(self, tmp_path: Path) -> None:
        with (tmp_path / "x.toml").open("wb") as file:
            file.truncate(100 * 1024 * 1024)
        problem = read_problem(tmp_path / "x.toml")
        assert problem.message == "is larger than 32 MB"
        assert problem.suggestion

    def test_the_limit_is_the_last_size_that_is_read(self, tmp_path: Path) -> None:
        (tmp_path / "x.toml").write_bytes(b"12345")
        assert read_bytes(tmp_path / "x.toml", 5) == b"12345"
        assert isinstance(read_bytes(tmp_path / "x.toml", 4), Problem)

    def test_a_name_with_a_nul(self, tmp_path: Path) -> None:
        assert "cannot be read" in read_problem(tmp_path / "x\0.toml").message


class TestParse:
    def test_an_empty_file_is_an_empty_document(self) -> None:
        assert parse(b"", "x") == ({}, "")

    def test_a_byte_order_mark_is_no_text(self) -> None:
        assert parse(b"\xef\xbb\xbfa = 1", "x") == ({"a": 1}, "a = 1")

    def test_carriage_returns(self) -> None:
        parsed = parse(b'a = """\r\nx\r\n"""\r\n', "x")
        assert isinstance(parsed, tuple)
        assert parsed[0] == {"a": "x\n"}

    def test_text_that_is_not_utf8_says_at_which_byte_and_line(self) -> None:
        problem = parse_problem('a = 1\nb = "短"'.encode("gb18030"))
        assert (problem.line, problem.message) == (2, "is not UTF-8 at byte 11 (0xb6)")

    def test_utf16_is_recognised(self) -> None:
        assert "UTF-16" in parse_problem("a = 1".encode("utf-16")).suggestion

    def test_a_syntax_error_has_its_line_and_column(self) -> None:
        problem = parse_problem(b"a = 1\nb = = 2\n")
        assert (problem.line, problem.message) == (2, "is not valid TOML: Invalid value at column 5")

    @pytest.mark.parametrize(
        "text", ['[[tool]]\nname = "send', '[[tool]]\nname = """a', "[[tool]]\nname =", "[[tool]]\n[tool"]
    )
    def test_a_half_written_file_points_to_its_end(self, text: str) -> None:
        problem = parse_problem(text.encode())
        assert problem.line == 2
        assert problem.message.startswith("is not valid TOML")

    def test_a_cut_off_file_is_called_that(self) -> None:
        assert "cut off" in parse_problem(b'a = """x').suggestion

    def test_a_key_given_twice(self) -> None:
        assert parse_problem(b"a = 1\na = 2").line == 2

    def test_nesting_without_end(self) -> None:
        assert parse_problem(b"a = " + b"[" * 100_000).message == "is nested too deeply"

    def test_an_integer_without_end(self) -> None:
        assert "cannot be read" in parse_problem(b"a = " + b"9" * 10_000).message

    def test_nul_bytes(self) -> None:
        assert parse_problem(b"a = 1\n\0").line == 2

    def test_a_description_of_five_megabytes(self) -> None:
        parsed = parse(b'a = """' + b"x" * 5_000_000 + b'"""', "x")
        assert isinstance(parsed, tuple)
        assert len(parsed[0]["a"]) == 5_000_000


class TestDecode:
    def test_a_whole_document(self) -> None:
        document = {"name": "x", "tags": ["a"], "seconds": 2, "day": dt.date(2027, 6, 30), "inner": {"url": "u"}}
        assert decode(Outer, document) == Outer(
            name="x", tags=("a",), seconds=2.0, day=dt.date(2027, 6, 30), inner=Inner(url="u")
        )

    def test_dates_in_free_tables_become_text(self) -> None:
        moment = dt.datetime(2027, 6, 30, 12, tzinfo=dt.UTC)
        decoded = decode(Outer, {"name": "x", "free": {"at": moment, "t": dt.time(7, 30)}})
        assert isinstance(decoded, Outer)
        assert decoded.free == {"at": "2027-06-30T12:00:00+00:00", "t": "07:30:00"}

    @pytest.mark.parametrize(
        ("key", "value", "message"),
        [
            ("name", 3, "must be text, not a whole number"),
            ("tags", "a", "must be a list, not text"),
            ("seconds", "20", "must be a number, not text"),
            ("seconds", True, "must be a number, not true or false"),
            ("count", 1.5, "must be a whole number, not a number"),
            ("count", "20", "must be a whole number, not text"),
            ("on", 1, "must be true or false, not a whole number"),
            ("on", "true", "must be true or false, not text"),
            ("day", 1, "must be a date such as 2027-06-30, not a whole number"),
            ("free", [], "must be a table, not a list"),
            ("inner", 1, "must be a table, not a whole number"),
            ("result", 3, "must be text, or a table, not a whole number"),
        ],
    )
    def test_a_wrong_type_is_never_converted(self, key: str, value: Any, message: str) -> None:
        assert faults({"name": "x", key: value}) == {key: message}

    def test_messages_never_hold_the_value_of_a_wrong_type(self) -> None:
        assert "1234567" not in str(faults({"name": 1234567, "inner": {"url": 1234567}}))

    def test_an_unknown_key_suggests_the_nearest(self) -> None:
        assert faults({"name": "x", "descripton": "y"}) == {"descripton": "unknown key (did you mean `description`?)"}

    def test_an_unknown_key_in_an_inner_table_suggests_from_that_table(self) -> None:
        found = faults({"name": "x", "inner": {"url": "u", "metod": "GET"}, "inners": [{"url": "u", "URL": 1}]})
        assert found == {
            "inner.metod": "unknown key (did you mean `method`?)",
            "inners[0].URL": "unknown key (did you mean `url`?)",
        }

    def test_a_key_written_below_the_wrong_header_is_told_where_it_belongs(self) -> None:
        found = faults({"name": "x", "inner": {"url": "u", "seconds": 3}})
        assert found["inner.seconds"] == "unknown key (`seconds` belongs above the table that it stands in now)"

    def test_a_missing_key(self) -> None:
        assert faults({"inner": {}}) == {"name": "is missing", "inner.url": "is missing"}

    def test_a_choice_suggests_the_nearest(self) -> None:
        found = faults({"name": "x", "inner": {"url": "u", "method": "get"}})
        assert found == {"inner.method": "must be one of 'GET' or 'POST' (did you mean \"GET\"?)"}

    def test_a_pair_that_is_too_short(self) -> None:
        assert faults({"name": "x", "pair": ["a"]}) == {"pair": "must have at least 2 items"}

    @pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
    def test_numbers_that_json_lacks(self, value: float) -> None:
        found = faults({"name": "x", "free": {"a": [1, value]}})
        assert found == {"free.a[1]": "must be a finite number (JSON has no inf and nan)"}

    def test_an_integer_too_long_to_print(self) -> None:
        assert faults({"name": "x", "free": {"a": 16**5000}}) == {"free.a": "is too large a number"}

    def test_integers_beyond_64_bits_are_kept(self) -> None:
        decoded = decode(Outer, {"name": "x", "free": {"a": 2**64}})
        assert isinstance(decoded, Outer)
        assert decoded.free == {"a": 2**64}

    def test_nesting_without_end(self) -> None:
        deep: dict[str, Any] = {}
        for _ in range(20_000):
            deep = {"a": deep}
        assert faults({"name": "x", "free": deep}) == {"": "is nested too deeply"}

    def test_nesting_that_only_the_validator_refuses(self) -> None:
        deep: dict[str, Any] = {}
        for _ in range(300):
            deep = {"a": deep}
        assert "is nested too deeply" in faults({"name": "x", "free": deep}).values()


class TestLocated:
    def test_gives_each_fault_its_line_and_orders_by_it(self) -> None:
        problems = located([Fault(("b",), "two"), Fault(("a",), "one", "do", "warning")], "x.toml", "a = 1\nb = 1")
        assert [str(problem) for problem in problems] == ["x.toml:1: a: one (do)", "x.toml:2: b: two"]
        assert [problem.severity for problem in problems] == ["warning", "error"]

    def test_says_the_same_thing_once(self) -> None:
        assert len(located([Fault(("a",), "one"), Fault(("a",), "one")], "x", "a = 1")) == 1


def test_dotted_keys_are_written_as_in_toml() -> None:
    assert dotted(("tool", 0, "http", "headers", "X Key", "短信")) == 'tool[0].http.headers."X Key".短信'


@pytest.mark.parametrize(("word", "near"), [("inputSchema", "input_schema"), ("tag", "tags"), ("zzz", ""), ("", "")])
def test_near_words(word: str, near: str) -> None:
    assert near_word(word, ["input_schema", "tags", "title"]) == near


@pytest.mark.parametrize("text", ["{} = 1", "[{}]", "[[{}]]", "x = {{ {} = 1 }}", "x = {{ y = 1, {} = 1 }}"])
@pytest.mark.parametrize("part", ["a", '"a b"', "'a'"])
def test_a_key_of_very_many_parts_is_refused_before_the_parser_sees_it(text: str, part: str) -> None:
    # 200,000 parts would keep the standard library's parser busy for many minutes.
    key = ".".join([part] * 200_000)
    found = parse(f"ok = 1\n{text.format(key)}".encode(), "x")
    assert found == Problem("x", 2, "is nested too deeply")


def test_text_with_many_dots_is_no_key() -> None:
    parsed = parse(b"a = '" + b"." * 5_000 + b"'\nb = '" + b"a b. c, " * 2_000 + b"'", "x")
    assert isinstance(parsed, tuple)
