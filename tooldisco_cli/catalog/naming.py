"""When two spellings are the same name; in a module of its own, as every search asks nothing else of a catalog."""

from __future__ import annotations

import re
import unicodedata


def normalised_name(name: str) -> str:
    """Return the form in which ``sendEmail``, ``send-email`` and ``Send Email`` are the same: ``send_email``."""
    if name.isascii() and name.islower() and name.isidentifier() and "__" not in name and name[0] != "_" != name[-1]:
        return name  # as most names are written
    text = unicodedata.normalize("NFKC", name).strip()
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", text)
    return re.sub(r"[\W_]+", "_", text).strip("_").lower()
