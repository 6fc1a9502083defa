"""Connections to MCP servers, each held by a task of its own until it is closed or its server is gone.

A connection belongs to the task that opened it (the SDK's cancel scopes demand that), while calls come from any
task. So each has a task that opens it, waits, and closes it; closing ends the server's whole process tree.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from contextlib import suppress
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any

from tooldisco_cli.catalog.tool import McpServer
from tooldisco_cli.errors import InvalidArguments, NotReady, TooldiscoError, ToolFailed
from tooldisco_cli.execution.protocol import Call
from tooldisco_cli.execution.templates import Scope, fill_header, fill_text

if TYPE_CHECKING:
    from mcp import Client

_TAIL_BYTES = 4000
_CLOSE_SECONDS = 10.0
_MAX_PAGES = 100

_shared: ContextVar[McpConnections | None] = ContextVar("tooldisco_mcp_connections", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A server with its templates filled: a program to start, or an address."""

    name: str
    command: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    cwd: str | None = None
    url: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    timeout_seconds: float = 30.0
    allow_private: bool = False

    @property
    def key(self) -> str:
        """What two calls must have in common to share a connection."""
        return json.dumps([self.command, self.env, self.cwd, self.url, self.headers, self.allow_private])


def target_of(call: Call, name: str, server: McpServer, *, masked: bool = False) -> Target:
    """Return a server with its ``{env:NAME}`` filled. Raises NotReady for a variable that is not set."""
    scope = Scope(arguments={}, environment=call.environment, masked=masked)

    def text(template: str) -> str:
        return fill_text(template, scope) or ""

    headers = {key: fill_header(key, value, scope) or "" for key, value in server.headers.items()}
    return Target(
        name=name,
        command=tuple(map(text, server.command)),
        env={key: text(value) for key, value in server.env.items()},
        cwd=text(server.cwd) if server.cwd else str(call.folder),
        url=text(server.url),
        headers=headers,
        timeout_seconds=server.timeout_seconds,
        allow_private=server.allow_private or call.settings.allow_private_addresses,
    )


class McpConnections:
    """A pool for a process that lives: all calls inside of ``async with McpConnections():`` share connections."""

    def __init__(self) -> None:
        self._open: dict[str, Connection] = {}
        self._token: Token[McpConnections | None] | None = None

    async def __aenter__(self) -> McpConnections:
        self._token = _shared.set(self)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._token is not None:
            _shared.reset(self._token)
        await self.close()

    async def get(self, target: Target) -> Connection:
        """Return the connection to a server, opened now unless it is open; raises ToolFailed or NotReady."""
        connection = self._open.get(target.key)
        if connection is None or connection.gone:
            connection = self._open[target.key] = Connection(target)
        await connection.ready()
        return connection

    async def close(self) -> None:
        """Close all connections and end their servers."""
        connections, self._open = list(self._open.values()), {}
        await asyncio.gather(*(connection.close() for connection in connections))


def shared_connections() -> McpConnections | None:
    """Return the pool of the running session, or None for a call that stands alone."""
    return _shared.get()


class Connection:
    """One open connection and the tools that its server offers."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.tools: dict[str, Any] = {}
        self._client: Client | None = None
        self._stop = asyncio.Event()
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the connection
        self._task = asyncio.create_task(self._hold(), name=f"mcp server {target.name}")

    @property
    def gone(self) -> bool:
        """Whether the connection has ended."""
        return self._task.done()

    @property
    def client(self) -> Client:
        """The SDK's client; only after ``ready``."""
        assert self._client is not None
        return self._client

    async def ready(self) -> None:
        """Wait until the server has started and listed its tools."""
        await asyncio.shield(self._ready)

    def said(self) -> str:
        """Return the end of what the server wrote to stderr."""
        with suppress(OSError, ValueError):
            size = self._stderr.seek(0, 2)
            self._stderr.seek(max(0, size - _TAIL_BYTES))
            return self._stderr.read().decode("utf-8", "replace").strip()
        return ""

    async def close(self) -> None:
        """Close the connection and end the server; bounded in time."""
        self._stop.set()
        with suppress(Exception, asyncio.CancelledError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await asyncio.shield(self._task)
        if not self._task.done():
            self._task.cancel()
            with suppress(Exception, asyncio.CancelledError):
                await self._task

    async def _hold(self) -> None:
        opened = asyncio.get_running_loop().time()
        try:
            async with self._connected() as client:
                left = self.target.timeout_seconds - (asyncio.get_running_loop().time() - opened)
                async with asyncio.timeout(max(0.1, left)):
                    self.tools = await _listed(client)
                self._client = client
                self._ready.set_result(None)
                await self._stop.wait()
        except BaseException as error:
            if not self._ready.done():
                self._ready.set_exception(self._failure(error))
                # The future may have no waiter, when a call was cancelled meanwhile.
                self._ready.exception()
            if isinstance(error, asyncio.CancelledError) and not self._stop.is_set():
                raise
        finally:
            self._client = None
            self._stderr.close()

    def _connected(self) -> Any:
        from contextlib import asynccontextmanager

        from mcp import Client
        from mcp.client.stdio import StdioServerParameters, stdio_client
        from mcp.client.streamable_http import streamable_http_client

        target = self.target

        @asynccontextmanager
        async def connected() -> Any:
            if target.command:
                parameters = StdioServerParameters(
                    command=target.command[0], args=list(target.command[1:]), env=target.env, cwd=target.cwd,
                    encoding_error_handler="replace",
                )  # fmt: skip
                transport: Any = stdio_client(parameters, errlog=self._stderr)  # type: ignore[arg-type]
                async with _entered(Client(transport), target.timeout_seconds) as client:
                    yield client
            else:
                import httpx2

                from tooldisco_cli.execution.addresses import guarded_transport

                async with httpx2.AsyncClient(
                    transport=guarded_transport(allow_private=target.allow_private),
                    headers=target.headers,
                    timeout=httpx2.Timeout(30.0, read=300.0),
                    trust_env=False,
                ) as http:
                    transport = streamable_http_client(target.url, http_client=http)
                    async with _entered(Client(transport), target.timeout_seconds) as client:
                        yield client

        return connected()

    def _failure(self, error: BaseException) -> TooldiscoError:
        cause = _first_cause(error)
        if isinstance(cause, TooldiscoError):
            return cause
        name = self.target.name
        if isinstance(cause, FileNotFoundError) and self.target.command:
            return NotReady(
                f"the program {self.target.command[0]} of the MCP server {name!r} is not installed",
                details={"missing": [{"kind": "program", "name": self.target.command[0]}]},
            )
        said = self.said()
        if isinstance(cause, TimeoutError):
            what = f"the MCP server {name!r} did not start within {self.target.timeout_seconds:g} s"
        else:
            what = f"the MCP server {name!r} cannot be used: {str(cause)[:500] or type(cause).__name__}"
        last = said.splitlines()[-1][:300] if said else ""
        return ToolFailed(
            what + (f"; it said: {last}" if last else ""),
            hint="start it by hand to see why, or raise its timeout_seconds",
            details={"stderr": said} if said else None,
        )


def _entered(client: Client, seconds: float) -> Any:
    """Enter a client within a time. The time-out is the SDK's task's own, so what it started is wound down."""
    from contextlib import asynccontextmanager

    @asynccontextmanager
    async def entered() -> Any:
        async with asyncio.timeout(seconds) as limit, client:
            limit.reschedule(None)
            yield client

    return entered()


async def _listed(client: Client) -> dict[str, Any]:
    tools: dict[str, Any] = {}
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools |= {tool.name: tool for tool in page.tools}
        cursor = page.next_cursor
        if not cursor:
            break
    return tools


def _first_cause(error: BaseException) -> BaseException:
    """Return what really went wrong inside the groups that task groups raise."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return error


def require_server(call: Call) -> tuple[str, McpServer]:
    """Return the name and definition of the server of an ``mcp`` tool; raises NotReady where none is declared."""
    executor = call.entry.tool.mcp
    if executor is None:
        raise InvalidArguments(f"{call.entry.reference} is no mcp tool")
    server = call.entry.server or (call.catalog.servers.get(executor.server) if call.catalog else None)
    if server is None:
        raise NotReady(
            f"the MCP server {executor.server!r} is declared nowhere",
            hint=f"declare [mcp_servers.{executor.server}] in the manifest or in config.toml",
            details={"missing": [{"kind": "server", "name": executor.server}]},
        )
    return executor.server, server
