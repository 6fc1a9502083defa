"""The meaning of every tool of an index, as rows of a matrix, and how near a query is to each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tooldisco_cli import paths
from tooldisco_cli.atomic import replacing
from tooldisco_cli.search.documents import schema_texts
from tooldisco_cli.search.folding import fold
from tooldisco_cli.search.words import identifier_words, runs

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray
    from tantivy import DocAddress

    from tooldisco_cli.catalog.parallel import Tell
    from tooldisco_cli.search.encoders import Encoder
    from tooldisco_cli.search.index import SearchIndex

FORMAT = 1
"""Grows when the file's shape changes; what a tool's text is made of need not count, as vectors are kept by text."""
MAX_ENCODED = 1_000
"""Characters of a tool's or a clause's text that are encoded; more would blur what a text is about."""
BATCH = 256
"""Texts encoded at once; between batches somebody may be told how far it is."""
KEPT = 50_000
"""How many vectors of other catalogs the file keeps, the latest first."""


def meaning_text(document: Mapping[str, Any]) -> str:
    """Return the text of a stored document that stands for its meaning: name in words, description, parameters."""
    _, texts, _ = schema_texts(document["input_schema"])
    name = " ".join(word for run in runs(fold(document["name"])) for word in identifier_words(run.text) or [run.text])
    keywords = ", ".join(document["keywords"])
    parts = [name, document["title"], document["description"], keywords, *texts]
    text = ". ".join(part for part in parts if part)
    return fold(text[:MAX_ENCODED])


class Vectors:
    """The vectors of all tools of one index. They never change, and threads may share them."""

    def __init__(self, encoder: Encoder, found: Sequence[tuple[int, DocAddress]], matrix: NDArray[float32]) -> None:
        """Take the place and the address of each tool, and its vector as the row of the same number."""
        self._encoder = encoder
        self._found = tuple(found)
        self._rows = {place: row for row, (place, _) in enumerate(found)}
        self._matrix = matrix

    def nearness(self, clauses: Sequence[str]) -> Nearness:
        """Return how near each clause of a query, and the whole of it, is to every tool."""
        texts = [clause[:MAX_ENCODED] for clause in clauses]
        if len(texts) > 1:
            texts.append(" ".join(clauses)[:MAX_ENCODED])
        return Nearness(self._found, self._rows, self._encoder.encode(texts) @ self._matrix.T)


class Nearness:
    """The cosines of one query's clauses, and in the last row of the whole, with every tool."""

    def __init__(
        self, found: Sequence[tuple[int, DocAddress]], rows: Mapping[int, int], cosines: NDArray[float32]
    ) -> None:
        self._found = found
        self._rows = rows
        self._cosines = cosines

    def to(self, place: int, clause: int | None = None) -> float:
        """Return the cosine of a clause, by default of the whole query, with the tool at a place."""
        row = self._rows.get(place)
        return 0.0 if row is None else float(self._cosines[-1 if clause is None else clause, row])

    def nearest(self, count: int, clause: int | None = None) -> list[tuple[int, DocAddress]]:
        """Return the place and the address of the nearest tools, in no order."""
        cosines = self._cosines[-1 if clause is None else clause]
        if len(cosines) > count:
            return [self._found[row] for row in cosines.argpartition(-count)[-count:]]
        return list(self._found)


class Meant(NamedTuple):
    """A tool of an index: its place, its address, and the text that stands for its meaning."""

    place: int
    address: DocAddress
    text: str


def meanings(index: SearchIndex, *, stopped: Callable[[], bool] = lambda: False) -> list[Meant]:
    """Return the tools of an index with their texts, or those it has read once ``stopped``. Raises IndexBroken."""
    found = []
    for place, address, document in index.documents():
        found.append(Meant(place, address, meaning_text(document)))
        if stopped():
            break
    return found


def encoded(
    meant: Sequence[Meant],
    encoder: Encoder,
    *,
    environment: Mapping[str, str] | None = None,
    use_cache: bool = True,
    tell: Tell | None = None,
) -> Vectors:
    """Return the vectors of tools: kept ones where a text was encoded before, the others encoded now.

    ``tell`` is called with how many texts are encoded, and how many must be.
    """
    import numpy as np

    keys = [_key(one.text) for one in meant]
    file = _file(encoder, environment) if use_cache else None
    kept = _read(file, encoder) if file else {}
    new = {key: one.text for key, one in zip(keys, meant, strict=True) if key not in kept}
    vectors = dict(kept)
    order = list(new)
    for first in range(0, len(order), BATCH):
        batch = order[first : first + BATCH]
        # As it will be kept, so that a search answers the same the next time.
        rows = encoder.encode([new[key] for key in batch]).astype(np.float16)
        vectors.update(zip(batch, rows, strict=True))
        if tell:
            tell(first + len(batch), len(order))
    matrix = np.array([vectors[key] for key in keys], dtype=np.float32).reshape(len(keys), encoder.width)
    if file and new:
        wanted = dict.fromkeys(keys)
        others = [key for key in kept if key not in wanted][:KEPT]
        _write(file, encoder, {key: vectors[key] for key in (*wanted, *others)})
    return Vectors(encoder, [(one.place, one.address) for one in meant], matrix)


def vectors_of(
    index: SearchIndex,
    encoder: Encoder,
    *,
    environment: Mapping[str, str] | None = None,
    use_cache: bool = True,
    tell: Tell | None = None,
) -> Vectors:
    """Return the vectors of an index's tools, as ``encoded`` does. Raises IndexBroken."""
    return encoded(meanings(index), encoder, environment=environment, use_cache=use_cache, tell=tell)


def _key(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()


def _file(encoder: Encoder, environment: Mapping[str, str] | None) -> Path:
    return paths.cache_folder(environment) / "vectors" / f"{encoder.name}-{FORMAT}.npy"


def _record(encoder: Encoder) -> Any:
    """One kept vector: the hash of its text, and half-precision numbers, whose error no ranking notices."""
    import numpy as np

    return np.dtype([("key", "V16"), ("vector", "<f2", (encoder.width,))])


def _read(file: Path, encoder: Encoder) -> dict[bytes, NDArray[Any]]:
    """Return the kept vectors; nothing where the file is missing or damaged."""
    import numpy as np

    try:
        rows = np.load(file, mmap_mode="r", allow_pickle=False)
        if rows.dtype != _record(encoder) or rows.ndim != 1 or not np.isfinite(rows["vector"]).all():
            return {}
        return dict(zip((bytes(key) for key in rows["key"]), rows["vector"], strict=True))
    except (OSError, ValueError, EOFError):
        return {}


def _write(file: Path, encoder: Encoder, vectors: Mapping[bytes, NDArray[Any]]) -> None:
    """Replace the file whole, so that no reader ever sees half of one; where that cannot be, nothing is kept."""
    import numpy as np

    rows = np.empty(len(vectors), dtype=_record(encoder))
    for number, (key, vector) in enumerate(vectors.items()):
        rows[number] = (np.void(key), vector)
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with replacing(file) as opened:
            np.save(opened, rows, allow_pickle=False)
