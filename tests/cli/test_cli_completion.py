"""What a shell is offered after a Tab."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from running import COMMAND


@pytest.fixture
def offered(tooldisco):
    """What the shell gets for a line that ends where the cursor stands; nothing may reach stderr."""

    def ask(line: str, shell: str = "bash", **variables: str) -> str:
        ran = tooldisco(
            _TOOLDISCO_COMPLETE=f"complete_{shell}",
            COMP_WORDS=line,
            COMP_CWORD=str(len(line.split(" ")) - 1),
            _TYPER_COMPLETE_ARGS=line,
            _TYPER_COMPLETE_FISH_ACTION="get-args",
            **variables,
        )
        assert ran.err == ""
        return ran.out

    return ask


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("tooldisco too", "tools"),
        ("tooldisco tools sh", "show"),
        ("tooldisco tools show refund", "refund_order"),
        ("tooldisco search x --category sh", "shop"),
        ("tooldisco search x -t 退", "退款"),
        ("tooldisco search x --explain-tool refund", "refund_order"),
        ("tooldisco search --lim", "--limit"),
    ],
)
def test_offers_commands_options_and_the_catalog_s_words(offered, shop, shell, line, word):
    assert word in offered(line, shell)


def test_offers_the_same_from_the_kept_index_as_from_the_catalog(offered, tooldisco, shop):
    lines = ["tooldisco tools show s", "tooldisco tools show ", "tooldisco search x -c ", "tooldisco search x -t "]
    before = [sorted(offered(line).split("\n")) for line in lines]
    assert tooldisco("search", "退款").code == 0  # leaves an index behind
    assert [sorted(offered(line).split("\n")) for line in lines] == before
    assert len(before[0]) > 3


def test_offers_what_was_added_since_the_index_was_built(offered, tooldisco, shop, user_tools):
    tooldisco("search", "退款")
    user_tools('manifest = 1\n[[tool]]\nname = "refund_all"\ncommand.argv = ["x"]\n', "more.toml")
    assert "refund_all" in offered("tooldisco tools show refund_")


def test_a_tools_dir_on_the_line_counts(offered, tmp_path):
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "a.toml").write_text('manifest = 1\n[[tool]]\nname = "extra_one"\ncommand.argv = ["x"]\n')
    assert "extra_one" in offered(f"tooldisco --tools-dir {tmp_path / 'more'} tools show extra")


HOSTILE = r"""
manifest = 1
[[tool]]
name = "evil"
category = "sh$(touch pwned)"
tags = ["`touch pwned`", "a;touch pwned", "two words", "\\u001b[31m", "'", "-rf", "good:one"]
command.argv = ["x"]
"""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize("kept", [False, True])
def test_a_word_that_a_shell_would_interpret_is_never_offered(offered, tooldisco, user_tools, shell, kept):
    user_tools(HOSTILE)
    if kept:
        tooldisco("search", "evil")
    tags, categories = offered("tooldisco search x -t ", shell), offered("tooldisco search x -c ", shell)
    assert "good" in tags
    assert "communication" in categories
    for rogue in ("touch", "two words", "-rf", "\x1b", "␛", "$(", "`"):
        assert rogue not in tags + categories


@pytest.mark.parametrize("broken", ["config.toml", "cache"])
def test_says_nothing_when_something_is_broken(offered, tooldisco, shop, tmp_path, broken):
    tooldisco("search", "退款")
    if broken == "config.toml":
        (tmp_path / "home" / "config" / "config.toml").write_text("broken =")
        assert offered("tooldisco tools show refund").strip() == ""
    else:
        for path in (tmp_path / "home" / "cache").rglob("*"):
            if path.is_file() and path.name != "meta.json":
                path.write_bytes(b"\0" * path.stat().st_size)
        assert "refund_order" in offered("tooldisco tools show refund")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_prints_a_script_for_each_shell(tooldisco, shell):
    ran = tooldisco(_TOOLDISCO_COMPLETE=f"source_{shell}")
    assert ran.code == 0
    assert f"_TOOLDISCO_COMPLETE=complete_{shell}" in ran.out
    if shutil.which(shell):
        assert subprocess.run([shell, "-n"], input=ran.out.encode(), capture_output=True).returncode == 0


def test_a_real_bash_completes(tooldisco, shop, work, environment, tmp_path):
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "tooldisco").write_text(f"#!/bin/sh\nexec {COMMAND[0]} -c '{COMMAND[2]}' \"$@\"\n")
    (programs / "tooldisco").chmod(0o755)
    script = tooldisco(_TOOLDISCO_COMPLETE="source_bash").out
    line = f"""
    PATH={programs}:$PATH
    {script}
    COMP_WORDS=(tooldisco tools show refund) COMP_CWORD=3
    _tooldisco_completion tooldisco
    printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "--norc", "-c", line], cwd=work, env=environment, capture_output=True)
    assert (done.stdout.decode().split(), done.stderr) == (["refund_order"], b"")
