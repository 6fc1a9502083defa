"""Cutting Chinese: with the dictionary on disk as with a loaded one, and from the one to the other in time."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import jieba
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tooldisco_cli.search import segmentation
from tooldisco_cli.search.segmentation import FrequenciesOnDisk

DICTIONARY = Path(jieba.__file__).with_name("dict.txt")
HAN = re.compile(r"[\u4e00-\u9fff]+")


@pytest.fixture(scope="module")
def loaded() -> dict[str, int]:
    jieba.initialize()
    return jieba.dt.FREQ


@pytest.fixture(scope="module")
def on_disk() -> FrequenciesOnDisk:
    return FrequenciesOnDisk(DICTIONARY.read_bytes())


def test_every_word_and_every_beginning_has_its_frequency(loaded, on_disk):
    chinese = [word for word in loaded if HAN.fullmatch(word)]
    assert len(chinese) > 490_000
    near = [word for word in chinese if word[0] in "吉高一龢"]
    for word in [*chinese[::31], *near]:
        assert on_disk[word] == loaded[word], word


@given(st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), min_size=1, max_size=4))
def test_what_is_no_word_is_not_found(loaded, on_disk, word):
    assert on_disk.get(word) == loaded.get(word)
    assert (word in on_disk) == (word in loaded)


@settings(max_examples=200)
@given(
    st.lists(
        st.sampled_from("发送邮件给客户查询天气预报吉林大学吉林人民出版社高富帅数据库表格翻译成英文的了"), max_size=20
    )
)
def test_texts_are_cut_alike(characters):
    run = "".join(characters)
    assert list(segmentation._cut_from_disk()(run)) == list(jieba.cut_for_search(run))


@pytest.mark.parametrize("missing", [False, True])
def test_many_texts_are_cut_with_a_loaded_dictionary(monkeypatch, missing):
    if missing:
        monkeypatch.setitem(sys.modules, "rjieba", None)
    made: list[str] = []
    from_disk, from_memory = segmentation._cut_from_disk, segmentation._cut_from_memory
    monkeypatch.setattr(segmentation, "_BEFORE_JIEBA", 10)
    monkeypatch.setattr(segmentation, "_BEFORE_RJIEBA", 10)
    monkeypatch.setattr(segmentation, "_cut_from_disk", lambda: (made.append("disk"), from_disk())[1])
    monkeypatch.setattr(segmentation, "_cut_from_memory", lambda: (made.append("memory"), from_memory())[1])
    cutter = segmentation._Cutter()
    assert [list(cutter("发送邮件")) for _ in range(5)] == [["发送", "邮件"]] * 5
    assert made == ["disk", "memory"]


def test_another_dictionary_is_loaded(monkeypatch):
    monkeypatch.setattr(segmentation, "_ON_DISK_BYTES", 1)
    assert segmentation._cut_from_disk() is None
    assert list(segmentation._Cutter()("发送邮件")) == ["发送", "邮件"]


def test_neither_loads_what_takes_long_and_warns():
    program = (
        "import sys; from tooldisco_cli.search.segmentation import index_terms; print(index_terms('发送邮件')[0]);"
        "print('pkg_resources' in sys.modules, sys.modules['jieba'].dt.initialized)"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("['发送', '邮件']\nFalse False\n", "")
