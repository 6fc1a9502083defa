"""Calls a tool of an MCP server, by the official SDK: over stdio, or over streamable HTTP.

A server that is gone, slow, or speaks no MCP is an error, never a hang. In a session the server stays open for the
next call; a call on the command line starts it and ends it again.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
from contextlib import suppress
from difflib import get_close_matches
from typing import Any

from tooldisco_cli.errors import NotReady, ToolFailed, ToolTimedOut
from tooldisco_cli.execution import media
from tooldisco_cli.execution.jsonable import jsonable
from tooldisco_cli.execution.mcp_connections import (
    Connection,
    McpConnections,
    require_server,
    shared_connections,
    target_of,
)
from tooldisco_cli.execution.protocol import Block, Call, ImageBlock, JsonBlock, JsonObject, Output, TextBlock

_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


def preview(call: Call) -> JsonObject:
    """Return the server, how it is reached, and the call; secrets show as ``{env:NAME}``. Nothing is started."""
    name, server = require_server(call)
    target = target_of(call, name, server, masked=True)
    shown: JsonObject = {"executor": "mcp", "server": name}
    if target.command:
        shown |= {"command": list(target.command), "env": target.env, "cwd": target.cwd}
    else:
        shown |= {"url": target.url, "headers": target.headers}
    return shown | {"tool": _tool_name(call), "arguments": call.arguments}


async def run(call: Call) -> Output:
    """Call the tool and return its content; raises ToolFailed or NotReady."""
    try:
        import mcp  # noqa: F401 - only to say how to install it, before anything is started
    except ModuleNotFoundError as error:
        raise NotReady("the Python module mcp is not installed", hint="pip install 'tooldisco-cli[mcp]'") from error
    name, server = require_server(call)
    target = target_of(call, name, server)
    pool = shared_connections()
    if pool is not None:
        return await _called(await pool.get(target), call)
    alone = McpConnections()
    try:
        return await _called(await alone.get(target), call)
    finally:
        await alone.close()


def _tool_name(call: Call) -> str:
    executor = call.entry.tool.mcp
    assert executor is not None
    return executor.tool or call.entry.tool.name


async def _called(connection: Connection, call: Call) -> Output:
    from mcp.shared.exceptions import MCPError

    name = _tool_name(call)
    server = connection.target.name
    if name not in connection.tools:
        near = get_close_matches(name, connection.tools, 3)
        listed = ", ".join(near or sorted(connection.tools)[:10]) or "none"
        raise ToolFailed(
            f"the MCP server {server!r} has no tool {name!r}",
            hint=f"it has: {listed}; correct [tool.mcp] tool in the manifest",
        )
    try:
        result = await _answer(connection, name, call)
    except MCPError as error:
        raise _refused(error, connection, call) from error
    except (AssertionError, OSError, EOFError) as error:
        raise connection.lost(str(error) or type(error).__name__) from error
    except (RuntimeError, ValueError) as error:
        raise ToolFailed(
            f"the answer of the MCP server {server!r} cannot be used: {str(error)[:500]}",
            hint="it breaks the protocol or its own output schema; report it to whoever maintains the server",
        ) from error
    return Output(blocks=tuple(_blocks(result)), is_error=bool(result.is_error), facts={"server": server})


async def _answer(connection: Connection, name: str, call: Call) -> Any:
    """Call the tool, and stop waiting when the connection ends; a call that is cancelled is cancelled there too."""
    calling = asyncio.ensure_future(
        connection.client.call_tool(name, call.arguments, read_timeout_seconds=call.entry.tool.timeout_seconds)
    )
    with connection.in_use():
        try:
            await asyncio.wait({calling, connection.task}, return_when=asyncio.FIRST_COMPLETED)
            if not calling.done():
                raise connection.lost("it ended the connection")
            return calling.result()
        finally:
            if not calling.done():
                calling.cancel()
                with suppress(Exception, asyncio.CancelledError):
                    await calling


def _refused(error: Any, connection: Connection, call: Call) -> ToolFailed:
    from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT

    server = connection.target.name
    if error.code == CONNECTION_CLOSED:
        return connection.lost("it ended the connection")
    if error.code == REQUEST_TIMEOUT:
        seconds = call.entry.tool.timeout_seconds
        return ToolTimedOut(
            f"the MCP server {server!r} did not answer within {seconds:g} s",
            hint="ask for less at once; or raise timeout_seconds in the tool's manifest",
            details={"timeout_seconds": seconds},
        )
    return ToolFailed(
        f"the MCP server {server!r} refused the call: {error.message}",
        details={"code": error.code} | ({"data": jsonable(error.data)} if error.data is not None else {}),
    )


def _blocks(result: Any) -> list[Block]:
    """Return the content, and structured content in place of the texts that only repeat it.

    A server whose whole result is one text sends it as ``{"result": "the text"}`` besides: then the text is enough.
    """
    blocks = [block for item in result.content for block in [_block(item)] if block is not None]
    structured = result.structured_content
    if structured is None:
        return blocks
    wrapped = structured["result"] if isinstance(structured, dict) and set(structured) == {"result"} else None
    if isinstance(wrapped, str) and TextBlock(wrapped) in blocks:
        return blocks
    rest = [
        block for block in blocks if not (isinstance(block, TextBlock) and _repeats(block.text, structured, wrapped))
    ]
    return [JsonBlock(jsonable(structured)), *rest]


def _repeats(text: str, structured: Any, wrapped: Any) -> bool:
    """Whether a text says what structured content says: all of it, or one item of a list."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = text
    items = wrapped if isinstance(wrapped, list) else []
    return value == structured or (wrapped is not None and value == wrapped) or value in items or text in items


def _block(item: Any) -> Block | None:
    if item.type == "text":
        return TextBlock(item.text)
    if item.type in {"image", "audio"}:
        return _binary(item.data, item.mime_type)
    if item.type == "resource":
        resource = item.resource
        text = getattr(resource, "text", None)
        if text is not None:
            return TextBlock(text)
        return _binary(resource.blob, resource.mime_type or "application/octet-stream")
    if item.type == "resource_link":
        kept = {"uri": str(item.uri), "name": item.name, "description": item.description, "mime_type": item.mime_type}
        return JsonBlock({key: value for key, value in kept.items() if value})
    return JsonBlock(jsonable(item))


def _binary(data: str, kind: str) -> Block:
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ToolFailed(f"the server sent {kind} that is not valid base64: {error}") from error
    if kind in _PICTURES:
        return ImageBlock(kind, content)
    return media.keep(content, kind)
