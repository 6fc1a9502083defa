"""What came back from an HTTP request: an error with what to do about it, or blocks.

The body goes to a file as it comes, so that its size never matters to memory.
"""

from __future__ import annotations

import codecs
import json
import tempfile
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tooldisco_cli.catalog.tool import HttpExecutor
from tooldisco_cli.errors import CatalogInvalid, ToolFailed
from tooldisco_cli.execution import media
from tooldisco_cli.execution.jsonable import MAX_DEPTH, jsonable
from tooldisco_cli.execution.masking import Masker
from tooldisco_cli.execution.pointers import ABSENT, excerpt, point, select
from tooldisco_cli.execution.protocol import Block, Call, ImageBlock, JsonBlock, JsonObject, Output, TextBlock
from tooldisco_cli.execution.secrecy import secrets_of
from tooldisco_cli.execution.templates import placeholders

if TYPE_CHECKING:
    import httpx2

MAX_BODY_BYTES = 256_000_000
"""A longer answer is refused; up to here it goes to a file and never into memory."""
INLINE_BYTES = 4_000_000
_JSON_BYTES = 4 * INLINE_BYTES
"""JSON up to here is read when parts of it are asked for; as Python objects it needs some ten times as much memory.
Otherwise what is larger than ``INLINE_BYTES`` is text in a file, as any text is."""
_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_EXCERPT = 2000
_NO_TEXT_CODECS = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"})
"""Codecs of Python that no service means, and some of which take quadratic time."""


def executor_in(call: Call) -> HttpExecutor:
    """Return how an http tool runs; raises CatalogInvalid for another one."""
    if call.entry.tool.http is None:
        raise CatalogInvalid(f"{call.entry.reference} is no http tool")
    return call.entry.tool.http


def site_of(url: str) -> str:
    """Return scheme, host and port of an address, which is what a message may show of it."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname or ''}" + (f":{parts.port}" if parts.port else "")


async def output_of(response: httpx2.Response, call: Call) -> Output:
    """Return the content of an answer, or the parts that the manifest asks for; raises ToolFailed."""
    executor = executor_in(call)
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    facts: JsonObject = {"status": response.status_code, "content_type": kind}
    try:
        with tempfile.SpooledTemporaryFile(max_size=INLINE_BYTES) as body:
            if response.status_code >= 400 or response.status_code < 200 or response.is_redirect:
                await _read(response, body, _EXCERPT * 4)
                raise _failure(response, call, body.read())
            if executor.method == "HEAD":
                value = {"status": response.status_code, "headers": dict(response.headers)}
                return Output(blocks=(JsonBlock(select(value, executor.result)),), facts=facts)
            size = await _read(response, body)
            return Output(blocks=_blocks(response, executor, kind, body, size), facts=facts)
    except OSError as trouble:
        raise ToolFailed(
            f"the answer of {site_of(str(response.url))} cannot be kept: {trouble.strerror or trouble}",
            hint=f"make room in {tempfile.gettempdir()}, or make it writable",
        ) from trouble


async def _read(response: httpx2.Response, body: IO[bytes], enough: int | None = None) -> int:
    """Read the body into a file and return its size; no more of it than ``enough``, when given.

    httpx2 decompresses in pieces of at most 1 MiB, so the limit holds for what a small answer unpacks to as well.
    """
    size = 0
    async for chunk in response.aiter_bytes(1 << 16):
        size += len(chunk)
        if size > MAX_BODY_BYTES:
            raise ToolFailed(
                f"the answer of {site_of(str(response.url))} is larger than {MAX_BODY_BYTES // 1_000_000} MB"
            )
        body.write(chunk)
        if enough is not None and size >= enough:
            break
    body.seek(0)
    return size


def _blocks(
    response: httpx2.Response, executor: HttpExecutor, kind: str, body: IO[bytes], size: int
) -> tuple[Block, ...]:
    asked = bool(executor.expect) or executor.result is not None
    if not size and not asked:
        return ()
    if asked or _is_json(kind):
        if size <= (_JSON_BYTES if asked else INLINE_BYTES):
            return (_json(response, executor, body.read(), kind),)
        if asked:
            raise ToolFailed(f"the answer of {size:,} bytes is too large to look into", hint="ask for less at once")
    if size <= INLINE_BYTES:
        return (_block(response, kind, body.read()),)
    beginning = body.read(INLINE_BYTES)
    body.seek(0)
    charset = _charset(response)
    if _has_text(kind) and charset not in {None, "utf-8", "ascii"}:
        with tempfile.TemporaryFile() as recoded:
            for text in codecs.iterdecode(iter(lambda: body.read(1 << 20), b""), str(charset), "replace"):
                recoded.write(text.encode(errors="replace"))
            recoded.seek(0)
            return (media.keep(recoded, kind),)
    if not _has_text(kind) and kind in {"", "application/octet-stream"}:
        kind = "text/plain" if media.is_text(beginning) else media.media_type(beginning)
    return (media.keep(body, kind),)


def _has_text(kind: str) -> bool:
    return kind.startswith("text/") or _is_json(kind) or kind.endswith(("xml", "javascript"))


def _charset(response: httpx2.Response) -> str | None:
    """Return the declared encoding of the answer, by Python's name, or None."""
    try:
        name = codecs.lookup(response.charset_encoding or "").name
        "".encode(name)
    except (LookupError, ValueError):
        return None
    return None if name.replace("_", "-") in _NO_TEXT_CODECS else name


def _is_json(kind: str) -> bool:
    return kind in {"application/json", "text/json"} or kind.endswith("+json")


def _json(response: httpx2.Response, executor: HttpExecutor, data: bytes, kind: str) -> Block:
    """Return the wanted parts of a JSON answer; text as it is when nothing was asked of a body that is no JSON."""
    try:
        charset = _charset(response) or json.detect_encoding(data)
        value: Any = json.loads(
            data.decode("utf-8-sig" if charset == "utf-8" else charset) if data.strip() else "null"
        )
    except (ValueError, RecursionError) as error:
        if executor.result is None and not executor.expect:
            return _block(response, kind, data)
        raise ToolFailed(
            f"the answer of {site_of(str(response.url))} is not JSON: {error}",
            details={"answer": media.decoded(data[:_EXCERPT])},
        ) from error
    for pointer, wanted in executor.expect.items():
        found = point(value, pointer)
        if found is ABSENT or found != wanted or isinstance(found, bool) != isinstance(wanted, bool):
            shown = "nothing" if found is ABSENT else json.dumps(found, ensure_ascii=False)[:200]
            raise ToolFailed(
                f"the service reports a failure: {pointer} is {shown}, not {json.dumps(wanted, ensure_ascii=False)}",
                details={"answer": excerpt(value)},
            )
    return JsonBlock(_plain(select(value, executor.result)))


def _plain(value: Any) -> Any:
    """Return parsed JSON as ``jsonable`` would, but only copied when it holds NaN, half a surrogate pair or depth."""
    containers = [value] if isinstance(value, (dict, list)) else []
    for _ in range(MAX_DEPTH):
        inside = (item for one in containers for item in (one.values() if isinstance(one, dict) else one))
        containers = [item for item in inside if isinstance(item, (dict, list))]
        if not containers:
            break
    else:
        return jsonable(value)
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except ValueError:
        return jsonable(value)
    return value


def _block(response: httpx2.Response, kind: str, data: bytes) -> Block:
    if kind in _PICTURES and media.media_type(data) in _PICTURES:
        return ImageBlock(media.media_type(data), data)
    charset = _charset(response)
    if charset and _has_text(kind):
        try:
            return TextBlock(data.decode("utf-8-sig" if charset == "utf-8" else charset))
        except UnicodeDecodeError:
            return TextBlock(media.decoded(data))
    return media.block_of(data)


def _failure(response: httpx2.Response, call: Call, data: bytes) -> ToolFailed:
    status = response.status_code
    site = site_of(str(response.url))
    hints = {
        401: f"check the credentials{_variables(call)}",
        403: f"the credentials may lack a permission{_variables(call)}",
        404: "check the identifiers in the arguments",
        429: "the service asks to slow down; try again later",
    }
    hint = hints.get(status, "the service has trouble of its own; try again later" if status >= 500 else "")
    # Masked before it is cut: half of a secret at the cut would not be recognised later.
    masker = Masker(secrets_of(call.entry.tool, call.environment))
    text = masker.text(media.decoded(data).strip())
    try:
        answer: Any = excerpt(json.loads(text))
    except (ValueError, RecursionError):
        answer = text[:_EXCERPT]
    return ToolFailed(
        f"{site} answered {status} {response.reason_phrase}".rstrip(), hint=hint,
        details={"status": status, "answer": answer},
    )  # fmt: skip


def _variables(call: Call) -> str:
    executor = executor_in(call)
    texts = [executor.url, executor.bearer, *(executor.basic_auth or ()), *executor.headers.values()]
    names = dict.fromkeys(p.name for text in texts if text for p in placeholders(text) if p.env)
    return f" in {', '.join(names)}" if names else ""
