"""Streams and the end of a process: full disks, closed pipes, odd encodings, Ctrl-C, bugs of our own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest
from running import COMMAND, schema_of

MANY = "manifest = 1\n" + "".join(
    f'[[tool]]\nname = "mail_{i}"\ndescription = "{"mail " * 40}"\ncommand.argv = ["x"]\n' for i in range(900)
)


@pytest.mark.parametrize(
    "arguments", [("search", "mail", "-n", "900"), ("search", "mail", "-n", "900", "--json"), ("tools", "list")]
)
def test_a_reader_that_stops_early_is_no_failure(work, environment, user_tools, arguments):
    user_tools(MANY)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*COMMAND, "--quiet", *arguments], cwd=work, env=environment, **pipes) as command:
        head = subprocess.run(["head", "-c", "10"], stdin=command.stdout, capture_output=True)
        command.stdout.close()
        err = command.stderr.read()
    assert len(head.stdout) == 10
    assert err == b""
    assert command.returncode == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_full_disk_is_told_and_is_a_failure(work, environment, form):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*COMMAND, "tools", "list", *form], cwd=work, env=environment, stdout=full,
                              stderr=subprocess.PIPE)  # fmt: skip
    assert done.returncode == 4
    assert done.stderr.decode().count("\n") == 1
    assert "No space left" in done.stderr.decode()


@pytest.mark.parametrize("stream", ["1", "2"])
def test_a_closed_stream_is_no_crash(work, environment, stream):
    line = f'exec "$@" {stream}>&-'
    done = subprocess.run(["sh", "-c", line, "sh", *COMMAND, "search", "zzzqqq"], cwd=work, env=environment,
                          capture_output=True)  # fmt: skip
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr
    assert b"bug" not in done.stderr


@pytest.mark.parametrize("arguments", [("search", "mail"), ("tools", "list"), ("sessions", "show", "example")])
def test_output_that_a_closed_stdout_loses_is_a_failure(work, environment, arguments):
    done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *COMMAND, *arguments], cwd=work, env=environment,
                          capture_output=True)  # fmt: skip
    assert done.returncode == 4
    assert "Bad file descriptor" in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()


@pytest.mark.parametrize("encoding", ["ascii", "gbk", "latin-1", "utf-16"])
@pytest.mark.parametrize(
    "arguments", [("search", "发送邮件 🙂", "--explain"), ("tools", "show", "refund_order"), ("tools", "list")]
)
def test_text_goes_through_any_encoding(work, environment, shop, encoding, arguments):
    done = subprocess.run([*COMMAND, *arguments], cwd=work, env=environment | {"PYTHONIOENCODING": encoding},
                          capture_output=True)  # fmt: skip
    assert done.returncode == 0
    assert done.stdout.decode(encoding)


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "gbk", "latin-1"])
def test_json_is_the_same_in_any_encoding(work, environment, shop, encoding):
    done = subprocess.run([*COMMAND, "tools", "show", "refund_order", "--json"], cwd=work,
                          env=environment | {"PYTHONIOENCODING": encoding}, capture_output=True)  # fmt: skip
    assert json.loads(done.stdout.decode(encoding))["title"] == "Refund order 订单退款"
    assert ("订单" in done.stdout.decode("utf-8", "replace")) == (encoding == "utf-8")


@pytest.mark.parametrize("form", [[], ["--json"]])
@pytest.mark.parametrize("locale", [{}, {"LANG": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}])
def test_a_query_of_bytes_that_are_no_text_is_told_back_without_a_crash(work, environment, form, locale):
    done = subprocess.run([*COMMAND, "search", b"zzz\xff\xfe\xe9", *form], cwd=work, env=environment | locale,
                          capture_output=True)  # fmt: skip
    assert done.returncode == 1
    assert b"Unicode" not in done.stderr
    if form:
        assert json.loads(done.stdout)["query"].startswith("zzz")
    else:
        assert b"nothing found for 'zzz" in done.stderr


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_ctrl_c_ends_quietly_with_130(work, environment, form):
    with subprocess.Popen([*COMMAND, "search", "-", *form], cwd=work, env=environment, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as command:  # fmt: skip
        waits_for_stdin(command.pid)
        command.send_signal(signal.SIGINT)
        out, err = command.communicate(timeout=60)
    assert (command.returncode, out, err) == (130, b"", b"")


def waits_for_stdin(pid: int) -> None:
    """Return once a process sleeps in a read of its stdin, as Linux shows it."""
    channel = Path(f"/proc/{pid}/wchan")
    if not channel.exists():
        pytest.skip("needs Linux's /proc to know when the command has begun to wait")
    for _ in range(600):
        if "pipe" in channel.read_text():
            return
        time.sleep(0.05)
    raise AssertionError("the command never began to read")


BUG = """
import tooldisco_cli.render.tools as views
def show_categories(*arguments):
    password = "hunter2"
    raise RuntimeError("a bug \\x1b[31m\\ud800")
views.show_categories = show_categories
from tooldisco_cli.cli import main
main()
"""


def with_a_bug(work, environment, *arguments, **variables):
    return subprocess.run([sys.executable, "-c", BUG, "tools", "categories", *arguments], cwd=work,
                          env=environment | variables, capture_output=True, text=True)  # fmt: skip


def test_an_unexpected_error_is_two_lines(work, environment):
    done = with_a_bug(work, environment)
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.splitlines() == [
        "tooldisco: unexpected RuntimeError: a bug ␛[31m<U+D800>",
        "  this is a bug in tooldisco; run it again with TOOLDISCO_DEBUG=1 to see where it happened",
    ]


def test_a_traceback_is_shown_when_asked_for_and_never_a_variable_s_value(work, environment):
    done = with_a_bug(work, environment, "--json", TOOLDISCO_DEBUG="1")
    assert done.returncode == 4
    assert "Traceback" in done.stderr
    assert "show_categories" in done.stderr
    assert "hunter2" not in done.stderr
    assert "\x1b" not in done.stderr
    jsonschema.validate(json.loads(done.stdout), schema_of("error-1"))
    assert "hunter2" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (("tools", "show", "nothing_like_it"), 1, "unknown_tool"),
        (("search", ""), 2, "usage"),
        (("search",), 2, "usage"),
        (("tools",), 2, "usage"),
        (("nonsense",), 2, "usage"),
        (("search", "x", "-n", "0"), 2, "usage"),
        (("search", "x", "--tools-dir", "nowhere"), 2, "usage"),
        (("tools", "show", "send_sms", "--toml"), 2, "usage"),
        (("tools", "check", "nowhere"), 2, "usage"),
        (("tools", "import", "nowhere", "--to", "here"), 2, "usage"),
    ],
)
def test_every_failure_is_one_object_with_json(tooldisco, arguments, code, word):
    ran = tooldisco(*arguments, "--json")
    assert ran.code == code
    jsonschema.validate(ran.json, schema_of("error-1"))
    assert (ran.json["error"]["code"], ran.json["error"]["exit_code"]) == (word, code)
    assert ran.err == ""


def test_json_as_a_word_of_the_query_is_a_word(tooldisco):
    ran = tooldisco("search", "--", "--json", "file")
    assert ran.out.startswith("read_json ")
