"""fetch_page and the signed requests, against a local server."""

from __future__ import annotations

import base64
import gzip
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from shipped import Asked, Service, failure, run, service

PAGE = """<!doctype html><html><head><meta charset="utf-8"><title> 会议
 通知 </title><style>p{}</style><script>steal()</script></head><body>
<nav><a href="/about">关于</a></nav><h1>取消</h1><p>今天的会议 <b>取消</b>了。</p><ul><li>一</li><li>二</li></ul>
<script>more()</script><p hidden>secret</p><pre>a
  b</pre><a href="mailto:x@y.z">mail</a><img alt="图" src="x"></body></html>"""


@pytest.fixture
def site() -> Iterator[Service]:
    with service() as running:
        running.headers = {"content-type": "text/html; charset=utf-8"}
        running.answer = PAGE.encode()
        yield running


class TestFetchPage:
    def test_returns_what_a_browser_would_show(self, site: Service, tmp_path: Path) -> None:
        got = run("fetch_page", {"url": f"{site.url}/a?q=中", "links": True}, folder=tmp_path, private=True)
        assert got["title"] == "会议 通知"
        assert got["text"].split("\n") == [
            "关于", "", "# 取消", "", "今天的会议 取消了。", "", "- 一", "", "- 二", "", "a", "  b", "", "mail[图]",
        ]  # fmt: skip
        assert got["links"] == [{"url": f"{site.url}/about", "text": "关于"}]
        assert (got["status"], got["more"]) == (200, False)
        [asked] = site.asked
        assert (asked.method, asked.query) == ("GET", {"q": "中"})
        assert asked.headers["user-agent"].startswith("tooldisco")
        assert "cookie" not in asked.headers

    @pytest.mark.parametrize("encoding", ["gb18030", "big5", "shift_jis"])
    def test_reads_other_encodings(self, encoding: str, site: Service, tmp_path: Path) -> None:
        site.headers = {"content-type": "text/html"}
        site.answer = f'<meta charset="{encoding}"><p>日本'.encode(encoding)
        assert run("fetch_page", {"url": site.url}, folder=tmp_path, private=True)["text"] == "日本"

    def test_plain_text_stays_as_it_is(self, site: Service, tmp_path: Path) -> None:
        site.headers, site.answer = {"content-type": "text/plain"}, b"<b>x</b>  y"
        assert run("fetch_page", {"url": site.url}, folder=tmp_path, private=True)["text"] == "<b>x</b>  y"

    def test_long_pages_are_cut(self, site: Service, tmp_path: Path) -> None:
        site.answer = b"<p>" + b"x" * 6_000_000
        got = run("fetch_page", {"url": site.url, "max_chars": 100}, folder=tmp_path, private=True)
        assert (got["text"], got["more"]) == ("x" * 100, True)

    def test_a_packed_bomb_is_unpacked_no_further_than_the_limit(self, site: Service, tmp_path: Path) -> None:
        site.headers |= {"content-encoding": "gzip"}
        site.answer = gzip.compress(b"<p>" + b"x" * 300_000_000)
        got = run("fetch_page", {"url": site.url, "max_chars": 200_000}, folder=tmp_path, private=True)
        assert got["more"]

    def test_errors_and_other_kinds_are_told(self, site: Service, tmp_path: Path) -> None:
        site.status = 404
        assert "answered 404" in failure("fetch_page", {"url": site.url}, folder=tmp_path, private=True)
        site.status, site.headers = 200, {"content-type": "application/zip"}
        assert "no text" in failure("fetch_page", {"url": site.url}, folder=tmp_path, private=True)

    @pytest.mark.parametrize("host", [
        "127.0.0.1", "localhost", "[::1]", "0.0.0.0", "169.254.169.254", "10.1.2.3", "192.168.1.1", "172.16.0.1",
        "100.64.0.1", "[fe80::1]", "[fd00::1]", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]", "2130706433",
        "0x7f.1", "127.1", "[::]", "224.0.0.1", "255.255.255.255", "１２７.0.0.1",
    ])  # fmt: skip
    def test_addresses_that_are_not_public_are_refused(self, host: str, site: Service, tmp_path: Path) -> None:
        port = site.url.rpartition(":")[2]
        failure("fetch_page", {"url": f"http://{host}:{port}/"}, folder=tmp_path)
        assert site.asked == list[Asked]()

    def test_a_redirect_to_a_private_address_is_refused(self, site: Service, tmp_path: Path, monkeypatch) -> None:
        """The first address passes for public; where it leads does not."""
        from tooldisco_cli.builtin import web

        real = web._checked
        seen: list[str] = []

        def first_is_public(host: str, port: int, allow_private: bool) -> list[str]:
            seen.append(host)
            return real(host, port, len(seen) == 1)

        monkeypatch.setattr(web, "_checked", first_is_public)
        site.status, site.headers = 302, {"location": f"http://localhost:{site.url.rpartition(':')[2]}/admin"}
        said = failure("fetch_page", {"url": f"{site.url}/start"}, folder=tmp_path)
        assert "not public" in said
        assert [asked.path for asked in site.asked] == ["/start"]

    def test_redirects_are_followed_a_few_times(self, site: Service, tmp_path: Path) -> None:
        site.status, site.headers = 302, {"location": "/again"}
        said = failure("fetch_page", {"url": site.url}, folder=tmp_path, private=True)
        assert "more than 5 redirects" in said
        assert len(site.asked) == 6

    @pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://example.com/", "http://a b/", "gopher://x", "//x"])
    def test_only_web_addresses(self, url: str, tmp_path: Path) -> None:
        assert failure("fetch_page", {"url": url}, folder=tmp_path).startswith("invalid_arguments")

    def test_no_user_and_no_line_break_in_an_address(self, site: Service, tmp_path: Path) -> None:
        port = site.url.rpartition(":")[2]
        for url in (
            f"http://user:pass@127.0.0.1:{port}/",
            f"http://127.0.0.1:{port}/\u2028x",
            "http:///x",
            "http://[::1/",
        ):
            failure("fetch_page", {"url": url}, folder=tmp_path)
        assert site.asked == list[Asked]()

    def test_a_server_that_drips_is_given_up(self, site: Service, tmp_path: Path, monkeypatch) -> None:
        from tooldisco_cli.builtin import web

        def slow(_: Asked) -> bytes:
            time.sleep(1.5)
            return b"late"

        site.answer = slow
        with pytest.raises(TimeoutError):
            web.request("GET", site.url, allow_private=True, seconds=0.3)


class TestAliyunSms:
    """Page: https://www.alibabacloud.com/help/en/sms/developer-reference/api-dysmsapi-2017-05-25-sendsms."""

    ENVIRONMENT = {  # noqa: RUF012
        "ALIBABA_CLOUD_ACCESS_KEY_ID": "test-key-id", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "test-key-secret",
        "ALIYUN_SMS_SIGN_NAME": "测试签名",
    }  # fmt: skip

    def test_sends_a_signed_request(self, site: Service, tmp_path: Path) -> None:
        site.answer = {"Code": "OK", "Message": "OK", "BizId": "9^0", "RequestId": "R"}
        arguments = {"phones": ["13800138000", "+8613900139000"], "template_code": "SMS_154950909",
                     "template_values": {"code": "4821 &"}}  # fmt: skip
        got = run("send_sms_aliyun", arguments, folder=tmp_path,
                  environment=self.ENVIRONMENT | {"ALIYUN_SMS_ENDPOINT": site.url})  # fmt: skip
        assert got == {"message_id": "9^0", "request_id": "R", "sent_to": 2}
        [asked] = site.asked
        assert (asked.method, asked.path) == ("POST", "/")
        assert asked.query == {
            "PhoneNumbers": "13800138000,+8613900139000", "SignName": "测试签名", "TemplateCode": "SMS_154950909",
            "TemplateParam": '{"code": "4821 &"}',
        }  # fmt: skip
        assert (asked.headers["x-acs-action"], asked.headers["x-acs-version"]) == ("SendSms", "2017-05-25")
        assert asked.headers["host"] == site.url.removeprefix("http://")
        # The signature is made again here from what arrived, as the service does.
        from tooldisco_cli.builtin.aliyun import signed_headers

        again = signed_headers(
            host=asked.headers["host"], action="SendSms", version="2017-05-25", query=asked.query, key="test-key-id",
            secret="test-key-secret", date=asked.headers["x-acs-date"], nonce=asked.headers["x-acs-signature-nonce"],
        )  # fmt: skip
        assert asked.headers["authorization"] == again["Authorization"]

    def test_a_refusal_is_told_in_the_services_words(self, site: Service, tmp_path: Path) -> None:
        site.answer = {"Code": "isv.BUSINESS_LIMIT_CONTROL", "Message": "触发分钟级流控"}
        said = failure("send_sms_aliyun", {"phones": ["13800138000"], "template_code": "SMS_1234"}, folder=tmp_path,
                       environment=self.ENVIRONMENT | {"ALIYUN_SMS_ENDPOINT": site.url})  # fmt: skip
        assert "isv.BUSINESS_LIMIT_CONTROL" in said

    @pytest.mark.parametrize("phone", ["12800138000", "+15550001111", "1380013800", "13800138000,13900139000"])
    def test_takes_numbers_of_the_mainland(self, phone: str, tmp_path: Path) -> None:
        arguments = {"phones": [phone], "template_code": "SMS_1234"}
        assert failure("send_sms_aliyun", arguments, folder=tmp_path).startswith("invalid_arguments")


class TestDingTalk:
    """Page: https://open.dingtalk.com/document/robots/custom-robot-access."""

    def test_signs_and_mentions(self, site: Service, tmp_path: Path) -> None:
        site.answer = {"errcode": 0, "errmsg": "ok"}
        where = {"DINGTALK_ACCESS_TOKEN": "token-123456", "DINGTALK_SECRET": "SECabc",
                 "DINGTALK_BASE_URL": site.url}  # fmt: skip
        got = run(
            "send_dingtalk_message",
            {"text": "发布", "at_phones": ["13800138000"]},
            folder=tmp_path,
            environment=where,
        )
        assert got == {"sent": True}
        [asked] = site.asked
        assert (asked.method, asked.path) == ("POST", "/robot/send")
        assert asked.query["access_token"] == "token-123456"
        assert abs(int(asked.query["timestamp"]) / 1000 - time.time()) < 60
        text = f"{asked.query['timestamp']}\nSECabc".encode()
        assert asked.query["sign"] == base64.b64encode(hmac.new(b"SECabc", text, hashlib.sha256).digest()).decode()
        assert asked.json == {
            "msgtype": "text", "text": {"content": "发布"}, "at": {"atMobiles": ["13800138000"], "isAtAll": False},
        }  # fmt: skip

    def test_markdown_without_signing(self, site: Service, tmp_path: Path) -> None:
        site.answer = {"errcode": 0, "errmsg": "ok"}
        where = {"DINGTALK_ACCESS_TOKEN": "token-123456", "DINGTALK_BASE_URL": site.url}
        arguments = {"title": "通知", "text": "**好**", "at_all": True, "at_phones": ["13800138000"]}
        run("send_dingtalk_message", arguments, folder=tmp_path, environment=where)
        [asked] = site.asked
        assert asked.query == {"access_token": "token-123456"}
        assert asked.json["markdown"] == {"title": "通知", "text": "**好** @13800138000"}
        assert asked.json["at"]["isAtAll"] is True

    def test_a_refusal_with_status_200_is_a_failure(self, site: Service, tmp_path: Path) -> None:
        site.answer = {"errcode": 310000, "errmsg": "keywords not in content, token-123456"}
        where = {"DINGTALK_ACCESS_TOKEN": "token-123456", "DINGTALK_BASE_URL": site.url}
        said = failure("send_dingtalk_message", {"text": "x"}, folder=tmp_path, environment=where)
        assert "310000" in said
        assert "token-123456" not in said


class TestFeishu:
    """Page: https://open.feishu.cn/document/client-docs/bot-v3/add-custom-bot."""

    def test_text_with_signature(self, site: Service, tmp_path: Path) -> None:
        site.answer = {"code": 0, "msg": "success", "data": {}}
        where = {"FEISHU_WEBHOOK_URL": f"{site.url}/open-apis/bot/v2/hook/1", "FEISHU_WEBHOOK_SECRET": "demo-secret"}
        assert run("send_feishu_message", {"text": "日报"}, folder=tmp_path, environment=where) == {"sent": True}
        [asked] = site.asked
        assert asked.path == "/open-apis/bot/v2/hook/1"
        key = f"{asked.json['timestamp']}\ndemo-secret".encode()
        assert asked.json["sign"] == base64.b64encode(hmac.new(key, b"", hashlib.sha256).digest()).decode()
        assert (asked.json["msg_type"], asked.json["content"]) == ("text", {"text": "日报"})

    def test_a_title_makes_a_post(self, site: Service, tmp_path: Path) -> None:
        site.answer = {"StatusCode": 0, "StatusMessage": "success"}
        where = {"FEISHU_WEBHOOK_URL": f"{site.url}/hook"}
        run("send_feishu_message", {"title": "日报", "text": "一\n二"}, folder=tmp_path, environment=where)
        post = site.asked[0].json["content"]["post"]["zh_cn"]
        assert post == {
            "title": "日报",
            "content": [[{"tag": "text", "text": "一"}], [{"tag": "text", "text": "二"}]],
        }
        assert "sign" not in site.asked[0].json

    def test_a_refusal_with_status_200_is_a_failure(self, site: Service, tmp_path: Path) -> None:
        site.answer = {"code": 19021, "msg": "sign match fail"}
        said = failure(
            "send_feishu_message", {"text": "x"}, folder=tmp_path, environment={"FEISHU_WEBHOOK_URL": site.url}
        )
        assert "19021: sign match fail" in said
        site.answer = b"<html>"
        said = failure(
            "send_feishu_message", {"text": "x"}, folder=tmp_path, environment={"FEISHU_WEBHOOK_URL": site.url}
        )
        assert "nothing that can be read" in said


class TestConvertCurrency:
    """Page: https://frankfurter.dev/v1/, which says to do the arithmetic oneself."""

    def test_multiplies_the_rate_exactly(self, site: Service, tmp_path: Path) -> None:
        site.answer = b'{"amount":1.0,"base":"USD","date":"2026-03-02","rates":{"CNY":7.0831,"EUR":0.1}}'
        arguments = {"amount": 0.3, "from": "USD", "to": "EUR,USD,CNY", "date": "2026-03-02"}
        got = run("convert_currency", arguments, folder=tmp_path, environment={"FRANKFURTER_URL": f"{site.url}/v1/"})
        assert got == {
            "amounts": {"EUR": 0.03, "USD": 0.3, "CNY": 2.12493},
            "rates": {"EUR": 0.1, "USD": 1.0, "CNY": 7.0831},
            "date": "2026-03-02",
        }
        [asked] = site.asked
        assert (asked.method, asked.path, asked.query) == (
            "GET",
            "/v1/2026-03-02",
            {"base": "USD", "symbols": "EUR,CNY"},
        )

    def test_what_is_not_known_is_told(self, site: Service, tmp_path: Path) -> None:
        where = {"folder": tmp_path, "environment": {"FRANKFURTER_URL": site.url}}
        arguments = {"amount": 1, "from": "USD", "to": "XXX"}
        site.status, site.answer = 404, {"message": "not found"}
        assert "no rate of USD for XXX" in failure("convert_currency", arguments, **where)
        site.status, site.answer = 200, {"date": "2026-03-02", "rates": {}}
        assert "no rate of USD for XXX" in failure("convert_currency", arguments, **where)
        site.status = 500
        site.answer = b"oops"
        assert "cannot be had" in failure("convert_currency", arguments, **where)


def test_json_is_sent_as_utf8(site: Service, tmp_path: Path) -> None:
    site.answer = {"code": 0}
    run("send_feishu_message", {"text": "中文"}, folder=tmp_path, environment={"FEISHU_WEBHOOK_URL": site.url})
    assert "中文".encode() in site.asked[0].body
    assert json.loads(site.asked[0].body)
