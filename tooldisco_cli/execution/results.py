"""Shapes what a tool returned: secrets masked, cut by structure to a limit, the whole kept behind a handle."""

from __future__ import annotations

import json
import mimetypes
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tooldisco_cli.execution.cutting import cut_json, cut_text
from tooldisco_cli.execution.masking import Masker
from tooldisco_cli.execution.protocol import Block, Cut, FileBlock, ImageBlock, JsonBlock, Output, TextBlock
from tooldisco_cli.execution.spool import Spool

MAX_IMAGE_BYTES = 3_750_000
"""The Messages API takes images of up to 5 MB in base64, which is this many bytes."""

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Shaped:
    """A result as it is shown. ``size`` is the whole in characters (bytes for images and files)."""

    blocks: tuple[Block, ...]
    cut: Cut | None
    handle: str | None
    size: int
    notes: tuple[str, ...] = ()


def shape(output: Output, *, limit: int, spool: Spool, secrets: Sequence[str] = ()) -> Shaped:
    """Return the content of ``output`` in at most ``limit`` characters and a short remark for each part cut.

    Lists lose items from their middle, text loses lines, objects keep their keys as long as they can; JSON stays
    JSON. Images go through whole, or into a file where they are too large to send.
    """
    masker = Masker(secrets)
    blocks = [_masked(block, masker, spool) for block in output.blocks]
    texts = [_text_of(block) for block in blocks]
    sizes = [len(text) if text is not None else 0 for text in texts]
    file_bytes = sum(block.size for block in blocks if isinstance(block, FileBlock))
    size = sum(sizes) + file_bytes + sum(len(block.data) for block in blocks if isinstance(block, ImageBlock))
    large = next((i for i, block in enumerate(blocks) if _is_large_text(block)), None)
    if large is None and sum(sizes) <= limit:
        return Shaped(tuple(blocks), None, None, size)
    handle = spool.keep(masker.chunks(_whole(blocks)))
    shares = _shares([_share_size(block, n) for block, n in zip(blocks, sizes, strict=True)], limit)
    cut: Cut | None = None
    shown: list[Block] = []
    for block, share, text in zip(blocks, shares, texts, strict=True):
        piece, left = _cut(block, share, text, masker)
        shown.append(piece)
        if left is not None and (cut is None or left.total > cut.total):
            cut = left
    for block in blocks:
        if isinstance(block, FileBlock) and block.temporary:
            with suppress(OSError):
                Path(block.path).unlink(missing_ok=True)
    notes = () if handle else ("the whole result could not be kept, so it cannot be read page by page",)
    return Shaped(tuple(shown), cut, handle, size, notes)


def plain_text(blocks: Sequence[Block]) -> str:
    """Return blocks as one text, as a model or a pipe reads them; images and files as one line each."""
    return "\n".join(_line(block) for block in blocks)


def _line(block: Block) -> str:
    text = _text_of(block)
    if text is not None:
        return text
    if isinstance(block, ImageBlock):
        return f"[image {block.media_type}, {len(block.data):,} bytes]"
    assert isinstance(block, FileBlock)
    return f"[file {block.path}, {block.media_type}, {block.size:,} bytes]"


def _masked(block: Block, masker: Masker, spool: Spool) -> Block:
    if isinstance(block, TextBlock):
        return TextBlock(masker.text(block.text))
    if isinstance(block, JsonBlock):
        return JsonBlock(masker.json(block.value))
    if isinstance(block, ImageBlock) and len(block.data) > MAX_IMAGE_BYTES:
        suffix = mimetypes.guess_extension(block.media_type) or ".bin"
        path = spool.keep_file([block.data], suffix)
        if path is None:
            return TextBlock(f"[an image of {len(block.data):,} bytes, too large to show, could not be kept]")
        return FileBlock(str(path), block.media_type, len(block.data))
    if isinstance(block, FileBlock) and block.temporary and not _is_text(block.media_type):
        suffix = mimetypes.guess_extension(block.media_type) or ".bin"
        path = spool.keep_file(_file_chunks(block.path), suffix)
        with suppress(OSError):
            Path(block.path).unlink(missing_ok=True)
        if path is None:
            return TextBlock(f"[{block.size:,} bytes of {block.media_type} could not be kept]")
        return FileBlock(str(path), block.media_type, block.size)
    return block


def _text_of(block: Block) -> str | None:
    if isinstance(block, TextBlock):
        return block.text
    if isinstance(block, JsonBlock):
        return json.dumps(block.value, ensure_ascii=False, default=str)
    return None


def _is_text(media_type: str) -> bool:
    return media_type.startswith("text/") or media_type.endswith(("json", "xml", "yaml"))


def _is_large_text(block: Block) -> bool:
    return isinstance(block, FileBlock) and block.temporary and _is_text(block.media_type)


def _share_size(block: Block, size: int) -> int:
    return block.size if isinstance(block, FileBlock) and _is_large_text(block) else size


def _shares(sizes: Sequence[int], limit: int) -> list[int]:
    """Divide ``limit`` so that small parts stay whole and the large ones get the same share of the rest."""
    shares = [0] * len(sizes)
    left = limit
    waiting = sorted(range(len(sizes)), key=lambda i: sizes[i])
    for position, index in enumerate(waiting):
        fair = left // (len(waiting) - position)
        shares[index] = min(sizes[index], fair)
        left -= shares[index]
    return shares


def _whole(blocks: Sequence[Block]) -> Iterator[bytes]:
    """Yield the whole result as text in UTF-8, JSON on lines of its own so that pages can be read."""
    for number, block in enumerate(blocks):
        if number:
            yield b"\n"
        if isinstance(block, FileBlock) and _is_large_text(block):
            yield from _file_chunks(block.path)
        elif isinstance(block, JsonBlock):
            encoder = json.JSONEncoder(ensure_ascii=False, indent=1, default=str)
            for piece in encoder.iterencode(block.value):
                yield piece.encode("utf-8", "backslashreplace")
        else:
            yield _line(block).encode("utf-8", "backslashreplace")


def _file_chunks(path: str) -> Iterator[bytes]:
    with Path(path).open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _cut(block: Block, share: int, text: str | None, masker: Masker) -> tuple[Block, Cut | None]:
    if isinstance(block, FileBlock) and _is_large_text(block):
        return _cut_file(block, share, masker)
    if text is None or len(text) <= share:
        return block, None
    if isinstance(block, JsonBlock):
        value, cut = cut_json(block.value, share)
        return JsonBlock(value), cut
    shown, cut = cut_text(text, share)
    return TextBlock(shown), cut


def _cut_file(block: FileBlock, share: int, masker: Masker) -> tuple[Block, Cut | None]:
    """Show the beginning and the end of a text too large for memory."""
    lines, last = 0, b""
    for chunk in _file_chunks(block.path):
        lines += chunk.count(b"\n")
        last = chunk[-1:]
    lines += 1 if last not in {b"\n", b""} else 0
    with Path(block.path).open("rb") as file:
        head = file.read(share * 4)
        file.seek(max(len(head), block.size - share * 4))
        tail = file.read()
    first, final = (masker.text(part.decode("utf-8", "replace")) for part in (head, tail))
    shown, _ = cut_text(f"{first}\n{final}" if final else first, share, lines=lines)
    return TextBlock(shown), Cut(unit="lines", total=lines, shown=shown.count("\n"))
