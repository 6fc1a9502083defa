"""A model's words are shown by paragraphs while they stream, however they are cut into pieces."""

from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from tooldisco_cli.agent.events import TextDelta, TextEnded
from tooldisco_cli.render.session import Paragraphs, session_view
from tooldisco_cli.render.streams import Output

CODE = "```python\na = 1\n\nb = 2\n```"
MARKDOWN = st.text(st.sampled_from("a`~\n 中"), max_size=60)


def cut(text: str, size: int) -> tuple[list[str], str]:
    answer = Paragraphs()
    whole = [part for at in range(0, len(text), size) for part in answer.feed(text[at : at + size])]
    return whole, answer.rest()


def test_a_paragraph_is_shown_when_a_blank_line_ends_it_and_a_code_block_as_a_whole():
    assert cut(f"one\ntwo\n\n{CODE}\n\nlast", 3) == (["one\ntwo", CODE], "last")


@given(MARKDOWN, st.integers(1, 9))
def test_pieces_of_any_size_give_the_same_paragraphs_and_lose_nothing(text, size):
    paragraphs, rest = cut(text, size)
    assert (paragraphs, rest) == cut(text, len(text) or 1)
    assert "".join("".join([*paragraphs, rest]).split()) == "".join(text.split())


def test_after_the_end_of_an_answer_the_next_begins_anew():
    console = Console(file=io.StringIO(), width=60)
    view = session_view(Output(), console=console)
    for event in (TextDelta(text="```\nopen"), TextEnded(text="```\nopen"), TextDelta(text="next\n\n")):
        view(event)
    assert console.file.getvalue().rstrip().endswith("next")
