"""Gives tools from elsewhere names that models accept: letters, digits, ``_`` and ``-``, at most 64."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

from tooldisco_cli.catalog.tool import NAME_PATTERN

_MARK = 8
"""Hexadecimal digits of a name's own hash that tell it from others."""


def fits(name: str) -> bool:
    """Return whether a model may be given this name as it is."""
    return re.fullmatch(NAME_PATTERN, name) is not None


def accepted_names(originals: Iterable[str]) -> dict[str, str]:
    """Return a distinct accepted name for each original; those that fit keep theirs.

    What does not fit becomes ``_``; accents are dropped. Where that loses letters (``文案工具``), or two names become
    one, the name ends with a hash of the original, so that it is the same whatever else is imported beside it.
    """
    distinct = list(dict.fromkeys(originals))
    kept = {name for name in distinct if fits(name)}
    drafts = {name: _draft(name) for name in distinct if name not in kept}
    counts = Counter(drafts.values())
    names: dict[str, str] = {name: name for name in kept}
    taken = set(kept)
    for original, draft in drafts.items():
        name = draft
        if counts[draft] > 1 or name in taken:
            name = _marked(draft, original)
        while name in taken:  # a name that looks like our own hash; hash again
            name = _marked(draft, f"{original}\0{name}")
        taken.add(name)
        names[original] = name
    return names


def _draft(original: str) -> str:
    plain = "".join(c for c in unicodedata.normalize("NFKD", original) if not unicodedata.combining(c))
    text = re.sub(r"[^a-zA-Z0-9_-]+", "_", plain).strip("_")
    loses_letters = any(c.isalnum() and not c.isascii() for c in plain)
    if loses_letters or len(text) > 64 or not text:
        return _marked(text or "tool", original)
    return text


def _marked(text: str, original: str) -> str:
    mark = hashlib.sha256(original.encode("utf-8", "surrogatepass")).hexdigest()[:_MARK]
    return f"{text[: 64 - _MARK - 1].rstrip('_')}_{mark}"


def file_stem(group: str) -> str:
    """Return a file name, without its ending, that every file system takes; lower case, letters of any script."""
    text = unicodedata.normalize("NFKC", group).casefold()
    stem = re.sub(r"[^\w-]+", "-", text)[:60].strip("-_") or "tools"
    reserved = re.fullmatch(r"con|prn|aux|nul|com\d|lpt\d", stem)
    return f"{stem}-tools" if reserved else stem
