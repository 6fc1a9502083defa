"""Real programs: what they are given, what they give back, and that nothing of them stays."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tooldisco_cli.catalog.snapshot import Catalog, Entry
from tooldisco_cli.catalog.tool import Annotations, CommandExecutor, Layer, Requires, Source, Tool
from tooldisco_cli.errors import ToolFailed
from tooldisco_cli.execution import watchdog
from tooldisco_cli.execution.pipeline import Workbench, dry_run, execute
from tooldisco_cli.execution.protocol import Execution, FileBlock, ImageBlock, JsonBlock, TextBlock
from tooldisco_cli.settings import Settings

pytestmark = pytest.mark.skipif(os.name != "posix", reason="these programs and signals are POSIX")

SCHEMA = {"type": "object", "properties": {"text": {}, "more": {}, "folder": {"type": "string"}}}
ECHO = "import json, os, sys; json.dump([sys.argv[1:], sys.stdin.read(), os.getcwd(), dict(os.environ)], sys.stdout)"


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    environment = {
        "TOOLDISCO_HOME": str(tmp_path / "home"),
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "LC_ALL": "C.UTF-8",
        "AWS_SECRET_ACCESS_KEY": "not-for-tools",
        "API_TOKEN": "s3cr3t-token",
    }
    return Workbench(catalog=Catalog(), settings=Settings(), environment=environment, folder=tmp_path)


def entry(*argv: Any, seconds: float = 30, requires: Requires | None = None, **executor: Any) -> Entry:
    tool = Tool(
        name="t",
        annotations=Annotations(read_only=True),
        input_schema=SCHEMA,
        timeout_seconds=seconds,
        requires=requires or Requires(),
        command=CommandExecutor(argv=argv, **executor),
    )
    return Entry(tool=tool, source=Source(Layer("code", ""), "", 0), digest="d")


def python(code: str, *argv: Any, **more: Any) -> Entry:
    return entry(sys.executable, "-c", code.replace("{", "{{").replace("}", "}}"), *argv, **more)


def run(tool: Entry, bench: Workbench, **arguments: Any) -> Execution:
    return asyncio.run(execute(tool, arguments, bench, approver=None))


def value(done: Execution) -> Any:
    assert done.error is None, done.error
    [block] = done.blocks
    assert isinstance(block, JsonBlock)
    return block.value


# -- what a program is given


@pytest.mark.parametrize(
    "text", ["$(touch pwned)", "`touch pwned`", "; touch pwned", "| touch pwned", "a\nb", "'\"\\", "*", "短信 📱", ""]
)
def test_a_value_arrives_as_it_was_written_and_runs_nothing(bench: Workbench, text: str) -> None:
    argv, stdin, _, environment = value(
        run(
            python(ECHO, "{text}", "--x={text}", output="json", stdin="<{text}>", env={"GIVEN": "{text}"}),
            bench,
            text=text,
        )
    )
    assert (argv, stdin, environment["GIVEN"]) == ([text, f"--x={text}"], f"<{text}>", text)
    assert not list(bench.folder.glob("pwned"))


def test_a_program_sees_only_chosen_variables(bench: Workbench) -> None:
    required = Requires(env=("API_TOKEN",))
    *_, seen = value(run(python(ECHO, output="json"), bench))
    assert set(seen) <= {"PATH", "HOME", "LC_ALL", "LC_CTYPE", watchdog.MARK}
    *_, seen = value(run(python(ECHO, output="json", requires=required), bench))
    assert "API_TOKEN" in seen


def test_it_runs_in_the_folder_that_was_chosen(bench: Workbench) -> None:
    (bench.folder / "inner").mkdir()
    assert value(run(python(ECHO, output="json"), bench))[2] == str(bench.folder)
    assert value(run(python(ECHO, output="json", cwd="inner"), bench))[2] == str(bench.folder / "inner")
    chosen = python(ECHO, output="json", cwd="{folder}")
    assert value(run(chosen, bench, folder="inner"))[2] == str(bench.folder / "inner")


@pytest.mark.parametrize("folder", ["..", "/", "/etc", "inner/../..", "link"])
def test_a_caller_chooses_no_folder_outside_of_the_allowed_ones(bench: Workbench, folder: str) -> None:
    (bench.folder / "inner").mkdir()
    (bench.folder / "link").symlink_to("/")
    done = run(python(ECHO, cwd="{folder}"), bench, folder=folder)
    assert done.error is not None
    assert done.error.code == "refused"


def test_large_input_neither_blocks_nor_is_lost(bench: Workbench) -> None:
    text = "x" * 5_000_000
    count = "import sys; print(len(sys.stdin.read()))"
    assert run(python(count, stdin="{text}"), bench, text=text).blocks == (TextBlock("5000000\n"),)
    assert run(python("pass", stdin="{text}"), bench, text=text).ok


def test_an_argument_too_long_for_the_system_is_told(bench: Workbench) -> None:
    done = run(entry("echo", "{text}"), bench, text="x" * 5_000_000)
    assert done.error is not None
    assert done.error.code == "invalid_arguments"
    assert "too long" in done.error.message


def test_the_preview_is_exactly_what_runs(bench: Workbench) -> None:
    tool = python("print(1)", ["-n", "{text}"], "{env:API_TOKEN}", stdin="in", env={"A": "{env:API_TOKEN}"})
    shown = dry_run(tool, {"text": 5}, bench)
    assert shown.preview == {
        "executor": "command",
        "argv": [sys.executable, "-c", "print(1)", "-n", "5", "{env:API_TOKEN}"],
        "cwd": str(bench.folder),
        "stdin": "in",
        "env": {"A": "{env:API_TOKEN}"},
    }


def test_a_tool_that_would_run_text_as_code_does_not_run(bench: Workbench) -> None:
    done = run(entry("sh", "-c", "echo {text}"), bench, text="$(touch pwned)")
    assert done.error is not None
    assert done.error.code == "catalog_invalid"
    assert not (bench.folder / "pwned").exists()


# -- what it gives back


@pytest.mark.parametrize(
    ("printed", "output", "block"),
    [
        ("'a\\nb\\n'", "text", TextBlock("a\nb\n")),
        ("'a\\n\\nb\\n'", "lines", JsonBlock(["a", "", "b"])),
        ("'{\"a\": [1, NaN]}'", "json", JsonBlock({"a": [1, None]})),
        ("'中文\\x1b[31m'", "text", TextBlock("中文\x1b[31m")),
    ],
)
def test_output_is_read_as_the_manifest_says(bench: Workbench, printed: str, output: Any, block: Any) -> None:
    done = run(python(f"import sys; sys.stdout.buffer.write({printed}.encode())", output=output), bench)
    assert done.blocks == (block,)
    assert done.facts == {"exit_code": 0}


def test_no_output_is_no_block(bench: Workbench) -> None:
    for output in ("text", "json", "lines"):
        done = run(python("pass", output=output), bench)
        assert (done.ok, done.blocks) == (True, ())


def test_text_that_is_no_json_is_a_failure_that_shows_it(bench: Workbench) -> None:
    done = run(python("print('oops')", output="json"), bench)
    assert isinstance(done.error, ToolFailed)
    assert done.error.details["stdout"] == "oops\n"


def test_pictures_and_binary_output_never_become_text(bench: Workbench) -> None:
    write = "import sys; sys.stdout.buffer.write({!r})"
    png = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
    assert run(python(write.format(png)), bench).blocks == (ImageBlock("image/png", png),)
    [kept] = run(python(write.format(b"\x7fELF\x00\x01")), bench).blocks
    assert isinstance(kept, FileBlock)
    assert Path(kept.path).read_bytes() == b"\x7fELF\x00\x01"
    assert Path(kept.path).is_relative_to(bench.folder)


def test_a_failure_tells_the_exit_code_and_the_end_of_stderr(bench: Workbench) -> None:
    code = "import sys; print('out'); print('x' * 100000, file=sys.stderr); print('disk full', file=sys.stderr); sys.exit(3)"
    done = run(python(code), bench)
    assert isinstance(done.error, ToolFailed)
    assert done.error.message.endswith("ended with exit code 3: disk full")
    assert done.error.details["exit_code"] == 3
    assert done.error.details["stdout"] == "out"
    assert len(done.error.details["stderr"]) <= 2000


def test_other_exit_codes_can_be_success(bench: Workbench) -> None:
    done = run(python("import sys; print('none found'); sys.exit(1)", success_exit_codes=(0, 1)), bench)
    assert done.blocks == (TextBlock("none found\n"),)
    assert done.facts["exit_code"] == 1


def test_a_program_that_crashes_names_its_signal(bench: Workbench) -> None:
    done = run(python("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"), bench)
    assert done.error is not None
    assert "SIGSEGV" in done.error.message


def test_a_program_that_is_not_there_or_is_none_is_not_ready(bench: Workbench) -> None:
    (bench.folder / "notes.txt").write_text("no program")
    for program in ("no-such-program", "./notes.txt", "./none"):
        done = run(entry(program), bench)
        assert done.error is not None
        assert done.error.code == "not_ready"


def test_secrets_in_output_and_errors_are_masked(bench: Workbench) -> None:
    required = Requires(env=("API_TOKEN",))
    leak = "import os, sys; print(os.environ['API_TOKEN']); print(os.environ['API_TOKEN'], file=sys.stderr); sys.exit({})"
    for code in (0, 1):
        done = run(python(leak.format(code), requires=required), bench)
        assert "s3cr3t" not in repr(done) + repr(done.error and done.error.as_dict())


def test_a_hundred_megabytes_stay_out_of_memory(bench: Workbench) -> None:
    script = """
import asyncio, os, resource, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from test_execution_command import python, run
from tooldisco_cli.catalog.snapshot import Catalog
from tooldisco_cli.execution.pipeline import Workbench
from tooldisco_cli.settings import Settings
environment = {{"TOOLDISCO_HOME": {home!r}, "PATH": os.environ["PATH"]}}
bench = Workbench(catalog=Catalog(), settings=Settings(), environment=environment, folder=Path({home!r}))
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
run(python("print('warm')"), bench)
before = peak()
done = run(python("import sys\\nfor i in range(1000): sys.stdout.write(('%099d\\\\n' % i) * 1000)"), bench)
print(done.size, bool(done.handle), done.cut.total, peak() - before)
"""
    script = script.format(tests=str(Path(__file__).parent), home=str(bench.folder))
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    size, handle, lines, megabytes = finished.stdout.split()
    assert (int(size), handle, int(lines)) == (100_000_000, "True", 1_000_000)
    assert float(megabytes) < 60


def test_a_program_that_never_stops_printing_is_stopped(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tooldisco_cli.execution.capture.MAX_OUTPUT_BYTES", 5_000_000)
    done = run(entry("yes"), bench)
    assert done.error is not None
    assert "was stopped" in done.error.message


# -- nothing stays


STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)
kind = sys.argv[1]
if os.fork() == 0:
    if kind == "daemon":
        os.setsid()
        if os.fork():
            os._exit(0)
    open("child", "w").write(str(os.getpid()))
    time.sleep(600)
open("parent", "w").write(str(os.getpid()))
print("started", flush=True)
time.sleep(600)
"""


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits to be collected does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in {"Z", "X"}


def pid_of(path: Path, patience: float = 20.0) -> int:
    """Return the process id that a child wrote, waiting until it has."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        if path.exists() and path.read_text():
            return int(path.read_text())
        time.sleep(0.02)
    raise AssertionError(f"{path.name} never started")


def gone(pid: int, patience: float = 20.0) -> bool:
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        if not alive(pid):
            return True
        time.sleep(0.05)
    return False


@pytest.fixture
def stubborn(bench: Workbench) -> Iterator[Path]:
    """A program that ignores SIGTERM and forks; whatever the test does, nothing of it outlives the test."""
    path = bench.folder / "stubborn.py"
    path.write_text(STUBBORN)
    yield path
    for name in ("parent", "child"):
        file = bench.folder / name
        if file.exists() and alive(int(file.read_text() or 0)):
            os.kill(int(file.read_text()), signal.SIGKILL)


KINDS = [
    "fork",
    pytest.param(
        "daemon",
        marks=pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="a daemon is found by way of /proc"),
    ),
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_time_out_ends_children_that_ignore_sigterm(bench: Workbench, stubborn: Path, kind: str) -> None:
    done = run(entry(sys.executable, str(stubborn), kind, seconds=3), bench)
    assert done.error is not None
    assert done.error.code == "timed_out"
    assert gone(pid_of(bench.folder / "parent"))
    assert gone(pid_of(bench.folder / "child"))


def test_cancellation_ends_them_too(bench: Workbench, stubborn: Path) -> None:
    async def cancelled() -> None:
        call = execute(entry(sys.executable, str(stubborn), "fork"), {}, bench, approver=None)
        task = asyncio.ensure_future(call)
        await asyncio.to_thread(pid_of, bench.folder / "parent")
        await asyncio.to_thread(pid_of, bench.folder / "child")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert not alive(pid_of(bench.folder / "parent"))
    assert gone(pid_of(bench.folder / "child"))


def test_impatience_ends_them_at_once(bench: Workbench, stubborn: Path) -> None:
    async def cancelled_twice() -> None:
        call = execute(entry(sys.executable, str(stubborn), "fork"), {}, bench, approver=None)
        task = asyncio.ensure_future(call)
        await asyncio.to_thread(pid_of, bench.folder / "child")
        task.cancel()
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled_twice())
    assert gone(pid_of(bench.folder / "parent"))
    assert gone(pid_of(bench.folder / "child"))


def test_a_child_left_behind_ends_with_its_program(bench: Workbench) -> None:
    code = "import subprocess; p = subprocess.Popen(['sleep', '600']); print(p.pid)"
    [block] = run(python(code), bench).blocks
    assert isinstance(block, TextBlock)
    assert gone(int(block.text))


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="a process outside the group is found by /proc")
def test_a_process_that_left_the_group_may_not_hold_the_output(bench: Workbench) -> None:
    code = "import subprocess; p = subprocess.Popen(['sleep', '600'], start_new_session=True); print(p.pid)"
    [block] = run(python(code), bench).blocks
    assert isinstance(block, TextBlock)
    assert gone(int(block.text))


CALLER = """
import asyncio, os, sys
from pathlib import Path
from tooldisco_cli.catalog.snapshot import Catalog, Entry
from tooldisco_cli.catalog.tool import Annotations, CommandExecutor, Layer, Source, Tool
from tooldisco_cli.execution.pipeline import Workbench, execute
from tooldisco_cli.settings import Settings
tool = Tool(name="t", annotations=Annotations(read_only=True), timeout_seconds=600,
            command=CommandExecutor(argv=(sys.executable, sys.argv[1], sys.argv[2])))
entry = Entry(tool=tool, source=Source(Layer("code", ""), "", 0), digest="d")
bench = Workbench(catalog=Catalog(), settings=Settings(), environment=dict(os.environ), folder=Path.cwd())
asyncio.run(execute(entry, {}, bench, approver=None))
"""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_killing_the_caller_leaves_nothing_running(bench: Workbench, stubborn: Path, number: int, kind: str) -> None:
    caller = subprocess.Popen(
        [sys.executable, "-c", CALLER, str(stubborn), kind],
        cwd=bench.folder,
        env={**os.environ, "TOOLDISCO_HOME": str(bench.folder / "home")},
        stderr=subprocess.DEVNULL,
    )
    parent, child = pid_of(bench.folder / "parent"), pid_of(bench.folder / "child")
    caller.send_signal(number)
    caller.wait(timeout=30)
    assert gone(parent)
    assert gone(child)


def test_no_watchdog_and_no_file_stays(bench: Workbench) -> None:
    script = CALLER + "\nfrom tooldisco_cli.execution import watchdog\nprint(watchdog._running.pid)"
    quick = bench.folder / "quick.py"
    quick.write_text("print(1)")
    temporary = bench.folder / "tmp"
    temporary.mkdir()
    environment = {**os.environ, "TOOLDISCO_HOME": str(bench.folder / "home"), "TMPDIR": str(temporary)}
    command_line = [sys.executable, "-c", script, str(quick), "x"]
    finished = subprocess.run(
        command_line, cwd=bench.folder, env=environment, capture_output=True, text=True, check=True
    )
    assert gone(int(finished.stdout))
    assert finished.stderr == ""
    assert list(temporary.iterdir()) == []


def test_descriptors_are_given_back(bench: Workbench) -> None:
    folder = Path("/proc/self/fd")
    if not folder.exists():
        folder = Path("/dev/fd")
    tool, failing = python("print(1)"), entry("false")
    run(tool, bench)
    before = len(list(folder.iterdir()))
    for _ in range(5):
        assert run(tool, bench).ok
        assert not run(failing, bench).ok
        assert not run(entry("sleep", "60", seconds=0.05), bench).ok
    assert len(list(folder.iterdir())) <= before + 1


def test_many_run_side_by_side(bench: Workbench) -> None:
    async def together() -> list[Execution]:
        calls = (execute(entry("echo", "{text}"), {"text": n}, bench, approver=None) for n in range(20))
        return list(await asyncio.gather(*calls))

    assert [done.blocks for done in asyncio.run(together())] == [(TextBlock(f"{n}\n"),) for n in range(20)]


def test_a_program_found_by_name_is_the_one_on_the_given_path(bench: Workbench) -> None:
    own = bench.folder / "bin"
    own.mkdir()
    (own / "echo").symlink_to(shutil.which("printf") or "printf")
    chosen = replace(bench, environment={**bench.environment, "PATH": str(own)})
    assert run(entry("echo", "no newline"), chosen).blocks == (TextBlock("no newline"),)
