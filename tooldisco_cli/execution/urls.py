"""Filling the address of a request: every value stays in the place that the manifest gave it."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

from tooldisco_cli.errors import InvalidArguments, NotReady, TooldiscoError
from tooldisco_cli.execution.templates import MISSING, Part, Placeholder, Scope, parse, shortened, text_of

_HOST_TEXT = re.compile(r"[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*")
_NOT_IN_URL = re.compile(r"[\x00-\x20\x7f]")


def fill_url(template: str, scope: Scope) -> str:
    """Return an address with every value percent-encoded for its place.

    In the path a value is one segment: ``/`` is encoded, and ``..`` or nothing at all is refused. In the query a
    list repeats its ``name=value``, and a pair that lacks its value goes. In the host a value is letters, digits,
    ``-`` and ``.``, and the manifest's own text must end the name. A template that is one placeholder is an address
    as a whole, and ``{env:NAME}`` at the start is a base address; both are taken as they are, but must be http or
    https. Raises InvalidArguments, or NotReady where a variable is the cause.
    """
    parts = parse(template)
    if len(parts) == 1 and isinstance(parts[0], Placeholder):
        return _whole(parts[0], scope)
    before, pairs = _split_query(parts)
    url = ""
    for index, part in enumerate(before):
        if isinstance(part, str):
            joint = url.endswith("/") and part.startswith("/") and isinstance(before[index - 1], Placeholder)
            url += part[1:] if index == 1 and joint else part
        elif part.env and not url:
            url = _whole(part, scope)
        else:
            after = before[index + 1] if index + 1 < len(before) else ""
            url += _in_place(part, scope, url, after)
    path = url.split("://", 1)[-1].partition("/")[2].split("?")[0].split("#")[0]
    if any(step in {".", ".."} for step in path.split("/")):
        raise InvalidArguments("the address would climb out of its place by . or ..")
    query = [text for pair in pairs for text in _query_pair(pair, scope)]
    return url + ("&" if "?" in url else "?") + "&".join(query) if query else url


def _wrong(placeholder: Placeholder, what: str, hint: str = "") -> TooldiscoError:
    if placeholder.env:
        return NotReady(f"the environment variable {placeholder.name} {what}", hint=hint)
    return InvalidArguments(f"{placeholder.name} {what}", hint=hint)


def _shown(placeholder: Placeholder, value: Any, scope: Scope) -> bool:
    """Whether the value is only the variable's name, shown instead of it."""
    return scope.masked and placeholder.env and value == str(placeholder)


def _whole(placeholder: Placeholder, scope: Scope) -> str:
    value = scope.value(placeholder)
    if _shown(placeholder, value, scope):
        return str(placeholder)
    if value is MISSING or value is None:
        raise _wrong(placeholder, "is missing, and it is the address of the request")
    scheme, mark, _ = value.partition("://") if isinstance(value, str) else ("", "", "")
    if not mark or scheme.lower() not in {"http", "https"} or _NOT_IN_URL.search(value):
        raise _wrong(placeholder, "is not an http or https address", "such as https://example.com/")
    return str(value)


def _split_query(parts: tuple[Part, ...]) -> tuple[list[Part], list[list[Part]]]:
    """Return what stands before the first ``?`` of the template's own text, and the pairs after it."""
    before: list[Part] = []
    pairs: list[list[Part]] = []
    for part in parts:
        if not isinstance(part, str):
            (pairs[-1] if pairs else before).append(part)
            continue
        text = part
        if not pairs:
            head, mark, text = part.partition("?")
            if head:
                before.append(head)
            if not mark:
                continue
            pairs.append([])
        first, *others = text.split("&")
        pairs[-1].append(first)
        pairs += [[other] for other in others]
    cleaned = [[part for part in pair if part != ""] for pair in pairs]
    return before, [pair for pair in cleaned if pair]


def _query_pair(pair: list[Part], scope: Scope) -> list[str]:
    several = sum(isinstance(part, Placeholder) for part in pair) > 1
    choices = [""]
    for part in pair:
        if isinstance(part, str):
            choices = [before + part for before in choices]
            continue
        value = scope.value(part)
        if value is MISSING or value is None:
            return []
        if _shown(part, value, scope):
            texts = [value]
        else:
            values = value if isinstance(value, list) and not several else [value]
            texts = [_quoted(text_of(item)) for item in values if item is not None]
        choices = [before + text for before in choices for text in texts]
    return choices


def _quoted(text: str) -> str:
    return quote(text, safe="", errors="surrogateescape")


def _in_place(part: Placeholder, scope: Scope, before: str, after: Part) -> str:
    value = scope.value(part)
    if _shown(part, value, scope):
        return str(part)
    if value is MISSING or value is None or value in ("", []):
        raise _wrong(
            part,
            "is empty, and the address needs it" if value in ("", []) else "is missing, and the address needs it",
        )
    scheme, mark, rest = before.partition("://")
    if mark and "/" not in rest and "#" not in rest and not scheme.startswith("{"):
        return _host_text(part, text_of(value), rest, after)
    texts = [text_of(item) for item in value] if isinstance(value, list) else [text_of(value)]
    for text in texts:
        if any(step in {".", ".."} for step in re.split(r"[/\\]", text)):
            raise _wrong(part, f"would climb out of its place in the address: {shortened(text)}")
    return ",".join(map(_quoted, texts))


def _host_text(part: Placeholder, text: str, before: str, after: Part) -> str:
    if before.endswith(":"):
        if not (text.isascii() and text.isdigit()):
            raise _wrong(part, f"is not a port number: {shortened(text)}")
        return text
    ends_name = isinstance(after, str) and after[:1] == "."
    whole_name = not before and (after == "" or (isinstance(after, str) and after[:1] in {"/", ":"}))
    if not part.env and not ends_name and not whole_name:
        raise InvalidArguments(
            f"{part.name} would decide how the host's name ends, which the manifest must say itself",
            hint="write it as https://{region}.example.com/ in the manifest",
        )
    if not _HOST_TEXT.fullmatch(text):
        raise _wrong(part, f"is no part of a host's name: {shortened(text)}")
    return text
