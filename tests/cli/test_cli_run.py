"""``tooldisco run`` and ``sessions``: whole commands against a local server that speaks the Messages API."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import time

import jsonschema
import pytest
from messages_api import MessagesApi, Step, run, say, search
from running import COMMAND, schema_of

SCRIPT = [
    [say("先找工具。"), search("a", "计算算式")],
    [run("b", "calculate", {"expression": "6 * 7"})],
    [say("结果是 **42**。")],
]


@pytest.fixture
def service(environment):
    environment["ANTHROPIC_API_KEY"] = "test-key-12345"
    with MessagesApi(SCRIPT) as server:
        environment["ANTHROPIC_BASE_URL"] = server.url
        yield server


def test_a_piped_session_shows_each_call_and_result_and_the_answer(tooldisco, service):
    ran = tooldisco("run", "六乘七是多少")
    assert ran.code == 0
    assert "> search_tools" in ran.out
    assert '> calculate {"expression": "6 * 7"}' in ran.out
    assert "< ok" in ran.out
    assert "结果是 **42**。" in ran.out
    assert "discovery about" in ran.out


def test_quiet_prints_the_answer_only(tooldisco, service):
    assert tooldisco("run", "-q", "六乘七是多少").out == "结果是 **42**。\n"


def test_json_prints_one_event_a_line_of_the_documented_form(tooldisco, service):
    ran = tooldisco("run", "--json", "六乘七是多少")
    events = [json.loads(line) for line in ran.out.splitlines()]
    for event in events:
        jsonschema.validate(event, schema_of("event-1"))
    assert events[0]["event"] == "session_started"
    assert (events[-1]["event"], events[-1]["stop"]) == ("session_ended", "end_turn")
    assert "42" in next(event["text"] for event in events if event["event"] == "tool_result" and event["tool"])


@pytest.mark.parametrize("way", ["stdin", "file"])
def test_a_task_from_stdin_or_a_file(tooldisco, service, work, way):
    (work / "task.txt").write_text("六乘七\n是多少", "utf-8")
    ran = tooldisco("run", "--stdin", stdin="六乘七\n是多少") if way == "stdin" else tooldisco("run", "@task.txt")
    assert ran.code == 0
    assert service.bodies[0]["messages"][0]["content"][0]["text"] == "六乘七\n是多少"


def test_a_rehearsal_runs_nothing(tooldisco, service):
    ran = tooldisco("run", "--dry-run", "六乘七是多少")
    assert "rehearsed, not run" in ran.out
    assert tooldisco("usage", "--json").json["tools"] == []


def test_manifests_that_change_meanwhile_are_taken_in_and_told_on_a_line(tooldisco, service, user_tools):
    tool = 'manifest = 1\n[[tool]]\nname = "greet"\ndescription = "Greet somebody."\n' \
           'annotations = { read_only = true }\ncommand.argv = ["printf", "hello"]\n'  # fmt: skip

    def then(text: str, *content: dict):
        def step(_: dict) -> list[dict]:
            user_tools(text)
            return list(content)

        return step

    service.script = [
        [search("a", "greet")],
        then(tool, search("b", "greet")),
        then("broken", run("c", "greet", {})),
        [run("d", "greet", {})],
        [say("done")],
    ]
    ran = tooldisco("run", "x")
    assert ran.code == 0
    assert ran.out.count("! manifests changed; new: greet") == 1
    assert ran.out.count("the file's last good version stays in use") == 1
    assert ran.out.count("hello") == 2


def test_the_system_prompt_is_replaced_or_extended(tooldisco, service):
    tooldisco("run", "--system", "Be brief.", "x")
    tooldisco("run", "--system", "+Be brief.", "x")
    first, second = service.bodies[0]["system"][0]["text"], service.bodies[3]["system"][0]["text"]
    assert first == "Be brief."
    assert second.endswith("Be brief.")
    assert "search_tools" in second


def test_without_credentials_it_exits_6_and_says_what_to_set(tooldisco):
    ran = tooldisco("run", "hello")
    assert ran.code == 6
    assert ran.out == ""
    missing, how, without = ran.err.splitlines()
    assert "no credentials" in missing
    assert "ANTHROPIC_API_KEY" in how
    assert "guided" in without
    assert tooldisco("sessions", "list", "--json").json["sessions"] == []


def test_an_unreachable_service_exits_6(tooldisco):
    ran = tooldisco("run", "--base-url", "http://127.0.0.1:9", "hello", ANTHROPIC_API_KEY="test-key-12345")
    assert ran.code == 6
    assert "cannot be reached" in ran.err


@pytest.mark.parametrize(
    "arguments",
    [[], ["--stdin"], ["@nowhere.txt"], ["  "], ["--model", "guided", "x"], ["--discovery", "magic", "x"]],
)
def test_what_cannot_be_meant_is_wrong_usage(tooldisco, service, arguments):
    assert tooldisco("run", *arguments).code == 2


def test_a_task_s_file_or_a_tool_that_is_not_there_is_told_with_what_to_do(tooldisco, service):
    ran = tooldisco("run", "@nowhere.txt")
    assert "nowhere.txt cannot be read: No such file or directory" in ran.err
    assert "Errno" not in ran.err
    for option in ("--pin", "--confirm"):
        ran = tooldisco("run", option, "zzzqqq", "x")
        assert ran.code == 1
        assert f"{option}: no tool named 'zzzqqq'" in ran.err
        assert "tooldisco search" in ran.err


def test_a_session_that_ends_otherwise_than_done_exits_4(tooldisco, environment):
    environment["ANTHROPIC_API_KEY"] = "test-key-12345"
    with MessagesApi([Step(content=[say("no")], stop_reason="refusal")]) as server:
        assert tooldisco("run", "--base-url", server.url, "x").code == 4


class TestSessions:
    def test_are_recorded_listed_shown_replayed_exported_and_resumed(self, tooldisco, service, work):
        tooldisco("run", "六乘七是多少")
        listed = tooldisco("sessions", "list", "--json")
        jsonschema.validate(listed.json, schema_of("sessions-1"))
        [session] = listed.json["sessions"]
        assert (session["task"], session["stop"], session["turns"]) == ("六乘七是多少", "end_turn", 3)
        environment = {"ANTHROPIC_API_KEY": "", "ANTHROPIC_BASE_URL": ""}
        for command in ("show", "replay"):
            shown = tooldisco("sessions", command, "last", **environment)
            assert "结果是 **42**。" in shown.out
        rerun = tooldisco("sessions", "replay", session["session"], "--rerun", "--execute", **environment)
        assert rerun.code == 0
        assert '{"value":42' in rerun.out
        assert tooldisco("sessions", "export", "last", "--html", "s.html", "--svg", "s.svg").code == 0
        assert "42" in (work / "s.html").read_text("utf-8")
        assert "<script" not in (work / "s.html").read_text("utf-8")
        assert "@font-face" not in (work / "s.svg").read_text("utf-8")
        resumed = tooldisco("sessions", "resume", "last", "再说一遍")
        assert resumed.code == 0
        assert len(service.bodies[-1]["messages"]) == 7

    def test_the_example_plays_without_a_key(self, tooldisco):
        ran = tooldisco("sessions", "replay", "example")
        assert ran.code == 0
        assert "> calculate" in ran.out

    def test_a_file_from_elsewhere_is_resumed_in_a_new_session_that_names_it(self, tooldisco, service, work):
        tooldisco("run", "六乘七是多少")
        path = next((work.parent / "home").rglob("sessions/*.jsonl"))
        sent = path.rename(work / "sent.jsonl")
        before = sent.read_bytes()
        assert tooldisco("sessions", "resume", "sent.jsonl", "再说一遍").code == 0
        assert sent.read_bytes() == before
        assert len(service.bodies[-1]["messages"]) == 7
        [session] = tooldisco("sessions", "list", "--json").json["sessions"]
        assert session["session"] != path.stem
        own = [json.loads(line) for line in path.with_name(f"{session['session']}.jsonl").read_text().splitlines()]
        assert own[0]["origin"] == str(sent)
        assert sum("message" in line for line in own) == 8
        assert tooldisco("sessions", "resume", "last", "noch einmal").code == 0
        assert len(service.bodies[-1]["messages"]) == 9

    def test_an_exported_error_stands_in_the_page_and_is_none_of_the_export(self, tooldisco, service, work):
        service.script = [Step(content=[say("no")], stop_reason="refusal")]
        tooldisco("run", "x")
        ran = tooldisco("sessions", "export", "last", "--html", "s.html")
        assert ran.code == 0
        assert "declined" not in ran.err
        assert "the model declined to go on with this" in (work / "s.html").read_text("utf-8")

    def test_what_is_not_there_is_nothing_found(self, tooldisco):
        assert tooldisco("sessions", "show", "last").code == 1
        assert tooldisco("sessions", "show", "nowhere.jsonl").code == 1


def test_tokens_are_estimated_without_a_key_and_counted_with_one(tooldisco, service):
    counted = tooldisco("tokens", "--json")
    jsonschema.validate(counted.json, schema_of("tokens-1"))
    assert counted.json["estimated"] is False
    estimated = tooldisco("tokens", "--json", ANTHROPIC_API_KEY="").json
    assert estimated["estimated"] is True
    assert estimated["with_discovery"] < estimated["all_definitions"]


def read_until(leader: int, wanted: str, seconds: float = 60) -> str:
    text = ""
    deadline = time.monotonic() + seconds
    while wanted not in text:
        assert time.monotonic() < deadline, text
        text += os.read(leader, 65536).decode("utf-8", "replace")
    return text


@pytest.fixture
def terminal(work, environment):
    """Start the command on a terminal of its own; give its other end and the process."""
    leader, follower = pty.openpty()
    started = []

    def begin(*arguments: str, **variables: str):
        command = subprocess.Popen([*COMMAND, *arguments], cwd=work, stdin=follower, stdout=follower, stderr=follower,
                                   env={"TERM": "xterm"} | environment | variables, start_new_session=True)  # fmt: skip
        started.append(command)
        return leader, command

    yield begin
    for command in started:
        command.kill()
        command.wait()
    os.close(follower)
    os.close(leader)


def test_without_a_model_a_person_chooses_and_fills_in(terminal):
    leader, command = terminal("run", "--model", "guided", "计算算式")
    read_until(leader, "Enter to end]")
    os.write(leader, b"1\n")
    read_until(leader, "expression")
    os.write(leader, b"6 * 7\n")
    read_until(leader, "What next?")
    os.write(leader, b"\n")
    command.wait(timeout=30)
    assert command.returncode == 0


def test_without_credentials_a_person_is_offered_the_guided_mode_before_anything_else(terminal):
    leader, command = terminal("run", "计算算式")
    shown = read_until(leader, "[Y/n]")
    assert "ANTHROPIC_API_KEY" in shown
    assert "session " not in shown
    os.write(leader, b"n\n")
    assert command.wait(timeout=30) == 6


def test_a_conversation_goes_on_until_the_end_of_input(terminal, service):
    leader, command = terminal("run")
    read_until(leader, "Ctrl-D leaves")
    time.sleep(1)
    os.write(leader, "六乘七是多少\r".encode())
    shown = read_until(leader, "discovery about")
    # The line editor shows and redraws what is typed; the session's own view of it would stand after its last redraw.
    assert "› 六乘七是多少" not in shown.rpartition("\x1b[?2004l")[2]
    time.sleep(0.5)
    os.write(leader, b"\x04")
    command.wait(timeout=30)
    assert command.returncode == 0


def test_ctrl_c_at_a_question_ends_at_once_and_runs_nothing(terminal, user_tools, work):
    user_tools('manifest = 1\n[[tool]]\nname = "touch_it"\ndescription = "x"\nannotations = { destructive = false }\n'
               'command.argv = ["touch", "touched"]\n')  # fmt: skip
    leader, command = terminal("tools", "exec", "touch_it")
    read_until(leader, "Run it?")
    command.send_signal(signal.SIGINT)
    assert command.wait(timeout=20) == 130
    assert not (work / "touched").exists()


@pytest.mark.parametrize(("answer", "code"), [(b"y\n", 0), (b"\n", 5), (b"n\n", 5)])
def test_a_question_is_answered_on_the_terminal(terminal, user_tools, work, answer, code):
    user_tools('manifest = 1\n[[tool]]\nname = "touch_it"\ndescription = "x"\nannotations = { destructive = false }\n'
               'command.argv = ["touch", "touched"]\n')  # fmt: skip
    leader, command = terminal("tools", "exec", "touch_it")
    assert "touched" in read_until(leader, "Run it?")
    os.write(leader, answer)
    assert command.wait(timeout=20) == code
    assert (work / "touched").exists() == (code == 0)


def test_text_of_an_answer_that_broke_off_does_not_run_into_the_next_answer():
    import io

    from rich.console import Console

    from tooldisco_cli.agent.events import Notice, TextDelta, TextEnded
    from tooldisco_cli.render.session import _OnTerminal

    console = Console(file=io.StringIO(), width=60)
    view = _OnTerminal(console)
    for event in (TextDelta(text="half"), Notice(text="stopped"), TextDelta(text="new"), TextEnded(text="new")):
        view(event)
    assert [line.strip() for line in console.file.getvalue().splitlines() if line.strip()] == [
        "half",
        "! stopped",
        "new",
    ]
