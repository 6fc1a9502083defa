"""Shortens text and JSON by their structure: the beginning and the end stay, and what is left out is counted.

The limit is kept, remarks included: every part is given room by the part around it and never takes more. Nothing is
measured further than the room it could get, so what a cut costs follows from the limit and not from the depth.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import Any

from tooldisco_cli.execution.graphemes import cut_after, cut_before
from tooldisco_cli.execution.protocol import Cut

MARGIN = 80
"""No limit below this can be kept, as it would not hold the remark that says what is left out."""

_HEAD = 2 / 3
"""Of what stays of a text or list this much is its beginning; ends often hold totals and errors."""
_VALUE = 24
"""An object loses keys rather than show all its values in less than this."""
_ITEM = 200
"""A list whose items are large shows as many as can have about this much each."""
_ELLIPSIS = "…"


def remark(left: int, total: int, unit: str) -> str:
    """Return what stands in place of what was left out."""
    return f"… {left:,} of {total:,} {unit} left out …"


def cut_text(text: str, limit: int) -> tuple[str, Cut | None]:
    """Return ``text`` in at most ``limit`` characters: lines of its head and tail, or characters of long lines.

    No limit is less than ``MARGIN``. A character with its accents, or an emoji of several parts, is never cut apart.
    """
    limit = max(limit, MARGIN)
    if len(text) <= limit:
        return text, None
    return cut_excerpt(Excerpt(text, text, len(text), text.count("\n") + (not text.endswith("\n"))), limit)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The beginning and the end of a text, each longer than what will be shown, and its size as a whole."""

    head: str
    tail: str
    characters: int
    lines: int


def cut_excerpt(excerpt: Excerpt, limit: int) -> tuple[str, Cut]:
    """Return what :func:`cut_text` returns for a text longer than ``limit`` of which only an excerpt is in memory."""
    limit = max(limit, MARGIN)
    room = limit - len(remark(excerpt.lines, excerpt.lines, "lines")) - 2
    heads = excerpt.head[: room + 1].split("\n")[:-1]
    tail = excerpt.tail[-(room + 1) :]
    tails = tail.removesuffix("\n").split("\n")[1:]
    end = "\n" if tail.endswith("\n") else ""
    head, last = _ends([len(line) + 1 for line in heads], [len(line) + 1 for line in tails], room - len(end))
    used = sum(len(line) + 1 for line in (*heads[:head], *tails[len(tails) - last :]))
    if head + last >= excerpt.lines or used < room / 2:
        return _cut_characters(excerpt, limit)
    middle = remark(excerpt.lines - head - last, excerpt.lines, "lines")
    shown = "\n".join([*heads[:head], middle, *tails[len(tails) - last :]]) + (end if last else "")
    return shown, Cut(unit="lines", total=excerpt.lines, shown=head + last)


def _cut_characters(excerpt: Excerpt, limit: int) -> tuple[str, Cut]:
    total = excerpt.characters
    room = limit - len(remark(total, total, "characters"))
    head = excerpt.head[: cut_before(excerpt.head, int(room * _HEAD))]
    tail = excerpt.tail[cut_after(excerpt.tail, len(excerpt.tail) - (room - len(head))) :]
    shown = len(head) + len(tail)
    cut = Cut(unit="characters", total=total, shown=shown)
    return f"{head}{remark(total - shown, total, 'characters')}{tail}", cut


def _ends(heads: Iterable[int], tails: Sequence[int], room: int) -> tuple[int, int]:
    """Return how many parts, by their sizes, of the head and of the tail fit in ``room`` together."""
    head = tail = used = 0
    for size in heads:
        if used + size > room * _HEAD:
            break
        used += size
        head += 1
    for size in reversed(tails):
        if used + size > room:
            break
        used += size
        tail += 1
    return head, tail


def cut_json(value: Any, limit: int) -> tuple[Any, Cut | None]:
    """Return a JSON value of at most ``limit`` characters as JSON, and what was left out of its outermost cut part.

    Lists keep items of both ends with a remark between; objects keep their keys and lose inside their largest
    values first; long texts lose their middle. The answer is always JSON; a remark may stand where an item was.
    """
    cuts: list[tuple[int, Cut]] = []
    shown = _cut(value, max(limit, MARGIN), cuts, 0)
    outermost = min(cuts, key=lambda found: (found[0], found[1].shown - found[1].total), default=None)
    return shown, outermost[1] if outermost else None


def _measure(value: Any, most: int) -> int:
    """Return the length of a value as JSON, or something above ``most`` as soon as it is longer."""
    if isinstance(value, str):
        return most + 1 if len(value) + 2 > most else len(encode_basestring(value))
    size = 2 if value else 4
    if isinstance(value, dict):
        for key, item in value.items():
            size += _measure(str(key), most) + 4
            size += _measure(item, max(most + 2 - size, 0))
            if size > most + 2:
                return most + 1
        return size - 2
    if isinstance(value, list):
        for item in value:
            size += _measure(item, max(most - size, 0)) + 2
            if size > most + 2:
                return most + 1
        return size - 2
    return len(json.dumps(value, ensure_ascii=False, default=str))


def _cut(value: Any, room: int, cuts: list[tuple[int, Cut]], depth: int) -> Any:
    if _measure(value, room) <= room:
        return value
    if isinstance(value, str):
        return _cut_string(value, room, cuts, depth)
    if isinstance(value, dict) and room >= MARGIN:
        return _cut_object(value, room, cuts, depth)
    if isinstance(value, list) and room >= MARGIN:
        return _cut_list(value, room, cuts, depth)
    if isinstance(value, (dict, list)):
        cuts.append((depth, Cut(unit=_unit(value), total=len(value), shown=0)))
        return _ELLIPSIS
    return _cut_string(json.dumps(value, default=str), room, cuts, depth)


def _unit(value: dict[str, Any] | list[Any]) -> str:
    if isinstance(value, dict):
        return "keys"
    return "rows" if all(isinstance(item, (dict, list)) for item in value[:3]) else "items"


def _cut_string(text: str, room: int, cuts: list[tuple[int, Cut]], depth: int) -> str:
    """Return a text whose JSON fits. Escapes make JSON longer than its text, so less is tried until it does."""
    goal = room - 2
    while goal >= MARGIN:
        shown, cut = cut_text(text, goal)
        size = len(encode_basestring(shown))
        if cut is not None and size <= room:
            cuts.append((depth, cut))
            return shown
        goal = min(goal - 1, goal * room // max(size, 1))
    goal = max(0, min(room, MARGIN) - 3)
    head = text[: cut_before(text, goal)]
    while head and len(encode_basestring(head)) + 1 > room:
        head = text[: cut_before(text, min(len(head) - 1, len(head) * room // (len(encode_basestring(head)) + 1)))]
    cuts.append((depth, Cut(unit="characters", total=len(text), shown=len(head))))
    return head + _ELLIPSIS


def _cut_list(items: list[Any], room: int, cuts: list[tuple[int, Cut]], depth: int) -> list[Any]:
    unit, total = _unit(items), len(items)
    inside = room - 2 - len(remark(total, total, unit)) - 4
    heads = _sizes(items, inside)
    tails = _sizes(items[len(heads) :][::-1], inside)[::-1]
    head, tail = _ends(heads, tails, inside)
    kept = [*items[:head], *(items[total - tail :] if tail else [])]
    if sum(heads[:head]) + sum(tails[len(tails) - tail :]) < inside / 2:
        # Few large items: shorten each, rather than show only one of them.
        count = max(1, min(total, (room - 2) // _ITEM))
        head = count if count == total else -(-count * 2 // 3)
        tail = count - head
        chosen = [*items[:head], *(items[total - tail :] if tail else [])]
        left = room - 2 if count == total else inside
        shares = fair_shares([_measure(item, left) + 2 for item in chosen], left)
        kept = [_cut(item, share - 2, cuts, depth + 1) for item, share in zip(chosen, shares, strict=True)]
    missing = total - head - tail
    if not missing:
        return kept
    cuts.append((depth, Cut(unit=unit, total=total, shown=head + tail)))
    return [*kept[:head], remark(missing, total, unit), *kept[head:]]


def _sizes(items: Iterable[Any], room: int) -> list[int]:
    """Return the sizes of items, separators included, for as many as fit in ``room`` together."""
    sizes = []
    for item in items:
        size = _measure(item, room) + 2
        room -= size
        if room < 0:
            break
        sizes.append(size)
    return sizes


def _cut_object(value: dict[str, Any], room: int, cuts: list[tuple[int, Cut]], depth: int) -> dict[str, Any]:
    total = len(value)
    inside = room - 2
    costs = {key: _measure(str(key), inside) + 4 for key in list(value)[: room // 5]}
    sizes = {key: _measure(value[key], inside) for key in costs}
    needed = {key: costs[key] + min(sizes[key], _VALUE) for key in costs}
    note = _left_out_keys(total, total)
    if len(costs) < total or sum(needed.values()) > inside:
        inside -= _measure(note, room) + len('"…": ') + 2
    kept: list[str] = []
    used = 0
    for key, size in needed.items():
        if used + size <= inside and (costs[key] <= room // 2):
            kept.append(key)
            used += size
    shares = fair_shares([sizes[key] for key in kept], inside - sum(costs[key] for key in kept))
    shown = {key: _cut(value[key], share, cuts, depth + 1) for key, share in zip(kept, shares, strict=True)}
    if len(kept) < total:
        cuts.append((depth, Cut(unit="keys", total=total, shown=len(kept))))
        shown[_ELLIPSIS] = _left_out_keys(total - len(kept), total)
    return shown


def _left_out_keys(left: int, total: int) -> str:
    return f"{left:,} of {total:,} keys left out"


def fair_shares(sizes: Sequence[int], room: int) -> list[int]:
    """Divide ``room`` so that small parts stay whole and the large ones get the same share of the rest."""
    shares = [0] * len(sizes)
    for position, index in enumerate(sorted(range(len(sizes)), key=lambda i: sizes[i])):
        shares[index] = min(sizes[index], max(room, 0) // (len(sizes) - position))
        room -= shares[index]
    return shares
