"""What a person sees on a real (pseudo) terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

import pytest
from conftest import COMMAND
from rich.cells import cell_len

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


@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize("arguments", [("search", "发送邮件"), ("tools", "list"), ("tools", "show", "send_sms")])
def test_no_line_is_wider_than_the_terminal(on_terminal, arguments, columns):
    lines = ESCAPES.sub("", on_terminal(*arguments, columns=columns)).split("\n")
    assert len(lines) > 3
    prose = [line for line in lines if not line.startswith(("  {", "    →"))]  # examples are left whole to copy
    assert max(map(cell_len, prose)) <= columns


def test_columns_of_a_list_begin_at_the_same_cell(on_terminal):
    head, *rows = [
        line for line in ESCAPES.sub("", on_terminal("tools", "list", columns=120)).split("\n") if line.strip()
    ]
    for word in ("category", "title"):
        column = head.index(word)
        for row in rows:
            before = ""
            while cell_len(before) < column:
                before = row[: len(before) + 1]
            assert before.endswith(" "), row
            assert row[len(before)] != " "


def test_colours_on_a_terminal_only_as_long_as_they_are_wanted(on_terminal):
    assert "\x1b[" in on_terminal("search", "发送邮件")
    assert "\x1b[" not in on_terminal("search", "发送邮件", "--no-color").replace("\x1b[1m", "").replace(
        "\x1b[0m", ""
    )
    coloured = re.compile(r"\x1b\[[0-9;]*3[0-9][0-9;]*m")
    assert not coloured.search(on_terminal("search", "发送邮件", NO_COLOR="1"))
    assert coloured.search(on_terminal("search", "发送邮件"))


def test_a_hostile_manifest_is_shown_and_not_obeyed(on_terminal, tooldisco, user_tools):
    user_tools(
        'manifest = 1\n[[tool]]\nname = "evil"\ntitle = "[bold red]big[/]"\n'
        'description = "wipe \\u001b]0;owned\\u0007 \\u001b[2J \\u202e gpj.exe [link=http://x]l[/link]"\n'
        'command.argv = ["\\u001b[31m"]\n'
    )
    for arguments in (("search", "evil"), ("tools", "list"), ("tools", "show", "evil")):
        seen = on_terminal(*arguments, columns=120)
        plain = tooldisco(*arguments).out
        for text in (ESCAPES.sub("", seen), plain):
            assert "\x1b" not in text
            assert "\x07" not in text
            assert "\u202e" not in text
        assert "[bold red]big[/]" in ESCAPES.sub("", seen).replace("\n", "")
    assert "␛" in tooldisco("tools", "show", "evil").out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_offers_tools_and_categories(tooldisco, shell):
    words = {"_TOOLDISCO_COMPLETE": f"complete_{shell}"}
    line = "tooldisco tools show send_"
    asked = {
        "COMP_WORDS": line,
        "COMP_CWORD": "3",
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    ran = tooldisco(**words, **asked)
    assert "send_email" in ran.out
    assert ran.err == ""
    line = "tooldisco search x --category comm"
    asked |= {"COMP_WORDS": line, "COMP_CWORD": "4", "_TYPER_COMPLETE_ARGS": line}
    assert "communication" in tooldisco(**words, **asked).out


def test_completion_says_nothing_when_the_catalog_cannot_be_had(tooldisco, tmp_path):
    (tmp_path / "home" / "config").mkdir(parents=True)
    (tmp_path / "home" / "config" / "config.toml").write_text("broken =")
    line = "tooldisco tools show send_"
    ran = tooldisco(_TOOLDISCO_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD="3")
    assert (ran.out.strip(), ran.err) == ("", "")
