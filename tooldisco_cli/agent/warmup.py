"""Imports the SDK, which takes over a second, while a person reads the prompt and the catalog is loaded."""

from __future__ import annotations

import contextlib
import threading


def begin_importing() -> threading.Thread:
    """Start importing the SDK in the background; an import elsewhere then waits for the rest of it.

    A failure is not told here: whoever needs the SDK will meet it again.
    """

    def load() -> None:
        with contextlib.suppress(Exception):
            import anthropic
            import anthropic.resources.messages  # noqa: F401

    thread = threading.Thread(target=load, name="tooldisco-warmup", daemon=True)
    thread.start()
    return thread
