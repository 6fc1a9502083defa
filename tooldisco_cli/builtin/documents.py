"""PDF files."""

from __future__ import annotations

import time
from typing import Any

from tooldisco_cli.builtin import places
from tooldisco_cli.builtin.context import Context

MAX_BYTES = 100_000_000
MAX_CHARS = 2_000_000
SECONDS = 90.0


def read_pdf(*, path: str, first_page: int = 1, max_pages: int = 20, context: Context) -> dict[str, Any]:
    """Return the text of pages and facts about the document.

    It stops at two million characters or 90 seconds and says ``more``. Raises ValueError for what is no PDF, and for
    one that needs a password.
    """
    import pypdf
    from pypdf.errors import PyPdfError

    with places.open_file(path, context, max_bytes=MAX_BYTES) as file:
        try:
            reader = pypdf.PdfReader(file, strict=False)
            if reader.is_encrypted and not reader.decrypt(""):
                raise ValueError(f"{path} needs a password")
            count = len(reader.pages)
            if first_page > max(count, 1):
                raise ValueError(f"{path} has {count} pages, so no page {first_page}")
            facts = reader.metadata
            pages: list[dict[str, Any]] = []
            left, deadline = MAX_CHARS, time.monotonic() + SECONDS
            for number in range(first_page, min(count, first_page + max_pages - 1) + 1):
                if left <= 0 or time.monotonic() > deadline:
                    break
                text = reader.pages[number - 1].extract_text()[:left]
                left -= len(text)
                pages.append({"page": number, "text": text})
            return {
                "page_count": count,
                "title": str(facts.title or "") if facts else "",
                "author": str(facts.author or "") if facts else "",
                "encrypted": reader.is_encrypted,
                "pages": pages,
                "more": first_page - 1 + len(pages) < count,
            }
        except (PyPdfError, RecursionError, KeyError, TypeError, AttributeError, IndexError) as error:
            raise ValueError(f"{path} cannot be read as PDF: {error}") from None
