"""Meaning for processes that live long: the encoder loads in the background, and joins in as soon as it is there."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Mapping

from tooldisco_cli.errors import TooldiscoError
from tooldisco_cli.search import encoders
from tooldisco_cli.search.encoders import Encoder, UniversalSentenceEncoder
from tooldisco_cli.search.index import SearchIndex


class _Engine:
    """The engine: held by the thread while it reads tools, and for good when the process ends.

    A thread of the background that comes back from the engine's own code when Python is already ending would abort
    the process (PyO3 cannot be unwound); one that is in NumPy or Python is just never continued.
    """

    def __init__(self) -> None:
        self.held = threading.Lock()
        self.ended = False

    def end(self) -> None:
        self.ended = True
        self.held.acquire()


class Semantics:
    """Gives an index its vectors, without anybody waiting for them: until they are there, words alone must do.

    A catalog that changed is a new index; only texts that were never encoded are encoded for it.
    """

    def __init__(
        self,
        load: Callable[[], Encoder] = UniversalSentenceEncoder,
        *,
        environment: Mapping[str, str] | None = None,
        use_cache: bool = True,
    ) -> None:
        self._load = load
        self._environment = environment
        self._use_cache = use_cache
        self._lock = threading.Lock()
        self._encoder: Encoder | None = None
        self._for: SearchIndex | None = None
        self._hybrid: SearchIndex | None = None
        self._thread: threading.Thread | None = None
        self._engine = _Engine()
        weakref.finalize(self, self._engine.end)
        self.failure = ""
        """Why there is no hybrid search, once that is known."""

    def of(self, index: SearchIndex) -> SearchIndex:
        """Return the hybrid form of an index when it is ready, else the index itself, having started to make it."""
        with self._lock:
            if self._for is index:
                return self._hybrid or index
            if not self.failure and (self._thread is None or not self._thread.is_alive()):
                self._thread = threading.Thread(target=self._prepare, args=(index,), daemon=True, name="semantics")
                self._thread.start()
        return index

    def wait(self, index: SearchIndex) -> SearchIndex:
        """Return the hybrid form of an index, waiting for it; the index itself where there cannot be one."""
        found = self.of(index)
        while found is index and not self.failure:
            thread = self._thread
            if thread is not None:
                thread.join()
            found = self.of(index)
        return found

    def _prepare(self, index: SearchIndex) -> None:
        from tooldisco_cli.search.vectors import encoded, meanings

        engine = self._engine
        try:
            with engine.held:
                meant = meanings(index, stopped=lambda: engine.ended)
            if self._encoder is None:
                self._encoder = self._load()
            vectors = encoded(meant, self._encoder, environment=self._environment, use_cache=self._use_cache)
        except TooldiscoError as error:
            self.failure = error.message
            return
        except Exception as error:
            self.failure = f"{type(error).__name__}: {error}"
            return
        with self._lock:
            self._for, self._hybrid = index, index.with_meaning(vectors)


def semantics(enabled: bool, environment: Mapping[str, str] | None = None) -> Semantics | None:
    """Return what a session searches by meaning with; None where that is switched off or the extra is missing.

    Nothing is loaded before the first search: from then on a session is waiting for its model most of the time.
    """
    return Semantics(environment=environment) if enabled and encoders.available() else None
