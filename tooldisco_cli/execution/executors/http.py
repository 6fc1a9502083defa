"""Sends one HTTP request, and follows a few redirects, never to where it must not go.

What a manifest declares as headers, credentials and body goes to the site it names and to no other: a redirect to
another site is followed without them, and not at all when it would repeat the body. Where it may go is decided in
:mod:`tooldisco_cli.execution.addresses`, for every connection.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

from tooldisco_cli.catalog.tool import HttpExecutor
from tooldisco_cli.errors import CatalogInvalid, InvalidArguments, NotReady, TooldiscoError, ToolFailed, ToolTimedOut
from tooldisco_cli.execution.addresses import guarded_transport, is_public, refusal
from tooldisco_cli.execution.http_answers import executor_in, output_of, site_of
from tooldisco_cli.execution.protocol import Call, JsonObject, Output
from tooldisco_cli.execution.templates import MISSING, Scope, fill, fill_header, fill_text, text_of
from tooldisco_cli.execution.urls import fill_url

if TYPE_CHECKING:
    import httpx2

MAX_REDIRECTS = 5
_MAX_TRIES = 3
_RETRIED = frozenset({429, 502, 503, 504})
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    method: str
    url: str
    headers: dict[str, str]
    content: bytes | None = None
    shown_body: Any = None


def preview(call: Call) -> JsonObject:
    """Return method, address, headers and body as they would be sent; secrets show as ``{env:NAME}``.

    Nothing is sent and no name is looked up.
    """
    plan = _plan(call, masked=True)
    shown: JsonObject = {"executor": "http", "method": plan.method, "url": plan.url, "headers": plan.headers}
    if plan.shown_body is not None:
        shown["body"] = plan.shown_body
    return shown


async def run(call: Call) -> Output:
    """Send the request and return the answer, or the parts of it that the manifest asks for.

    Raises ToolFailed for an error status or no answer, Refused for an address that may not be reached.
    """
    import httpx2

    executor = executor_in(call)
    plan = _plan(call, masked=False)
    allow_private = executor.allow_private or call.settings.allow_private_addresses
    _check_literal_host(plan.url, allow_private=allow_private)
    timeout = httpx2.Timeout(call.entry.tool.timeout_seconds, connect=min(10.0, call.entry.tool.timeout_seconds))
    async with httpx2.AsyncClient(
        transport=guarded_transport(allow_private=allow_private),
        timeout=timeout,
        trust_env=False,
        follow_redirects=False,
        cookies=None,
    ) as client:
        try:
            return await _tried(client, call, plan, allow_private=allow_private)
        except httpx2.TimeoutException as error:
            raise ToolTimedOut(f"{site_of(plan.url)} did not answer in time", hint="try again later") from error
        except httpx2.HTTPError as error:
            detail = str(error) or type(error).__name__
            raise ToolFailed(
                f"no answer from {site_of(plan.url)}: {detail}", hint="check the address and network"
            ) from error
        except httpx2.InvalidURL as error:
            raise InvalidArguments(f"this is no address that can be requested: {error}") from error


# --- what is sent


def _plan(call: Call, *, masked: bool) -> _Plan:
    executor = executor_in(call)
    scope = Scope.of(call, masked=masked)
    url = _with_query(fill_url(executor.url, scope), fill(executor.query, scope))
    _check_url(url)
    headers = {"User-Agent": f"tooldisco/{_version()}", "Accept": "application/json, text/*;q=0.9, */*;q=0.5"}
    for name, template in executor.headers.items():
        if not _HEADER_NAME.fullmatch(name):
            raise CatalogInvalid(f"[tool.http] headers: {name[:100]!r} is no name of a header")
        value = fill_header(name, template, scope)
        if value is not None:
            _set(headers, name, value)
    if executor.bearer is not None:
        token = fill_header("Authorization", executor.bearer, scope)
        if token is None:
            raise NotReady("the bearer token has no value")
        if not token.isascii():
            raise NotReady("the bearer token holds characters that no token has", hint="copy it again")
        _set(headers, "Authorization", f"Bearer {token}")
    if executor.basic_auth is not None:
        _set(headers, "Authorization", _basic(executor.basic_auth, scope))
    content, shown = _body(executor, scope, headers)
    return _Plan(method=executor.method, url=url, headers=headers, content=content, shown_body=shown)


def _version() -> str:
    from tooldisco_cli.version import __version__

    return __version__


def _set(headers: dict[str, str], name: str, value: str) -> None:
    """Set a header in place of one of the same name in other letters."""
    for old in [key for key in headers if key.lower() == name.lower()]:
        del headers[old]
    headers[name] = value


def _basic(pair: tuple[str, str], scope: Scope) -> str:
    from base64 import b64encode

    user, password = (fill_text(template, scope) or "" for template in pair)
    if scope.masked:
        return f"Basic {user}:{password}"
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode()


def _with_query(url: str, query: Any) -> str:
    pairs = _pairs(query)
    if not pairs:
        return url
    base, mark, fragment = url.partition("#")
    return base + ("&" if "?" in base else "?") + urlencode(pairs, quote_via=quote) + mark + fragment


def _pairs(table: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return a table as pairs of text: a list repeats its name, null and what is missing go."""
    return [
        (name, text_of(item))
        for name, value in table.items()
        if value is not None and value is not MISSING
        for item in (value if isinstance(value, list) else [value])
        if item is not None
    ]


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InvalidArguments(f"{url[:200]!r} is no address: {error}") from error
    if parts.scheme not in {"http", "https"} and not url.startswith("{env:"):
        raise InvalidArguments(f"{url[:200]!r} is no http or https address")
    if parts.username is not None or parts.password is not None:
        raise InvalidArguments("an address may not hold a user or password", hint="use basic_auth in the manifest")
    if port == 0:
        raise InvalidArguments(f"{url[:200]!r} has no port that can be reached")


def _body(executor: HttpExecutor, scope: Scope, headers: dict[str, str]) -> tuple[bytes | None, Any]:
    given = [name for name in ("json", "form", "body") if getattr(executor, name) is not None]
    if len(given) > 1:
        raise CatalogInvalid(f"[tool.http] has {' and '.join(given)}; a request has one body")
    kinds = {name.lower() for name in headers}
    if executor.json is not None:
        value = fill(executor.json, scope)
        value = None if value is MISSING else value
        if "content-type" not in kinds:
            headers["Content-Type"] = "application/json"
        return json.dumps(value, ensure_ascii=False).encode(), value
    if executor.form is not None:
        pairs = _pairs(fill(executor.form, scope))
        if "content-type" not in kinds:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        return urlencode(pairs).encode(), dict(pairs)
    if executor.body is not None:
        text = fill_text(executor.body, scope)
        if text is None:
            return None, None
        if "content-type" not in kinds:
            headers["Content-Type"] = "text/plain; charset=utf-8"
        return text.encode(), text
    return None, None


def _check_literal_host(url: str, *, allow_private: bool) -> None:
    """Refuse an address written out in the URL before anything is opened; names are checked when they resolve."""
    import ipaddress

    host = urlsplit(url).hostname or ""
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return
    if not allow_private and not is_public(host):
        raise refusal(host, [host])


# --- sending


async def _tried(client: httpx2.AsyncClient, call: Call, plan: _Plan, *, allow_private: bool) -> Output:
    """Send, and again after a passing trouble, when sending twice does no more than once."""
    import httpx2

    annotations = call.entry.tool.annotations
    repeatable = plan.method in {"GET", "HEAD"} or annotations.idempotent or annotations.read_only
    clock = asyncio.get_running_loop().time
    deadline = clock() + call.entry.tool.timeout_seconds
    for attempt in range(1, _MAX_TRIES + 1):
        delay = 0.2 * 2.0**attempt
        may_repeat = repeatable and attempt < _MAX_TRIES
        try:
            response = await _followed(client, plan, allow_private=allow_private)
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            if not may_repeat or clock() + delay > deadline:
                raise
        else:
            try:
                delay = _asked_delay(response, delay)
                again = may_repeat and response.status_code in _RETRIED and clock() + delay < deadline
                if not again:
                    return await output_of(response, call)
            finally:
                await response.aclose()
        await asyncio.sleep(delay)
    raise AssertionError("the last try returns or raises")


def _asked_delay(response: httpx2.Response, otherwise: float) -> float:
    """Return how many seconds the service asks to wait before another try (Retry-After: seconds, or a date)."""
    asked = str(response.headers.get("retry-after", ""))
    if asked.isascii() and asked.isdigit():
        return float(asked)
    try:
        until = parsedate_to_datetime(asked)
    except ValueError:
        return otherwise
    import datetime as dt

    until = until if until.tzinfo else until.replace(tzinfo=dt.UTC)
    return max(0.0, (until - dt.datetime.now(dt.UTC)).total_seconds())


async def _followed(client: httpx2.AsyncClient, plan: _Plan, *, allow_private: bool) -> httpx2.Response:
    # As curl does it: text beyond ASCII in a header goes out as UTF-8.
    headers = [(name.encode(), value.encode()) for name, value in plan.headers.items()]
    request = client.build_request(plan.method, plan.url, headers=headers, content=plan.content)
    own = {name.lower() for name in plan.headers} - {"user-agent", "accept"}
    for _ in range(MAX_REDIRECTS + 1):
        try:
            response = await client.send(request, stream=True)
        except TooldiscoError:
            raise
        except UnicodeError as error:
            raise InvalidArguments(f"the request cannot be written: {error}") from error
        following = response.next_request
        if following is None:
            return response
        await response.aclose()
        before, after = request.url, following.url
        if after.scheme not in {"http", "https"} or after.userinfo:
            raise ToolFailed(f"{site_of(str(before))} redirects to an address that is not followed: {after.scheme}")
        if before.scheme == "https" and after.scheme != "https":
            raise ToolFailed(f"{site_of(str(before))} redirects to an address that is not encrypted; not followed")
        if (before.scheme, before.host, before.port) != (after.scheme, after.host, after.port):
            if following.method not in {"GET", "HEAD"}:
                raise ToolFailed(
                    f"{site_of(str(before))} redirects the request with its body to {site_of(str(after))}; "
                    "not followed"
                )
            for name in own:
                following.headers.pop(name, None)
            following.headers.pop("cookie", None)
        _check_literal_host(str(after), allow_private=allow_private)
        request = following
    raise ToolFailed(f"{site_of(plan.url)} redirects more than {MAX_REDIRECTS} times")
