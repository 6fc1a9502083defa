"""Calls a Python function with the arguments as keywords.

An async function is awaited. A plain one runs in a thread of its own, because it may block; a thread cannot be
killed, so after a time-out or Ctrl-C the call is given up while the function may go on until it returns or the
process ends (the thread is a daemon: it never keeps the process alive).
"""

from __future__ import annotations

import asyncio
import contextvars
import importlib
import inspect
import keyword
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tooldisco_cli.errors import CatalogInvalid, NotReady, TooldiscoError, ToolFailed
from tooldisco_cli.execution import media
from tooldisco_cli.execution.jsonable import jsonable
from tooldisco_cli.execution.protocol import (
    Block,
    Call,
    FileBlock,
    ImageBlock,
    JsonBlock,
    JsonObject,
    Output,
    TextBlock,
)
from tooldisco_cli.execution.readiness import install_module
from tooldisco_cli.execution.templates import Scope, fill

_BLOCKS = (TextBlock, JsonBlock, ImageBlock, FileBlock)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """What a function gets that has a parameter named ``context``; any class with these attributes will do."""

    folder: Path
    """The folder that relative paths are meant against."""
    allowed_folders: tuple[Path, ...]
    """Folders that may be read and written, absolute; never empty."""
    environment: Mapping[str, str]
    """The variables to read credentials from, instead of ``os.environ``."""
    allow_private_addresses: bool
    """Whether private, loopback and link-local addresses may be reached."""


def preview(call: Call) -> JsonObject:
    """Return the function and its keyword arguments; secrets show as ``{env:NAME}``."""
    return {
        "executor": "python",
        "function": _name(call),
        "arguments": {**call.arguments, **_fixed(call, masked=True)},
    }


async def run(call: Call) -> Output:
    """Call the function and return its result as blocks.

    Errors of our own tree pass through; any other exception becomes ToolFailed with its type and message, without a
    traceback. Raises NotReady when a module is missing.
    """
    fixed = _fixed(call, masked=False)
    function = call.entry.function
    if function is None:
        function = await asyncio.to_thread(_loaded, call)
    keywords = _keywords(function, call, fixed)
    try:
        if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__):
            result = await function(**keywords)
        else:
            result = await _in_thread(function, keywords)
            if inspect.isawaitable(result):
                result = await result
    except TooldiscoError:
        raise
    except ModuleNotFoundError as trouble:
        raise _module_missing(call, trouble) from trouble
    except Exception as trouble:
        raise _failure(trouble) from trouble
    return Output(blocks=await asyncio.to_thread(blocks_of, result))


def _name(call: Call) -> str:
    if call.entry.function is not None:
        function = call.entry.function
        return f"{getattr(function, '__module__', '')}:{getattr(function, '__qualname__', type(function).__name__)}"
    if call.entry.tool.python is None:
        raise CatalogInvalid(f"{call.entry.reference} is no Python tool")
    return call.entry.tool.python.function


def _fixed(call: Call, *, masked: bool) -> JsonObject:
    python = call.entry.tool.python
    if python is None:
        return {}
    filled: JsonObject = fill(python.arguments, Scope.of(call, masked=masked))
    return filled


def _loaded(call: Call) -> Callable[..., Any]:
    module_name, _, function_name = _name(call).partition(":")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as trouble:
        raise _module_missing(call, trouble) from trouble
    except TooldiscoError:
        raise
    except (Exception, SystemExit) as trouble:
        raise ToolFailed(
            f"the module {module_name} cannot be loaded: {type(trouble).__name__}: {str(trouble)[:500]}"
        ) from trouble
    function: Callable[..., Any] | None = getattr(module, function_name, None)
    if function is None or not callable(function):
        raise CatalogInvalid(f"{call.entry.reference}: the module {module_name} has no function {function_name}")
    return function


def _module_missing(call: Call, trouble: ModuleNotFoundError) -> NotReady:
    name = trouble.name or str(trouble)
    remedy = install_module(name, call.entry.tool.requires.extra)
    missing = [{"kind": "python", "name": name, "remedy": remedy}]
    return NotReady(f"the Python module {name} is not installed", hint=remedy, details={"missing": missing})


def _keywords(function: Callable[..., Any], call: Call, fixed: JsonObject) -> dict[str, Any]:
    """Return the keyword arguments; ``a-b`` and ``from`` reach parameters named ``a_b`` and ``from_``."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {**call.arguments, **fixed}
    keywords: dict[str, Any] = {}
    for name, value in {**call.arguments, **fixed}.items():
        spelled = name.replace("-", "_") + ("_" if keyword.iskeyword(name) else "")
        keywords[spelled if name not in parameters and spelled in parameters else name] = value
    declared = call.entry.tool.input_schema.get("properties") or {}
    if "context" in parameters and "context" not in declared:
        keywords["context"] = _context(call)
    try:
        inspect.signature(function).bind(**keywords)
    except TypeError as trouble:
        raise ToolFailed(
            f"the function of {call.entry.reference} cannot take these arguments: {trouble}",
            hint="its manifest and its parameters do not agree; the tool's author must correct that",
        ) from trouble
    return keywords


def _context(call: Call) -> ToolContext:
    allowed = tuple((call.folder / Path(name).expanduser()).resolve() for name in call.settings.allowed_folders)
    return ToolContext(
        folder=call.folder,
        allowed_folders=allowed or (call.folder.resolve(),),
        environment=call.environment,
        allow_private_addresses=call.settings.allow_private_addresses,
    )


async def _in_thread(function: Callable[..., Any], keywords: dict[str, Any]) -> Any:
    """Run a plain function in a daemon thread; giving up waiting does not wait for it."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def settle(result: Any, trouble: BaseException | None) -> None:
        if future.done():
            return
        if trouble is None:
            future.set_result(result)
        else:
            future.set_exception(trouble)

    def work() -> None:
        result: Any = None
        trouble: BaseException | None = None
        try:
            result = context.run(function, **keywords)
        except StopIteration as stop:  # a future refuses to carry it
            trouble = RuntimeError(f"StopIteration: {stop.value}")
        except Exception as raised:
            trouble = raised
        except BaseException as raised:  # SystemExit and the like must not end more than the call
            trouble = ToolFailed(f"the tool ended itself: {type(raised).__name__}: {raised}")
        try:
            loop.call_soon_threadsafe(settle, result, trouble)
        except RuntimeError:
            return  # the loop is closed: the call was given up

    threading.Thread(target=work, name=f"tooldisco-{getattr(function, '__name__', 'tool')}", daemon=True).start()
    return await future


def _failure(trouble: BaseException) -> ToolFailed:
    kind = type(trouble).__name__
    text = str(trouble).strip()
    return ToolFailed(f"{kind}: {text[:2000]}" if text else kind, details={"exception": kind})


def blocks_of(result: Any) -> tuple[Block, ...]:
    """Return a function's result as blocks: nothing for None, text, a picture or file for bytes, a file for a Path.

    A list that holds a block, bytes or a Path becomes a block per item; everything else is one JSON value.
    """
    if result is None:
        return ()
    if isinstance(result, list | tuple) and any(isinstance(item, (*_BLOCKS, bytes, Path)) for item in result):
        return tuple(block for item in result for block in blocks_of(item))
    if isinstance(result, _BLOCKS):
        return (result,)
    if isinstance(result, str):
        return (TextBlock(str(jsonable(result))),)
    if isinstance(result, bytes | bytearray):
        return (media.block_of(bytes(result)),)
    if isinstance(result, Path):
        return (media.file_block(result),)
    if inspect.isgenerator(result) or inspect.isasyncgen(result):
        raise ToolFailed("the function returned a generator; it must return its whole result")
    return (JsonBlock(jsonable(result)),)
