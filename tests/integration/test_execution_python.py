"""Functions of real modules: how they are found, what they are given, and what becomes of their results."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tooldisco_cli.catalog.snapshot import Catalog, Entry
from tooldisco_cli.catalog.tool import Annotations, Layer, PythonExecutor, Requires, Source, Tool
from tooldisco_cli.errors import TooldiscoError
from tooldisco_cli.execution.pipeline import Workbench, dry_run, execute
from tooldisco_cli.execution.protocol import Block, ImageBlock, JsonBlock, TextBlock
from tooldisco_cli.settings import Settings

MODULE = """
import asyncio, sys, threading
from dataclasses import dataclass

@dataclass
class Row:
    name: str
    amount: int

def plain(name: str, amount: int = 1):
    return Row(name, amount)

async def later(name: str):
    await asyncio.sleep(0)
    return f"later {name}"

def thread():
    return threading.current_thread() is threading.main_thread()

def where(path: str, context):
    return [path, str(context.folder), [str(place) for place in context.allowed_folders],
            context.environment["GIVEN"], context.allow_private_addresses]

def odd_names(from_, max_rows=0, **others):
    return [from_, max_rows, others]

def needs(library):
    import no_such_library.inner

def picture():
    return ["a picture", b"\\x89PNG\\r\\n\\x1a\\n\\x00"]

constant = 5
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "tool_functions.py").write_text(MODULE)
    (tmp_path / "broken_functions.py").write_text("1 / 0")
    (tmp_path / "leaving_functions.py").write_text("raise SystemExit(3)")
    (tmp_path / "needing_functions.py").write_text("import no_such_library")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("tool_functions", "broken_functions", "leaving_functions", "needing_functions"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return "tool_functions"


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    environment = {"TOOLDISCO_HOME": str(tmp_path / "home"), "GIVEN": "value"}
    return Workbench(catalog=Catalog(), settings=Settings(), environment=environment, folder=tmp_path)


def entry(function: str = "", *, registered: Callable[..., Any] | None = None, **tool: Any) -> Entry:
    python = PythonExecutor(function=function) if function else None
    declared = Tool(**{"name": "t", "annotations": Annotations(read_only=True), "python": python} | tool)
    return Entry(tool=declared, source=Source(Layer("code", ""), "", 0), digest="d", function=registered)


def run(tool: Entry, bench: Workbench, **arguments: Any) -> tuple[Block, ...]:
    done = asyncio.run(execute(tool, arguments, bench, approver=None))
    if done.error is not None:
        raise done.error
    return done.blocks


def failure(tool: Entry, bench: Workbench, **arguments: Any) -> TooldiscoError:
    with pytest.raises(TooldiscoError) as raised:
        run(tool, bench, **arguments)
    return raised.value


def test_plain_and_async_functions_are_called_with_keywords(module: str, bench: Workbench) -> None:
    assert run(entry(f"{module}:plain"), bench, name="韩梅梅") == (JsonBlock({"name": "韩梅梅", "amount": 1}),)
    assert run(entry(f"{module}:later"), bench, name="x") == (TextBlock("later x"),)
    assert run(entry(f"{module}:picture"), bench) == (
        TextBlock("a picture"),
        ImageBlock("image/png", b"\x89PNG\r\n\x1a\n\x00"),
    )


def test_a_plain_function_blocks_nobody(module: str, bench: Workbench) -> None:
    assert run(entry(f"{module}:thread"), bench) == (JsonBlock(False),)
    barrier = threading.Barrier(2, timeout=20)

    def meets(n: int) -> int:
        barrier.wait()
        return n

    async def together() -> list[bool]:
        tool = entry(registered=meets)
        calls = (execute(tool, {"n": n}, bench, approver=None) for n in range(2))
        return [done.ok for done in await asyncio.gather(*calls)]

    assert asyncio.run(together()) == [True, True]


def test_a_function_that_asks_gets_its_context(module: str, bench: Workbench) -> None:
    tool = entry(f"{module}:where")
    folder = str(bench.folder)
    assert run(tool, bench, path="a") == (JsonBlock(["a", folder, [str(bench.folder.resolve())], "value", False]),)
    settings = Settings(allowed_folders=("data", "/srv"), allow_private_addresses=True)
    [block] = run(tool, replace(bench, settings=settings), path="a")
    assert isinstance(block, JsonBlock)
    assert block.value[2:] == [[str((bench.folder / "data").resolve()), str(Path("/srv").resolve())], "value", True]


def test_names_that_python_cannot_spell_reach_their_parameters(module: str, bench: Workbench) -> None:
    blocks = run(entry(f"{module}:odd_names"), bench, **{"from": "a", "max-rows": 2, "other-one": 3})
    assert blocks == (JsonBlock(["a", 2, {"other-one": 3}]),)


def test_a_context_that_the_schema_declares_is_the_callers(bench: Workbench) -> None:
    schema = {"type": "object", "properties": {"context": {"type": "string"}}}
    tool = entry(registered=lambda context: context, input_schema=schema)
    assert run(tool, bench, context="mine") == (TextBlock("mine"),)


@pytest.mark.parametrize(
    ("function", "code", "words"),
    [
        ("tool_functions:nothing", "catalog_invalid", "no function nothing"),
        ("tool_functions:constant", "catalog_invalid", "no function constant"),
        ("broken_functions:run", "tool_failed", "ZeroDivisionError"),
        ("leaving_functions:run", "tool_failed", "SystemExit"),
        ("needing_functions:run", "not_ready", "no_such_library"),
        ("no_such_module:run", "not_ready", "no_such_module"),
    ],
)
def test_what_cannot_be_loaded_says_why(module: str, bench: Workbench, function: str, code: str, words: str) -> None:
    error = failure(entry(function), bench)
    assert error.code == code
    assert words in error.message


def test_a_module_missing_only_when_called_is_told_with_the_extra(module: str, bench: Workbench) -> None:
    error = failure(entry(f"{module}:needs", requires=Requires(extra="excel")), bench, library="x")
    assert error.exit_code == 7
    assert error.hint == "pip install 'tooldisco-cli[excel]'"
    assert error.details["missing"][0]["name"] == "no_such_library"


def test_a_manifest_and_a_function_that_disagree_are_told_apart_from_a_failure(module: str, bench: Workbench) -> None:
    error = failure(entry(f"{module}:plain"), bench, nme="x")
    assert "do not agree" in error.hint


def test_a_dry_run_loads_nothing(module: str, bench: Workbench) -> None:
    seen = dry_run(entry(f"{module}:plain"), {"name": "x"}, bench)
    assert seen.preview == {"executor": "python", "function": "tool_functions:plain", "arguments": {"name": "x"}}
    assert module not in sys.modules


def test_a_function_that_hangs_keeps_no_process_alive(tmp_path: Path) -> None:
    script = textwrap.dedent("""
        import asyncio, os, threading
        from pathlib import Path
        from tooldisco_cli.catalog.snapshot import Catalog, Entry
        from tooldisco_cli.catalog.tool import Annotations, Layer, Source, Tool
        from tooldisco_cli.execution.pipeline import Workbench, execute
        from tooldisco_cli.settings import Settings
        tool = Tool(name="t", annotations=Annotations(read_only=True), timeout_seconds=0.1)
        hang = threading.Event().wait
        entry = Entry(tool=tool, source=Source(Layer("code", ""), "", 0), digest="d", function=lambda: hang())
        bench = Workbench(catalog=Catalog(), settings=Settings(), environment=dict(os.environ), folder=Path.cwd())
        print(asyncio.run(execute(entry, {}, bench, approver=None)).error.code)
    """)
    finished = subprocess.run(
        [sys.executable, "-c", script],
        env={"TOOLDISCO_HOME": str(tmp_path), "PATH": ""},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert finished.stdout == "timed_out\n"
