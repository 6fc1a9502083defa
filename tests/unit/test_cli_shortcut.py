"""A plain search is read without typer, and means what typer reads in it."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from typer.exceptions import TyperException

from tooldisco_cli.cli import search, shortcut
from tooldisco_cli.cli.app import root_command
from tooldisco_cli.cli.context import Common
from tooldisco_cli.cli.searching import Wanted


def read_by_typer(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> tuple[Wanted, Common] | None:
    """Return what typer reads in a search; None where it refuses, or does something else."""
    read = []
    monkeypatch.setattr(search, "find", lambda *wanted: read.append(wanted) or 0)
    try:
        root_command().main(arguments, "tooldisco", standalone_mode=False)
    except TyperException:
        return None
    return read[0] if read else None


OPTIONS = [*shortcut._FLAGS, *shortcut._VALUES]
PIECES = st.one_of(
    st.sampled_from(
        [*OPTIONS, "search", "send email", "发送邮件", "5", "1000", "words", "hybrid", "data", "", "/a b"]
    ),
    st.sampled_from(["--limit=3", "-n5", "--", "--json=1", "-qn", "-", "--no", "--tools", "0", "1001", "٣", "Words"]),
    st.text(max_size=3),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=3), st.lists(PIECES, max_size=6))
@example(["--tools-dir", "search"], ["search"])
@example(["-q"], ["search", "-n", "3", "-n", "4"])
def test_what_the_shortcut_reads_is_what_typer_reads(before: list[str], after: list[str]) -> None:
    arguments = [*before, "search", *after]
    quick = shortcut.searched(arguments)
    if quick is not None:
        with pytest.MonkeyPatch.context() as monkeypatch:
            slow = read_by_typer(arguments, monkeypatch)
        assert slow is not None
        assert comparable(quick) == comparable(slow)


def comparable(read: tuple[Wanted, Common]) -> tuple[Wanted, Common]:
    wanted, given = read
    return wanted._replace(categories=tuple(wanted.categories), tags=tuple(wanted.tags)), given


PLAIN = [
    ["search", "发送邮件", "--json"],
    ["--tools-dir", "/a", "-q", "search", "send", "an", "email", "--tools-dir", "/b", "--no-color"],
    ["search", "-c", "data", "--category", "media", "-t", "csv", "--tag", "x", "--limit", "7", "read"],
    ["search", "--explain", "--explain-tool", "read_file", "--no-cache", "--mode", "hybrid", "--quiet", "q"],
]


@pytest.mark.parametrize("arguments", PLAIN, ids=" ".join)
def test_every_option_is_read_by_the_shortcut(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    quick, slow = shortcut.searched(arguments), read_by_typer(arguments, monkeypatch)
    assert quick is not None
    assert slow is not None
    assert comparable(quick) == comparable(slow)


def test_the_shortcut_knows_every_option_of_search() -> None:
    root = root_command()
    spelt = {
        option
        for command in (root.get_command(None, "search"), root)
        for parameter in command.params
        for option in (parameter.opts if parameter.param_type_name == "option" else [])
    }
    elsewhere = {"--help", "-h", "--version", "--install-completion", "--show-completion"}
    assert spelt - elsewhere == set(OPTIONS)


@pytest.mark.parametrize(
    "arguments",
    [
        ["search"],
        ["search", "-"],
        ["search", "x", "--help"],
        ["search", "x", "--limit", "many"],
        ["search", "x", "--limit", "0"],
        ["search", "x", "--limit"],
        ["search", "x", "--mode", "best"],
        ["search", "--", "-x"],
        ["search", "x", "--unknown"],
        ["tools", "show", "search"],
        ["run", "search", "for", "it"],
        [],
    ],
    ids=" ".join,
)
def test_all_else_is_left_to_typer(arguments: list[str]) -> None:
    assert shortcut.shortcut(arguments) is None
