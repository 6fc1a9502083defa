"""Whatever a function returns becomes plain JSON, or a block of its kind."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import json
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooldisco_cli.errors import ToolFailed
from tooldisco_cli.execution import media
from tooldisco_cli.execution.executors.python import blocks_of
from tooldisco_cli.execution.jsonable import jsonable
from tooldisco_cli.execution.protocol import FileBlock, ImageBlock, JsonBlock, TextBlock

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=12,
)  # fmt: skip


@dataclasses.dataclass
class Point:
    x: int
    when: dt.date


class Color(enum.Enum):
    RED = "red"


class Model:
    def model_dump(self) -> dict[str, Any]:
        return {"a": Decimal("1.5")}


class Array:
    def tolist(self) -> list[int]:
        return [1, 2]


@given(JSON)
def test_json_stays_as_it_is(value: Any) -> None:
    assert jsonable(value) == value


@given(st.recursive(st.none() | st.text() | st.binary() | st.decimals() | st.dates() | st.floats() | st.uuids(),
                    lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(st.text() | st.integers(), inner)))  # fmt: skip
def test_anything_becomes_json_that_utf8_can_hold(value: Any) -> None:
    json.dumps(jsonable(value), allow_nan=False, ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Point(1, dt.date(2026, 2, 1)), {"x": 1, "when": "2026-02-01"}),
        (Color.RED, "red"),
        (Model(), {"a": 1.5}),
        (Array(), [1, 2]),
        (Decimal("12000.50"), 12000.5),
        (Decimal(12), 12),
        (Decimal("0.1234567890123456789012345"), "0.1234567890123456789012345"),
        (Decimal("NaN"), None),
        (float("inf"), None),
        (b"\xff\x00", "/wA="),
        ({3, 1, 2}, [1, 2, 3]),
        ((1, 2), [1, 2]),
        ({1: "a", None: "b"}, {"1": "a", "null": "b"}),
        ({True: "c", (1, 2): "d"}, {"true": "c", "[1, 2]": "d"}),
        (dt.timedelta(seconds=90), 90.0),
        (uuid.UUID(int=5), "00000000-0000-0000-0000-000000000005"),
        (Path("a") / "b", str(Path("a") / "b")),
        ("\ud800", "?"),
        ({"a": 1}.values(), [1]),
    ],
)
def test_values_of_python_have_a_form(value: Any, plain: Any) -> None:
    assert jsonable(value) == plain


def test_depth_and_cycles_end() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    assert "nested too deeply" in json.dumps(jsonable(cycle))


def test_results_become_blocks_of_their_kind(tmp_path: Path) -> None:
    file = tmp_path / "报告.pdf"
    file.write_bytes(b"%PDF-1.7")
    assert blocks_of(None) == ()
    assert blocks_of("文本") == (TextBlock("文本"),)
    assert blocks_of({"a": (1,)}) == (JsonBlock({"a": [1]}),)
    assert blocks_of([1, 2]) == (JsonBlock([1, 2]),)
    assert blocks_of(False) == (JsonBlock(False),)
    assert blocks_of(PNG) == (ImageBlock("image/png", PNG),)
    assert blocks_of(file) == (FileBlock(str(file), "application/pdf", 8),)
    assert blocks_of(["seen", PNG, {"n": 1}]) == (
        TextBlock("seen"),
        ImageBlock("image/png", PNG),
        JsonBlock({"n": 1}),
    )
    assert blocks_of(TextBlock("x")) == (TextBlock("x"),)


def test_a_file_that_is_not_there_or_a_generator_is_the_tools_failure(tmp_path: Path) -> None:
    for result in (tmp_path / "none", (number for number in range(3))):
        with pytest.raises(ToolFailed):
            blocks_of(result)


def test_bytes_that_are_no_text_become_a_temporary_file_of_the_user() -> None:
    [block] = blocks_of(b"\x7fELF\x00\x01")
    assert isinstance(block, FileBlock)
    path = Path(block.path)
    try:
        assert path.read_bytes() == b"\x7fELF\x00\x01"
        assert (block.temporary, block.size, path.stat().st_mode & 0o077) == (True, 6, 0)
    finally:
        path.unlink()


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("中文".encode(), "中文"),
        ("\ufeff中文".encode(), "中文"),
        ("会议取消，时间另行通知".encode("gb18030"), "会议取消，时间另行通知"),
        (b"caf\xe9 au lait", "caf\ufffd au lait"),
        (b"", ""),
    ],
)
def test_text_is_decoded_as_far_as_it_can_be(data: bytes, text: str) -> None:
    assert media.decoded(data) == text


@given(st.binary())
def test_any_bytes_become_a_block(data: bytes) -> None:
    block = media.block_of(data)
    if isinstance(block, FileBlock):
        Path(block.path).unlink()
    assert isinstance(block, TextBlock | ImageBlock | FileBlock)
