"""Runs a program: an argument list, never a shell, with few variables, and nothing of it left behind.

Whatever the program started is ended with it: on time-out and cancellation by SIGTERM and SIGKILL, and also when it
ends by itself and leaves children in its group. See :mod:`tooldisco_cli.execution.processes`.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tooldisco_cli.catalog.tool import CommandExecutor
from tooldisco_cli.errors import CatalogInvalid, InvalidArguments, NotReady, Refused, ToolFailed
from tooldisco_cli.execution import media
from tooldisco_cli.execution.capture import MAX_OUTPUT_BYTES, Capture
from tooldisco_cli.execution.jsonable import jsonable
from tooldisco_cli.execution.linting import code_problems
from tooldisco_cli.execution.processes import Child, start
from tooldisco_cli.execution.protocol import Block, Call, JsonBlock, JsonObject, Output
from tooldisco_cli.execution.templates import Scope, fill_argv, fill_text, placeholders

INLINE_BYTES = 4_000_000
"""Text beyond this stays a file; JSON is read up to ten times as much."""

_PASSED_ON = frozenset(
    {"PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP", "XDG_RUNTIME_DIR"}
    | {"SSL_CERT_FILE", "SSL_CERT_DIR", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE"}
    | {"HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)"}
    | {"COMMONPROGRAMFILES", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE"}
)
_LEFT_OPEN_SECONDS = 1.0
"""How long output may still come once the program itself has ended."""
_SHOWN_BYTES = 2000


@dataclass(frozen=True, slots=True)
class _Plan:
    argv: list[str]
    folder: Path
    stdin: str | None
    environment: dict[str, str]
    own_names: tuple[str, ...]


def preview(call: Call) -> JsonObject:
    """Return the argument list, folder, input and chosen variables of the program; secrets show as ``{env:NAME}``."""
    plan = _plan(call, masked=True)
    shown: JsonObject = {"executor": "command", "argv": plan.argv, "cwd": str(plan.folder)}
    if plan.stdin is not None:
        shown["stdin"] = plan.stdin
    shown["env"] = {name: plan.environment[name] for name in plan.own_names}
    return shown


async def run(call: Call) -> Output:
    """Run the program and return what it printed, as the manifest's ``output`` says.

    Raises ToolFailed for an exit code that is none of ``success_exit_codes``, with the end of stderr in ``details``.
    """
    executor = _executor(call)
    plan = _plan(call, masked=False)
    program = _program(plan)
    child: Child | None = None
    stdout = Capture()
    stderr = Capture(only_tail=True)
    try:
        with _input(plan.stdin) as stdin:
            child = await _started(plan, program, stdin, stdout, stderr)
        code = await _finished(child, stdout, stderr)
        child = None
        facts: JsonObject = {"exit_code": code}
        if stderr.size:
            facts["stderr"] = _text(stderr.tail(_SHOWN_BYTES))
        if code not in executor.success_exit_codes:
            raise _failure(plan, code, stdout, stderr)
        blocks = await asyncio.to_thread(_blocks, executor, stdout)
        return Output(blocks=blocks, facts=facts)
    finally:
        try:
            if child is not None:
                await child.end()
        finally:
            stdout.close()
            stderr.close()


def _executor(call: Call) -> CommandExecutor:
    if call.entry.tool.command is None:
        raise CatalogInvalid(f"{call.entry.reference} is no command tool")
    return call.entry.tool.command


def _plan(call: Call, *, masked: bool) -> _Plan:
    executor = _executor(call)
    for problem in code_problems(call.entry.tool):
        raise CatalogInvalid(f"{call.entry.reference}: {problem}")
    scope = Scope.of(call, masked=masked)
    argv = fill_argv(executor.argv, scope)
    if not argv or not argv[0]:
        raise CatalogInvalid(f"{call.entry.reference}: argv has no program")
    own = {name: text for name, value in executor.env.items() if (text := fill_text(value, scope)) is not None}
    for name, text in own.items():
        if "\0" in text:
            raise InvalidArguments(f"the value for the variable {name} holds a NUL character")
    passed = {
        name: value
        for name, value in call.environment.items()
        if name.upper() in _PASSED_ON or name.startswith("LC_") or name in call.entry.tool.requires.env
    }
    return _Plan(
        argv=argv,
        folder=_folder(executor, call, scope),
        stdin=None if executor.stdin is None else fill_text(executor.stdin, scope),
        environment=passed | own,
        own_names=tuple(own),
    )


def _folder(executor: CommandExecutor, call: Call, scope: Scope) -> Path:
    """Return the working folder. One that a caller chooses must lie within the allowed folders."""
    text = None if executor.cwd is None else fill_text(executor.cwd, scope)
    if not text or executor.cwd is None:
        return call.folder
    folder = call.folder / Path(text).expanduser()
    if any(not part.env for part in placeholders(executor.cwd)):
        allowed = [call.folder / Path(name).expanduser() for name in call.settings.allowed_folders] or [call.folder]
        if not any(folder.resolve().is_relative_to(place.resolve()) for place in allowed):
            raise Refused(
                f"the folder {str(folder)[:200]} is outside of the allowed folders",
                hint="add it to allowed_folders in config.toml",
            )
    if not scope.masked and not folder.is_dir():
        raise InvalidArguments(f"the working folder {str(folder)[:200]} does not exist")
    return folder


def _program(plan: _Plan) -> str:
    name = plan.argv[0]
    if os.path.dirname(name):  # noqa: PTH120  # pathlib drops a leading ./, which decides what is meant
        found = str((plan.folder / name).absolute())
        if not Path(found).exists():
            raise _no_program(name)
    else:
        found = shutil.which(name, path=plan.environment.get("PATH", os.defpath)) or ""
        if not found:
            raise _no_program(name)
    if os.name == "nt" and found.lower().endswith((".bat", ".cmd")):
        raise CatalogInvalid(f"{name} is a batch file, which Windows would run by a shell; name the program itself")
    return found


def _no_program(name: str) -> NotReady:
    from tooldisco_cli.execution.readiness import install_program

    remedy = install_program(name)
    missing = [{"kind": "program", "name": name, "remedy": remedy}]
    return NotReady(f"the program {name} is not installed", hint=remedy, details={"missing": missing})


@contextlib.contextmanager
def _input(text: str | None) -> Iterator[IO[bytes] | int]:
    """Give standard input as a file: it cannot block, whether the program reads it or not."""
    if text is None:
        yield subprocess.DEVNULL
        return
    with tempfile.TemporaryFile() as file:
        file.write(text.encode(errors="surrogateescape"))
        file.seek(0)
        yield file


async def _started(plan: _Plan, program: str, stdin: IO[bytes] | int, stdout: Capture, stderr: Capture) -> Child:
    starting = asyncio.ensure_future(
        start(
            program,
            plan.argv[1:],
            environment=plan.environment,
            folder=plan.folder,
            stdin=stdin,
            stdout=stdout.writer,
            stderr=stderr.writer,
        )
    )
    try:
        child = await asyncio.shield(starting)
    except asyncio.CancelledError:
        await (await starting).end()
        raise
    except OSError as trouble:
        if trouble.errno == errno.E2BIG:
            raise InvalidArguments(
                "the arguments are too long for a command line", hint="give less, or the path of a file"
            ) from trouble
        if trouble.errno in {errno.EACCES, errno.ENOEXEC, errno.ENOENT, errno.EPERM}:
            raise NotReady(f"{plan.argv[0]} cannot be run: {trouble.strerror}") from trouble
        raise ToolFailed(f"{plan.argv[0]} cannot be started: {trouble.strerror or trouble}") from trouble
    except ValueError as trouble:
        raise InvalidArguments(f"{plan.argv[0]} cannot be given these arguments: {trouble}") from trouble
    stdout.begin()
    stderr.begin()
    return child


async def _finished(child: Child, stdout: Capture, stderr: Capture) -> int:
    """Wait for the program, then for the rest of its output, and end what it left running."""
    ended = asyncio.ensure_future(child.process.wait())
    overflown = asyncio.ensure_future(stdout.overflow.wait())
    try:
        await asyncio.wait({ended, overflown}, return_when=asyncio.FIRST_COMPLETED)
        if not ended.done():
            await child.end()
            raise ToolFailed(f"the program printed more than {MAX_OUTPUT_BYTES // 1_000_000} MB and was stopped")
    finally:
        for task in (ended, overflown):
            task.cancel()
    output = asyncio.gather(stdout.done.wait(), stderr.done.wait())
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_LEFT_OPEN_SECONDS):
            await asyncio.shield(output)
    # A daemon of its own making may stay, but nobody may keep holding our pipe.
    child.sweep(beyond_group=not output.done())
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_LEFT_OPEN_SECONDS):
            await output
    return child.process.returncode if child.process.returncode is not None else -1


def _failure(plan: _Plan, code: int, stdout: Capture, stderr: Capture) -> ToolFailed:
    said, printed = _text(stderr.tail(_SHOWN_BYTES)), _text(stdout.tail(_SHOWN_BYTES))
    last = next((line.strip() for line in reversed((said or printed).splitlines()) if line.strip()), "")
    how = f"ended with exit code {code}" if code >= 0 else f"was ended by signal {_signal_name(-code)}"
    name = Path(plan.argv[0]).name
    return ToolFailed(
        f"{name} {how}" + (f": {last[:300]}" if last else ""),
        details={"exit_code": code, "stderr": said, "stdout": printed},
    )


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _text(data: bytes) -> str:
    return media.decoded(data).strip()


def _blocks(executor: CommandExecutor, stdout: Capture) -> tuple[Block, ...]:
    if not stdout.size:
        return ()
    file = stdout.content()
    if executor.output == "json":
        return (_json_block(file, stdout.size),)
    if stdout.size > INLINE_BYTES:
        start_of_file = file.read(INLINE_BYTES)
        file.seek(0)
        kind = "text/plain" if media.is_text(start_of_file) else media.media_type(start_of_file)
        return (media.keep(file, kind),)
    data = file.read()
    if executor.output == "lines" and b"\0" not in data:
        return (JsonBlock(media.decoded(data).splitlines()),)
    return (media.block_of(data),)


def _json_block(file: IO[bytes], size: int) -> Block:
    if size > 10 * INLINE_BYTES:
        return media.keep(file, "application/json")
    text = media.decoded(file.read())
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError) as trouble:
        raise ToolFailed(
            f"the program did not print JSON: {trouble}", details={"stdout": text[:_SHOWN_BYTES]}
        ) from trouble
    return JsonBlock(jsonable(value))
