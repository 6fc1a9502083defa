"""A result is cut where its structure allows, says what is missing, and the whole can be read page by page."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooldisco_cli.errors import NothingFound
from tooldisco_cli.execution.cutting import MARGIN, cut_json, cut_text
from tooldisco_cli.execution.masking import MASK, Masker
from tooldisco_cli.execution.protocol import FileBlock, ImageBlock, JsonBlock, Output, TextBlock
from tooldisco_cli.execution.results import MAX_IMAGE_BYTES, plain_text, shape
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


class TestCutting:
    @given(st.text(max_size=3000), st.integers(20, 500))
    def test_text_is_as_short_as_asked_but_for_the_remark(self, text, limit):
        shown, cut = cut_text(text, limit)
        assert len(shown) <= limit + MARGIN
        assert (cut is None) == (shown == text)

    @given(st.lists(st.text(st.characters(exclude_characters="\n"), max_size=30), min_size=5, max_size=200))
    def test_what_is_shown_of_a_text_are_its_own_lines_and_the_count_is_right(self, lines):
        shown, cut = cut_text("\n".join(lines), 300)
        if cut is None or cut.unit != "lines":
            return
        kept = shown.split("\n")
        at = next(i for i, line in enumerate(kept) if line.endswith("lines left out …"))
        assert kept[:at] == lines[:at]
        assert kept[at + 1 :] == lines[len(lines) - (len(kept) - at - 1) :]
        assert cut.shown == len(kept) - 1
        assert f"{cut.total - cut.shown:,} of {cut.total:,}" in kept[at]

    @given(JSON, st.integers(100, 2000))
    def test_json_stays_json_and_near_its_limit(self, value, limit):
        shown, cut = cut_json(value, limit)
        text = json.dumps(shown, ensure_ascii=False)
        assert json.loads(text) == shown
        if cut is None:
            assert shown == value
        else:
            assert cut.shown < cut.total

    def test_rows_keep_both_ends(self):
        rows = [{"id": i, "name": f"客户{i}"} for i in range(1000)]
        shown, cut = cut_json({"rows": rows, "count": 1000}, 2000)
        assert shown["count"] == 1000
        assert shown["rows"][0] == rows[0]
        assert shown["rows"][-1] == rows[-1]
        assert cut.unit == "rows"
        assert cut.total == 1000
        assert cut.shown == len(shown["rows"]) - 1
        assert len(json.dumps(shown, ensure_ascii=False)) <= 2000 + MARGIN

    def test_one_huge_text_in_an_object_loses_its_middle_and_the_rest_stays(self):
        shown, cut = cut_json({"status": "ok", "log": "x" * 100_000, "id": 7}, 1000)
        assert (shown["status"], shown["id"]) == ("ok", 7)
        assert cut.unit == "characters"
        assert len(json.dumps(shown, ensure_ascii=False)) <= 1000 + MARGIN


class TestShaping:
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
        assert "500,00" in shown
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
        assert len(spool.kept()) <= 3
        assert handles[-1] in {kept.handle for kept in spool.kept()}
        assert spool.keep([b"x" * 2000]) is None
        assert Spool(tmp_path, max_age_seconds=-1).keep([b"new"]) is not None
        assert len(spool.kept()) == 1


class TestMasking:
    SECRET = 's3cr3t/"密码"+x y'

    @given(st.text(max_size=30), st.text(max_size=30))
    def test_a_secret_is_gone_from_text_however_it_is_written(self, before, after):
        masker = Masker([self.SECRET])
        for form in (self.SECRET, json.dumps(self.SECRET)[1:-1], quote(self.SECRET, safe=""), quote(self.SECRET)):
            masked = masker.text(f"{before}{form}{after}")
            assert form not in masked.replace(before, "").replace(after, "") or form in before + after

    @given(st.binary(max_size=20), st.binary(max_size=20))
    def test_a_secret_is_gone_from_base64_wherever_it_stands_in_it(self, before, after):
        secret = "sk-ant-api03-abcdefghijkl"
        encoded = b64encode(before + secret.encode() + after).decode()
        assert MASK in Masker([secret]).text(encoded)

    @given(st.lists(st.sampled_from(["token", "tok", "en-1", "token-1234", "x"]), max_size=30), st.integers(1, 9))
    def test_a_stream_is_masked_as_its_whole_would_be(self, words, size):
        data = "".join(words).encode()
        masker = Masker(["token-1234", "1234to"])
        chunks = [data[i : i + size] for i in range(0, len(data), size)]
        assert b"".join(masker.chunks(chunks)) == masker.data(data)

    def test_json_is_masked_in_keys_values_and_numbers(self):
        masker = Masker(["9876543210"])
        value = {"9876543210": ["a 9876543210", 9876543210, True, None]}
        assert masker.json(value) == {MASK: [f"a {MASK}", MASK, True, None]}

    def test_without_secrets_nothing_changes(self):
        assert Masker([]).text("anything") == "anything"
        assert Masker([""]).data(b"anything") == b"anything"
