"""What no argument may be, whatever a tool's schema says: too large, too deep, or no JSON at all."""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

from tooldisco_cli.errors import InvalidArguments

MAX_BYTES = 10_000_000
"""Largest arguments, in bytes of their JSON as UTF-8, not counting white space."""
MAX_DEPTH = 100
_MAX_INTEGER_BITS = 13_000
_SURROGATE = re.compile("[\ud800-\udfff]")


def loads(text: str, *, what: str = "arguments") -> Any:
    """Return the value of a JSON text; ``what`` names it in messages. Raises InvalidArguments."""
    if len(text) > MAX_BYTES:
        raise _too_large(what)
    try:
        value = json.loads(text, parse_constant=_no_json)
    except RecursionError:
        raise _too_deep(what) from None
    except ValueError as error:
        raise InvalidArguments(
            f"{what}: not JSON: {error}", hint="give one JSON value, its texts in double quotes"
        ) from None
    check_limits(value, what=what)
    return value


def _no_json(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def check_limits(value: Any, *, what: str = "arguments") -> None:
    """Refuse what is over the limits, NaN, NUL, lone surrogates and what JSON has no form for.

    Raises InvalidArguments; never recurses, so that depth cannot hurt.
    """
    size = 0
    pending: list[tuple[Any, int]] = [(value, 1)]
    while pending:
        item, depth = pending.pop()
        if depth > MAX_DEPTH:
            raise _too_deep(what)
        if isinstance(item, str):
            size += _text_size(item, what)
        elif isinstance(item, dict):
            size += 2 + 2 * len(item)
            for key, inner in item.items():
                if not isinstance(key, str):
                    raise InvalidArguments(f"{what}: the name {key!r} is no text")
                size += _text_size(key, what)
                pending.append((inner, depth + 1))
        elif isinstance(item, list):
            size += 2 + len(item)
            pending += [(inner, depth + 1) for inner in item]
        else:
            size += _scalar_size(item, what)
        if size > MAX_BYTES:
            raise _too_large(what)


def _text_size(text: str, what: str) -> int:
    if "\0" in text:
        raise InvalidArguments(f"{what}: a text holds a NUL character, which no tool accepts", hint="leave it out")
    if text.isascii():
        return len(text) + 2
    if _SURROGATE.search(text):
        raise InvalidArguments(f"{what}: a text holds half of a surrogate pair, which is no character")
    return len(text.encode()) + 2


def _scalar_size(item: Any, what: str) -> int:
    if item is None or isinstance(item, bool):
        return 5
    if isinstance(item, int):
        if item.bit_length() > _MAX_INTEGER_BITS:
            raise InvalidArguments(f"{what}: a number has too many digits")
        return item.bit_length() // 3 + 1
    if isinstance(item, float):
        if not math.isfinite(item):
            raise InvalidArguments(f"{what}: {item} is no JSON number")
        return 20
    raise InvalidArguments(f"{what}: a value of type {type(item).__name__} has no form in JSON")


def _too_large(what: str) -> InvalidArguments:
    return InvalidArguments(f"{what}: more than {MAX_BYTES // 1_000_000} MB", hint="pass the path of a file instead")


def _too_deep(what: str) -> InvalidArguments:
    return InvalidArguments(f"{what}: nested deeper than {MAX_DEPTH} levels")
