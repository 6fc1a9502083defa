"""Shortens text and JSON by their structure: the beginning and the end stay, and what is left out is counted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tooldisco_cli.execution.protocol import Cut

MARGIN = 80
"""How far a cut text or value may go beyond the limit it was given: the remark that says what is left out."""

_HEAD = 2 / 3
"""Of what stays of a text or list this much is its beginning; ends often hold totals and errors."""


def cut_text(text: str, limit: int, *, lines: int | None = None) -> tuple[str, Cut | None]:
    """Return ``text`` in about ``limit`` characters: lines of its head and tail, or characters of one long line.

    ``lines`` is how many lines there really are, when ``text`` is already an excerpt.
    """
    if len(text) <= limit and lines is None:
        return text, None
    parts = text.split("\n")
    total = len(parts) if lines is None else lines
    head, tail = _ends([len(part) + 1 for part in parts], limit)
    if head + tail == 0 or (len(parts) < 4 and head + tail < len(parts)):
        return _cut_characters(text, limit)
    shown = head + tail
    if shown >= total:
        return text, None
    remark = f"… {total - shown:,} of {total:,} lines left out …"
    kept = [*parts[:head], remark, *(parts[len(parts) - tail :] if tail else [])]
    return "\n".join(kept), Cut(unit="lines", total=total, shown=shown)


def _cut_characters(text: str, limit: int) -> tuple[str, Cut]:
    head = max(0, int(limit * _HEAD))
    tail = max(0, limit - head)
    end = text[len(text) - tail :] if tail else ""
    remark = f"… {len(text) - head - len(end):,} of {len(text):,} characters left out …"
    return f"{text[:head]}{remark}{end}", Cut(unit="characters", total=len(text), shown=head + len(end))


def _ends(sizes: Sequence[int], limit: int) -> tuple[int, int]:
    """Return how many parts of the head and of the tail fit in ``limit`` together, never overlapping."""
    head = tail = used = 0
    for size in sizes:
        if used + size > limit * _HEAD:
            break
        used += size
        head += 1
    for size in reversed(sizes[head:]):
        if used + size > limit:
            break
        used += size
        tail += 1
    return head, tail


def cut_json(value: Any, limit: int) -> tuple[Any, Cut | None]:
    """Return a JSON value whose text has about ``limit`` characters, and what was left out of its largest part.

    Lists keep items of both ends with a remark between; objects keep their keys and lose inside their largest
    values first; long texts lose their middle. The answer is always JSON; a remark may stand where an item was.
    """
    cuts: list[Cut] = []
    shown = _cut_value(value, max(limit, 20), cuts)
    return shown, max(cuts, key=lambda cut: cut.total - cut.shown, default=None)


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, default=str))


def _cut_value(value: Any, limit: int, cuts: list[Cut]) -> Any:
    if _size(value) <= limit:
        return value
    if isinstance(value, str):
        return _cut_string(value, limit, cuts)
    if isinstance(value, dict):
        return _cut_object(value, limit, cuts)
    if isinstance(value, list):
        return _cut_list(value, limit, cuts)
    return _cut_string(json.dumps(value, default=str), limit, cuts)


def _cut_string(text: str, limit: int, cuts: list[Cut]) -> str:
    # Escapes make JSON longer than the text; halving until it fits keeps this simple and quick.
    room = max(0, limit - 2)
    while True:
        shown, cut = cut_text(text, room)
        if cut is None or _size(shown) <= limit + MARGIN or room <= 0:
            break
        room //= 2
    if cut is not None:
        cuts.append(cut)
    return shown


def _cut_list(items: list[Any], limit: int, cuts: list[Cut]) -> list[Any]:
    sizes = [_size(item) + 2 for item in items]
    room = limit - 2
    head, tail = _ends(sizes, room)
    if head + tail == 0 or max(sizes) > room // 2:
        # Few large items: shorten each, rather than show only one of them.
        count = max(1, min(len(items), room // 200))
        share = room // count - 2
        if count < len(items):
            head = max(1, int(count * _HEAD))
            tail = count - head
        else:
            head, tail = len(items), 0
        chosen = [*items[:head], *(items[len(items) - tail :] if tail else [])]
        kept = [_cut_value(item, max(share, 20), cuts) for item in chosen]
    else:
        kept = [*items[:head], *(items[len(items) - tail :] if tail else [])]
    left = len(items) - head - tail
    if left <= 0:
        return kept
    unit = "rows" if all(isinstance(item, (dict, list)) for item in items[:3]) else "items"
    cuts.append(Cut(unit=unit, total=len(items), shown=head + tail))
    return [*kept[:head], f"… {left:,} of {len(items):,} {unit} left out …", *kept[head:]]


def _cut_object(value: dict[str, Any], limit: int, cuts: list[Cut]) -> dict[str, Any]:
    room = limit - 2
    keys = list(value)
    overhead = [_size(str(key)) + 4 for key in keys]
    kept_keys = len(keys)
    while kept_keys and sum(overhead[:kept_keys]) + 6 * kept_keys > room:
        kept_keys -= 1
    kept = keys[:kept_keys]
    sizes = {key: _size(value[key]) for key in kept}
    left = room - sum(overhead[:kept_keys])
    shown: dict[str, Any] = {}
    shares: dict[str, int] = {}
    for position, key in enumerate(sorted(kept, key=lambda key: sizes[key])):
        shares[key] = min(sizes[key], max(0, left) // (kept_keys - position))
        left -= shares[key]
    for key in kept:
        fits = sizes[key] <= shares[key]
        shown[key] = value[key] if fits else _cut_value(value[key], max(shares[key] - MARGIN, 20), cuts)
    if kept_keys < len(keys):
        cuts.append(Cut(unit="keys", total=len(keys), shown=kept_keys))
        shown["…"] = f"{len(keys) - kept_keys:,} of {len(keys):,} keys left out"
    return shown
