"""Sorting and grouping of records."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

Record = dict[str, Any]


def sort_records(*, records: list[Record], by: list[str], limit: int | None = None) -> dict[str, Any]:
    """Return records sorted by fields, ``-`` in front for descending; numbers before texts, missing values last."""
    ordered = list(records)
    for field in reversed(by):
        name = field.removeprefix("-")
        known = [record for record in ordered if record.get(name) is not None]
        missing = [record for record in ordered if record.get(name) is None]
        known.sort(key=lambda record: _rank(record[name]), reverse=field.startswith("-"))
        ordered = known + missing
    return {"records": ordered[:limit] if limit else ordered, "total": len(ordered)}


def group_records(
    *, records: list[Record], by: list[str], aggregates: list[dict[str, str]] | None = None
) -> dict[str, Any]:
    """Return one record for each group, in order of first appearance, with its count and the aggregates.

    An aggregate is named ``function_field``. Values that are missing are left out; sum and mean need numbers.
    """
    groups: dict[str, list[Record]] = {}
    for record in records:
        key = json.dumps([record.get(name) for name in by], sort_keys=True, ensure_ascii=False)
        groups.setdefault(key, []).append(record)
    answer = []
    for members in groups.values():
        row = {name: members[0].get(name) for name in by} | {"count": len(members)}
        for wanted in aggregates or []:
            field, function = wanted["field"], wanted["function"]
            values = [member[field] for member in members if member.get(field) is not None]
            row[f"{function}_{field}"] = _AGGREGATES[function](values, field)
        answer.append(row)
    return {"groups": answer, "total": len(answer)}


def _rank(value: Any) -> tuple[int, Any]:
    if isinstance(value, bool):
        return 0, int(value)
    if isinstance(value, int | float):
        return 1, value
    if isinstance(value, str):
        return 2, value
    return 3, json.dumps(value, sort_keys=True, ensure_ascii=False)


def _numbers(values: list[Any], field: str) -> list[float]:
    wrong = next((value for value in values if isinstance(value, bool) or not isinstance(value, int | float)), None)
    if wrong is not None:
        raise ValueError(f"{field} holds {str(wrong)[:60]!r}, which is no number")
    return values


def _sum(values: list[Any], field: str) -> float:
    numbers = _numbers(values, field)
    return sum(numbers) if all(isinstance(number, int) for number in numbers) else math.fsum(numbers)


def _mean(values: list[Any], field: str) -> float | None:
    return math.fsum(_numbers(values, field)) / len(values) if values else None


_AGGREGATES: dict[str, Callable[[list[Any], str], Any]] = {
    "sum": _sum,
    "mean": _mean,
    "min": lambda values, _: min(values, key=_rank, default=None),
    "max": lambda values, _: max(values, key=_rank, default=None),
    "count": lambda values, _: len(values),
    "distinct": lambda values, _: len({json.dumps(value, sort_keys=True) for value in values}),
}
