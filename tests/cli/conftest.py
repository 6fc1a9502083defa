"""Runs the real command in a process of its own, in a home and a working folder of its own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from running import COMMAND, SHOP, Ran


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The environment of a user who has just installed the program."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TOOLDISCO", "ANTHROPIC"))}
    for name in (
        "NO_COLOR",
        "FORCE_COLOR",
        "COLUMNS",
        "LC_ALL",
        "PYTHONIOENCODING",
        "PYTHONUTF8",
        "PYTHONUNBUFFERED",
    ):
        kept.pop(name, None)
    (tmp_path / "work").mkdir()
    # A session joins meaning in when its encoder happens to be loaded; what tests ask for must not hang on that.
    own = {"TOOLDISCO_HOME": str(tmp_path / "home"), "TOOLDISCO_SEARCH_BY_MEANING": "0"}
    return {**kept, **own, "LANG": "C.UTF-8"}


@pytest.fixture
def work(tmp_path: Path, environment: dict[str, str]) -> Path:
    """The folder that the command is started in."""
    return tmp_path / "work"


@pytest.fixture
def tooldisco(work: Path, environment: dict[str, str]) -> Callable[..., Ran]:
    """Run ``tooldisco`` with arguments; more variables as keywords."""

    def run(*arguments: str, stdin: str | None = None, **variables: str) -> Ran:
        done = subprocess.run(
            [*COMMAND, *arguments],
            cwd=work,
            env=environment | variables,
            input=(stdin or "").encode(),
            capture_output=True,
            timeout=120,
        )
        return Ran(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))

    return run


@pytest.fixture
def user_tools(tmp_path: Path) -> Callable[[str], Path]:
    """Write a manifest into the user's own layer."""

    def write(manifest: str, name: str = "own.toml") -> Path:
        path = tmp_path / "home" / "config" / "tools.d" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(manifest, encoding="utf-8")
        return path

    return write


@pytest.fixture
def shop(user_tools: Callable[..., Path]) -> Path:
    """The small catalog of these tests, in the user's own layer."""
    return user_tools(SHOP, "shop.toml")
