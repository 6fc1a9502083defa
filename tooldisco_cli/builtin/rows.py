"""Rows of databases and tables as JSON data: bounded, with every value in a form that JSON has."""

from __future__ import annotations

import base64
import datetime as dt
import math
import uuid
from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import islice
from typing import Any

MAX_CELL_CHARS = 20_000


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], max_rows: int) -> dict[str, Any]:
    """Return at most ``max_rows`` rows as lists in the order of ``columns``; ``more`` tells that others follow."""
    found = [[plain(value) for value in row] for row in islice(rows, max_rows + 1)]
    return {
        "columns": list(columns),
        "rows": found[:max_rows],
        "row_count": min(len(found), max_rows),
        "more": len(found) > max_rows,
    }


def plain(value: Any) -> Any:
    """Return a value of a database as JSON data.

    A decimal becomes a number when that loses nothing, else text; times are ISO 8601; bytes that are no UTF-8 are
    ``{"base64": ...}``; numbers that JSON lacks are text. A text above 20,000 characters is cut and says so.
    """
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return _cut(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Decimal):
        return _decimal(value)
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, dt.timedelta):
        return str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return _binary(bytes(value))
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(inner) for inner in value]
    return str(value) if isinstance(value, uuid.UUID) else _cut(str(value))


def _cut(text: str) -> str:
    if len(text) <= MAX_CELL_CHARS:
        return text
    return f"{text[:MAX_CELL_CHARS]}… ({len(text) - MAX_CELL_CHARS:,} more characters)"


def _decimal(value: Decimal) -> int | float | str:
    if not value.is_finite():
        return str(value)
    if value == value.to_integral_value() and abs(value) < 10**15:
        return int(value)
    number = float(value)
    return number if Decimal(repr(number)) == value else str(value)


def _binary(data: bytes) -> str | dict[str, str]:
    try:
        return _cut(data.decode())
    except UnicodeDecodeError:
        return {"base64": _cut(base64.b64encode(data).decode())}
