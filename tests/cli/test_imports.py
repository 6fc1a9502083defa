"""A command pays only for what it uses: which packages each loads, seen in a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

RUN = """
import os, pathlib, sys
from tooldisco_cli.cli import main
try:
    main(sys.argv[1:])
finally:
    pathlib.Path(os.environ["LOADED"]).write_text("\\n".join(sys.modules))
"""
HEAVY = {"jieba", "anthropic", "mcp", "numpy", "httpx", "httpx2", "jsonschema", "asyncio"}
VIEWS = {"rich.table", "rich.console", "rich.text", "rich.markdown", "typer.rich_utils"}
MODELS = {"pydantic", "pydantic_core"}
OPTIONS = {"typer", "platformdirs", "inspect", "tempfile"}
"""What reading options and finding folders can cost, where they are out of the ordinary."""


@pytest.fixture
def loaded(work, environment, tmp_path):
    """Run a command to its end; return what it loaded."""

    def run(*arguments: str, **variables: str) -> set[str]:
        told = {"LOADED": str(tmp_path / "loaded.txt")}
        done = subprocess.run([sys.executable, "-c", RUN, *arguments], cwd=work, env=environment | variables | told,
                              capture_output=True, text=True)  # fmt: skip
        assert done.returncode == 0, done.stderr
        return set((tmp_path / "loaded.txt").read_text().split("\n"))

    return run


@pytest.mark.parametrize("arguments", [("--version",), ("--help",), ("tools", "--help"), ("search", "-h")])
def test_help_and_version_load_no_view_no_catalog_and_no_engine(loaded, arguments):
    modules = loaded(*arguments)
    assert not modules & (HEAVY | VIEWS | MODELS | {"rich", "tantivy", "platformdirs"})
    assert not {name for name in modules if name.startswith(("tooldisco_cli.catalog", "tooldisco_cli.search"))}


def test_version_loads_no_command(loaded):
    assert not loaded("--version") & {"tooldisco_cli.cli.tools", "tooldisco_cli.cli.search"}


def test_a_command_loads_no_other_command(loaded):
    assert "tooldisco_cli.cli.search" not in loaded("tools", "categories")
    assert "tooldisco_cli.cli.tools" not in loaded("search", "邮件")


@pytest.mark.parametrize(
    "arguments",
    [("tools", "list", "--json"), ("tools", "show", "send_email", "--json"), ("tools", "categories", "--json")],
)
def test_json_of_the_catalog_loads_no_view(loaded, arguments):
    assert not loaded(*arguments) & (HEAVY | VIEWS | {"rich", "tantivy"})


@pytest.mark.parametrize(
    "arguments", [("tools", "list"), ("tools", "list", "--json"), ("tools", "show", "send_email")]
)
def test_manifests_that_did_not_change_load_no_parser(loaded, arguments):
    loaded("tools", "categories")  # keeps what was parsed
    assert not loaded(*arguments) & (MODELS | {"tomli", "rich.progress", "tooldisco_cli.catalog.parallel"})


@pytest.mark.parametrize(
    "arguments", [("tools", "show", "calculate"), ("tools", "dry-run", "calculate", "-p", "expression=1"),
                  ("tools", "exec", "calculate", "-p", "expression=1", "--json")]
)  # fmt: skip
def test_one_tool_is_read_alone_where_the_kept_index_is_current(loaded, arguments):
    whole = {"tooldisco_cli.catalog.loading", "tooldisco_cli.catalog.kept"}
    assert loaded(*arguments) >= whole
    loaded("search", "x y z mail")
    assert not loaded(*arguments) & whole


@pytest.mark.parametrize("query", ["发送邮件", "send an email", "發送郵件 fasong"])
def test_a_search_with_a_kept_index_loads_the_engine_and_nothing_else(loaded, query):
    loaded("search", "x y z mail")  # builds the index
    assert not loaded("search", query, "--json") & (
        HEAVY | VIEWS | MODELS | OPTIONS | {"rich", "tooldisco_cli.catalog.loading"}
    )
    assert not loaded("search", query) & (HEAVY | VIEWS | MODELS | OPTIONS)


@pytest.mark.parametrize("arguments", [("tools", "list"), ("tools", "show", "send_email"), ("search", "邮件")])
def test_a_view_in_a_pipe_loads_no_console(loaded, arguments):
    loaded("search", "邮件")
    assert not loaded(*arguments) & (HEAVY | VIEWS)


@pytest.mark.parametrize("arguments", [("tools", "list"), ("tools", "show", "send_email"), ("search", "邮件")])
def test_a_view_on_a_terminal_loads_a_console_and_no_table(loaded, arguments):
    loaded("search", "邮件")
    modules = loaded(*arguments, FORCE_COLOR="1")
    assert "rich.console" in modules
    assert not modules & (HEAVY | {"rich.table", "rich.markdown", "typer.rich_utils"})


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    "line", ["tooldisco ", "tooldisco tools ", "tooldisco tools show s", "tooldisco search x -c "]
)
def test_completion_loads_neither_views_nor_models_once_there_is_an_index(loaded, shell, line):
    loaded("search", "邮件")
    modules = loaded(
        _TOOLDISCO_COMPLETE=f"complete_{shell}",
        COMP_WORDS=line,
        COMP_CWORD=str(len(line.split(" ")) - 1),
        _TYPER_COMPLETE_ARGS=line,
        _TYPER_COMPLETE_FISH_ACTION="get-args",
    )
    assert not modules & (HEAVY | VIEWS | MODELS | {"rich"})
