"""What a person sees on a real (pseudo) terminal."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios
import unicodedata

import pytest
from rich.cells import cell_len
from running import COMMAND

ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture
def on_terminal(work, environment):
    """Run a command with a terminal of so many columns as its stdout; return what it wrote there."""

    def run(*arguments: str, columns: int = 80, **variables: str) -> str:
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        command = subprocess.Popen([*COMMAND, *arguments], cwd=work, env={"TERM": "xterm-256color"} | environment
                                   | variables, stdout=follower, stderr=subprocess.DEVNULL)  # fmt: skip
        os.close(follower)
        written = b""
        while True:
            try:
                chunk = os.read(leader, 65536)
            except OSError:  # Linux says so when the last writer is gone
                break
            if not chunk:
                break
            written += chunk
        command.wait()
        os.close(leader)
        return written.decode().replace("\r\n", "\n")

    return run


@pytest.mark.parametrize("columns", [30, 60, 80, 120, 200])
@pytest.mark.parametrize(
    "arguments",
    [
        ("search", "发送邮件"),
        ("search", "退款 send", "--explain", "--explain-tool", "query_mysql"),
        ("tools", "list"),
        ("tools", "show", "refund_order"),
        ("tools", "categories"),
    ],
)
def test_no_line_is_wider_than_the_terminal(on_terminal, shop, arguments, columns):
    lines = ESCAPES.sub("", on_terminal(*arguments, columns=columns)).split("\n")
    assert len(lines) > 3
    prose = [line for line in lines if not line.startswith(("  {", "    →"))]  # examples are left whole to copy
    assert max(map(cell_len, prose)) <= columns


@pytest.mark.parametrize("columns", [60, 80, 120, 200])
def test_columns_of_a_list_begin_at_the_same_cell_in_every_line(on_terminal, shop, columns):
    head, *rows = [
        line for line in ESCAPES.sub("", on_terminal("tools", "list", columns=columns)).split("\n") if line.strip()
    ]
    assert len(rows) > 10
    for word in head.split()[1:]:
        column = cell_len(head[: head.index(word)])
        for row in rows:
            before = ""
            while len(before) < len(row) and cell_len(before) < column:
                before = row[: len(before) + 1]
            assert cell_len(before) <= column, row  # no wide character lies across the column's edge
            assert before.endswith(" ") or len(before) == len(row), row


def test_a_list_shows_more_where_there_is_room(on_terminal):
    heads = {columns: on_terminal("tools", "list", "--no-color", columns=columns).split("\n")[0]
             for columns in (80, 100, 200)}  # fmt: skip
    heads = {columns: ESCAPES.sub("", head).split() for columns, head in heads.items()}
    assert heads[80] == ["tool", "category", "title"]
    assert heads[100] == ["tool", "category", "version", "title"]
    assert heads[200] == ["tool", "category", "version", "title", "description"]


COLOUR = re.compile(r"\x1b\[(?:[0-9;]*;)?(?:3|4|9|10)[0-7](?:;[0-9;]*)?m")


def test_colours_on_a_terminal_only_as_long_as_they_are_wanted(on_terminal):
    assert COLOUR.search(on_terminal("search", "发送邮件"))
    assert not COLOUR.search(on_terminal("search", "发送邮件", "--no-color"))
    assert not COLOUR.search(on_terminal("--no-color", "search", "发送邮件"))
    assert not COLOUR.search(on_terminal("search", "发送邮件", NO_COLOR="1"))


def test_a_dumb_terminal_gets_no_escape_at_all_and_lines_that_fit(on_terminal):
    for arguments in (("search", "发送邮件", "--explain"), ("tools", "list"), ("tools", "show", "send_sms")):
        seen = on_terminal(*arguments, columns=60, TERM="dumb")
        assert "\x1b" not in seen
        assert max(cell_len(line) for line in seen.split("\n") if not line.startswith(("  {", "    →"))) <= 60


def test_json_on_a_terminal_is_still_json(on_terminal):
    assert json.loads(on_terminal("search", "发送邮件", "--json"))["query"] == "发送邮件"


HOSTILE = r"""
manifest = 1
[[tool]]
name = "evil"
title = "[bold red]big[/]"
description = "wipe \u001b]0;owned\u0007 \u001b[2J \u202e gpj.exe \u009b31m [link=http://x]l[/link]"
command.argv = ["\u001b[31m"]
[tool.input_schema]
type = "object"
[tool.input_schema.properties."\u001b[8m"]
type = "string"
description = "\u001b[1A"
[[tool.examples]]
input = { "x" = "\u001b[2J\u202e" }

[[tool]]
name = "refused"
title = "\u001b[31m"
category = "\u009b31m"
tags = ["\u001b]52;c;cm0=\u0007", "\u202e"]
command.argv = ["x"]
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ("search", "evil", "--explain"),
        ("search", "evil", "--json"),
        ("search", "\x1b[31mzzzqqq\u202e"),
        ("tools", "list"),
        ("tools", "list", "--json"),
        ("tools", "list", "-c", "nothing"),
        ("tools", "show", "evil"),
        ("tools", "show", "evil", "--json"),
        ("tools", "show", "evil", "--toml"),
        ("tools", "show", "evil\x1b[31m"),
        ("tools", "categories"),
        ("tools", "check"),
        ("tools", "check", "nowhere\x1b[31m"),
        ("tools", "\x1b[31m"),
    ],
)
def test_a_hostile_manifest_and_hostile_words_are_shown_and_not_obeyed(on_terminal, tooldisco, user_tools, arguments):
    user_tools(HOSTILE, "\x1b[31mevil.toml")
    user_tools('manifest = 1\n[[tool]]\n"\\u001b[31m" = 1', "broken\x1b[2J.toml")
    ran = tooldisco(*arguments)
    seen = on_terminal(*arguments, columns=120, TERM="dumb")
    assert ran.out + ran.err + seen != ""
    for text in (ran.out, ran.err, seen):
        assert [c for c in text if c != "\n" and unicodedata.category(c) == "Cc"] == []
        assert not set(text) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def test_markup_is_only_text(on_terminal, user_tools):
    user_tools(HOSTILE)
    assert "[bold red]big[/]" in ESCAPES.sub("", on_terminal("tools", "list", columns=120))
    assert "[link=http://x]l[/link]" in ESCAPES.sub("", on_terminal("tools", "show", "evil", columns=120))
