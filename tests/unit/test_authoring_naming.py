"""Names that models accept, made from any names at all."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooldisco_cli.authoring.naming import accepted_names, file_stem

lookalikes = st.lists(st.text(st.sampled_from("ab_. -é短"), max_size=4), max_size=12)
anything = st.lists(st.text(max_size=90), max_size=12)


@given(st.one_of(lookalikes, anything))
def test_names_are_accepted_and_distinct(originals: list[str]) -> None:
    names = accepted_names(originals)
    assert set(names) == set(originals)
    assert len(set(names.values())) == len(set(originals))
    for original, name in names.items():
        assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name)
        if re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", original):
            assert name == original


@given(lookalikes, st.randoms())
def test_names_do_not_depend_on_the_order(originals: list[str], random: object) -> None:
    shuffled = list(dict.fromkeys(originals))
    random.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis' Random
    assert accepted_names(shuffled) == accepted_names(originals)


@pytest.mark.parametrize(
    ("original", "name"),
    [
        ("Summarize Detection", "Summarize_Detection"),
        ("getPM2.5Level", "getPM2_5Level"),
        ("@scope/server:tool", "scope_server_tool"),
        ("café", "cafe"),
        ("ｆｕｌｌ", "full"),
        ("文案分析工具", "tool_918ba21e"),
        ("URL解析", "URL_0a7ee371"),
        ("...", "tool_ab5df625"),
        ("a" * 65, "a" * 55 + "_635361c4"),
    ],
)
def test_examples(original: str, name: str) -> None:
    assert accepted_names([original]) == {original: name}


def test_two_that_would_become_one_are_both_marked() -> None:
    names = accepted_names(["a b", "a.b", "c d", "c_d"])
    assert re.fullmatch(r"a_b_[0-9a-f]{8}", names["a b"])
    assert re.fullmatch(r"a_b_[0-9a-f]{8}", names["a.b"])
    assert re.fullmatch(r"c_d_[0-9a-f]{8}", names["c d"])
    assert names["c_d"] == "c_d"


@pytest.mark.parametrize(
    ("group", "stem"),
    [
        ("Alfresco", "alfresco"),
        ("a/b\\c", "a-b-c"),
        ("../..", "tools"),
        ("短信", "短信"),
        ("CON", "con-tools"),
        ("", "tools"),
        (".x", "x"),
    ],
)
def test_file_stems(group: str, stem: str) -> None:
    assert file_stem(group) == stem


@given(st.text(max_size=200))
def test_file_stems_are_safe(group: str) -> None:
    stem = file_stem(group)
    assert re.fullmatch(r"[\w-]+", stem)
    assert len(stem.encode()) <= 250
