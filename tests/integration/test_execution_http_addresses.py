"""Where a request of an http tool may not go: private addresses, whatever name, redirect or proxy leads there."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from http_site import call, local, reply, run
from hypothesis import given
from hypothesis import strategies as st

from tooldisco_cli.catalog.tool import HttpExecutor
from tooldisco_cli.errors import InvalidArguments, NotReady, Refused, ToolFailed
from tooldisco_cli.execution import addresses
from tooldisco_cli.execution.addresses import is_public
from tooldisco_cli.execution.executors import http
from tooldisco_cli.execution.protocol import Call, JsonBlock
from tooldisco_cli.settings import Settings


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
