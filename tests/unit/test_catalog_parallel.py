"""Parsing beside: the same readings whoever parsed them, and nothing lost when a child fails."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tooldisco_cli.catalog import parallel
from tooldisco_cli.catalog.kept import Reading, Stamp, decoded
from tooldisco_cli.catalog.parallel import Task, read_all, read_anew, serve


def _write(folder: Path, count: int) -> list[Task]:
    tasks = []
    for number in range(count):
        path = folder / f"m{number}.toml"
        text = f"manifest = 1\n[[tool]]\nname = 'tool_{number}'\ntitle = '工具'\ncommand.argv = ['true']\n"
        path.write_text(text + ("fault = 1\n" if number % 7 == 3 else ""), "utf-8")
        tasks.append(Task(str(path), Stamp(path.stat().st_size, number, 3), 4))
    return [*tasks, Task(str(folder / "missing.toml"), Stamp(-1, 0, 0), 4)]


@pytest.fixture
def tasks(tmp_path: Path) -> list[Task]:
    return _write(tmp_path, 40)


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """Children are started however little there is to do; each is listed."""
    monkeypatch.setattr(parallel, "_BATCH_BYTES", 300)
    monkeypatch.setattr(parallel, "_CHILD_BYTES", 1)
    monkeypatch.setattr(parallel.os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    started: list[subprocess.Popen[bytes]] = []

    class Listed(subprocess.Popen):  # type: ignore[type-arg]  # not generic when the program runs
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Listed)
    return started


def _by_path(readings: list[Reading]) -> list[str]:
    return sorted(map(repr, readings))


def _slow_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parse nothing here until a child has done something, so that it is sure to have a part."""
    answered = threading.Event()
    ask = parallel._Feeder._ask

    def telling(self: Any, batch: list[Task]) -> bytes | None:
        answer = ask(self, batch)
        answered.set()
        return answer

    def waiting(task: Task) -> Reading:
        answered.wait(30)
        return read_anew(task)

    monkeypatch.setattr(parallel._Feeder, "_ask", telling)
    monkeypatch.setattr(parallel, "read_anew", waiting)


def test_children_read_what_would_be_read_here(tasks, eager, monkeypatch):
    _slow_here(monkeypatch)
    here: list[str] = []
    waiting = parallel.read_anew
    monkeypatch.setattr(parallel, "read_anew", lambda task: here.append(task.path) or waiting(task))
    readings = read_all(tasks)
    assert _by_path(readings) == _by_path([read_anew(task) for task in tasks])
    assert len(eager) == 2
    assert len(here) < len(tasks)
    assert all(child.returncode is not None for child in eager)


@pytest.mark.parametrize(
    "child",
    [
        "raise SystemExit(1)",
        "import sys; sys.stdin.readline(); print('nonsense', flush=True)",
        "import sys; sys.stdin.readline(); print('100', flush=True)",
        "import sys\nfor _ in sys.stdin: print('7\\n[[1,2]]', end='', flush=True)",
        "import sys\nfor _ in sys.stdin: print('2\\n[]', end='', flush=True)",
    ],
    ids=["dies", "no length", "cut off", "nonsense", "nothing"],
)
def test_what_a_child_cannot_do_is_done_here(tasks, eager, monkeypatch, child):
    monkeypatch.setattr(parallel, "_CHILD", child)
    _slow_here(monkeypatch)
    assert _by_path(read_all(tasks)) == _by_path([read_anew(task) for task in tasks])
    assert eager


def test_a_machine_that_starts_no_process_parses_here(tasks, monkeypatch, eager):
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError("no more processes")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    assert len(read_all(tasks)) == len(tasks)


@pytest.mark.parametrize("program", ["", "/opt/blender/blender", "/usr/sbin/uwsgi"])
def test_a_program_that_is_no_python_is_never_started_again(tasks, eager, monkeypatch, program):
    monkeypatch.setattr(sys, "executable", program)
    assert len(read_all(tasks)) == len(tasks)
    assert eager == []


def test_little_work_starts_no_child(tasks, monkeypatch):
    monkeypatch.setattr(subprocess, "Popen", None)
    assert len(read_all(tasks)) == len(tasks)


def test_a_child_imports_nothing_from_the_working_folder(tasks, eager, monkeypatch, tmp_path):
    _slow_here(monkeypatch)
    for name in ("tomllib", "json", "tooldisco_cli"):
        (tmp_path / f"{name}.py").write_text("open('imported', 'w')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    read_all(tasks)
    assert eager
    assert not (tmp_path / "imported").exists()


def test_a_stopped_reading_leaves_no_child(tasks, eager, monkeypatch):
    def stopped(_: Task) -> Reading:
        raise KeyboardInterrupt

    monkeypatch.setattr(parallel, "read_anew", stopped)
    with pytest.raises(KeyboardInterrupt):
        read_all(tasks)
    assert eager
    assert all(child.returncode is not None for child in eager)


def test_how_it_goes_is_told_in_rising_numbers(tasks, eager):
    told: list[tuple[int, int]] = []
    read_all(tasks, lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert told[-1] == (len(tasks), len(tasks))


def test_a_child_answers_each_line_with_a_length_and_readings(tasks):
    requests = b"".join(json.dumps(part).encode() + b"\n" for part in (tasks[:3], tasks[3:5]))
    answers = io.BytesIO()
    serve(io.BytesIO(requests), answers)
    answers.seek(0)
    found: list[Reading] = []
    while line := answers.readline():
        found += decoded(answers.read(int(line)))
    assert repr(found) == repr([read_anew(task) for task in tasks[:5]])
