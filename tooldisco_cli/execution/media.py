"""From bytes to blocks: pictures are recognised by how they begin, text is decoded, the rest becomes a file."""

from __future__ import annotations

import mimetypes
import os
import shutil
import tempfile
from pathlib import Path
from typing import IO

from tooldisco_cli.errors import ToolFailed
from tooldisco_cli.execution.protocol import Block, FileBlock, ImageBlock, TextBlock

_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"OggS", "audio/ogg"),
    (b"ID3", "audio/mpeg"),
)
_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


def media_type(data: bytes) -> str:
    """Return the type that bytes begin like, ``application/octet-stream`` when they begin like nothing known."""
    for signature, name in _SIGNATURES:
        if data.startswith(signature):
            return name
    if data[:4] == b"RIFF":
        return {b"WEBP": "image/webp", b"WAVE": "audio/wav"}.get(data[8:12], "application/octet-stream")
    return "application/octet-stream"


def is_text(data: bytes) -> bool:
    """Whether bytes are UTF-8 text without NUL; a character cut off at the very end is forgiven."""
    if b"\0" in data:
        return False
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data" and len(data) - error.start < 4 and len(data) > 1000
    return True


def block_of(data: bytes) -> Block:
    """Return text as text, a picture that a model can see as an image, and anything else as a file.

    Bytes that are almost text, such as GBK or Latin-1, are decoded as far as possible; what cannot is shown as
    U+FFFD.
    """
    if is_text(data):
        return TextBlock(data.decode(errors="replace"))
    kind = media_type(data)
    if kind in _PICTURES:
        return ImageBlock(kind, data)
    if kind == "application/octet-stream" and b"\0" not in data:
        text = decoded(data)
        if text.count("\ufffd") * 10 <= len(text):
            return TextBlock(text)
    return keep(data, kind)


def decoded(data: bytes) -> str:
    """Return text as UTF-8, else as GB18030 (what Chinese Windows programs print), else with U+FFFD for the rest."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        pass
    try:
        text = data.decode("gb18030")
    except UnicodeDecodeError:
        return data.decode(errors="replace")
    chinese = sum("\u4e00" <= character <= "\u9fff" for character in text)
    others = sum(not character.isascii() for character in text) - chinese
    return text if chinese > 4 * others else data.decode(errors="replace")


def keep(content: bytes | IO[bytes], kind: str) -> FileBlock:
    """Write content to a temporary file of the user's own, which the spool takes over. Raises ToolFailed."""
    suffix = mimetypes.guess_extension(kind) or ".bin"
    path = ""
    try:
        descriptor, path = tempfile.mkstemp(suffix, "tooldisco-")
        with os.fdopen(descriptor, "wb") as file:
            if isinstance(content, bytes):
                file.write(content)
            else:
                shutil.copyfileobj(content, file, 1 << 20)
            size = file.tell()
    except OSError as trouble:
        if path:
            Path(path).unlink(missing_ok=True)
        raise ToolFailed(
            f"the tool ran, but its result cannot be kept: {trouble.strerror or trouble}",
            hint=f"make room in {tempfile.gettempdir()}, or make it writable",
        ) from trouble
    return FileBlock(path, kind, size, temporary=True)


def file_block(path: Path) -> FileBlock:
    """Return a file that a tool wrote. Raises ToolFailed when it is not there."""
    try:
        size = path.stat().st_size
    except OSError as trouble:
        raise ToolFailed(f"the tool says that it wrote {path}, which cannot be read: {trouble.strerror}") from trouble
    return FileBlock(str(path.absolute()), mimetypes.guess_type(path.name)[0] or "application/octet-stream", size)
