"""Dry runs, executions, approval and trust, as scripts and people meet them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest
from conftest import COMMAND
from test_cli_search import schema_of

PYTHON = json.dumps(sys.executable)
TOOLS = f"""
manifest = 1

[[tool]]
name = "echo"
description = "Say it again."
annotations = {{ read_only = true, open_world = false }}
[tool.input_schema]
type = "object"
required = ["text"]
additionalProperties = false
properties.text = {{ type = "string" }}
properties.times = {{ type = "integer", minimum = 1, default = 1 }}
properties.tags = {{ type = "array", items = {{ type = "string" }} }}
properties.zero = {{ type = "string" }}
[tool.command]
argv = [{PYTHON}, "-c", "import sys, json; print(json.dumps(sys.argv[1:], ensure_ascii=False))",
  "--", "{{text}}", "{{times}}", "{{tags}}", "{{zero}}"]
output = "json"
[[tool.examples]]
input = {{ text = "hi" }}
result = ["--", "hi", "1"]

[[tool]]
name = "note"
description = "Write a note."
annotations = {{ read_only = false, destructive = false }}
input_schema = {{ type = "object", properties = {{ text = {{ type = "string" }} }} }}
command = {{ argv = [{PYTHON}, "-c", "import sys; open('note.txt', 'a').write(sys.argv[1])", "{{text}}"] }}

[[tool]]
name = "wipe"
description = "Delete everything."
annotations = {{ destructive = true }}
command = {{ argv = [{PYTHON}, "-c", "open('wiped', 'w')"] }}

[[tool]]
name = "secretive"
description = "Shows its secret."
annotations = {{ read_only = true }}
requires = {{ env = ["API_TOKEN"] }}
[tool.command]
argv = [{PYTHON}, "-c", "import os; print('token is', os.environ['T'])"]
env = {{ T = "{{env:API_TOKEN}}" }}

[[tool]]
name = "fails"
description = "Fails."
annotations = {{ read_only = true }}
command = {{ argv = [{PYTHON}, "-c", "import sys; sys.exit('the printer is on fire')"] }}

[[tool]]
name = "many"
description = "Prints many lines."
annotations = {{ read_only = true }}
max_result_chars = 500
command = {{ argv = [{PYTHON}, "-c", "for i in range(5000): print('line', i)"] }}

[[tool]]
name = "slow"
description = "Takes long, and forks."
annotations = {{ read_only = true }}
timeout_seconds = 60
[tool.command]
argv = [{PYTHON}, "-c", '''
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(300)"
child = subprocess.Popen([sys.executable, "-c", code])
open("pids", "w").write(f"{{os.getpid()}} {{child.pid}}")
os.rename("pids", "pids.done")
time.sleep(300)
''']
"""
TOOLS = TOOLS.replace(
    'open("pids", "w").write(f"{os.getpid()} {child.pid}")',
    'open("pids", "w").write("%d %d" % (os.getpid(), child.pid))',
)


@pytest.fixture(autouse=True)
def catalog(user_tools):
    return user_tools(TOOLS)


class TestDryRun:
    def test_shows_the_exact_call_and_does_nothing(self, tooldisco, work):
        ran = tooldisco("tools", "dry-run", "note", "-p", "text=a b; rm -rf /", "--json")
        assert ran.code == 0
        jsonschema.validate(ran.json, schema_of("dry-run-1"))
        assert ran.json["preview"]["argv"][-1] == "a b; rm -rf /"
        assert ran.json["side_effects"] is False
        assert ran.json["approval"] == "ask"
        assert list(work.iterdir()) == []

    def test_masks_secrets_and_says_what_is_missing(self, tooldisco):
        ran = tooldisco("tools", "dry-run", "secretive", "--json", API_TOKEN="hush-hush")
        assert "hush-hush" not in ran.out + ran.err
        assert "{env:API_TOKEN}" in ran.out
        without = tooldisco("tools", "dry-run", "secretive", "--json")
        assert without.code == 7
        assert without.json["missing"] == [{"kind": "env", "name": "API_TOKEN", "remedy": "export API_TOKEN=..."}]

    def test_mock_returns_the_example(self, tooldisco):
        assert tooldisco("tools", "dry-run", "echo", "-p", "text=hi", "--mock", "--json").json["mock"] == [
            "--",
            "hi",
            "1",
        ]

    def test_wrong_arguments_exit_2_with_the_schema(self, tooldisco):
        ran = tooldisco("tools", "dry-run", "echo", "-p", "txt=hi", "--json")
        assert ran.code == 2
        assert ran.json["error"]["code"] == "invalid_arguments"
        assert ran.json["error"]["schema"]["required"] == ["text"]
        assert "text" in tooldisco("tools", "dry-run", "echo", "-p", "txt=hi").err


class TestExec:
    def run(self, tooldisco, *arguments, **options):
        return tooldisco("tools", "exec", *arguments, "--json", **options)

    def value(self, ran):
        return ran.json["content"][0]["value"]

    def test_pairs_are_typed_by_the_schema(self, tooldisco):
        ran = self.run(
            tooldisco, "echo", "-p", "text=007", "-p", "times=3", "-p", "tags=a", "-p", "tags=b c", "-p", "zero=01"
        )
        jsonschema.validate(ran.json, schema_of("execution-1"))
        assert self.value(ran)[-5:] == ["007", "3", "a", "b c", "01"]

    @pytest.mark.parametrize("way", ["text", "file", "stdin"])
    def test_input_as_json(self, tooldisco, work, way):
        text = json.dumps({"text": "会议", "times": 2}, ensure_ascii=False)
        (work / "in.json").write_text(text, "utf-8")
        given, stdin = {"text": (text, None), "file": ("@in.json", None), "stdin": ("-", text)}[way]
        assert self.value(self.run(tooldisco, "echo", "--input", given, stdin=stdin))[-2:] == ["会议", "2"]

    def test_an_object_in_a_string_is_read_and_said(self, tooldisco):
        ran = self.run(tooldisco, "echo", "--input", json.dumps({"text": "x", "tags": '["a"]'}))
        assert ran.code == 0
        assert ran.json["notes"]

    def test_a_failure_exits_4_and_says_why(self, tooldisco):
        ran = self.run(tooldisco, "fails")
        assert ran.code == 4
        jsonschema.validate(ran.json, schema_of("execution-1"))
        assert "the printer is on fire" in ran.json["error"]["message"]
        assert "the printer is on fire" in tooldisco("tools", "exec", "fails").err

    def test_secrets_are_masked_in_results(self, tooldisco, tmp_path):
        ran = self.run(tooldisco, "secretive", API_TOKEN="hush-hush-42")
        assert "hush-hush-42" not in ran.out
        assert "[masked:API_TOKEN]" in ran.out
        kept = [path.read_bytes() for path in (tmp_path / "home").rglob("*") if path.is_file()]
        assert not any(b"hush-hush-42" in data for data in kept)

    def test_a_missing_variable_exits_7(self, tooldisco):
        ran = tooldisco("tools", "exec", "secretive")
        assert ran.code == 7
        assert "API_TOKEN" in ran.err

    def test_a_long_result_is_cut_and_read_by_its_handle(self, tooldisco):
        ran = self.run(tooldisco, "many")
        assert ran.json["cut"]["total"] >= 5000
        handle = ran.json["handle"]
        page = tooldisco("results", "show", handle, "--page", "2", "--chars", "1000", "--json")
        jsonschema.validate(page.json, schema_of("result-page-1"))
        assert len(page.json["text"]) == 1000
        kept = tooldisco("results", "list", "--json")
        jsonschema.validate(kept.json, schema_of("results-1"))
        assert [row["handle"] for row in kept.json["results"]] == [handle]
        assert tooldisco("results", "show", "../../etc/passwd").code == 1

    def test_a_result_can_be_saved_whole(self, tooldisco, work):
        assert tooldisco("tools", "exec", "many", "-o", "out.txt").code == 0
        assert (work / "out.txt").read_text().splitlines()[-1] == "line 4999"

    def test_an_unknown_tool_exits_1(self, tooldisco):
        ran = tooldisco("tools", "exec", "ehco")
        assert ran.code == 1
        assert "echo" in ran.err

    def test_usage_is_counted(self, tooldisco):
        tooldisco("tools", "exec", "echo", "-p", "text=x")
        tooldisco("tools", "exec", "fails")
        ran = tooldisco("usage", "--json")
        jsonschema.validate(ran.json, schema_of("usage-1"))
        by_tool = {row["tool"]: row for row in ran.json["tools"]}
        assert (by_tool["echo"]["count"], by_tool["echo"]["failed"]) == (1, 0)
        assert (by_tool["fails"]["failed"], by_tool["fails"]["last_code"]) == (1, "tool_failed")
        assert [row["tool"] for row in tooldisco("usage", "--failing", "--json").json["tools"]] == ["fails"]
        assert tooldisco("usage", "--since", "soon").code == 2


class TestApproval:
    def test_without_a_terminal_a_change_is_refused_and_says_what_would_allow_it(self, tooldisco, work):
        ran = tooldisco("tools", "exec", "note", "-p", "text=x")
        assert ran.code == 5
        assert "--yes" in ran.err
        assert not (work / "note.txt").exists()

    def test_yes_allows_it_but_nothing_destructive(self, tooldisco, work):
        assert tooldisco("tools", "exec", "note", "-p", "text=x", "--yes").code == 0
        assert (work / "note.txt").read_text() == "x"
        ran = tooldisco("tools", "exec", "wipe", "--yes")
        assert ran.code == 5
        assert "--confirm wipe" in ran.err
        assert not (work / "wiped").exists()
        assert tooldisco("tools", "exec", "wipe", "--confirm", "note").code == 5
        assert tooldisco("tools", "exec", "wipe", "--confirm", "wipe").code == 0
        assert (work / "wiped").exists()

    def test_the_settings_may_allow_and_deny(self, tooldisco, tmp_path):
        (tmp_path / "home" / "config" / "config.toml").write_text(
            '[policy]\nallow_tools = ["note", "wipe"]\ndeny_tools = ["echo"]\n'
        )
        assert tooldisco("tools", "exec", "note", "-p", "text=x").code == 0
        assert tooldisco("tools", "exec", "wipe").code == 0
        assert tooldisco("tools", "exec", "echo", "-p", "text=x", "--yes").code == 5


class TestTrust:
    @pytest.fixture
    def project(self, work):
        (work / "tools.d").mkdir()
        path = work / "tools.d" / "own.toml"

        def write(argv: str) -> Path:
            path.write_text(
                'manifest = 1\n[[tool]]\nname = "own"\ndescription = "Ours"\nannotations = { read_only = true }\n'
                f'command = {{ argv = [{PYTHON}, "-c", "print(\'{argv}\')"] }}\n'
            )
            return path

        write("one")
        return write

    def test_a_project_s_tool_runs_only_once_approved_and_not_after_a_change(self, tooldisco, project):
        ran = tooldisco("tools", "exec", "own")
        assert ran.code == 5
        assert "tooldisco trust" in ran.err
        assert tooldisco("tools", "dry-run", "own").code == 0
        assert tooldisco("trust").code == 5
        status = tooldisco("trust", "status", "--json")
        jsonschema.validate(status.json, schema_of("trust-status-1"))
        assert status.json["tools"] == [{"tool": "own@1.0", "standing": "new", "mask": False}]
        assert tooldisco("trust", "--yes").code == 0
        assert tooldisco("tools", "exec", "own").out.strip() == "one"
        project("two")
        assert tooldisco("tools", "exec", "own").code == 5
        diff = tooldisco("trust", "diff").out
        assert any(line.startswith("-") and "one" in line for line in diff.splitlines())
        assert any(line.startswith("+") and "two" in line for line in diff.splitlines())
        assert tooldisco("trust", "approve", "own", "--yes").code == 0
        assert tooldisco("tools", "exec", "own").out.strip() == "two"
        assert tooldisco("trust", "revoke", "own").code == 0
        assert tooldisco("tools", "exec", "own").code == 5

    def test_no_project_is_nothing_found(self, tooldisco):
        assert tooldisco("trust", "status").code == 1


class TestDoctor:
    def test_lists_what_each_tool_lacks_and_fails_nothing(self, tooldisco):
        ran = tooldisco("doctor", "--json")
        assert ran.code == 0
        jsonschema.validate(ran.json, schema_of("doctor-1"))
        lacking = {row["tool"]: row["missing"] for row in ran.json["not_ready"]}
        assert [lack["name"] for lack in lacking["secretive"]] == ["API_TOKEN"]
        assert "echo" not in lacking
        assert "export API_TOKEN=" in tooldisco("doctor").out

    def test_exits_3_for_a_broken_manifest_and_a_damaged_index(self, tooldisco, user_tools, tmp_path):
        tooldisco("search", "echo")
        assert tooldisco("doctor").code == 0
        [store] = (tmp_path / "home").rglob("*.store")
        data = bytearray(store.read_bytes())
        data[5] ^= 1
        store.write_bytes(data)
        assert tooldisco("doctor").code == 3
        user_tools("broken", "broken.toml")
        assert tooldisco("doctor").code == 3


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_killing_it_leaves_no_child_behind(work, environment, number):
    command = subprocess.Popen([*COMMAND, "tools", "exec", "slow"], cwd=work, env=environment,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)  # fmt: skip
    deadline = time.monotonic() + 60
    while not (work / "pids.done").exists():
        assert time.monotonic() < deadline
        assert command.poll() is None, command.stderr.read()
        time.sleep(0.05)
    pids = list(map(int, (work / "pids.done").read_text().split()))
    command.send_signal(number)
    command.wait(timeout=30)
    command.stderr.close()
    if number != signal.SIGKILL:
        assert command.returncode == 130
    deadline = time.monotonic() + 15
    while any(map(alive, pids)):
        assert time.monotonic() < deadline, "a child of the tool still runs"
        time.sleep(0.1)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_lists_say_what_a_tool_lacks_and_how_often_it_ran(tooldisco):
    for _ in range(2):
        tooldisco("tools", "exec", "echo", "-p", "text=x")
    ran = tooldisco("tools", "list", "--sort", "usage", "--json")
    jsonschema.validate(ran.json, schema_of("tools-1"))
    first = ran.json["tools"][0]
    assert (first["name"], first["uses"], first["ready"]) == ("echo", 2, True)
    by_name = {tool["name"]: tool for tool in ran.json["tools"]}
    assert by_name["secretive"]["ready"] is False
    assert "[needs API_TOKEN]" in tooldisco("tools", "list").out
    assert "2 times" in tooldisco("tools", "show", "echo").out
    shown = tooldisco("tools", "show", "secretive")
    assert "export API_TOKEN=" in shown.out
    jsonschema.validate(tooldisco("tools", "show", "echo", "--json").json, schema_of("tool-1"))
