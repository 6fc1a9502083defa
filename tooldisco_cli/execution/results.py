"""Shapes what a tool returned: secrets masked, cut by structure to a limit, the whole kept behind a handle."""

from __future__ import annotations

import codecs
import json
import mimetypes
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tooldisco_cli.execution.cutting import MARGIN, Excerpt, cut_excerpt, cut_json, cut_text, fair_shares, remark
from tooldisco_cli.execution.masking import Masker
from tooldisco_cli.execution.protocol import Block, Cut, FileBlock, ImageBlock, JsonBlock, Output, TextBlock
from tooldisco_cli.execution.spool import Spool

MAX_IMAGE_BYTES = 3_750_000
"""The Messages API takes images of up to 5 MB in base64, which is this many bytes."""
MAX_IMAGES = 20
"""More images than this in one result become files; so do those beyond ``MAX_IMAGES_BYTES`` together."""
MAX_IMAGES_BYTES = 12_000_000
IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""What a model can see; other images are files to it."""
MAX_FILES = 100

_CHUNK = 1 << 20
_JSON_TEXT = 4_000_000
"""Text that is JSON is cut as JSON up to this length; reading more to cut it costs more than it is worth."""
_FEW = 20
_LINE = 200
"""Containers of at most ``_FEW`` items, with no text longer than this, are kept on one line."""


@dataclass(frozen=True, slots=True)
class Shaped:
    """A result as it is shown. ``size`` is the whole in characters (bytes for images and files)."""

    blocks: tuple[Block, ...]
    cut: Cut | None
    handle: str | None
    size: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _LongText:
    """Text that stays in its file: what is needed to show its ends, masked."""

    path: str
    excerpt: Excerpt


_Part = Block | _LongText


def shape(output: Output, *, limit: int, spool: Spool, secrets: Sequence[str] = ()) -> Shaped:
    """Return the content of ``output`` with at most ``limit`` characters of text and JSON, ``MARGIN`` more at most.

    Lists lose items from their middle, text loses lines, objects keep their keys as long as they can; JSON stays
    JSON. Images go through whole, or into a file where they are too large to send. ``secrets`` are masked in what is
    shown and in what is kept; a :class:`~tooldisco_cli.execution.masking.Secret` by its name.
    """
    masker = Masker(secrets)
    try:
        parts = _prepared(output.blocks, masker, spool, limit)
        sizes = [_size(part) for part in parts]
        lengths = [size if _is_textual(part) else 0 for part, size in zip(parts, sizes, strict=True)]
        count = sum(map(_is_textual, parts))
        if sum(lengths) + max(count - 1, 0) <= limit and len(parts) - count <= MAX_FILES:
            return Shaped(tuple(_small(part) for part in parts), None, None, sum(sizes))
        handle = spool.keep(masker.chunks(_whole(parts)))
        shown, cut = _shortened(parts, limit)
        notes = () if handle else ("the whole result could not be kept, so it cannot be read page by page",)
        return Shaped(tuple(shown), cut, handle, sum(sizes), notes)
    finally:
        for block in output.blocks:
            if isinstance(block, FileBlock) and block.temporary:
                with suppress(OSError):
                    Path(block.path).unlink(missing_ok=True)


def plain_text(blocks: Sequence[Block]) -> str:
    """Return blocks as one text, as a model or a pipe reads them; images and files as one line each."""
    return "\n".join(map(_line, blocks))


def _line(block: Block) -> str:
    if isinstance(block, TextBlock):
        return block.text
    if isinstance(block, JsonBlock):
        return _json_text(block.value)
    if isinstance(block, ImageBlock):
        return f"[image {block.media_type}, {len(block.data):,} bytes]"
    return f"[file {block.path}, {block.media_type}, {block.size:,} bytes]"


def _json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


# --- before cutting: masked, and what is too large out of memory


def _prepared(blocks: Iterable[Block], masker: Masker, spool: Spool, limit: int) -> list[_Part]:
    parts: list[_Part] = []
    images = image_bytes = 0
    for block in blocks:
        if isinstance(block, TextBlock):
            parts.append(TextBlock(masker.text(block.text)))
        elif isinstance(block, JsonBlock):
            parts.append(JsonBlock(masker.json(block.value)))
        elif isinstance(block, ImageBlock):
            images, image_bytes = images + 1, image_bytes + len(block.data)
            fits = len(block.data) <= MAX_IMAGE_BYTES and images <= MAX_IMAGES and image_bytes <= MAX_IMAGES_BYTES
            visible = fits and block.media_type in IMAGE_TYPES
            parts.append(block if visible else _kept([block.data], block.media_type, len(block.data), spool))
        elif not block.temporary:
            parts.append(block)
        elif _is_text(block.media_type):
            parts.append(_long_text(block, masker, limit))
        else:
            parts.append(_kept(_file_chunks(block.path), block.media_type, block.size, spool))
    return parts


def _kept(data: Iterable[bytes], media_type: str, size: int, spool: Spool) -> Block:
    path = spool.keep_file(data, mimetypes.guess_extension(media_type) or ".bin")
    if path is None:
        return TextBlock(f"[{size:,} bytes of {media_type} could not be kept]")
    return FileBlock(str(path), media_type, size)


def _is_text(media_type: str) -> bool:
    kind = media_type.partition(";")[0].strip()
    return kind.startswith("text/") or kind.endswith(("json", "xml", "yaml", "javascript"))


def _long_text(block: FileBlock, masker: Masker, limit: int) -> _Part:
    """Read a text file once, masked, and hold on to its ends only; as a whole where that is not much more."""
    most = 2 * max(limit, MARGIN)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    head = tail = ""
    characters = breaks = 0
    for chunk in _with_end(masker, block.path):
        text = decoder.decode(chunk, final=not chunk)
        if len(head) < most:
            head += text[: most - len(head)]
        tail = (tail + text)[-most:]
        characters += len(text)
        breaks += text.count("\n")
    if characters <= most:
        return TextBlock(head)
    return _LongText(block.path, Excerpt(head, tail, characters, breaks + (not tail.endswith("\n"))))


def _with_end(masker: Masker, path: str) -> Iterator[bytes]:
    yield from (chunk for chunk in masker.chunks(_file_chunks(path)) if chunk)
    yield b""


def _file_chunks(path: str) -> Iterator[bytes]:
    with Path(path).open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _is_textual(part: _Part) -> bool:
    return isinstance(part, (TextBlock, JsonBlock, _LongText))


def _size(part: _Part) -> int:
    if isinstance(part, _LongText):
        return part.excerpt.characters
    if isinstance(part, ImageBlock):
        return len(part.data)
    return part.size if isinstance(part, FileBlock) else len(_line(part))


def _small(part: _Part) -> Block:
    assert not isinstance(part, _LongText)  # it is longer than the limit
    return part


# --- what is kept


def _whole(parts: Sequence[_Part]) -> Iterator[bytes]:
    """Yield the whole result as text in UTF-8, JSON on lines of its own so that pages can be read."""
    for number, part in enumerate(parts):
        if number:
            yield b"\n"
        if isinstance(part, _LongText):
            yield from _file_chunks(part.path)
        elif isinstance(part, JsonBlock):
            yield from _gathered(_json_lines(part.value, ""))
        else:
            yield _line(part).encode("utf-8", "backslashreplace")


def _gathered(pieces: Iterable[str]) -> Iterator[bytes]:
    """Join small pieces, as each costs a look for secrets."""
    waiting: list[str] = []
    size = 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size > _CHUNK:
            yield "".join(waiting).encode("utf-8", "backslashreplace")
            waiting, size = [], 0
    yield "".join(waiting).encode("utf-8", "backslashreplace")


def _json_lines(value: Any, indent: str) -> Iterator[str]:
    """Yield JSON whose containers stand on one line where they are short or deep, else one line an item."""
    if len(indent) > 3 or _is_short(value):
        yield _json_text(value)
        return
    inner = indent + " "
    begin, end = "{}" if isinstance(value, dict) else "[]"
    items = value.items() if isinstance(value, dict) else ((None, item) for item in value)
    for number, (key, item) in enumerate(items):
        name = "" if key is None and isinstance(value, list) else json.dumps(str(key), ensure_ascii=False) + ": "
        lead = (begin if not number else ",") + "\n" + inner + name
        if _is_short(item):
            yield lead + _json_text(item)
        else:
            yield lead
            yield from _json_lines(item, inner)
    yield "\n" + indent + end


def _is_short(value: Any) -> bool:
    """Whether a value stands on one line: no container, or a small one of nothing large."""
    if not isinstance(value, (dict, list)):
        return True
    inside = value.values() if isinstance(value, dict) else value
    return len(value) <= _FEW and all(
        len(item) <= _FEW if isinstance(item, (dict, list)) else not isinstance(item, str) or len(item) <= _LINE
        for item in inside
    )


# --- what is shown


def _shortened(parts: Sequence[_Part], limit: int) -> tuple[list[Block], Cut | None]:
    texts = [index for index, part in enumerate(parts) if _is_textual(part)]
    others = [index for index, part in enumerate(parts) if not _is_textual(part)]
    most = max(1, limit // (2 * MARGIN))
    cuts: list[Cut] = []
    gap = -1
    if len(texts) > most:
        head = -(-most * 2 // 3)
        tail = texts[len(texts) - (most - head) :] if most > head else []
        cuts.append(Cut(unit="parts", total=len(texts), shown=most))
        gap = texts[head]
        texts = [*texts[:head], *tail]
    shown = {*texts, *others[:MAX_FILES]}
    shares = dict(
        zip(texts, fair_shares([_size(parts[index]) for index in texts], limit - len(texts) + 1), strict=True)
    )
    blocks: list[Block] = []
    for index, part in enumerate(parts):
        if index == gap:
            blocks.append(TextBlock(remark(cuts[0].total - cuts[0].shown, cuts[0].total, "parts")))
        if index in shares:
            block, cut = _cut(part, shares[index])
            blocks.append(block)
            if cut is not None:
                cuts.append(cut)
        elif index in shown:
            blocks.append(_small(part))
    if len(others) > MAX_FILES:
        blocks.append(TextBlock(remark(len(others) - MAX_FILES, len(others), "files")))
        cuts.append(Cut(unit="files", total=len(others), shown=MAX_FILES))
    parted = [cut for cut in cuts if cut.unit in {"parts", "files"}]
    return blocks, max(parted or cuts, key=lambda cut: cut.total - cut.shown, default=None)


def _cut(part: _Part, share: int) -> tuple[Block, Cut | None]:
    if isinstance(part, _LongText):
        shown, cut = cut_excerpt(part.excerpt, share)
        return TextBlock(shown), cut
    if isinstance(part, JsonBlock):
        value, left = cut_json(part.value, share)
        return JsonBlock(value), left
    assert isinstance(part, TextBlock)
    if len(part.text) <= share:
        return part, None
    value = _json_of(part.text)
    if value is not None:
        value, left = cut_json(value, share)
        return TextBlock(_json_text(value)), left
    shown, left = cut_text(part.text, share)
    return TextBlock(shown), left


def _json_of(text: str) -> dict[str, Any] | list[Any] | None:
    """Return the object or list that a text is as a whole, so that it can be cut as one and stay JSON."""
    if len(text) > _JSON_TEXT or text.lstrip()[:1] not in {"{", "["}:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, (dict, list)) else None
