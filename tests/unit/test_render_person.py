"""A person is asked in lines that fit, and a slip of the fingers is asked about again."""

from __future__ import annotations

import asyncio
import io

import pytest
from rich.cells import cell_len

from tooldisco_cli.agent.guided import Choice
from tooldisco_cli.render import asking, person

TOOLS = [
    Choice("send_email", "Send a message to somebody. 给某人发送一封邮件，可以带附件，也可以抄送。" * 3),
    Choice("send_sms"),
]
LEVEL = {"enum": ["low", "high", 10], "description": "How urgent it is. 有多紧急。" * 5}


@pytest.fixture
def types(monkeypatch):
    """Let a person type these lines, one for each question."""

    def answers(*lines: str) -> None:
        waiting = iter(lines)

        async def read_line(_: str) -> str:
            return next(waiting)

        monkeypatch.setattr(person, "read_line", read_line)

    return answers


def choose() -> int | str:
    return asyncio.run(person.TerminalPerson().choose("Which tool?", TOOLS, otherwise="words, or Enter to end"))


def fill(schema: dict) -> str:
    return asyncio.run(person.TerminalPerson().fill("level", schema, required=True, trouble=""))


def test_a_number_that_is_not_offered_is_asked_for_again(types, capsys):
    types("7", "0", "2")
    assert choose() == 1
    assert "there is no 7 here: 1 to 2, or words" in capsys.readouterr().err


@pytest.mark.parametrize("words", ["", "7 days", "发送邮件"])
def test_other_words_are_taken_as_words(types, words):
    types(words)
    assert choose() == words


def test_a_value_that_is_none_of_the_choices_is_asked_for_again(types, capsys):
    types("medium", "9", "2")
    assert fill(LEVEL) == "high"
    assert "medium is none of these" in capsys.readouterr().err


@pytest.mark.parametrize(("typed", "value"), [("1", "low"), ("low", "low"), ("3", "10"), ("10", "10"), ("", "")])
def test_a_choice_is_taken_by_number_or_by_value(types, typed, value):
    types(typed)
    assert fill(LEVEL) == value


@pytest.mark.parametrize("columns", [30, 60])
def test_every_line_fits_the_terminal(types, capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    types("1", "1", "y", "x")
    choose()
    fill(LEVEL)
    asyncio.run(person.confirm_guided())
    asyncio.run(person.answer_question("Which of them? 哪一个？" * 6, ["the first of them " * 4, "no"]))
    lines = capsys.readouterr().err.splitlines()
    assert max(map(cell_len, lines)) <= columns
    assert any(line.startswith("     ") for line in lines)


def test_a_long_prompt_is_broken_before_the_place_to_type(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setattr("sys.stdin", io.StringIO("send\n"))
    said = asyncio.run(asking.read_line("[1-5, other words to search for, or Enter to end] "))
    assert said == "send"
    assert max(map(len, capsys.readouterr().err.splitlines())) <= 30
