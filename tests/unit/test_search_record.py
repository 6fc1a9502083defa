"""The record of an index: tables looked up and changed as bytes, and a file that is either whole or none."""

from __future__ import annotations

from array import array
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooldisco_cli.catalog.footprint import Listing
from tooldisco_cli.search.record import RECORD, Record, Table, read_record, write_record

KEYS = st.text(st.characters(exclude_characters="\0\n", exclude_categories=["Cs"]), max_size=4)
VALUES = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=3)
TABLES = st.dictionaries(KEYS, VALUES, max_size=12)


def in_order(keys: object) -> list[str]:
    return sorted(keys, key=lambda key: key.encode())  # type: ignore[call-overload, no-any-return]


@given(TABLES, KEYS)
def test_a_table_is_a_mapping_in_the_order_of_its_keys(values: dict[str, str], other: str) -> None:
    table = Table.of(values)
    assert dict(table.items()) == values
    assert list(table) == in_order(values)
    assert len(table) == len(values)
    for key in {*values, other}:
        assert table.get(key) == values.get(key)
        assert (key in table) == (key in values)
        assert table.before(key) == next(reversed(in_order(k for k in values if k.encode() < key.encode())), None)
        assert table.after(key) == next(iter(in_order(k for k in values if k.encode() > key.encode())), None)


@given(TABLES, st.dictionaries(KEYS, st.none() | VALUES, max_size=6))
def test_a_changed_table_is_the_table_of_the_changed_values(
    values: dict[str, str], changes: dict[str, str | None]
) -> None:
    wanted = values | changes
    table = Table.of(values)
    changed = table.changed(changes)
    assert changed.lines == Table.of({key: value for key, value in wanted.items() if value is not None}).lines
    assert dict(table.items()) == values


def test_what_is_no_text_has_no_key() -> None:
    assert 7 not in Table.of({"7": ""})


@pytest.fixture
def record() -> Record:
    listings = (
        Listing("/f", ["a.toml", "b\udcff\n.toml"], array("q", [1, -2, 3, 4, 5, 2**63 - 1]), ["x\0002"]),
        Listing("/empty", [], array("q"), []),
    )
    plain, marks = Table.of({"/f/a.toml": "one two"}), Table.of({"one": "m1", "two": "m2"})
    return Record(listings, (("user", "/f"),), frozenset({"send"}), plain, marks, 3, 5)


def test_a_record_is_read_as_it_was_written(tmp_path: Path, record: Record) -> None:
    write_record(tmp_path, record)
    read = read_record(tmp_path)
    assert read is not None
    assert (read[:3], read[5:]) == (record[:3], record[5:])
    assert (read.plain.lines, read.marks.lines) == (record.plain.lines, record.marks.lines)


def test_a_damaged_record_is_none(tmp_path: Path, record: Record) -> None:
    write_record(tmp_path, record)
    whole = (tmp_path / RECORD).read_bytes()
    for at in range(len(whole)):
        for damaged in (whole[:at], whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]):
            (tmp_path / RECORD).write_bytes(damaged)
            assert read_record(tmp_path) is None, at
    (tmp_path / RECORD).unlink()
    assert read_record(tmp_path) is None
