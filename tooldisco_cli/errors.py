"""Every failure that tooldisco reports, as one tree.

Each class carries what a caller needs to react: ``code`` (a stable word for machines), ``exit_code`` (what the
command line ends with), a message that says what is wrong, and a hint that says what to do about it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar


class TooldiscoError(Exception):
    """Base of all failures; raised itself never.

    ``details`` is plain JSON data for machines, such as the schema that arguments did not fit.
    """

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 4

    def __init__(self, message: str, *, hint: str = "", details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details: dict[str, Any] = dict(details or {})

    def as_dict(self) -> dict[str, Any]:
        """Return the error as the JSON object that ``--json`` and the meta tools print."""
        body: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.hint:
            body["hint"] = self.hint
        return body | self.details


class NothingFound(TooldiscoError):
    """A search, a name or a filter matched nothing."""

    code = "nothing_found"
    exit_code = 1


class UnknownTool(NothingFound):
    """No tool, version or alias of that name is in the catalog."""

    code = "unknown_tool"


class GateNotMet(TooldiscoError):
    """A threshold that the caller set was missed, such as ``eval --fail-under``."""

    code = "gate_not_met"
    exit_code = 1


class UsageError(TooldiscoError):
    """The command was called in a way that it does not understand."""

    code = "usage"
    exit_code = 2


class InvalidArguments(TooldiscoError):
    """Arguments do not fit the tool's ``input_schema``."""

    code = "invalid_arguments"
    exit_code = 2


class CatalogInvalid(TooldiscoError):
    """A manifest, or the catalog as a whole, breaks the format."""

    code = "catalog_invalid"
    exit_code = 3


class SettingsInvalid(CatalogInvalid):
    """The user's settings file breaks its format."""

    code = "settings_invalid"


class ToolFailed(TooldiscoError):
    """The tool ran and failed, or reported an error of its own."""

    code = "tool_failed"
    exit_code = 4


class ToolTimedOut(ToolFailed):
    """The tool was stopped at its ``timeout_seconds``."""

    code = "timed_out"


class Refused(TooldiscoError):
    """A person or a policy said no; nothing was run."""

    code = "refused"
    exit_code = 5


class Untrusted(Refused):
    """The tool comes from a layer that nobody has approved yet, or it changed since it was approved."""

    code = "untrusted"


class ModelUnavailable(TooldiscoError):
    """The model service cannot be used: no credentials, no connection, an overloaded or refusing server."""

    code = "model_unavailable"
    exit_code = 6


class IndexBroken(TooldiscoError):
    """The search index cannot be read or written; building it anew is the cure."""

    code = "index_broken"


class NotReady(TooldiscoError):
    """Something that the tool needs is missing: a variable, a program or a package."""

    code = "not_ready"
    exit_code = 7


class Interrupted(TooldiscoError):
    """The user pressed Ctrl-C, or the process was asked to end."""

    code = "interrupted"
    exit_code = 130
