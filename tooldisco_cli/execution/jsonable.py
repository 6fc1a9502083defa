"""Turns what a Python function returned into plain JSON values."""

from __future__ import annotations

import base64
import dataclasses
import datetime as dt
import enum
import json
import math
import uuid
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import PurePath
from typing import Any

MAX_DEPTH = 100


def jsonable(value: Any, depth: int = 0) -> Any:
    """Return a value as JSON data: what ``json.dumps`` takes, and UTF-8 can hold.

    Dates become ISO 8601, bytes base64, sets sorted lists, a Decimal a number when that loses nothing and text when
    it would, NaN and infinity null (JSON has none). Dataclasses, pydantic models, enums and NumPy values become what
    they hold. Anything else becomes its ``str``; what is nested deeper than 100 levels, text that says so.
    """
    if depth > MAX_DEPTH:
        return "(nested too deeply)"
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, enum.Enum):
        return jsonable(value.value, depth + 1)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {_key(key): jsonable(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(item, depth + 1) for item in value]
    return _other(value, depth)


def _other(value: Any, depth: int) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: jsonable(getattr(value, item.name), depth + 1) for item in dataclasses.fields(value)}
    if isinstance(value, set | frozenset):
        return sorted((jsonable(item, depth + 1) for item in value), key=str)
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        return _decimal(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(bytes(value)).decode()
    if isinstance(value, uuid.UUID | PurePath):
        return _text(str(value))
    for name in ("model_dump", "tolist", "_asdict"):
        method = getattr(value, name, None)
        if callable(method) and not isinstance(value, type):
            return jsonable(method(), depth + 1)
    if isinstance(value, Iterable) and hasattr(value, "__len__"):
        return [jsonable(item, depth + 1) for item in value]
    return _text(str(value))


def _key(key: Any) -> str:
    if isinstance(key, str):
        return _text(key)
    plain = jsonable(key)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def _decimal(value: Decimal) -> int | float | str | None:
    if not value.is_finite():
        return None
    if value == value.to_integral_value() and abs(value) < 2**53:
        return int(value)
    near = float(value)
    return near if Decimal(repr(near)) == value else str(value)


def _text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return str(text)
