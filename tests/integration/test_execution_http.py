"""http tools against a real local server: what is sent, what comes back, time limits, encryption."""

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
import time
from base64 import b64encode
from pathlib import Path

import pytest
from http_site import call, local, reply, run

from tooldisco_cli.catalog.snapshot import Catalog
from tooldisco_cli.catalog.tool import Annotations, HttpExecutor
from tooldisco_cli.errors import CatalogInvalid, InvalidArguments, NotReady, ToolFailed, ToolTimedOut
from tooldisco_cli.execution import addresses, http_answers
from tooldisco_cli.execution.executors import http
from tooldisco_cli.execution.pipeline import Workbench, execute
from tooldisco_cli.execution.protocol import FileBlock, ImageBlock, JsonBlock, TextBlock
from tooldisco_cli.execution.spool import Spool
from tooldisco_cli.settings import Settings

PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 20


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
