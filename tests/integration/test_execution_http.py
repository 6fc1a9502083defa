"""http tools against a real local server: what is sent, what comes back, and where a request may not go."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import resource
import shutil
import ssl
import subprocess
import tempfile
import threading
import time
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooldisco_cli.catalog.snapshot import Catalog, Entry
from tooldisco_cli.catalog.tool import Annotations, HttpExecutor, Layer, Source, Tool
from tooldisco_cli.errors import CatalogInvalid, InvalidArguments, NotReady, Refused, ToolFailed, ToolTimedOut
from tooldisco_cli.execution import addresses, http_answers
from tooldisco_cli.execution.addresses import is_public
from tooldisco_cli.execution.executors import http
from tooldisco_cli.execution.pipeline import Workbench, execute
from tooldisco_cli.execution.protocol import Call, FileBlock, ImageBlock, JsonBlock, Output, TextBlock
from tooldisco_cli.execution.spool import Spool
from tooldisco_cli.settings import Settings

PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 20


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


class TestWhatIsSent:
    def test_path_query_and_headers(self, site):
        executor = local(site, "/users/{id}/notes", query={"q": "{text}", "page": "{page}", "tag": "{tags}"},
                         headers={"X-Team": "{team}", "X-None": "{missing}"})  # fmt: skip
        run(executor, {"id": "a/b ?", "text": "你好&x=1", "tags": ["a", "b"], "team": "core"})
        [asked] = site.asked
        assert asked["path"] == "/users/a%2Fb%20%3F/notes?q=%E4%BD%A0%E5%A5%BD%26x%3D1&tag=a&tag=b"
        assert asked["headers"]["x-team"] == "core"
        assert "x-none" not in asked["headers"]

    def test_json_keeps_types_and_drops_what_is_missing(self, site):
        body = {"n": "{n}", "on": "{on}", "text": "n is {n}", "gone": "{gone}", "inside": {"gone": "{gone}"}}
        run(local(site, method="POST", json=body), {"n": 5, "on": False})
        assert json.loads(site.asked[0]["body"]) == {"n": 5, "on": False, "text": "n is 5"}
        assert site.asked[0]["headers"]["content-type"] == "application/json"

    def test_a_form(self, site):
        run(
            local(site, method="POST", form={"To": "{to}", "Body": "{text}", "No": "{no}"}),
            {"to": "+86", "text": "会议 &"},
        )
        assert site.asked[0]["body"] == b"To=%2B86&Body=%E4%BC%9A%E8%AE%AE+%26"

    def test_a_text_body(self, site):
        run(
            local(site, method="PUT", body="hello {name}", headers={"Content-Type": "text/markdown"}),
            {"name": "世界"},
        )
        assert site.asked[0]["body"].decode() == "hello 世界"
        assert site.asked[0]["headers"]["content-type"] == "text/markdown"

    def test_credentials_come_from_the_environment(self, site):
        run(
            local(site, basic_auth=("{env:API_USER}", "{env:API_PASS}")),
            environment={"API_USER": "u", "API_PASS": "密:x"},
        )
        run(local(site, bearer="{env:TOKEN}"), environment={"TOKEN": "t0ken"})
        assert site.asked[0]["headers"]["authorization"] == "Basic " + b64encode("u:密:x".encode()).decode()
        assert site.asked[1]["headers"]["authorization"] == "Bearer t0ken"

    def test_a_line_break_cannot_become_a_header(self, site):
        with pytest.raises(InvalidArguments):
            run(local(site, headers={"X-A": "{a}"}), {"a": "x\r\nX-Evil: 1"})
        assert site.asked == []

    def test_a_header_may_hold_chinese_and_is_sent_as_utf_8(self, site):
        run(local(site, headers={"Title": "{title}"}), {"title": "会议取消"})
        assert site.asked[0]["headers"]["title"].encode("latin-1").decode() == "会议取消"

    def test_what_no_header_can_be_is_refused(self, site):
        with pytest.raises(CatalogInvalid, match="no name of a header"):
            run(local(site, headers={"X A": "1"}))
        with pytest.raises(NotReady, match="bearer token"):
            run(local(site, bearer="{env:TOKEN}"), environment={"TOKEN": "to“ken”"})
        assert site.asked == []

    @pytest.mark.parametrize(
        "url", ["file:///etc/passwd", "ftp://example.com/x", "http://u:p@example.com/", "gopher://x"]
    )
    def test_only_plain_http_addresses(self, url):
        with pytest.raises(InvalidArguments):
            run(HttpExecutor(url="{url}"), {"url": url})

    def test_a_preview_shows_the_request_masks_secrets_and_sends_nothing(self, site):
        executor = local(site, "/x/{id}", method="POST", bearer="{env:TOKEN}", json={"a": "{a}"})
        shown = http.preview(call(executor, {"id": 1, "a": [1]}, {"TOKEN": "t0ken"}))
        assert shown["method"] == "POST"
        assert shown["url"] == f"{site.url}/x/1"
        assert shown["body"] == {"a": [1]}
        assert "t0ken" not in json.dumps(shown)
        assert "{env:TOKEN}" in shown["headers"]["Authorization"]
        assert site.asked == []


class TestWhatComesBack:
    def test_pointers_pick_parts(self, site):
        site.answer = lambda handler, _: reply(handler, 201, {"sid": "SM1", "a/b": {"~": [10, 20]}})
        output = run(local(site, result={"id": "/sid", "deep": "/a~1b/~0/1", "none": "/no"}))
        assert output.blocks == (JsonBlock({"id": "SM1", "deep": 20}),)
        assert run(local(site, result="/sid")).blocks == (JsonBlock("SM1"),)
        with pytest.raises(ToolFailed, match="nothing at /zzz"):
            run(local(site, result="/zzz"))

    def test_a_failure_said_with_status_200(self, site):
        site.answer = lambda handler, _: reply(handler, 200, {"errcode": 310000, "errmsg": "sign not match"})
        with pytest.raises(ToolFailed, match="310000") as caught:
            run(local(site, expect={"/errcode": 0}))
        assert caught.value.details["answer"]["errmsg"] == "sign not match"

    def test_text_images_and_other_bytes(self, site):
        site.answer = lambda handler, _: reply(
            handler, 200, "你好".encode("gbk"), content_type="text/html; charset=gbk"
        )
        assert run(local(site)).blocks == (TextBlock("你好"),)
        site.answer = lambda handler, _: reply(handler, 200, PNG, content_type="image/png")
        assert run(local(site)).blocks == (ImageBlock("image/png", PNG),)
        site.answer = lambda handler, _: reply(handler, 200, b"\0\1\2" * 50, content_type="application/x-thing")
        [block] = run(local(site)).blocks
        assert isinstance(block, FileBlock)
        assert Path(block.path).read_bytes() == b"\0\1\2" * 50
        Path(block.path).unlink()

    def test_json_in_the_encoding_that_the_service_declares(self, site):
        site.answer = lambda handler, _: reply(
            handler, 200, '{"城市": "上海"}'.encode("gbk"), content_type="application/json; charset=gbk"
        )
        assert run(local(site, result={"city": "/城市"})).blocks == (JsonBlock({"city": "上海"}),)

    def test_text_too_large_for_memory_is_kept_as_utf_8(self, site):
        text = "行，第一\n" * 1_000_000
        site.answer = lambda handler, _: reply(
            handler, 200, text.encode("gb18030"), content_type="text/plain; charset=gb18030"
        )
        [block] = run(local(site), timeout_seconds=60).blocks
        assert Path(block.path).read_text("utf-8") == text
        Path(block.path).unlink()

    @pytest.mark.parametrize("charset", ["punycode", "unicode_escape", "zip", "no-such"])
    def test_an_encoding_that_is_none_is_not_obeyed(self, site, charset):
        site.answer = lambda handler, _: reply(
            handler, 200, b"a\\u0041-b", content_type=f"text/plain; charset={charset}"
        )
        assert run(local(site)).blocks == (TextBlock("a\\u0041-b"),)

    def test_a_head_request_answers_with_its_headers(self, site):
        site.answer = lambda handler, _: reply(handler, 200, b"", etag='"v1"')
        [block] = run(local(site, method="HEAD")).blocks
        assert block.value["headers"]["etag"] == '"v1"'
        assert run(local(site, method="HEAD", result="/headers/etag")).blocks == (JsonBlock('"v1"'),)

    def test_an_error_never_shows_half_of_a_secret(self, site):
        secret = "sk-live-0123456789abcdef"
        site.answer = lambda handler, _: reply(handler, 500, "x" * 1990 + secret)
        with pytest.raises(ToolFailed) as caught:
            run(local(site, method="POST", bearer="{env:TOKEN}"), environment={"TOKEN": secret})
        assert "sk-live" not in caught.value.details["answer"]

    def test_an_answer_too_large_to_check_counts_as_a_failure(self, site, monkeypatch):
        monkeypatch.setattr(http_answers, "_JSON_BYTES", 1000)
        site.answer = lambda handler, _: reply(handler, 200, {"errcode": 0, "text": "x" * 2000})
        with pytest.raises(ToolFailed, match="too large"):
            run(local(site, expect={"/errcode": 0}))

    def test_a_full_disk_is_a_clear_error(self, site, monkeypatch):
        def full(*_, **__):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(http_answers.tempfile, "SpooledTemporaryFile", full)
        with pytest.raises(ToolFailed, match="No space left"):
            run(local(site))

    @pytest.mark.parametrize("data", [b"garbage\r\n\r\n", b"", b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n"])
    def test_an_answer_that_is_no_http(self, site, data):
        def answer(handler, _):
            handler.wfile.write(data)
            handler.close_connection = True

        site.answer = answer
        with pytest.raises(ToolFailed, match="no answer"):
            run(local(site, method="POST"))

    def test_json_that_no_consumer_could_hold_is_made_plain(self, site):
        deep = '{"n": NaN, "half": "\\ud800", "deep": ' + "[" * 400 + "]" * 400 + "}"
        site.answer = lambda handler, _: reply(handler, 200, deep, content_type="application/json")
        [block] = run(local(site)).blocks
        assert (block.value["n"], block.value["half"]) == (None, "?")
        assert "nested too deeply" in json.dumps(block.value)

    def test_nothing(self, site):
        site.answer = lambda handler, _: reply(handler, 204)
        output = run(local(site))
        assert output.blocks == ()
        assert output.facts["status"] == 204

    @pytest.mark.parametrize(
        ("status", "word"), [(401, "TOKEN"), (403, "permission"), (404, "identifiers"), (500, "later")]
    )
    def test_an_error_status_says_what_to_do(self, site, status, word):
        site.answer = lambda handler, _: reply(handler, status, {"message": "no"})
        with pytest.raises(ToolFailed) as caught:
            run(local(site, method="POST", bearer="{env:TOKEN}"), environment={"TOKEN": "secret"})
        assert str(status) in caught.value.message
        assert word in caught.value.hint
        assert caught.value.details["answer"] == {"message": "no"}

    def test_a_hundred_megabytes_stay_out_of_memory(self, site):
        def big(handler, _):
            handler.send_response(200)
            handler.send_header("content-type", "text/plain")
            handler.send_header("content-length", str(100 << 20))
            handler.end_headers()
            for _ in range(100):
                handler.wfile.write(b"x" * (1 << 20))

        run(local(site))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        site.answer = big
        [block] = run(local(site), timeout_seconds=120).blocks
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 40_000
        assert block.size == 100 << 20
        assert block.temporary
        Path(block.path).unlink()

    def test_a_compressed_bomb_is_stopped(self, site, monkeypatch):
        monkeypatch.setattr(http_answers, "MAX_BODY_BYTES", 5_000_000)
        bomb = gzip.compress(gzip.compress(b"0" * 200_000_000))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for encoding in ("gzip, gzip", "gzip"):
            site.answer = lambda handler, _, how=encoding: reply(
                handler, 200, bomb if "," in how else gzip.decompress(bomb), content_encoding=how
            )
            with pytest.raises(ToolFailed, match="larger than"):
                run(local(site))
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60_000

    def test_a_service_that_does_not_answer_is_given_up(self, site):
        site.answer = lambda handler, _: time.sleep(3)
        with pytest.raises(ToolTimedOut, match="in time"):
            run(local(site, method="POST"), timeout_seconds=0.5)

    def test_a_service_that_is_not_there(self, site):
        with pytest.raises(ToolFailed, match="no answer"):
            run(HttpExecutor(url="http://127.0.0.1:9/", allow_private=True))


class TestAsAWhole:
    """Through the pipeline, as commands and agents run a tool."""

    def execute(self, tmp_path, executor, environment=None, **tool):
        entry = call(executor, annotations=Annotations(read_only=True), **tool).entry
        bench = Workbench(catalog=Catalog(), settings=Settings(), folder=tmp_path,
                          environment={"TOOLDISCO_HOME": str(tmp_path)} | (environment or {}))  # fmt: skip
        return asyncio.run(execute(entry, {}, bench, approver=None))

    def test_a_body_that_trickles_without_end_is_stopped_in_time(self, site, tmp_path):
        def trickle(handler, _):
            handler.send_response(200)
            handler.send_header("content-length", "1000000")
            handler.end_headers()
            while True:
                handler.wfile.write(b"x")
                time.sleep(0.05)

        site.answer = trickle
        done = self.execute(tmp_path, local(site), timeout_seconds=1.0)
        assert done.error.code == "timed_out"

    def test_a_long_answer_is_cut_masked_and_kept(self, site, tmp_path):
        site.answer = lambda handler, _: reply(handler, 200, "token-0123456789 of a line\n" * 300_000)
        before = set(Path(tempfile.gettempdir()).glob("tooldisco-*"))
        done = self.execute(tmp_path, local(site, bearer="{env:TOKEN}"), {"TOKEN": "token-0123456789"})
        assert (done.cut.unit, done.cut.total) == ("lines", 300_000)
        assert "[masked:TOKEN] of a line" in done.blocks[0].text
        page = Spool(environment={"TOOLDISCO_HOME": str(tmp_path)}).read_page(done.handle, 2)
        assert page.pages > 100
        assert "token-0123456789" not in page.text
        assert set(Path(tempfile.gettempdir()).glob("tooldisco-*")) <= before


class TestEncryption:
    @pytest.fixture
    def certificate(self, tmp_path):
        """A certificate for ``service.example``, signed by itself."""
        program = shutil.which("openssl")
        if program is None:
            if os.environ.get("CI") == "true":
                pytest.fail("openssl is not installed")
            pytest.skip("openssl is not installed (Debian package openssl)")
        key, made = tmp_path / "key.pem", tmp_path / "certificate.pem"
        subprocess.run(
            [program, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", str(key), "-out", str(made),
             "-days", "2", "-subj", "/CN=service.example", "-addext", "subjectAltName=DNS:service.example"],
            check=True, capture_output=True,
        )  # fmt: skip
        return made, key

    def test_the_certificate_must_be_of_the_name_though_an_address_is_connected_to(
        self, site, certificate, monkeypatch
    ):
        names = []
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        context.sni_callback = lambda _socket, name, _context: names.append(name)
        site.server.socket = context.wrap_socket(site.server.socket, server_side=True)

        async def here(host, port):
            return ["127.0.0.1"]

        monkeypatch.setattr(addresses, "resolve", here)
        port = site.url.rpartition(":")[2]
        right, wrong = (HttpExecutor(url=f"https://{name}:{port}/", allow_private=True)
                        for name in ("service.example", "other.example"))  # fmt: skip
        with pytest.raises(ToolFailed, match="CERTIFICATE_VERIFY_FAILED"):
            run(right)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
        assert run(right).blocks == (JsonBlock({"ok": True}),)
        with pytest.raises(ToolFailed, match=r"not valid for 'other\.example'"):
            run(wrong)
        assert "service.example" in names
        assert len(site.asked) == 1


class TestRetries:
    def test_a_read_is_tried_again(self, site):
        site.answer = lambda handler, n: reply(handler, 503 if n < 3 else 200, {"n": n}, retry_after="0")
        assert run(local(site)).blocks == (JsonBlock({"n": 3}),)

    def test_what_changes_something_is_sent_once(self, site):
        site.answer = lambda handler, n: reply(handler, 503, retry_after="0")
        with pytest.raises(ToolFailed):
            run(local(site, method="POST"))
        assert len(site.asked) == 1

    def test_an_idempotent_change_is_tried_again(self, site):
        site.answer = lambda handler, n: reply(handler, 503 if n < 2 else 200, {"n": n}, retry_after="0")
        run(local(site, method="PUT", json={}), annotations=Annotations(idempotent=True))
        assert len(site.asked) == 2

    def test_a_service_that_asks_to_wait_too_long_is_not_waited_for(self, site):
        site.answer = lambda handler, n: reply(handler, 429, retry_after="3600")
        with pytest.raises(ToolFailed, match="429"):
            run(local(site))
        assert len(site.asked) == 1


class TestWhereItMayGo:
    @pytest.mark.parametrize(
        "host",
        [
            "127.0.0.1",
            "[::1]",
            "10.1.2.3",
            "169.254.169.254",
            "[::ffff:127.0.0.1]",
            "0.0.0.0",
            "100.100.100.200",
            "[fe80::1]",
            "localhost",
            "[64:ff9b::7f00:1]",
            "2130706433",
        ],
    )
    def test_private_addresses_are_refused(self, host):
        with pytest.raises((Refused, ToolFailed, InvalidArguments)):
            run(HttpExecutor(url="{url}"), {"url": f"http://{host}/"})

    def test_a_name_that_resolves_to_a_private_address_is_refused(self, site, monkeypatch):
        async def lies(host, port):
            return ["127.0.0.1"]

        monkeypatch.setattr(addresses, "resolve", lies)
        with pytest.raises(Refused, match="private"):
            run(HttpExecutor(url="http://evil.example:{port}/"), {"port": site.url.rpartition(":")[2]})
        assert site.asked == []

    def test_a_redirect_to_a_private_address_is_refused(self, site, monkeypatch):
        """The first request is let through as if the server were public; what it redirects to is not."""
        port = site.url.rpartition(":")[2]

        async def names(host, _):
            return {"public.example": ["93.184.216.34"], "inner.example": ["10.0.0.1"]}[host]

        async def to_here(self, host, port, *arguments, **options):
            return await connect(self, "127.0.0.1", port, *arguments, **options)

        from httpcore2._backends.auto import AutoBackend

        connect = AutoBackend.connect_tcp
        monkeypatch.setattr(AutoBackend, "connect_tcp", to_here)
        monkeypatch.setattr(addresses, "resolve", names)
        for target in (
            "http://127.0.0.1/",
            "http://inner.example/",
            "http://[::1]/",
            "http://169.254.169.254/latest",
        ):
            site.asked.clear()
            site.answer = lambda handler, n, to=target: reply(handler, 302, location=to)
            with pytest.raises(Refused):
                run(HttpExecutor(url=f"http://public.example:{port}/"))
            assert len(site.asked) == 1

    def test_credentials_are_not_carried_to_another_site(self, site, monkeypatch):
        monkeypatch.setattr(addresses, "is_public", lambda _: True)
        monkeypatch.setattr(http, "is_public", lambda _: True)
        other = site.url.replace("127.0.0.1", "localhost")
        site.answer = lambda handler, n: (
            reply(handler, 302, location=other + "/b") if n == 1 else reply(handler, 200, {})
        )
        run(local(site, bearer="{env:TOKEN}", headers={"X-Api-Key": "{env:TOKEN}"}), environment={"TOKEN": "secret"})
        assert "secret" in json.dumps(site.asked[0]["headers"])
        assert "secret" not in json.dumps(site.asked[1]["headers"])

    def test_a_body_is_not_carried_to_another_site(self, site):
        other = site.url.replace("127.0.0.1", "localhost")
        site.answer = lambda handler, n: reply(handler, 307, location=other + "/b")
        with pytest.raises(ToolFailed, match="not followed"):
            run(local(site, method="POST", json={"secret": 1}))
        assert len(site.asked) == 1

    @pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://127.0.0.1/", "http://u:p@127.0.0.1:{port}/x"])
    def test_a_redirect_leads_to_plain_http_addresses_only(self, site, target):
        to = target.format(port=site.url.rpartition(":")[2])
        site.answer = lambda handler, _: reply(handler, 302, location=to)
        with pytest.raises(ToolFailed, match="not followed"):
            run(local(site))
        assert len(site.asked) == 1

    def test_a_name_that_answers_otherwise_the_second_time_gains_nothing(self, site, monkeypatch):
        """DNS rebinding: public when first asked, private afterwards. It is asked once, and that answer is used."""
        answers, connected = [["93.184.216.34"], ["127.0.0.1"]], []

        async def rebinding(host, port):
            return answers.pop(0)

        async def to_here(self, host, port, *arguments, **options):
            connected.append(host)
            return await connect(self, "127.0.0.1", port, *arguments, **options)

        from httpcore2._backends.auto import AutoBackend

        connect = AutoBackend.connect_tcp
        monkeypatch.setattr(AutoBackend, "connect_tcp", to_here)
        monkeypatch.setattr(addresses, "resolve", rebinding)
        port = site.url.rpartition(":")[2]
        run(HttpExecutor(url=f"http://rebind.example:{port}/"))
        assert connected == ["93.184.216.34"]
        assert site.asked[0]["headers"]["host"] == f"rebind.example:{port}"
        with pytest.raises(Refused):
            run(HttpExecutor(url=f"http://rebind.example:{port}/"))

    def test_an_http_library_that_cannot_be_guarded_sends_nothing(self, site, monkeypatch):
        import httpcore2

        class Other(httpcore2.AsyncConnectionPool):
            def __init__(self, **options):
                super().__init__(**options)
                del self._network_backend

        monkeypatch.setattr(httpcore2, "AsyncConnectionPool", Other)
        with pytest.raises(TypeError, match="cannot be guarded"):
            run(local(site))
        assert site.asked == []

    def test_redirects_are_limited(self, site):
        site.answer = lambda handler, n: reply(handler, 302, location=f"/{n}")
        with pytest.raises(ToolFailed, match="redirects more than 5"):
            run(local(site))
        assert len(site.asked) == 6

    def test_settings_may_allow_private_addresses(self, site):
        one = call(HttpExecutor(url=site.url))
        allowed = Call(entry=one.entry, arguments={}, environment={}, folder=Path(),
                       settings=Settings(allow_private_addresses=True))  # fmt: skip
        assert asyncio.run(http.run(allowed)).blocks == (JsonBlock({"ok": True}),)

    def test_a_proxy_of_the_environment_is_not_used(self, site, monkeypatch):
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
        monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
        run(local(site))
        assert len(site.asked) == 1

    def test_a_variable_that_is_missing_is_told_before_anything_is_sent(self, site):
        with pytest.raises(NotReady, match="TOKEN"):
            run(local(site, bearer="{env:TOKEN}"))
        assert site.asked == []


@given(st.ip_addresses())
def test_no_address_is_public_that_the_standard_library_calls_private(address):
    if is_public(str(address)):
        assert not (address.is_private or address.is_loopback or address.is_link_local or address.is_multicast)


@pytest.mark.parametrize(
    "address",
    ["168.63.129.16", "169.254.169.254", "100.100.100.200", "fd00:ec2::254", "192.0.0.192", "64:ff9b:1::1", "5f00::1",
     "2607:f8b0::200:5efe:10.0.0.1", "2002:a00:1::", "::10.0.0.1", "224.0.0.1", "ff02::1", "240.0.0.1", "nonsense"],
)  # fmt: skip
def test_metadata_and_other_inner_addresses_are_not_public(address):
    assert not is_public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "64:ff9b::8.8.8.8", "2002:808:808::1"])
def test_what_is_public_stays_so(address):
    assert is_public(address)


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_is_no_more_public_inside_an_ipv6_one(address):
    hidden = [f"::ffff:{address}", f"64:ff9b::{address}", f"2002:{int(address) >> 16:x}:{int(address) & 0xFFFF:x}::1"]
    if not is_public(str(address)):
        assert not any(map(is_public, hidden))
