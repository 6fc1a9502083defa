"""A result is cut where its structure allows, says what is missing, and the whole can be read page by page."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tooldisco_cli.errors import NothingFound
from tooldisco_cli.execution import cutting
from tooldisco_cli.execution.cutting import MARGIN, cut_json, cut_text
from tooldisco_cli.execution.graphemes import cut_after, cut_before, may_cut
from tooldisco_cli.execution.masking import MASK, Secret
from tooldisco_cli.execution.protocol import FileBlock, ImageBlock, JsonBlock, Output, TextBlock
from tooldisco_cli.execution.results import MAX_FILES, MAX_IMAGE_BYTES, MAX_IMAGES, plain_text, shape
from tooldisco_cli.execution.spool import Spool

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=80),
    lambda inner: st.lists(inner, max_size=12) | st.dictionaries(st.text(max_size=12), inner, max_size=8),
    max_leaves=80,
)


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return Spool(tmp_path / "results")


def whole(spool: Spool, handle: str, page_chars: int = 1000) -> str:
    first = spool.read_page(handle, 1, page_chars)
    return first.text + "".join(spool.read_page(handle, n, page_chars).text for n in range(2, first.pages + 1))


def json_size(value) -> int:
    return len(json.dumps(value, ensure_ascii=False))


class TestCutting:
    @given(st.text(max_size=3000) | st.text("ab \n", max_size=3000), st.integers(0, 500))
    def test_text_is_as_short_as_asked(self, text, limit):
        shown, cut = cut_text(text, limit)
        assert len(shown) <= max(limit, MARGIN)
        assert (cut is None) == (shown == text)

    @given(
        st.lists(st.text(st.characters(exclude_characters="\n"), max_size=30), min_size=5, max_size=200),
        st.booleans(),
    )
    def test_what_is_shown_of_a_text_are_its_own_lines_and_the_count_is_right(self, lines, ended):
        shown, cut = cut_text("\n".join(lines) + "\n" * ended, 300)
        if cut is None or cut.unit != "lines" or lines[-1] == "":
            return
        kept = shown.removesuffix("\n").split("\n")
        at = next(i for i, line in enumerate(kept) if line.endswith("lines left out …"))
        assert kept[:at] == lines[:at]
        assert kept[at + 1 :] == lines[len(lines) - (len(kept) - at - 1) :]
        assert (cut.total, cut.shown) == (len(lines), len(kept) - 1)
        assert f"{cut.total - cut.shown:,} of {cut.total:,}" in kept[at]

    @given(st.text(st.characters(exclude_characters="\n…"), min_size=400, max_size=2000))
    def test_what_is_shown_of_one_long_line_are_its_ends_and_the_count_is_right(self, text):
        shown, cut = cut_text(text, 300)
        head, middle, tail = shown.split("…")
        assert text.startswith(head)
        assert text.endswith(tail)
        assert (cut.unit, cut.total, cut.shown) == ("characters", len(text), len(head) + len(tail))
        assert middle == f" {cut.total - cut.shown:,} of {cut.total:,} characters left out "

    @given(JSON, st.integers(0, 2000))
    def test_json_stays_json_and_within_its_limit(self, value, limit):
        shown, cut = cut_json(value, limit)
        assert json.loads(json.dumps(shown)) == shown
        if cut is None:
            assert shown == value
        else:
            assert cut.shown < cut.total
            assert json_size(shown) <= max(limit, MARGIN)

    @given(
        st.lists(
            st.integers() | st.text(st.characters(exclude_characters="…"), max_size=20), min_size=50, max_size=300
        )
    )
    def test_the_items_shown_of_a_list_are_its_ends_and_the_count_is_right(self, items):
        shown, cut = cut_json(items, 400)
        if cut is None:
            assert shown == items
            return
        at = next(i for i, item in enumerate(shown) if isinstance(item, str) and item.endswith("left out …"))
        assert shown[:at] == items[:at]
        assert shown[at + 1 :] == items[len(items) - (len(shown) - at - 1) :]
        assert (cut.total, cut.shown) == (len(items), len(shown) - 1)
        assert shown[at] == f"… {cut.total - cut.shown:,} of {cut.total:,} {cut.unit} left out …"

    def test_an_object_of_many_keys_says_how_many_are_left_out(self):
        shown, cut = cut_json({f"key{i}": "v" * 50 for i in range(1000)}, 1000)
        assert (cut.unit, cut.total, cut.shown) == ("keys", 1000, len(shown) - 1)
        assert shown["…"] == f"{1000 - cut.shown:,} of 1,000 keys left out"
        assert json_size(shown) <= 1000

    def test_what_is_cut_farthest_out_is_what_is_told(self):
        rows = [{"id": i, "text": "x" * 3000} for i in range(500)]
        shown, cut = cut_json(rows, 2000)
        assert (cut.unit, cut.total) == ("rows", 500)
        assert len(shown) - 1 == cut.shown >= 5
        assert all("id" in row for row in shown if isinstance(row, dict))

    def test_depth_costs_nothing(self):
        """Each level was once measured whole: ninety levels took seconds, and now no more than the limit asks."""
        value = "v"
        for _ in range(90):
            value = {"inside": value, "beside": ["y" * 1000] * 200}
        measured = []
        original = cutting.encode_basestring
        cutting.encode_basestring = lambda text: measured.append(len(text)) or original(text)
        try:
            shown, _ = cut_json(value, 20_000)
        finally:
            cutting.encode_basestring = original
        assert json_size(shown) <= 20_000
        assert sum(measured) < 1_000_000

    def test_rows_keep_both_ends(self):
        rows = [{"id": i, "name": f"客户{i}"} for i in range(1000)]
        shown, cut = cut_json({"rows": rows, "count": 1000}, 2000)
        assert shown["count"] == 1000
        assert shown["rows"][0] == rows[0]
        assert shown["rows"][-1] == rows[-1]
        assert cut.unit == "rows"
        assert cut.total == 1000
        assert cut.shown == len(shown["rows"]) - 1
        assert json_size(shown) <= 2000

    def test_one_huge_text_in_an_object_loses_its_middle_and_the_rest_stays(self):
        shown, cut = cut_json({"status": "ok", "log": "x" * 100_000, "id": 7}, 1000)
        assert (shown["status"], shown["id"]) == ("ok", 7)
        assert cut.unit == "characters"
        assert json_size(shown) <= 1000


CHARACTERS = [
    "a",
    "é",
    "e\u0301",
    "행",
    "\u1112\u1162\u11bc",
    "👍🏽",
    "👨‍👩‍👧‍👦",
    "🇨🇳",
    "🏴\U000e0067\U000e0062\U000e007f",
    "क्षि",
    "葛\U000e0100",
    "\r\n",
]


class TestCharacters:
    @given(st.lists(st.sampled_from(CHARACTERS), max_size=40))
    def test_a_text_may_be_cut_exactly_between_characters(self, characters):
        text = "".join(characters)
        borders = {sum(map(len, characters[:i])) for i in range(len(characters) + 1)}
        assert {place for place in range(len(text) + 1) if may_cut(text, place)} == borders
        for place in range(len(text) + 1):
            assert cut_before(text, place) == max(border for border in borders if border <= place)
            assert cut_after(text, place) == min(border for border in borders if border >= place)

    @given(st.lists(st.sampled_from(CHARACTERS[1:-1]), min_size=100, max_size=300), st.integers(80, 200))
    def test_a_cut_text_shows_whole_characters_only(self, characters, limit):
        shown, cut = cut_text("".join(characters), limit)
        if cut is None:
            return
        head, _, tail = shown.split("…")
        ends = {"".join(characters[:i]) for i in range(len(characters))}
        assert head in ends
        assert tail in {"".join(characters[i:]) for i in range(len(characters) + 1)}

    def test_marks_without_end_are_cut_somewhere(self):
        text = "a" + "\u0301" * 5000
        assert 0 < cut_before(text, 1000) <= 1000
        assert 1000 <= cut_after(text, 1000) < 5000


BLOCKS = st.lists(st.builds(TextBlock, st.text(max_size=600)) | st.builds(JsonBlock, JSON), max_size=30)


class TestShaping:
    @settings(deadline=None)
    @given(BLOCKS, st.integers(200, 3000))
    def test_a_result_is_no_longer_than_its_limit_and_its_whole_can_be_read(self, tmp_path_factory, blocks, limit):
        spool = Spool(tmp_path_factory.mktemp("spool"))
        shaped = shape(Output(blocks=tuple(blocks)), limit=limit, spool=spool)
        assert len(plain_text(shaped.blocks)) <= limit + MARGIN
        assert (shaped.handle is None) == (len(plain_text(blocks)) <= limit)
        if shaped.handle and all(isinstance(block, TextBlock) for block in blocks):
            assert whole(spool, shaped.handle) == plain_text(blocks).encode("utf-8", "backslashreplace").decode()

    def test_a_thousand_parts_are_cut_like_lines(self, spool):
        blocks = tuple(TextBlock(f"part {i} " + "x" * 100) for i in range(1000))
        shaped = shape(Output(blocks=blocks), limit=2000, spool=spool)
        assert shaped.blocks[0] == blocks[0]
        assert shaped.blocks[-1] == blocks[-1]
        assert (shaped.cut.unit, shaped.cut.total) == ("parts", 1000)
        assert any("of 1,000 parts left out" in block.text for block in shaped.blocks)

    def test_text_that_is_json_stays_json(self, spool):
        text = json.dumps([{"id": i} for i in range(2000)], indent=2)
        shaped = shape(Output(blocks=(TextBlock(text),)), limit=1000, spool=spool)
        shown = json.loads(shaped.blocks[0].text)
        assert (shown[0], shown[-1]) == ({"id": 0}, {"id": 1999})
        assert (shaped.cut.unit, shaped.cut.total) == ("rows", 2000)
        assert whole(spool, shaped.handle) == text

    def test_what_a_model_cannot_see_is_a_file(self, spool):
        shaped = shape(Output(blocks=(ImageBlock("image/svg+xml", b"<svg/>"),)), limit=200, spool=spool)
        assert isinstance(shaped.blocks[0], FileBlock)

    def test_images_and_files_are_limited_in_number(self, spool):
        images = (ImageBlock("image/png", b"x" * 10),) * (MAX_IMAGES + 5)
        shaped = shape(Output(blocks=images), limit=200, spool=spool)
        assert [type(block) for block in shaped.blocks] == [ImageBlock] * MAX_IMAGES + [FileBlock] * 5
        files = (FileBlock("/x", "application/pdf", 5),) * (MAX_FILES + 5)
        shaped = shape(Output(blocks=files), limit=200, spool=spool)
        assert shaped.blocks[-1] == TextBlock(f"… 5 of {MAX_FILES + 5} files left out …")
        assert whole(spool, shaped.handle).count("/x") == MAX_FILES + 5

    def test_a_file_that_a_tool_wrote_is_only_named(self, spool, tmp_path):
        path = tmp_path / "report.txt"
        path.write_text("z" * 10_000)
        block = FileBlock(str(path), "text/plain", 10_000)
        assert shape(Output(blocks=(block,)), limit=200, spool=spool).blocks == (block,)
        assert path.exists()

    def test_one_endless_line_too_large_for_memory_counts_its_characters(self, spool, tmp_path):
        path = tmp_path / "big"
        path.write_bytes("行".encode() * 1_000_000)
        block = FileBlock(str(path), "text/plain", path.stat().st_size, temporary=True)
        shaped = shape(Output(blocks=(block,)), limit=1000, spool=spool)
        assert (shaped.cut.unit, shaped.cut.total, shaped.size) == ("characters", 1_000_000, 1_000_000)
        assert shaped.blocks[0].text.count("行") == shaped.cut.shown
        assert f"{1_000_000 - shaped.cut.shown:,} of 1,000,000" in shaped.blocks[0].text

    def test_a_small_text_that_came_as_a_file_is_text(self, spool, tmp_path):
        path = tmp_path / "small"
        path.write_text("hello token-abcdef")
        block = FileBlock(str(path), "text/plain", 18, temporary=True)
        shaped = shape(Output(blocks=(block,)), limit=1000, spool=spool, secrets=[Secret("token-abcdef", "TOKEN")])
        assert (shaped.blocks, shaped.cut, shaped.handle) == ((TextBlock("hello [masked:TOKEN]"),), None, None)
        assert not path.exists()

    def test_a_small_result_is_as_it_was(self, spool):
        output = Output(blocks=(TextBlock("hi"), JsonBlock({"a": 1})))
        shaped = shape(output, limit=1000, spool=spool)
        assert (shaped.blocks, shaped.cut, shaped.handle) == (output.blocks, None, None)
        assert spool.kept() == []

    def test_the_whole_of_a_cut_result_is_behind_its_handle(self, spool):
        text = "\n".join(f"line {i} 行" for i in range(5000))
        shaped = shape(Output(blocks=(TextBlock(text),)), limit=1000, spool=spool)
        assert len(plain_text(shaped.blocks)) <= 1000 + MARGIN
        assert whole(spool, shaped.handle) == text

    def test_json_behind_a_handle_is_the_same_json(self, spool):
        value = {"rows": [[i, "值"] for i in range(3000)]}
        shaped = shape(Output(blocks=(JsonBlock(value),)), limit=1000, spool=spool)
        assert json.loads(whole(spool, shaped.handle)) == value

    def test_small_blocks_beside_a_large_one_stay_whole(self, spool):
        blocks = (TextBlock("summary"), TextBlock("y\n" * 9000), JsonBlock({"ok": True}))
        shaped = shape(Output(blocks=blocks), limit=800, spool=spool)
        assert shaped.blocks[0] == blocks[0]
        assert shaped.blocks[2] == blocks[2]
        assert shaped.cut.unit == "lines"

    def test_an_image_goes_through_and_a_huge_one_becomes_a_file(self, spool):
        small, huge = ImageBlock("image/png", b"x" * 10), ImageBlock("image/png", b"x" * (MAX_IMAGE_BYTES + 1))
        shaped = shape(Output(blocks=(small, huge)), limit=200, spool=spool)
        assert shaped.blocks[0] == small
        assert isinstance(shaped.blocks[1], FileBlock)
        assert Path(shaped.blocks[1].path).stat().st_size == MAX_IMAGE_BYTES + 1
        assert shaped.blocks[1].path.endswith(".png")

    def test_a_text_too_large_for_memory_comes_as_a_file_and_is_taken_over(self, spool, tmp_path):
        path = tmp_path / "big"
        path.write_bytes(b"first\n" + b"token-abcdef\n" * 500_000 + b"last\n")
        block = FileBlock(str(path), "text/plain", path.stat().st_size, temporary=True)
        shaped = shape(Output(blocks=(block,)), limit=1000, spool=spool, secrets=["token-abcdef"])
        shown = plain_text(shaped.blocks)
        assert shown.startswith("first\n")
        assert shown.rstrip().endswith("last")
        assert (shaped.cut.unit, shaped.cut.total) == ("lines", 500_002)
        assert f"{500_002 - shaped.cut.shown:,} of 500,002 lines" in shown
        assert "token-abcdef" not in shown
        assert not path.exists()
        page = spool.read_page(shaped.handle, 1, 10_000)
        assert MASK in page.text
        assert "token-abcdef" not in page.text

    def test_where_nothing_can_be_kept_the_result_is_cut_and_says_so(self, tmp_path):
        (tmp_path / "file").write_text("")
        shaped = shape(Output(blocks=(TextBlock("z\n" * 9000),)), limit=500, spool=Spool(tmp_path / "file" / "x"))
        assert shaped.handle is None
        assert shaped.cut is not None
        assert "could not be kept" in shaped.notes[0]


class TestSpool:
    def test_files_are_private(self, spool):
        handle = spool.keep([b"secret"])
        assert (spool.folder / f"{handle}.txt").stat().st_mode & 0o777 == 0o600

    @pytest.mark.parametrize("handle", ["../../etc/passwd", "", "a" * 16 + "/x", "..", "a" * 15, "A" * 16, "a" * 16])
    def test_a_handle_never_leads_elsewhere(self, spool, handle):
        spool.keep([b"x"])
        with pytest.raises(NothingFound):
            spool.read_page(handle)

    def test_a_page_that_is_not_there(self, spool):
        handle = spool.keep([b"x" * 25])
        assert spool.read_page(handle, 3, 10).text == "x" * 5
        for page in (0, -1, 4):
            with pytest.raises(NothingFound, match="no page"):
                spool.read_page(handle, page, 10)

    @given(st.text(min_size=1, max_size=400), st.integers(1, 50))
    def test_pages_joined_are_the_text(self, tmp_path_factory, text, page_chars):
        spool = Spool(tmp_path_factory.mktemp("spool"))
        handle = spool.keep([text.encode("utf-8", "backslashreplace")])
        assert whole(spool, handle, page_chars) == text.encode("utf-8", "backslashreplace").decode()

    def test_it_is_bounded_in_size_and_age(self, tmp_path):
        spool = Spool(tmp_path, max_total_bytes=1000)
        handles = [spool.keep([b"x" * 400]) for _ in range(5)]
        assert len(spool.kept()) <= 2
        assert handles[-1] in {kept.handle for kept in spool.kept()}
        assert spool.keep([b"x" * 2000]) is None
        assert sum(kept.size for kept in spool.kept()) <= 1000
        assert Spool(tmp_path, max_age_seconds=-1).keep([b"new"]) is not None
        assert len(spool.kept()) == 1

    def test_what_others_are_writing_is_left_alone_and_what_they_left_is_removed(self, tmp_path):
        new, old = tmp_path / ".a.txt.1", tmp_path / ".b.txt.2"
        for path in (new, old):
            path.write_bytes(b"x" * 900)
        os.utime(old, (time.time() - 7200,) * 2)
        assert Spool(tmp_path, max_total_bytes=1000).keep([b"x" * 900]) is not None
        assert (new.exists(), old.exists()) == (True, False)

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
    def test_a_full_disk_leaves_no_handle_and_nothing_half_written(self, spool, monkeypatch):
        spool.folder.mkdir(parents=True)
        monkeypatch.setattr(os, "open", lambda *_, _open=os.open, **__: _open("/dev/full", os.O_WRONLY))
        assert spool.keep([b"x" * 100_000]) is None
        monkeypatch.undo()
        assert list(spool.folder.iterdir()) == []
