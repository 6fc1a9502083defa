"""What a tool lacks is known before it runs, and told with the way to provide it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tooldisco_cli.catalog.snapshot import Entry
from tooldisco_cli.catalog.tool import (
    CommandExecutor,
    HttpExecutor,
    Layer,
    McpExecutor,
    McpServer,
    PythonExecutor,
    Requires,
    Source,
    Tool,
)
from tooldisco_cli.execution.readiness import Missing, missing, not_ready


def lacking(
    environment: dict[str, str] | None = None, servers: Any = None, **tool: Any
) -> list[tuple[str, str, str]]:
    entry = Entry(tool=Tool(name="t", **tool), source=Source(Layer("code", ""), "", 0), digest="")
    found = missing(entry, environment or {}, servers=servers)
    return [(item.kind, item.name, item.remedy) for item in found]


@pytest.fixture
def bin_folder(tmp_path: Path) -> Path:
    program = tmp_path / "bin" / "frobnicate"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (tmp_path / "bin" / "notes").write_text("not a program")
    return program.parent


def test_a_tool_that_needs_nothing_is_ready() -> None:
    assert lacking(python=PythonExecutor(function="json:dumps")) == []


def test_a_variable_that_is_not_set_or_empty_is_missing() -> None:
    wanted = Requires(env=("SMTP_HOST", "SMTP_PORT"))
    assert [name for _, name, _ in lacking({"SMTP_PORT": ""}, requires=wanted)] == ["SMTP_HOST", "SMTP_PORT"]
    assert lacking({"SMTP_PORT": "25", "SMTP_HOST": "x"}, requires=wanted) == []


def test_a_variable_that_only_a_template_names_counts_too() -> None:
    http = HttpExecutor(url="{env:BASE_URL}/x", headers={"A": "{env:BASE_URL}{env:KEY}"})
    assert [name for _, name, _ in lacking({"KEY": ""}, http=http)] == ["BASE_URL"]


def test_programs_are_looked_for_on_the_given_path(bin_folder: Path) -> None:
    command = CommandExecutor(argv=("frobnicate",))
    required = Requires(programs=("ffmpeg", "notes"))
    found = lacking({"PATH": str(bin_folder)}, command=command, requires=required)
    assert [(kind, name) for kind, name, _ in found] == [("program", "ffmpeg"), ("program", "notes")]
    assert "ffmpeg" in found[0][2]
    assert found[1][2] == "install notes and put it on PATH"
    assert [name for _, name, _ in lacking({"PATH": ""}, command=command)] == ["frobnicate"]


def test_a_missing_module_is_told_with_the_extra_or_the_package() -> None:
    python = PythonExecutor(function="no_such_module.inner:run")
    assert lacking(python=python, requires=Requires(extra="excel")) == [
        ("python", "no_such_module.inner", "pip install 'tooldisco-cli[excel]'")
    ]
    assert lacking(python=python)[0][2] == "pip install no_such_module"
    broken = lacking(python=PythonExecutor(function="tooldisco_cli.builtin.no_such:run"))
    assert broken[0][2].startswith("pip install --force-reinstall tooldisco-cli")


def test_modules_are_found_without_importing_their_parents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "explosive" / "inner"
    package.mkdir(parents=True)
    (tmp_path / "explosive" / "__init__.py").write_text("raise SystemExit('imported')")
    (package / "deep.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    assert lacking(python=PythonExecutor(function="explosive.inner.deep:run")) == []
    assert [name for _, name, _ in lacking(python=PythonExecutor(function="explosive.other:run"))] == [
        "explosive.other"
    ]
    assert "explosive" not in sys.modules


def test_a_server_must_be_declared_and_have_what_it_needs() -> None:
    mcp = McpExecutor(server="files")
    assert [(kind, name) for kind, name, _ in lacking(mcp=mcp)] == [("server", "files")]
    servers = {"files": McpServer(command=("no-such-program",), env={"TOKEN": "{env:FILES_TOKEN}"})}
    found = lacking({"PATH": os.defpath}, servers, mcp=mcp)
    assert [(kind, name) for kind, name, _ in found] == [("env", "FILES_TOKEN"), ("program", "no-such-program")]


def test_the_error_names_everything_and_how_to_get_it() -> None:
    error = not_ready("t", (Missing("env", "A", "export A=..."), Missing("program", "b", "install b")))
    assert error.exit_code == 7
    assert error.message == "t is not ready: the variable A, the program b are missing"
    assert error.hint == "export A=...; install b"
    assert error.details["missing"][1] == {"kind": "program", "name": "b", "remedy": "install b"}
