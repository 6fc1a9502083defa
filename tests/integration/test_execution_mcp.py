"""mcp tools against real servers: two that people use, and some that misbehave."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from tooldisco_cli.catalog.snapshot import Entry
from tooldisco_cli.catalog.tool import Layer, McpExecutor, McpServer, Source, Tool
from tooldisco_cli.errors import NotReady, Refused, ToolFailed, ToolTimedOut
from tooldisco_cli.execution import mcp_connections
from tooldisco_cli.execution.executors import mcp
from tooldisco_cli.execution.mcp_connections import McpConnections
from tooldisco_cli.execution.protocol import Call, ImageBlock, JsonBlock, TextBlock
from tooldisco_cli.settings import Settings

TIME = McpServer(command=(sys.executable, "-m", "mcp_server_time", "--local-timezone", "Asia/Shanghai"))


def call(server: McpServer | None, tool: str, arguments=None, environment=None, settings=None, seconds=30.0) -> Call:
    declared = Tool(name="t", mcp=McpExecutor(server="s", tool=tool), timeout_seconds=seconds)
    entry = Entry(tool=declared, source=Source(Layer("user", "/"), "/t.toml", 1), digest="", server=server)
    return Call(entry=entry, arguments=arguments or {}, environment=environment or {}, folder=Path.cwd(),
                settings=settings or Settings())  # fmt: skip


def run(*arguments, **options):
    return asyncio.run(asyncio.wait_for(mcp.run(call(*arguments, **options)), 60))


@pytest.fixture(scope="session")
def everything() -> str:
    program = os.environ.get("TOOLDISCO_TEST_MCP_EVERYTHING", "")
    if not program:
        if os.environ.get("CI"):
            pytest.fail(".ci/run sets TOOLDISCO_TEST_MCP_EVERYTHING to the program of server-everything")
        pytest.skip("TOOLDISCO_TEST_MCP_EVERYTHING is not set: npm install @modelcontextprotocol/server-everything")
    return program


@pytest.fixture
def script(tmp_path):
    """A server of a few lines of Python."""

    def write(code: str, **keys) -> McpServer:
        path = tmp_path / "server.py"
        path.write_text(textwrap.dedent(code), "utf-8")
        return McpServer(command=(sys.executable, str(path)), **keys)

    return write


class TestServersThatPeopleUse:
    def test_the_time(self):
        output = run(
            TIME, "convert_time", {"source_timezone": "Asia/Shanghai", "time": "16:30", "target_timezone": "UTC"}
        )
        assert not output.is_error
        assert "08:30" in str(output.blocks)

    def test_an_error_of_the_tool_is_an_error(self):
        output = run(TIME, "get_current_time", {"timezone": "Mars/Olympus"})
        assert output.is_error
        assert "Mars" in str(output.blocks)

    def test_text_images_and_structured_content(self, everything):
        server = McpServer(command=(everything,), timeout_seconds=60)
        assert run(server, "echo", {"message": "你好"}).blocks == (TextBlock("Echo: 你好"),)
        image = run(server, "get-tiny-image").blocks
        assert any(isinstance(block, ImageBlock) and block.media_type == "image/png" for block in image)
        weather = run(server, "get-structured-content", {"location": "Chicago"}).blocks
        assert isinstance(weather[0], JsonBlock)
        assert "temperature" in weather[0].value

    def test_streamable_http(self, everything):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        process = subprocess.Popen([everything, "streamableHttp"], env=os.environ | {"PORT": str(port)},
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        try:
            deadline = time.monotonic() + 30
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    assert time.monotonic() < deadline
                    time.sleep(0.1)
            url = f"http://127.0.0.1:{port}/mcp"
            allowed = McpServer(url=url, allow_private=True)
            assert run(allowed, "echo", {"message": "hi"}).blocks == (TextBlock("Echo: hi"),)
            with pytest.raises((Refused, ToolFailed), match="private"):
                run(McpServer(url=url), "echo", {"message": "hi"})
        finally:
            process.kill()
            process.wait()


class TestConnections:
    def test_a_session_starts_a_server_once(self, script, tmp_path):
        counter = tmp_path / "starts"
        server = script(f"""
            from pathlib import Path
            from mcp.server.mcpserver import MCPServer
            with Path({str(counter)!r}).open("a") as file: file.write("x")
            server = MCPServer("s")
            @server.tool()
            def add(a: int, b: int) -> int:
                return a + b
            server.run()
        """)

        async def session():
            async with McpConnections():
                one = await mcp.run(call(server, "add", {"a": 1, "b": 2}))
                many = await asyncio.gather(*(mcp.run(call(server, "add", {"a": i, "b": i})) for i in range(5)))
                return one, many

        one, many = asyncio.run(session())
        assert "3" in str(one.blocks)
        assert [("%s" % (2 * i)) in str(output.blocks) for i, output in enumerate(many)] == [True] * 5
        assert counter.read_text() == "x"

    def test_variables_reach_the_server_only_when_declared(self, script, monkeypatch):
        monkeypatch.setenv("NOT_DECLARED", "leak")
        server = script(
            """
            import os
            from mcp.server.mcpserver import MCPServer
            server = MCPServer("s")
            @server.tool()
            def env() -> str:
                return f"{os.environ.get('GIVEN')} {os.environ.get('NOT_DECLARED')}"
            server.run()
            """,
            env={"GIVEN": "{env:TOKEN}"},
        )
        assert "value None" in str(run(server, "env", environment={"TOKEN": "value"}).blocks)
        with pytest.raises(NotReady, match="TOKEN"):
            run(server, "env")

    def test_a_server_that_died_is_started_again(self, script, tmp_path, monkeypatch):
        counter = tmp_path / "starts"
        server = script(f"""
            import os, threading
            from pathlib import Path
            from mcp.server.mcpserver import MCPServer
            with Path({str(counter)!r}).open("a") as file: file.write("x")
            server = MCPServer("s")
            @server.tool()
            def die() -> str:
                os._exit(3)
            @server.tool()
            def die_later() -> str:
                threading.Timer(0.2, os._exit, [3]).start()
                return "soon"
            @server.tool()
            def fine() -> str:
                return "fine"
            server.run()
        """)

        async def session():
            async with McpConnections():
                with pytest.raises(ToolFailed, match="is gone"):
                    await mcp.run(call(server, "die"))
                assert (await mcp.run(call(server, "fine"))).blocks == (TextBlock("fine"),)
                await mcp.run(call(server, "die_later"))
                await asyncio.sleep(0.6)
                monkeypatch.setattr(mcp_connections, "_IDLE_SECONDS", 0.3)
                assert (await mcp.run(call(server, "fine"))).blocks == (TextBlock("fine"),)

        asyncio.run(session())
        assert counter.read_text() == "xxx"

    def test_a_server_that_hangs_is_replaced_but_not_while_it_works(self, script, tmp_path, monkeypatch):
        monkeypatch.setattr(mcp_connections, "_ALIVE_SECONDS", 1.0)
        counter = tmp_path / "starts"
        server = script(f"""
            import time, anyio
            from pathlib import Path
            from mcp.server.mcpserver import MCPServer
            with Path({str(counter)!r}).open("a") as file: file.write("x")
            server = MCPServer("s")
            @server.tool()
            async def hang() -> str:
                time.sleep(60)
                return ""
            @server.tool()
            async def slow() -> str:
                await anyio.sleep(1.5)
                return "slow"
            @server.tool()
            def fine() -> str:
                return "fine"
            server.run()
        """)

        async def session():
            async with McpConnections():
                slow = asyncio.create_task(mcp.run(call(server, "slow")))
                await asyncio.sleep(0.5)
                await mcp.run(call(server, "fine"))
                assert (await slow).blocks == (TextBlock("slow"),)
                assert counter.read_text() == "x"
                with pytest.raises(ToolTimedOut, match="within 1 s"):
                    await mcp.run(call(server, "hang", seconds=1.0))
                assert (await mcp.run(call(server, "fine"))).blocks == (TextBlock("fine"),)

        asyncio.run(asyncio.wait_for(session(), 60))
        assert counter.read_text() == "xx"

    def test_text_that_says_more_than_the_structured_content_stays(self, script):
        server = script("""
            from mcp.server.mcpserver import MCPServer
            from mcp_types import CallToolResult, TextContent
            server = MCPServer("s")
            @server.tool()
            def more() -> CallToolResult:
                content = [TextContent(type="text", text='{"n": 1}'), TextContent(type="text", text="and a remark")]
                return CallToolResult(content=content, structured_content={"n": 1})
            @server.tool()
            def many() -> list[str]:
                return ["a", "b"]
            server.run()
        """)
        assert run(server, "more").blocks == (JsonBlock({"n": 1}), TextBlock("and a remark"))
        assert run(server, "many").blocks == (JsonBlock({"result": ["a", "b"]}),)

    def test_sound_resources_and_links(self, script):
        server = script("""
            from base64 import b64encode
            from mcp.server.mcpserver import MCPServer
            from mcp_types import (AudioContent, BlobResourceContents, CallToolResult, EmbeddedResource, ResourceLink,
                                   TextResourceContents)
            server = MCPServer("s")
            @server.tool()
            def all() -> CallToolResult:
                return CallToolResult(content=[
                    AudioContent(type="audio", data=b64encode(b"RIFF").decode(), mime_type="audio/wav"),
                    EmbeddedResource(type="resource", resource=TextResourceContents(uri="file:///a.txt", text="readme")),
                    EmbeddedResource(type="resource", resource=BlobResourceContents(
                        uri="file:///a.pdf", blob=b64encode(b"%PDF").decode(), mime_type="application/pdf")),
                    ResourceLink(type="resource_link", uri="file:///b.txt", name="b"),
                ])
            @server.tool()
            def broken() -> CallToolResult:
                return CallToolResult(content=[AudioContent(type="audio", data="!", mime_type="audio/wav")])
            server.run()
        """)
        sound, text, document, link = run(server, "all").blocks
        assert (sound.media_type, Path(sound.path).read_bytes()) == ("audio/wav", b"RIFF")
        assert text == TextBlock("readme")
        assert (document.media_type, Path(document.path).read_bytes()) == ("application/pdf", b"%PDF")
        assert link == JsonBlock({"uri": "file:///b.txt", "name": "b"})
        for block in (sound, document):
            assert block.temporary
            Path(block.path).unlink()
        with pytest.raises(ToolFailed, match="not valid base64"):
            run(server, "broken")

    def test_a_preview_starts_nothing_and_masks(self, tmp_path):
        mark = tmp_path / "started"
        server = McpServer(command=("touch", str(mark)), env={"KEY": "{env:SECRET_KEY}"})
        shown = mcp.preview(call(server, "x", {"a": 1}, environment={"SECRET_KEY": "hidden"}))
        assert shown["env"] == {"KEY": "{env:SECRET_KEY}"}
        assert shown["arguments"] == {"a": 1}
        assert not mark.exists()


class TestServersThatMisbehave:
    def test_not_declared(self):
        with pytest.raises(NotReady, match="declared nowhere"):
            run(None, "x")

    def test_not_installed(self):
        with pytest.raises(NotReady, match="not installed"):
            run(McpServer(command=("no-such-program-here",)), "x")

    def test_a_tool_that_it_does_not_have(self):
        with pytest.raises(ToolFailed, match="has no tool") as caught:
            run(TIME, "get_curent_time")
        assert "get_current_time" in caught.value.hint

    def test_its_folder_does_not_exist(self, tmp_path):
        with pytest.raises(NotReady, match="folder"):
            run(McpServer(command=(sys.executable, "-c", ""), cwd=str(tmp_path / "none")), "x")

    def test_one_that_crashes_at_start_is_quoted(self, script):
        with pytest.raises(ToolFailed) as caught:
            run(script("import sys; sys.exit('no licence found')"), "x")
        assert "no licence found" in caught.value.message

    def test_one_that_never_answers(self, script):
        with pytest.raises(ToolFailed, match="did not start within"):
            run(script("import time; time.sleep(100)", timeout_seconds=1.0), "x")

    def test_one_that_speaks_something_else(self, script):
        with pytest.raises(ToolFailed):
            run(script("while True: print('hello')", timeout_seconds=2.0), "x")

    @pytest.mark.parametrize("answer", [b"HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n", b"garbage\r\n\r\n", b"",
        b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 4\r\n\r\n<p/>", None,
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"],
        ids=["500", "garbage", "closed", "html", "silent", "other json"])  # fmt: skip
    def test_an_address_that_is_no_mcp_server(self, answer):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            held = []

            def serve():
                with contextlib.suppress(OSError):
                    while True:
                        connection, _ = listener.accept()
                        connection.recv(65536)
                        if answer is None:
                            held.append(connection)
                            continue
                        connection.sendall(answer)
                        connection.close()

            threading.Thread(target=serve, daemon=True).start()
            url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
            with pytest.raises(ToolFailed, match="'s'"):
                run(McpServer(url=url, allow_private=True, timeout_seconds=3.0), "x")
            for connection in held:
                connection.close()

    def test_one_that_dies_in_the_middle_of_a_call(self, script):
        server = script("""
            import os
            from mcp.server.mcpserver import MCPServer
            server = MCPServer("s")
            @server.tool()
            def die() -> str:
                os._exit(3)
            server.run()
        """)
        with pytest.raises(ToolFailed):
            run(server, "die")

        async def twice():
            async with McpConnections():
                for _ in range(2):
                    with pytest.raises(ToolFailed):
                        await asyncio.wait_for(mcp.run(call(server, "die")), 30)

        asyncio.run(twice())

    def test_a_call_that_is_cancelled_leaves_no_process(self, script, tmp_path):
        pids = tmp_path / "pids"
        server = script(f"""
            import os, subprocess, sys, time
            from pathlib import Path
            from mcp.server.mcpserver import MCPServer
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
            Path({str(pids)!r}).write_text(f"{{os.getpid()}} {{child.pid}}")
            server = MCPServer("s")
            @server.tool()
            def slow() -> str:
                time.sleep(300)
                return ""
            server.run()
        """)

        async def cancelled():
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(4):
                    await mcp.run(call(server, "slow"))

        asyncio.run(cancelled())
        for pid in map(int, pids.read_text().split()):
            deadline = time.monotonic() + 10
            while _alive(pid):
                assert time.monotonic() < deadline, f"{pid} still runs"
                time.sleep(0.1)


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="children are found by /proc, which is Linux's")
def test_killing_tooldisco_ends_a_server_that_ignores_it(script, tmp_path):
    pids = tmp_path / "pids"
    server = script(f"""
        import os, signal, subprocess, sys, time
        from pathlib import Path
        from mcp.server.mcpserver import MCPServer
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"], start_new_session=True)
        server = MCPServer("s")
        @server.tool()
        def slow() -> str:
            Path({str(pids)!r}).write_text(f"{{os.getpid()}} {{child.pid}}")
            time.sleep(300)
            return ""
        server.run()
        time.sleep(300)
    """)
    code = f"""
        import asyncio, sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from test_execution_mcp import call, mcp
        from tooldisco_cli.catalog.tool import McpServer
        asyncio.run(mcp.run(call(McpServer(command={server.command!r}), "slow")))
    """
    parent = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not pids.exists() or not pids.read_text():
        assert time.monotonic() < deadline
        assert parent.poll() is None
        time.sleep(0.05)
    parent.kill()
    parent.wait()
    for pid in map(int, pids.read_text().split()):
        while _alive(pid):
            assert time.monotonic() < deadline, f"{pid} still runs"
            time.sleep(0.1)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
