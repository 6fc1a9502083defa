"""What an index was made of, kept beside the engine's files so that a change can be told without a catalog.

One file, ``manifests.bin``: a checksum, a line of JSON, and then the sections of whose lengths it tells. They are
tables of lines that are looked up and changed as the bytes that they are, because decoding ten thousand entries, and
encoding them again, takes longer than all else that an edited manifest costs.
"""

from __future__ import annotations

import json
import os
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from tooldisco_cli.catalog.footprint import Listing

if TYPE_CHECKING:
    from tooldisco_cli.catalog.snapshot import Catalog
    from tooldisco_cli.catalog.tool import LayerKind

RECORD = "manifests.bin"
UNTRUSTED = frozenset({"project", "code"})
"""Kinds of layers of which a record does not tell enough: what their tools may do hangs on approvals, or on code."""


class Table(Collection[str]):
    """Lines of a key and a value, in the order of their keys' bytes; never changed.

    A key holds neither NUL nor a line's end; a value no line's end.
    """

    def __init__(self, lines: bytes = b"") -> None:
        self.lines = lines

    @classmethod
    def of(cls, values: Mapping[str, str]) -> Table:
        """Return the table of some keys and their values."""
        return cls(b"".join(sorted(_line(key, value) for key, value in values.items())))

    def __len__(self) -> int:
        """Return the number of keys."""
        return self.lines.count(b"\n")

    def __iter__(self) -> Iterator[str]:
        """Yield the keys in their order."""
        return (key for key, _ in self.items())

    def __contains__(self, key: object) -> bool:
        """Whether there is a key."""
        return isinstance(key, str) and self.get(key) is not None

    def items(self) -> Iterator[tuple[str, str]]:
        """Yield keys with their values."""
        for line in _text(self.lines).split("\n")[:-1]:
            key, _, value = line.partition("\0")
            yield key, value

    def get(self, key: str) -> str | None:
        """Return a key's value, or None where there is none."""
        start, end = self._span(key)
        return _text(self.lines[start : end - 1]).partition("\0")[2] if end > start else None

    def before(self, key: str) -> str | None:
        """Return the last key that comes before ``key``, which need not be there."""
        start, _ = self._span(key)
        return self._key_at(self.lines.rfind(b"\n", 0, start - 1) + 1) if start else None

    def after(self, key: str) -> str | None:
        """Return the first key that comes after ``key``, which need not be there."""
        _, end = self._span(key)
        return self._key_at(end) if end < len(self.lines) else None

    def changed(self, values: Mapping[str, str | None]) -> Table:
        """Return the table with some values set, and keys of None left out."""
        parts = []
        done = 0
        for line, key in sorted((_line(key, value or ""), key) for key, value in values.items()):
            start, end = self._span(key)
            parts += [self.lines[done:start], b"" if values[key] is None else line]
            done = end
        return Table(b"".join([*parts, self.lines[done:]]))

    def _span(self, key: str) -> tuple[int, int]:
        """Return where the line of a key starts and ends; twice the place where it would stand, if there is none."""
        lines, sought = self.lines, _line(key, "")[:-1]
        low, high = 0, len(lines)
        while low < high:
            start = lines.rfind(b"\n", low, (low + high) // 2) + 1 or low
            end = lines.find(b"\n", start) + 1
            if lines[start : lines.find(b"\0", start) + 1] < sought:
                low = end
            else:
                high = start
        return low, lines.find(b"\n", low) + 1 if lines.startswith(sought, low) else low

    def _key_at(self, start: int) -> str:
        return _text(self.lines[start : self.lines.find(b"\0", start)])


class Record(NamedTuple):
    """What an index was made of."""

    listings: tuple[Listing, ...]
    """The footprint of the manifests."""
    layers: tuple[tuple[LayerKind, str], ...]
    """Each layer's kind and path."""
    contested: frozenset[str]
    """Names that several declarations claim."""
    plain: Table
    """Manifests by which no other tool is touched, with the names that they declare, spaces between."""
    marks: Table
    """Every tool's name with a mark of its document."""
    updates: int = 0
    """How often the index was brought up to date since it was built."""
    replaced: int = 0
    """How many documents were replaced by that."""


def write_record(folder: Path, record: Record) -> None:
    """Put a record beside the engine's files. Raises OSError."""
    sections = [record.plain.lines, record.marks.lines]
    listed = []
    for folder_name, names, stamps, faults in record.listings:
        sections += [_bytes("\0".join(names)), stamps.tobytes()]
        listed.append([folder_name, list(faults), len(names)])
    head = {
        "listings": listed,
        "layers": record.layers,
        "contested": sorted(record.contested),
        "updates": record.updates,
        "replaced": record.replaced,
        "lengths": list(map(len, sections)),
    }
    line = json.dumps(head, ensure_ascii=True, separators=(",", ":")).encode("ascii")
    data = b"".join([line, b"\n", *sections])
    (folder / RECORD).write_bytes(b"%08x" % crc32(data) + data)


def read_record(folder: Path) -> Record | None:
    """Return the record of a generation, or None where there is none that can be read."""
    try:
        data = (folder / RECORD).read_bytes()
        if b"%08x" % crc32(memoryview(data)[8:]) != data[:8]:
            return None
        line, _, body = data[8:].partition(b"\n")
        head = json.loads(line)
        sections = list(_sections(body, head["lengths"]))
        plain, marks = map(Table, sections[:2])
        listings = tuple(_listings(head["listings"], sections[2:]))
        layers = tuple((kind, path) for kind, path in head["layers"])
        return Record(listings, layers, frozenset(head["contested"]), plain, marks, head["updates"], head["replaced"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def read_alone(path: str, record: Record) -> Catalog | None:
    """Return the catalog of one manifest; None when it takes more than one of the record's layers to tell."""
    from tooldisco_cli.catalog.layers import LoadedLayer, read_manifest
    from tooldisco_cli.catalog.stacking import assemble
    from tooldisco_cli.catalog.tool import Layer

    within = [Layer(*layer) for layer in record.layers if path.startswith(os.path.join(layer[1], ""))]  # noqa: PTH118
    if len(within) != 1 or within[0].kind in UNTRUSTED:
        return None
    return assemble([LoadedLayer(within[0], (read_manifest(path),))])


def _sections(data: bytes, lengths: Sequence[int]) -> Iterator[bytes]:
    start = 0
    for length in lengths:
        yield data[start : start + length]
        start += length


def _listings(listed: Iterable[Sequence[object]], sections: Sequence[bytes]) -> Iterator[Listing]:
    for (folder, faults, count), names, numbers in zip(listed, sections[::2], sections[1::2], strict=True):
        stamps = array("q", numbers)
        found = _text(names).split("\0") if count else []
        if not (isinstance(folder, str) and isinstance(faults, list) and len(found) * 3 == len(stamps)):
            raise ValueError("names and stamps do not belong together")
        yield Listing(folder, found, stamps, faults)


def _line(key: str, value: str) -> bytes:
    return _bytes(f"{key}\0{value}\n")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
