"""One execution from what a caller gave to a shaped result; every failure is a value.

The order of the checks is what can be done about them. First what no caller can change (an untrusted or denied
tool): asking for better arguments would only waste a turn, and an untrusted schema is no authority. Then the
arguments, which a model corrects by itself; then what the machine lacks, which a person provides; and only a call
that could really run is put before a person for approval.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from tooldisco_cli.catalog.snapshot import Catalog, Entry
from tooldisco_cli.catalog.tool import McpServer
from tooldisco_cli.errors import Interrupted, TooldiscoError, ToolFailed, ToolTimedOut
from tooldisco_cli.execution.approval import AssumeYes, approve, needs_no_person, refuse_outright
from tooldisco_cli.execution.arguments import Checked, check
from tooldisco_cli.execution.executors import executor_of
from tooldisco_cli.execution.masking import Masker
from tooldisco_cli.execution.protocol import Approver, Call, Execution, JsonObject, Output
from tooldisco_cli.execution.readiness import Missing, missing, not_ready
from tooldisco_cli.execution.results import plain_text, shape
from tooldisco_cli.execution.secrecy import secrets_of
from tooldisco_cli.execution.spool import Spool
from tooldisco_cli.settings import Settings
from tooldisco_cli.usage.log import UsageLog


@dataclass(frozen=True, kw_only=True)
class Workbench:
    """What the executions of one process or session share."""

    catalog: Catalog
    settings: Settings
    environment: Mapping[str, str]
    folder: Path
    """The folder that relative paths are meant against."""
    session: str = ""
    """Recorded with each use."""
    approved: set[str] = field(default_factory=set)
    """Tools that a person allowed for the session, as ``approval.remembrance`` writes them."""


Approval = Literal["none", "ask", "confirm", "denied", "untrusted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun:
    """What a call would do; making it did nothing, not even load the tool's own code."""

    reference: str
    arguments: JsonObject
    """As the tool would get them, secrets masked."""
    preview: JsonObject
    """The exact program call, request or function call, secrets masked."""
    notes: tuple[str, ...] = ()
    missing: tuple[Missing, ...] = ()
    approval: Approval = "none"
    """What running it would need: nothing, a person's yes, its name typed; or it is refused in any case."""
    mock: Any = None
    """The result of the manifest's example, when asked for."""
    side_effects: bool = False


async def execute(
    entry: Entry,
    arguments: JsonObject | str,
    bench: Workbench,
    *,
    approver: Approver | None,
    assume_yes: AssumeYes = False,
) -> Execution:
    """Run a tool and return what became of it; raises only CancelledError, after ending what was started.

    ``assume_yes`` True allows tools that are not destructive; a collection of names allows exactly these.
    """
    begun = time.monotonic()
    masker = Masker(secrets_of(entry.tool, bench.environment, _server(entry, bench)))
    notes: tuple[str, ...] = ()
    try:
        refuse_outright(entry, bench.settings.policy)
        checked = _checked(entry, arguments, bench)
        notes = checked.notes
        _require_ready(entry, bench)
        call = _call(entry, checked, bench)
        executor = executor_of(entry.tool, in_code=entry.function is not None)
        await approve(
            entry,
            masker.json(call.arguments),
            lambda: masker.json(executor.preview(call)),
            policy=bench.settings.policy,
            approver=approver,
            assume_yes=assume_yes,
            remembered=bench.approved,
        )
    except TooldiscoError as error:
        return _failed(entry, error, masker, begun, notes)
    except Exception as trouble:
        return _failed(entry, _internal(trouble), masker, begun, notes)
    begun = time.monotonic()
    done = Execution(reference=entry.reference, notes=notes)
    try:
        output = await _run(call)
        done = await _shaped(done, output, bench, entry)
        done = replace(done, seconds=time.monotonic() - begun)
    except asyncio.CancelledError:
        _record(entry, Interrupted.code, time.monotonic() - begun, bench)
        raise
    except TooldiscoError as error:
        done = _failed(entry, error, masker, begun, notes)
    except Exception as trouble:
        done = _failed(entry, _internal(trouble), masker, begun, notes)
    warning = await asyncio.to_thread(_record, entry, done.error.code if done.error else "", done.seconds, bench)
    return replace(done, notes=(*done.notes, warning)) if warning else done


def dry_run(entry: Entry, arguments: JsonObject | str, bench: Workbench, *, mock: bool = False) -> DryRun:
    """Return what ``execute`` would do, without doing any of it; also for tools that are untrusted or not ready.

    ``mock`` adds the result of the example whose input is the same, else of the first that has a result.
    Raises InvalidArguments, and CatalogInvalid for a manifest that cannot run.
    """
    masker = Masker(secrets_of(entry.tool, bench.environment, _server(entry, bench)))
    try:
        checked = _checked(entry, arguments, bench)
        call = _call(entry, checked, bench)
        preview = executor_of(entry.tool, in_code=entry.function is not None).preview(call)
    except TooldiscoError as error:
        raise _masked(error, masker) from None
    notes = checked.notes
    example: Any = None
    if mock:
        examples = [example for example in entry.tool.examples if example.result is not None]
        same = [example for example in examples if example.input in (arguments, call.arguments)]
        example = next((example.result for example in same or examples), None)
        if not examples:
            notes = (*notes, "the manifest has no example with a result")
        elif not same:
            notes = (*notes, "the mock result belongs to the example's own arguments, not to these")
    return DryRun(
        reference=entry.reference,
        arguments=masker.json(call.arguments),
        preview=masker.json(preview),
        notes=notes,
        missing=missing(entry, bench.environment, servers=bench.catalog.servers),
        approval=_approval(entry, bench),
        mock=example,
    )


def _server(entry: Entry, bench: Workbench) -> McpServer | None:
    if entry.tool.mcp is None:
        return None
    return entry.server or bench.catalog.servers.get(entry.tool.mcp.server)


def _checked(entry: Entry, arguments: JsonObject | str, bench: Workbench) -> Checked:
    secrets = secrets_of(entry.tool, bench.environment)
    return check(arguments, entry.tool.input_schema, secrets=secrets)


def _require_ready(entry: Entry, bench: Workbench) -> None:
    lacking = missing(entry, bench.environment, servers=bench.catalog.servers)
    if lacking:
        raise not_ready(entry.reference, lacking)


def _call(entry: Entry, checked: Checked, bench: Workbench) -> Call:
    return Call(
        entry=entry,
        arguments=checked.arguments,
        environment=bench.environment,
        folder=bench.folder,
        settings=bench.settings,
        catalog=bench.catalog,
    )


async def _run(call: Call) -> Output:
    """Run the executor within the tool's time. Ending what it started may take a moment longer."""
    seconds = call.entry.tool.timeout_seconds
    executor = executor_of(call.entry.tool, in_code=call.entry.function is not None)
    try:
        async with asyncio.timeout(seconds) as limit:
            return await executor.run(call)
    except TimeoutError as trouble:
        if not limit.expired():
            raise ToolFailed(f"{call.entry.reference} gave up waiting: {trouble}") from trouble
        raise ToolTimedOut(
            f"{call.entry.reference} took longer than {seconds:g} s and was stopped",
            hint="ask for less at once; or raise timeout_seconds in its manifest",
            details={"timeout_seconds": seconds},
        ) from None


async def _shaped(done: Execution, output: Output, bench: Workbench, entry: Entry) -> Execution:
    secrets = secrets_of(entry.tool, bench.environment, _server(entry, bench))
    shaped = await asyncio.to_thread(
        shape,
        output,
        limit=entry.tool.max_result_chars,
        spool=Spool(environment=bench.environment),
        secrets=secrets,
    )
    error = None
    if output.is_error:
        said = plain_text(shaped.blocks).strip()
        error = ToolFailed(said[:2000] or f"{done.reference} reported an error without saying which")
    return replace(
        done,
        blocks=shaped.blocks,
        error=error,
        notes=(*done.notes, *shaped.notes),
        handle=shaped.handle,
        cut=shaped.cut,
        size=shaped.size,
        facts=Masker(secrets).json(output.facts),
    )


def _failed(entry: Entry, error: TooldiscoError, masker: Masker, begun: float, notes: tuple[str, ...]) -> Execution:
    return Execution(
        reference=entry.reference, error=_masked(error, masker), seconds=time.monotonic() - begun, notes=notes
    )


def _masked(error: TooldiscoError, masker: Masker) -> TooldiscoError:
    error.message, error.hint = masker.text(error.message), masker.text(error.hint)
    error.details = masker.json(error.details)
    error.args = (error.message,)
    return error


def _internal(trouble: Exception) -> ToolFailed:
    return ToolFailed(
        f"tooldisco failed to run it: {type(trouble).__name__}: {str(trouble)[:500]}",
        hint="this is a defect of tooldisco; please report it",
    )


def _record(entry: Entry, code: str, seconds: float, bench: Workbench) -> str:
    """Count the execution; return a warning, or an empty text. Never raises: a full disk is no reason to fail."""
    log = UsageLog(environment=bench.environment)
    return log.record(entry.tool.name, entry.tool.version, code, seconds, bench.session)


def _approval(entry: Entry, bench: Workbench) -> Approval:
    if entry.trusted is not True:
        return "untrusted"
    try:
        refuse_outright(entry, bench.settings.policy)
    except TooldiscoError:
        return "denied"
    if needs_no_person(entry, bench.settings.policy, False, bench.approved):
        return "none"
    return "confirm" if entry.tool.annotations.may_destroy else "ask"
