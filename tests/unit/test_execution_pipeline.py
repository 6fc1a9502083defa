"""One call through all checks: each failure is a value, in an order that helps, and a dry run does nothing."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tooldisco_cli.catalog.snapshot import Catalog, Entry
from tooldisco_cli.catalog.tool import (
    Annotations,
    CommandExecutor,
    Example,
    Layer,
    PythonExecutor,
    Requires,
    Source,
    Tool,
)
from tooldisco_cli.errors import InvalidArguments, NotReady
from tooldisco_cli.execution.pipeline import Workbench, dry_run, execute
from tooldisco_cli.execution.protocol import Execution, JsonBlock, TextBlock
from tooldisco_cli.settings import Policy, Settings
from tooldisco_cli.usage.log import UsageLog

READ_ONLY = Annotations(read_only=True)
SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string", "default": "hello"}},
    "additionalProperties": False,
}


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    environment = {"TOOLDISCO_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"], "API_TOKEN": "s3cr3t-token"}
    return Workbench(catalog=Catalog(), settings=Settings(), environment=environment, folder=tmp_path, session="s1")


def entry(function: Callable[..., Any] | None = None, *, trusted: bool = True, **tool: Any) -> Entry:
    declared = Tool(**{"name": "t", "annotations": READ_ONLY, "input_schema": SCHEMA} | tool)
    source = Source(Layer("code", ""), "", 0)
    return Entry(tool=declared, source=source, digest="d", trusted=trusted, function=function)


def run(tool: Entry, arguments: Any, bench: Workbench, **more: Any) -> Execution:
    return asyncio.run(execute(tool, arguments, bench, **{"approver": None} | more))


def code(execution: Execution) -> str:
    return execution.error.code if execution.error else ""


def test_a_result_comes_with_what_was_done_for_it(bench: Workbench) -> None:
    done = run(entry(lambda text: {"said": text}), "{}", bench)
    assert done.ok
    assert done.blocks == (JsonBlock({"said": "hello"}),)
    assert done.notes == ("the arguments were given as JSON text",)
    assert (done.reference, done.handle, done.cut) == ("t", None, None)
    assert done.seconds >= 0


def test_the_checks_come_in_the_order_in_which_they_can_be_helped(bench: Workbench) -> None:
    def never(text: str) -> None:
        raise AssertionError("ran")

    lacking = {"requires": Requires(env=("NOT_SET",)), "annotations": Annotations()}
    denying = replace(bench, settings=Settings(policy=Policy(deny_tools=("t",))))
    wrong = {"text": 5}
    assert code(run(entry(never, trusted=False, **lacking), wrong, bench)) == "untrusted"
    assert code(run(entry(never, **lacking), wrong, denying)) == "refused"
    assert code(run(entry(never, **lacking), wrong, bench)) == "invalid_arguments"
    assert code(run(entry(never, **lacking), {}, bench)) == "not_ready"
    assert code(run(entry(never, annotations=Annotations()), {}, bench)) == "refused"


def test_bad_arguments_carry_the_schema(bench: Workbench) -> None:
    done = run(entry(lambda text: text), {"txt": "x"}, bench)
    assert isinstance(done.error, InvalidArguments)
    assert done.error.details["schema"] == SCHEMA
    assert done.error.details["errors"][0]["path"] == "txt"


def test_a_result_over_the_limit_is_cut_and_kept(bench: Workbench) -> None:
    done = run(entry(lambda text: "line\n" * 10_000, max_result_chars=500), {}, bench)
    assert done.ok
    assert done.handle
    assert done.cut is not None
    [block] = done.blocks
    assert isinstance(block, TextBlock)
    assert len(block.text) < 1000
    assert done.size == 50_000


@pytest.mark.parametrize("leak", ["result", "error"])
def test_secrets_are_masked_wherever_they_come_back(bench: Workbench, leak: str) -> None:
    def leaky(text: str, token: str) -> str:
        if leak == "error":
            raise RuntimeError(f"401 for {token}")
        return f"token={token}"

    python = PythonExecutor(function="x:y", arguments={"token": "{env:API_TOKEN}"})
    tool = entry(leaky, requires=Requires(env=("API_TOKEN",)), python=python)
    done = run(tool, {}, bench)
    shown = str(done.blocks) + json.dumps(done.error.as_dict() if done.error else {})
    assert "s3cr3t" not in shown
    assert "API_TOKEN" in shown
    assert "s3cr3t" not in str(dry_run(tool, {}, bench))


def test_a_fixed_argument_wins_over_the_callers(bench: Workbench) -> None:
    python = PythonExecutor(function="x:y", arguments={"text": "fixed"})
    assert run(entry(lambda text: text, python=python), {"text": "caller's"}, bench).blocks == (TextBlock("fixed"),)


def test_a_tool_that_takes_too_long_is_stopped(bench: Workbench) -> None:
    async def slow(text: str) -> None:
        await asyncio.sleep(60)

    done = run(entry(slow, timeout_seconds=0.05), {}, bench)
    assert code(done) == "timed_out"
    assert done.error is not None
    assert done.error.details["timeout_seconds"] == 0.05


def test_a_plain_function_that_hangs_is_given_up(bench: Workbench) -> None:
    def hangs(text: str) -> None:
        time.sleep(1)

    assert code(run(entry(hangs, timeout_seconds=0.05), {}, bench)) == "timed_out"


def test_a_time_out_of_the_tools_own_is_its_failure(bench: Workbench) -> None:
    def gives_up(text: str) -> None:
        raise TimeoutError("no answer")

    assert code(run(entry(gives_up), {}, bench)) == "tool_failed"


@pytest.mark.parametrize(
    "trouble", [ValueError("odd"), KeyError("k"), SystemExit(3), RecursionError(), StopIteration(1)]
)
def test_whatever_a_function_raises_is_a_value(bench: Workbench, trouble: BaseException) -> None:
    def fails(text: str) -> None:
        raise trouble

    done = run(entry(fails), {}, bench)
    assert code(done) == "tool_failed"
    assert "Traceback" not in str(done.error)


def test_an_error_of_our_tree_passes_through(bench: Workbench) -> None:
    def lacks(text: str) -> None:
        raise NotReady("no license", hint="buy one")

    done = run(entry(lacks), {}, bench)
    assert (code(done), done.error and done.error.hint) == ("not_ready", "buy one")


def test_an_approver_sees_masked_arguments_and_a_preview(bench: Workbench) -> None:
    seen = []

    async def approver(request: Any) -> Any:
        seen.append(request)
        return "session"

    tool = entry(lambda text: text, annotations=Annotations())
    assert run(tool, {"text": "x"}, bench, approver=approver).ok
    assert run(tool, {"text": "y"}, bench, approver=approver).ok
    [request] = seen
    assert request.arguments == {"text": "x"}
    assert request.preview["arguments"] == {"text": "x"}


def test_every_run_is_counted_and_what_did_not_run_is_not(bench: Workbench) -> None:
    def fails(text: str) -> None:
        raise ValueError

    run(entry(lambda text: text), {}, bench)
    run(entry(fails), {}, bench)
    run(entry(lambda text: text, annotations=Annotations()), {}, bench)
    run(entry(lambda text: text), {"txt": 1}, bench)
    summary = UsageLog(environment=bench.environment).of("t")
    assert summary is not None
    assert (summary.count, summary.failed, summary.last_code) == (2, 1, "tool_failed")


def test_a_state_folder_that_cannot_be_written_breaks_nothing(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    broken = replace(bench, environment={**bench.environment, "TOOLDISCO_HOME": str(tmp_path / "file")})
    done = run(entry(lambda text: "line\n" * 10_000, max_result_chars=500), {}, broken)
    assert done.ok
    assert done.handle is None
    assert len(done.notes) >= 1


def test_cancellation_reaches_the_caller_and_is_counted(bench: Workbench) -> None:
    async def cancelled() -> None:
        started = asyncio.Event()

        async def waits(text: str) -> None:
            started.set()
            await asyncio.sleep(60)

        task = asyncio.ensure_future(execute(entry(waits), {}, bench, approver=None))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    summary = UsageLog(environment=bench.environment).of("t")
    assert summary is not None
    assert summary.last_code == "interrupted"


# -- dry run


def test_a_dry_run_shows_everything_and_does_nothing(bench: Workbench, tmp_path: Path) -> None:
    def never(text: str) -> None:
        raise AssertionError("ran")

    examples = (
        Example(input={"text": "a"}, result={"said": "a"}),
        Example(input={"text": "b"}, result={"said": "b"}),
    )
    lacking = Requires(env=("NOT_SET",), programs=("no-such-program",))
    tool = entry(never, trusted=False, requires=lacking, examples=examples)
    before = sorted(tmp_path.rglob("*"))
    seen = dry_run(tool, {"text": "b"}, bench, mock=True)
    assert seen.side_effects is False
    assert seen.preview["arguments"] == {"text": "b"}
    assert seen.mock == {"said": "b"}
    assert seen.approval == "untrusted"
    assert [item.name for item in seen.missing] == ["NOT_SET", "no-such-program"]
    assert sorted(tmp_path.rglob("*")) == before


def test_a_dry_run_says_when_its_mock_is_for_other_arguments(bench: Workbench) -> None:
    tool = entry(lambda text: text, examples=(Example(input={"text": "a"}, result="A"),))
    assert "example's own arguments" in dry_run(tool, {"text": "z"}, bench, mock=True).notes[0]
    assert "no example" in dry_run(entry(lambda text: text), {}, bench, mock=True).notes[0]


@pytest.mark.parametrize(
    ("annotations", "policy", "approval"),
    [
        (READ_ONLY, Policy(), "none"),
        (Annotations(destructive=False), Policy(), "ask"),
        (Annotations(), Policy(), "confirm"),
        (Annotations(), Policy(allow_tools=("t",)), "none"),
        (READ_ONLY, Policy(deny_tools=("t",)), "denied"),
    ],
)
def test_a_dry_run_tells_what_approval_running_needs(
    bench: Workbench, annotations: Annotations, policy: Policy, approval: str
) -> None:
    tool = entry(lambda text: text, annotations=annotations)
    assert dry_run(tool, {}, replace(bench, settings=Settings(policy=policy))).approval == approval


def test_a_dry_run_of_bad_arguments_raises(bench: Workbench) -> None:
    with pytest.raises(InvalidArguments):
        dry_run(entry(lambda text: text), {"text": 5}, bench)
    with pytest.raises(InvalidArguments, match="option"):
        dry_run(entry(command=CommandExecutor(argv=("cat", "{text}"))), {"text": "--help"}, bench)
