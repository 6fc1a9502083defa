"""A local server whose answers a test writes, and http tools that ask it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tooldisco_cli.catalog.snapshot import Entry
from tooldisco_cli.catalog.tool import HttpExecutor, Layer, Source, Tool
from tooldisco_cli.execution.executors import http
from tooldisco_cli.execution.protocol import Call, Output
from tooldisco_cli.settings import Settings


@dataclass
class Site:
    """A server whose answers a test writes; it keeps what it was asked."""

    url: str = ""
    server: Any = None
    asked: list[dict[str, Any]] = field(default_factory=list)
    answer: Callable[[BaseHTTPRequestHandler, int], None] = lambda handler, _: reply(handler, 200, {"ok": True})


def reply(handler, status, body=b"", **headers):
    kind = "text/plain; charset=utf-8"
    if not isinstance(body, (bytes, str)):
        body, kind = json.dumps(body), "application/json"
    data = body.encode() if isinstance(body, str) else body
    handler.send_response(status)
    shown = {"content-type": kind, "content-length": str(len(data))}
    shown |= {name.replace("_", "-"): value for name, value in headers.items()}
    for name, value in shown.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(data)


@pytest.fixture
def site():
    state = Site()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def _any(self):
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            state.asked.append({"method": self.command, "path": self.path, "body": body,
                                "headers": {k.lower(): v for k, v in self.headers.items()}})  # fmt: skip
            try:
                state.answer(self, len(state.asked))
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = _any  # noqa: N815

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # a client that hangs up is what some tests are about
    state.server = server
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield state
    server.shutdown()
    server.server_close()


def call(executor: HttpExecutor, arguments=None, environment=None, **tool) -> Call:
    declared = Tool(name="t", http=executor, **tool)
    entry = Entry(tool=declared, source=Source(Layer("user", "/"), "/t.toml", 1), digest="")
    return Call(
        entry=entry, arguments=arguments or {}, environment=environment or {}, folder=Path(), settings=Settings()
    )


def run(executor: HttpExecutor, arguments=None, environment=None, **tool) -> Output:
    return asyncio.run(http.run(call(executor, arguments, environment, **tool)))


def local(site: Site, path: str = "/", **keys) -> HttpExecutor:
    return HttpExecutor(url=site.url + path, allow_private=True, **keys)
