"""Connections to MCP servers, each held by a task of its own until it is closed or its server is gone.

A connection belongs to the task that opened it (the SDK's cancel scopes demand that), while calls come from any
task. So each has a task that opens it, waits, and closes it; closing ends the server's whole process tree, and so
does the watchdog when tooldisco itself is killed (see :mod:`tooldisco_cli.execution.processes`).
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from tooldisco_cli.catalog.tool import McpServer
from tooldisco_cli.errors import InvalidArguments, NotReady, TooldiscoError, ToolFailed
from tooldisco_cli.execution import watchdog
from tooldisco_cli.execution.protocol import Call
from tooldisco_cli.execution.templates import Scope, fill_header, fill_text

if TYPE_CHECKING:
    from mcp import Client

_TAIL_BYTES = 4000
_CLOSE_SECONDS = 10.0
_MAX_PAGES = 100
_ALIVE_SECONDS = 5.0
"""How long a server that does nothing else may take to list its tools before another is started in its place."""
_IDLE_SECONDS = 5.0
"""A server that was not spoken to for so long is asked whether it is still there before it gets a call."""
_PASSED_ON = ("LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR")
"""Variables for a server's program beside those that the SDK passes on, such as PATH and HOME."""

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
    passed_on: dict[str, str] = field(default_factory=dict)
    """Variables for the program that are not of the manifest."""
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
        passed_on=_passed_on(call.environment) if server.command and not masked else {},
        cwd=text(server.cwd) if server.cwd else str(call.folder),
        url=text(server.url),
        headers=headers,
        timeout_seconds=server.timeout_seconds,
        allow_private=server.allow_private or call.settings.allow_private_addresses,
    )


def _passed_on(environment: Mapping[str, str]) -> dict[str, str]:
    from mcp.client.stdio import DEFAULT_INHERITED_ENV_VARS

    return {name: environment[name] for name in (*DEFAULT_INHERITED_ENV_VARS, *_PASSED_ON) if name in environment}


class McpConnections:
    """A pool for a process that lives: all calls inside of ``async with McpConnections():`` share connections."""

    def __init__(self) -> None:
        self._open: dict[str, Connection] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._token: Token[McpConnections | None] | None = None

    async def __aenter__(self) -> McpConnections:
        self._token = _shared.set(self)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._token is not None:
            _shared.reset(self._token)
        await self.close()

    async def get(self, target: Target) -> Connection:
        """Return the connection to a server, opened now unless it is open; raises ToolFailed or NotReady.

        A server that has ended, or hangs, is ended and started again; the call that found out has failed.
        """
        connection = self._open.get(target.key)
        if connection is not None and not await connection.alive() and self._open.get(target.key) is connection:
            closing = asyncio.create_task(connection.close())
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)
            del self._open[target.key]
        connection = self._open.get(target.key)
        if connection is None:
            connection = self._open[target.key] = Connection(target)
        await connection.ready()
        return connection

    async def close(self) -> None:
        """Close all connections and end their servers."""
        connections, self._open = list(self._open.values()), {}
        await asyncio.gather(*(connection.close() for connection in connections), *self._closing)


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
        self._mark = secrets.token_hex(8)
        self._calls = 0
        self._seen = float("-inf")
        self._lost = False
        self.task = asyncio.create_task(self._hold(), name=f"mcp server {target.name}")
        """Ends with the connection."""

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Count a call, during which the server may be too busy to show that it is alive."""
        self._calls += 1
        self._seen = float("-inf")
        try:
            yield
            self._seen = asyncio.get_running_loop().time()
        finally:
            self._calls -= 1

    async def alive(self) -> bool:
        """Whether the next call may use the connection.

        A program that was idle, or whose last call was given up, must show it by listing its tools.
        """
        if self._lost or self.task.done():
            return False
        recent = asyncio.get_running_loop().time() - self._seen < _IDLE_SECONDS
        if recent or self._client is None or self._calls or not self.target.command:
            return True
        from mcp.shared.exceptions import MCPError
        from mcp_types import CONNECTION_CLOSED

        try:
            async with asyncio.timeout(_ALIVE_SECONDS):
                await self._client.list_tools(cache_mode="refresh")
        except MCPError as error:
            return bool(error.code != CONNECTION_CLOSED)  # a refusal is an answer too
        except (AssertionError, OSError, RuntimeError, ValueError):
            return False  # TimeoutError is an OSError
        return True

    def lost(self, how: str) -> ToolFailed:
        """Return the error for a server that ended or hung up during a call; the next call starts it again."""
        self._lost = True
        said = self.said()
        last = said.splitlines()[-1][:300] if said else ""
        return ToolFailed(
            f"the MCP server {self.target.name!r} is gone: {how[:300]}" + (f"; it said: {last}" if last else ""),
            hint="the next call starts it again; start it by hand to see why it ended",
            details={"stderr": said} if said else None,
        )

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
            said = self._stderr.read()
            if size > _TAIL_BYTES:  # half a line may hold half a secret, which nobody would recognise
                said = said.partition(b"\n")[2]
            return said.decode("utf-8", "replace").strip()
        return ""

    async def close(self) -> None:
        """Close the connection and end the server; bounded in time."""
        self._stop.set()
        with suppress(Exception, asyncio.CancelledError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await asyncio.shield(self.task)
        if not self.task.done():
            self.task.cancel()
            with suppress(Exception, asyncio.CancelledError):
                await self.task

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
            if self.target.command:
                # What left the server's process group is found by its mark.
                if os.name == "posix":
                    watchdog.signal_all(0, self._mark, signal.SIGKILL)
                watchdog.forget(self._mark)

    def _connected(self) -> Any:
        from contextlib import asynccontextmanager

        from mcp import Client
        from mcp.client.stdio import StdioServerParameters, stdio_client
        from mcp.client.streamable_http import streamable_http_client

        target = self.target

        @asynccontextmanager
        async def connected() -> Any:
            if target.command:
                watchdog.remember(self._mark)
                parameters = StdioServerParameters(
                    command=target.command[0], args=list(target.command[1:]), cwd=target.cwd,
                    env=target.passed_on | target.env | {watchdog.MARK: self._mark}, encoding_error_handler="replace",
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
        if self.target.command and self.target.cwd and not Path(self.target.cwd).is_dir():
            return NotReady(f"the folder {self.target.cwd} of the MCP server {name!r} does not exist")
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
