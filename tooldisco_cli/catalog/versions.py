"""The order of versions: that of Python packages (PEP 440), as the ``packaging`` library has it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_LONGEST = 100
"""Characters of a version; beyond, Python refuses to read its numbers anyway."""
_PLAIN = re.compile(r"\d{1,18}(?:\.\d{1,18})*")


def is_version(text: str) -> bool:
    """Return whether ``text`` is a version, such as ``2``, ``1.4.0`` or ``2.0rc1``."""
    if len(text) > _LONGEST:
        return False
    if _PLAIN.fullmatch(text):
        return True
    from packaging.version import InvalidVersion, Version

    try:
        Version(text)
    except InvalidVersion:
        return False
    return text == text.strip()


def version_identity(text: str) -> str:
    """Return the one form of all spellings of a version: ``1`` for ``1.0``, ``01`` and ``1``.

    Text that is no version stands for itself.
    """
    if len(text) > _LONGEST:
        return text
    if _PLAIN.fullmatch(text):
        numbers = [int(part) for part in text.split(".")]
        while len(numbers) > 1 and not numbers[-1]:
            numbers.pop()
        return ".".join(map(str, numbers))
    from packaging.utils import canonicalize_version

    return canonicalize_version(text.strip())


def newest_first(versions: Iterable[str]) -> list[str]:
    """Return versions in falling order; those that are equal, in the order given. All must be versions."""
    listed = list(versions)
    if len(listed) < 2:
        return listed
    if all(_PLAIN.fullmatch(text) for text in listed):
        return sorted(listed, key=_numbers, reverse=True)
    from packaging.version import Version

    return sorted(listed, key=Version, reverse=True)


def _numbers(text: str) -> Any:
    return [int(part) for part in version_identity(text).split(".")]
