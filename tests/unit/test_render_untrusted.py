"""Nothing that a manifest or a tool says is obeyed by a terminal, and nothing in it hides."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from tooldisco_cli.render.streams import json_text
from tooldisco_cli.render.untrusted import visible, visible_lines

HOSTILE = st.text(
    st.one_of(
        st.characters(codec=None),
        st.sampled_from("\x00\x07\x08\x1b\x7f\x9b\u202e\u2066\u200b\ufeff\u2028\U000e0041\r\n\t"),
    )
)


def obeyed(text: str) -> list[str]:
    return [c for c in text if unicodedata.category(c) in {"Cc", "Cs"} or unicodedata.bidirectional(c) in
            {"LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"}]  # fmt: skip


@given(HOSTILE)
def test_a_line_has_no_control_no_direction_mark_and_no_lone_surrogate(text):
    assert obeyed(visible(text)) == []


@given(HOSTILE)
def test_lines_have_nothing_but_their_line_breaks(text):
    assert set(obeyed(visible_lines(text))) <= {"\n"}


@given(st.text(st.characters(categories=["L", "N", "P", "S"])))
def test_what_people_write_stays_as_it_is(text):
    assert visible(text) == text


def test_a_control_sequence_is_shown():
    assert visible("\x1b[31mred\x1b[0m") == "␛[31mred␛[0m"
    assert visible("abc\u202etxt.exe") == "abc<U+202E>txt.exe"
    assert visible("a\u200bb") == "a<U+200B>b"
    assert visible("\ud800") == "<U+D800>"


def test_what_emoji_and_scripts_need_stays():
    for text in ("👨\u200d👩\u200d👧", "❤\ufe0f\u200d🔥", "1\ufe0f⃣", "می\u200cخواهم", "क्\u200dष", "©\ufe0f"):
        assert visible(text) == text


def test_a_joiner_or_selector_that_joins_nothing_is_shown():
    assert visible("send\u200d_email") == "send<U+200D>_email"
    assert visible("\u200cx") == "<U+200C>x"
    assert visible("❤\ufe0f\ufe01\ufe02") == "❤\ufe0f<U+FE01><U+FE02>"
    assert visible("a\U000e0041") == "a<U+E0041>"
    assert visible("ㅤx") == "<U+3164>x"


def test_markup_is_only_text():
    assert visible("[bold]x[/bold] [link=http://evil]y[/link]") == "[bold]x[/bold] [link=http://evil]y[/link]"


@given(HOSTILE)
def test_json_carries_the_text_exactly_and_no_control_itself(text):
    import json

    printed = json_text({"text": text})
    assert json.loads(printed) == {"text": text}
    assert [c for c in printed if unicodedata.category(c) == "Cc"] == []
