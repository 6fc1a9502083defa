"""Runs tools of the shipped catalog as a person's approved call would, for tests."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from tooldisco_cli import paths
from tooldisco_cli.catalog.loading import load_catalog
from tooldisco_cli.catalog.snapshot import Catalog, Entry
from tooldisco_cli.execution.pipeline import Workbench, execute
from tooldisco_cli.execution.protocol import Execution, FileBlock, ImageBlock, JsonBlock, TextBlock
from tooldisco_cli.settings import Settings


@cache
def catalog() -> Catalog:
    """Return the shipped catalog, without any other layer."""
    loaded = load_catalog()
    shipped = str(paths.shipped_tools())
    return replace(
        loaded,
        by_name={name: found for name, found in loaded.by_name.items() if found[0].source.layer.path == shipped},
    )


async def _approve(_: object) -> str:
    return "once"


def attempt(
    tool: str | Entry,
    arguments: dict[str, Any],
    *,
    folder: Path,
    environment: Mapping[str, str] | None = None,
    allowed: tuple[str, ...] = (),
    private: bool = False,
) -> Execution:
    """Run a tool to its end, whatever became of it; every question for approval is answered with yes."""
    entry = catalog().get(tool) if isinstance(tool, str) else tool
    import os

    variables = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ} | dict(environment or {})
    bench = Workbench(
        catalog=catalog(),
        settings=Settings(allowed_folders=allowed, allow_private_addresses=private),
        environment={**variables, "TOOLDISCO_HOME": str(folder.parent / "tooldisco-home")},
        folder=folder,
    )
    return asyncio.run(execute(entry, arguments, bench, approver=_approve, assume_yes={entry.name}))  # type: ignore[arg-type]


def run(tool: str | Entry, arguments: dict[str, Any], **where: Any) -> Any:
    """Run a tool and return its one result: a JSON value, a text, or the block itself; None for no result."""
    done = attempt(tool, arguments, **where)
    if done.error is not None:
        raise AssertionError(f"{done.error.code}: {done.error.message} {done.error.hint} {done.error.details}")
    if not done.blocks:
        return None
    [block] = done.blocks
    if isinstance(block, JsonBlock):
        return block.value
    return block.text if isinstance(block, TextBlock) else block


def failure(tool: str | Entry, arguments: dict[str, Any], **where: Any) -> str:
    """Run a tool that must fail, and return what it says."""
    done = attempt(tool, arguments, **where)
    assert done.error is not None, f"it answered {done.blocks}"
    return f"{done.error.code}: {done.error.message}"


@dataclass
class Asked:
    """One request that the local server got."""

    method: str
    host: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def form(self) -> dict[str, str]:
        """The body as a form."""
        return dict(parse_qsl(self.body.decode(), keep_blank_values=True, strict_parsing=True))


@dataclass
class Service:
    """A local server in the place of a service: it keeps what it is asked and gives the answer that a test sets."""

    url: str = ""
    asked: list[Asked] = field(default_factory=list)
    status: int = 200
    answer: Any = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)

    def entry(self, name: str) -> Entry:
        """Return a shipped http tool whose requests come here; the host it names stays visible in the path."""
        entry = catalog().get(name)
        http = entry.tool.http
        assert http is not None
        url = http.url
        if url.startswith("https://"):
            url = f"{self.url}/host:{url.removeprefix('https://')}"
        return replace(entry, tool=replace(entry.tool, http=replace(http, url=url, allow_private=True)))


@contextmanager
def service() -> Iterator[Service]:
    """Start a local server; see :class:`Service`."""
    state = Service()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def _any(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            parts = urlsplit(self.path)
            path, host = parts.path, ""
            if path.startswith("/host:"):
                host, _, rest = path.removeprefix("/host:").partition("/")
                path = f"/{rest}"
            state.asked.append(
                Asked(
                    method=self.command,
                    host=unquote(host),
                    path=path,
                    query=dict(parse_qsl(parts.query, keep_blank_values=True)),
                    headers={name.lower(): value for name, value in self.headers.items()},
                    body=body,
                )
            )
            answer = state.answer(state.asked[-1]) if callable(state.answer) else state.answer
            data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(state.status)
            for name, value in {
                "content-type": "application/json",
                **state.headers,
                "content-length": str(len(data)),
            }.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = _any  # noqa: N815

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()


__all__ = [
    "Asked",
    "FileBlock",
    "ImageBlock",
    "Service",
    "attempt",
    "catalog",
    "failure",
    "run",
    "service",
]
