"""Sessions with the real SDK against a local server, as tests hold them; and a box of tools for them."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from messages_api import MessagesApi

from tooldisco_cli import Toolbox
from tooldisco_cli.agent.anthropic_backend import AnthropicBackend
from tooldisco_cli.agent.events import Notice, SessionEnded, ToolResult
from tooldisco_cli.agent.opening import Opening, open_session
from tooldisco_cli.execution.protocol import ImageBlock
from tooldisco_cli.search.index import SearchIndex
from tooldisco_cli.settings import Settings


class Talk:
    """One session and what came of it."""

    def __init__(self, server: MessagesApi, **options) -> None:
        backend = AnthropicBackend(base_url=server.url, environment=options["environment"])
        options = {"by_meaning": False, "model": "claude-fake", "backend": backend} | options
        self.server = server
        self.events: list = []
        self.session = open_session(Opening(**options))

    def say(self, text: str = "go", seconds: float = 60) -> SessionEnded:
        asyncio.run(asyncio.wait_for(self._say(text), seconds))
        return self.events[-1]

    async def _say(self, text: str) -> None:
        try:
            async for event in self.session.run(text):
                self.events.append(event)
        finally:
            await self.session.backend.close()

    def results(self) -> dict[str, ToolResult]:
        return {event.id: event for event in self.events if isinstance(event, ToolResult)}

    def result(self, id_: str) -> ToolResult:
        return next(event for event in self.events if isinstance(event, ToolResult) and event.id == id_)

    def found(self, id_: str) -> list[str]:
        return [hit["name"] for hit in self.result(id_).found or ()]

    def told(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Notice)]


@contextmanager
def talks(make: Callable[..., Talk]) -> Iterator[Callable[..., Talk]]:
    """Give what begins a talk with a script for its server; servers and traces are closed at the end."""
    servers, begun = [], []

    def begin(script, **options) -> Talk:
        servers.append(MessagesApi(script).__enter__())
        begun.append(make(servers[-1], **options))
        return begun[-1]

    yield begin
    for one in begun:
        one.session.trace.close()
    for server in servers:
        server.__exit__()


SECRET = "sk-very-secret-1234"


@pytest.fixture
def calls() -> list:
    """What the tools of the catalog were called with, in order."""
    return []


@pytest.fixture
def box(tmp_path: Path, calls: list) -> Toolbox:
    environment = {"TOOLDISCO_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"], "MY_TOKEN": SECRET}
    box = Toolbox(manifests=False, settings=Settings(), environment=environment, folder=tmp_path)

    @box.tool(category="data", read_only=True)
    async def find_customers(above: int = 0) -> list[dict]:
        """Find customers by amount. 查询客户。"""
        calls.append(("find", above, time.monotonic()))
        await asyncio.sleep(0.2)
        calls.append(("found", above, time.monotonic()))
        return [{"name": "李雷", "amount": 12000}]

    @box.tool(category="communication", destructive=False)
    def text_customer(phone: str, message: str) -> str:
        """Send a text message to a phone. 发送短信。"""
        calls.append(("text", phone, message))
        return "queued"

    @box.tool(category="data", read_only=True)
    def fail_always(why: str = "") -> str:
        """Fail each time."""
        calls.append(("fail", why))
        raise ValueError("the printer is on fire")

    @box.tool(category="media", read_only=True)
    def draw() -> ImageBlock:
        """Draw a picture."""
        return ImageBlock("image/png", b"\x89PNG\r\n\x1a\n0000")

    @box.tool(category="utility", read_only=True)
    def show_token() -> str:
        """Show the token."""
        return f"token {SECRET} shown"

    return box


@pytest.fixture
def talk(box, monkeypatch) -> Iterator[Callable[..., Talk]]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key-12345")

    def make(server: MessagesApi, **options) -> Talk:
        here = {"settings": box.settings, "environment": box.environment, "folder": box.folder}
        index = SearchIndex.build(box.catalog)
        return Talk(server, **{"catalog": box.catalog, "index": index, "assume_yes": True, **here, **options})

    with talks(make) as begin:
        yield begin
