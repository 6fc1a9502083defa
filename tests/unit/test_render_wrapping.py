"""Lines of Chinese and English fit their width, lose nothing, and break where readers expect it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tooldisco_cli.render.terminal import columns_text
from tooldisco_cli.render.untrusted import visible
from tooldisco_cli.render.wrapping import paragraphs, pieces, shortened, wrap

TEXT = st.text(st.sampled_from("ab c，。（）《发送邮件给客户0-9.,()" + "字词"), max_size=120)


@given(TEXT)
def test_pieces_joined_are_the_text(text):
    assert "".join(pieces(text)) == text


@given(TEXT, st.integers(2, 40))
def test_no_line_is_wider_than_asked(text, width):
    assert all(cell_len(line) <= width for line in wrap(text, width))


@given(TEXT, st.integers(2, 40))
def test_only_spaces_are_lost(text, width):
    assert "".join("".join(wrap(text, width)).split()) == "".join(text.split())


@given(TEXT, st.integers(4, 40), st.integers(1, 3))
def test_at_most_so_many_lines(text, width, most):
    whole, cut = wrap(text, width), wrap(text, width, most=most)
    assert len(cut) <= most
    assert (cut == whole) or (len(whole) > most and cut[-1].endswith("…") and cell_len(cut[-1]) <= width)


def test_closing_punctuation_never_begins_a_line():
    lines = wrap("发送一封电子邮件给收件人，可抄送、密送、附文件。", 12)
    assert all(line[0] not in "，。、" for line in lines)
    assert len(lines) > 3


def test_a_run_of_chinese_fills_the_line_that_a_word_began():
    assert wrap("Jira 项目中创建一个工单", 12) == ["Jira 项目中", "创建一个工单"]


def test_an_address_is_cut_after_a_slash_or_the_like():
    assert wrap("https://api.example.com/2010/Accounts/{env:SID}/Messages.json", 40) == [
        "https://api.example.com/2010/Accounts/",
        "{env:SID}/Messages.json",
    ]


def test_lines_broken_by_hand_become_paragraphs_and_lists_stay_lists():
    text = "Send one\ne-mail.\n发送一封\n邮件。\n\nKinds:\n- plain\n- with files\n  indented\n1. first"
    assert paragraphs(text) == [
        "Send one e-mail. 发送一封邮件。",
        "",
        "Kinds:",
        "- plain",
        "- with files",
        "  indented",
        "1. first",
    ]


@given(TEXT, st.integers(2, 40))
def test_shortened_text_fits(text, width):
    assert cell_len(shortened(text, width)) <= width


@given(st.lists(st.tuples(*[st.text(max_size=12).map(visible)] * 3), min_size=1, max_size=6))
def test_columns_begin_at_the_same_cell_in_every_row(rows):
    lines = columns_text(rows).split("\n")
    first = max(cell_len(row[0]) for row in rows) + 2
    for row, line in zip(rows, lines, strict=True):
        if row[1].strip():
            at = line.index(row[1].strip(), len(row[0])) if row[1] == row[1].strip() else None
            assert at is None or cell_len(line[:at]) == first
