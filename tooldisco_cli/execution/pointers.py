"""JSON pointers (RFC 6901) into the answers of services."""

from __future__ import annotations

import re
from typing import Any

from tooldisco_cli.errors import ToolFailed

ABSENT = object()

_INDEX = re.compile(r"0|[1-9][0-9]{0,8}", re.ASCII)


def point(value: Any, pointer: str) -> Any:
    """Return what ``pointer`` leads to, or ``ABSENT``; the empty pointer leads to the whole."""
    if not pointer:
        return value
    for step in pointer.removeprefix("/").split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and _INDEX.fullmatch(key) and int(key) < len(value):
            value = value[int(key)]
        else:
            return ABSENT
    return value


def select(value: Any, wanted: str | dict[str, str] | None) -> Any:
    """Return the parts of an answer that a manifest asks for: one, or several by name; all of it for None.

    A name whose pointer leads nowhere is left out; raises ToolFailed when that is so for all, as the answer is then
    not of the expected form.
    """
    if wanted is None:
        return value
    if isinstance(wanted, str):
        found = point(value, wanted)
        if found is ABSENT:
            raise ToolFailed(f"the answer has nothing at {wanted}", details={"answer": excerpt(value)})
        return found
    parts = {name: part for name, pointer in wanted.items() if (part := point(value, pointer)) is not ABSENT}
    if wanted and not parts:
        raise ToolFailed(f"the answer has none of {', '.join(wanted.values())}", details={"answer": excerpt(value)})
    return parts


def excerpt(value: Any, limit: int = 2000) -> Any:
    """Return the beginning of an answer for an error."""
    from tooldisco_cli.execution.cutting import cut_json

    return cut_json(value, limit)[0]
