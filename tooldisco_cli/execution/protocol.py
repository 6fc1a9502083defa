"""What an executor is given and what it gives back, and what one execution amounts to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from tooldisco_cli.catalog.snapshot import Catalog, Entry
from tooldisco_cli.errors import TooldiscoError
from tooldisco_cli.settings import Settings

JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Plain text; may hold control sequences until a renderer cleans it."""

    text: str


@dataclass(frozen=True, slots=True)
class JsonBlock:
    """A JSON value."""

    value: Any


@dataclass(frozen=True, slots=True)
class ImageBlock:
    """An image, as bytes of ``media_type`` such as ``image/png``."""

    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class FileBlock:
    """A file that the tool wrote, or bytes that are no image, kept in the spool: path, type and size in bytes."""

    path: str
    media_type: str
    size: int
    temporary: bool = False
    """Made by an executor for content too large for memory: whoever shapes the result takes the file over."""


Block = TextBlock | JsonBlock | ImageBlock | FileBlock


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One checked call on its way to an executor."""

    entry: Entry
    arguments: JsonObject
    """Valid by the tool's schema, defaults filled in."""
    environment: Mapping[str, str]
    """The process's environment, from which templates take ``{env:NAME}``."""
    folder: Path
    """The folder that relative paths are meant against."""
    settings: Settings
    catalog: Catalog | None = None
    """For executors that need a server declared elsewhere in the catalog."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What an executor returns: content, whether the tool itself says it failed, and facts such as an exit code."""

    blocks: tuple[Block, ...] = ()
    is_error: bool = False
    facts: JsonObject = field(default_factory=dict)


class ExecutorModule(Protocol):
    """The two functions that each module in ``execution/executors`` has; both raise errors of our tree."""

    def preview(self, call: Call) -> JsonObject:
        """Return exactly what ``run`` would do, as JSON, secrets masked; without any side effect."""

    async def run(self, call: Call) -> Output:
        """Do it. Cancellation ends whatever was started. Raises ToolFailed, ToolTimedOut or NotReady."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """What a person is asked before a tool runs."""

    reference: str
    preview: JsonObject
    destructive: bool
    """Whether the tool's name must be typed, not only a key pressed."""
    open_world: bool
    arguments: JsonObject


Decision = Literal["once", "session", "no"]
Approver = Callable[[ApprovalRequest], Awaitable[Decision]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """What was left out of a shown result: of how many ``unit`` (rows, items, lines, characters), how many show."""

    unit: str
    total: int
    shown: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One execution, whatever became of it; failures are values here, never raised."""

    reference: str
    blocks: tuple[Block, ...] = ()
    """The result, shaped to the tool's limit and masked."""
    error: TooldiscoError | None = None
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    """What was done for the caller, such as reading an object out of a string."""
    handle: str | None = None
    """Reads the whole result page by page, when it was cut."""
    cut: Cut | None = None
    size: int = 0
    """Size of the whole result in characters of its text form (bytes for files and images)."""
    facts: JsonObject = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether the tool ran and did not report an error."""
        return self.error is None
