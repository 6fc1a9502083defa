"""The engine, tantivy, behind what search needs of it: one schema, one writer, and our own errors.

Facts of tantivy 0.27 that shape this: its errors are ValueError or a Rust panic, which is a BaseException in Python;
unsigned fast fields panic; text is given already cut into words, with a space between them, because building its
token objects from Python costs more than all the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tooldisco_cli.errors import IndexBroken

if TYPE_CHECKING:
    from tantivy import DocAddress, Document, Query, Schema, Searcher

Scored = tuple[float, "DocAddress"]

_HEAP = 64_000_000
_SMALL_HEAP = 15_000_000
"""The least that the engine takes."""


def utf8(text: str) -> str:
    """Return a text that the engine can take: lone surrogates become question marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


@contextmanager
def engine_errors() -> Iterator[None]:
    """Turn whatever the engine raises, panics included, into IndexBroken."""
    try:
        yield
    except (ValueError, OSError) as error:
        raise IndexBroken(f"the search engine failed: {error}") from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise IndexBroken(f"the search engine panicked: {error}") from error


@cache
def schema() -> Schema:
    """Return the one schema: ``text`` and ``grams`` are ranked; the others are looked up, filtered or stored."""
    from tantivy import SchemaBuilder

    builder = SchemaBuilder()
    builder.add_text_field("text", tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field("grams", tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field("names", tokenizer_name="whitespace", index_option="basic")
    builder.add_text_field("bridge", tokenizer_name="whitespace", index_option="basic")
    builder.add_text_field("category", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("tag", tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("place", fast=True)
    builder.add_bytes_field("document", stored=True)
    return builder.build()


def write(documents: Iterable[Mapping[str, Any]], folder: Path | None) -> Searcher:
    """Write documents (field to text, texts, number or bytes) into a new index in ``folder`` or in memory."""
    from tantivy import Index

    with engine_errors():
        index = Index(schema(), path=None if folder is None else str(folder), reuse=False)
        writer = index.writer(_HEAP, 1)
        for fields in documents:
            writer.add_document(_document(fields))
        writer.commit()
        writer.wait_merging_threads()
        index.reload()
        return index.searcher()


def update(folder: Path, gone: Iterable[str], documents: Iterable[Mapping[str, Any]]) -> Searcher:
    """Remove from the index of ``folder`` the documents with each key in ``names``, and add others to it."""
    from tantivy import Index

    with engine_errors():
        index = Index.open(str(folder))
        writer = index.writer(_SMALL_HEAP, 1)
        for key in gone:
            writer.delete_documents_by_term("names", key)
        for fields in documents:
            writer.add_document(_document(fields))
        writer.commit()
        writer.wait_merging_threads()
        index.reload()
        return index.searcher()


def _document(fields: Mapping[str, Any]) -> Document:
    from tantivy import Document

    document = Document()
    for name, value in fields.items():
        if isinstance(value, bytes):
            document.add_bytes(name, value)
        elif isinstance(value, int):
            document.add_integer(name, value)
        else:
            for text in [value] if isinstance(value, str) else value:
                document.add_text(name, text)
    return document


def load(folder: Path) -> Searcher:
    """Open the index of ``folder``; raises IndexBroken when there is none or it cannot be read."""
    from tantivy import Index

    with engine_errors():
        index = Index.open(str(folder))
        index.reload()
        return index.searcher()


def ranked(searcher: Searcher, query: Query, limit: int, *, count: bool = True) -> tuple[list[Scored], int]:
    """Return the best ``limit`` documents with every one that ties with the last of them, and how many match.

    Without ``count`` the engine may skip documents that cannot be among the best, and the number is 0.
    """
    wanted = max(limit, 1) + 8
    while True:
        result = searcher.search(query, wanted, count=count)
        hits = result.hits
        if len(hits) < wanted or limit < 1 or hits[-1][0] < hits[limit - 1][0]:
            return hits, int(result.count or 0)  # type: ignore[attr-defined]  # the stub leaves it out
        wanted *= 4


def places(searcher: Searcher, addresses: Sequence[DocAddress]) -> list[int]:
    """Return each document's place in the catalog's order by name, which breaks ties: even if the tool only reads."""
    return [int(place or 0) for place in searcher.fast_field_values("place", list(addresses))]


def stored(searcher: Searcher, address: DocAddress) -> bytes | None:
    """Return the stored JSON of a document, or None for one that is not a tool."""
    found = searcher.doc(address).get_first("document")
    return None if found is None else bytes(found)


def any_has(searcher: Searcher, field: str, term: str) -> bool:
    """Whether a document that is still there has a term in a field."""
    from tantivy import Query

    return bool(searcher.search(Query.term_query(schema(), field, term, "basic"), 1, count=False).hits)


def everything(searcher: Searcher) -> list[DocAddress]:
    """Return every document, also the one that is not a tool."""
    from tantivy import Query

    return [address for _, address in searcher.search(Query.all_query(), searcher.num_docs, count=False).hits]
