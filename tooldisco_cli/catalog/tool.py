"""What a tool is: the data that a manifest declares, as frozen dataclasses.

This module imports nothing but the standard library, because every command reads tools and most of them must start at
once; so nothing here has slots, either: they make a class half as dear again to define, and save a hundred thousand
tools a twentieth of their memory. The checks that pydantic does on the same classes are in
:mod:`tooldisco_cli.catalog.manifest`.
"""

from __future__ import annotations

import datetime as dt
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

JsonObject = dict[str, Any]

FORMAT = 1
NAME_PATTERN = r"^[a-zA-Z0-9_-]{1,64}$"
RESERVED_NAMES = frozenset({"search_tools", "execute_dynamic_tool", "list_categories", "read_result", "ask_user"})
"""Names of the meta tools, which a model must be able to tell from the catalog's."""
_STRICT: JsonObject = {"extra": "forbid", "use_attribute_docstrings": True}


class Pattern:
    """A regular expression that a text must match, understood by pydantic and by :mod:`tooldisco_cli.quickdecode`."""

    def __init__(self, regex: str) -> None:
        self.regex = regex

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return {**handler(source), "pattern": self.regex}

    def checks(self) -> Iterator[Callable[[Any], bool]]:
        """Yield what holds for values that are beyond doubt: the two engines of expressions agree about ASCII."""
        yield lambda text: text.isascii() and re.fullmatch(self.regex, text) is not None


class Bounds:
    """Limits of a number (``ge``, ``gt``, ``le``) or of a length (``min_length``), understood like a pattern."""

    def __init__(self, **limits: float) -> None:
        self.limits = limits

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return {**handler(source), **self.limits}

    def checks(self) -> Iterator[Callable[[Any], bool]]:
        """Yield what holds for values within the limits."""
        for name, limit in self.limits.items():
            yield partial(_keeps, name, limit)


def _keeps(name: str, limit: float, value: Any) -> bool:
    return len(value) >= limit if name == "min_length" else bool(getattr(operator, name)(value, limit))


Name = Annotated[str, Pattern(NAME_PATTERN)]
Text = Annotated[str, Bounds(min_length=1)]


@dataclass(frozen=True, kw_only=True)
class Annotations:
    """What running the tool may do to the world, with the meanings of MCP's tool annotations."""

    __pydantic_config__: ClassVar[JsonObject] = _STRICT

    read_only: bool = False
    """The tool changes nothing."""
    destructive: bool | None = None
    """The tool may delete or overwrite. Left out, it counts as destructive unless it is read-only, as in MCP."""
    idempotent: bool = False
    """Calling it again with the same arguments changes nothing more."""
    open_world: bool = True
    """It reaches beyond this machine, such as to a web service."""

    @property
    def may_destroy(self) -> bool:
        """Whether an approval must be explicit: declared destructive, or not declared and not read-only."""
        return not self.read_only if self.destructive is None else self.destructive


@dataclass(frozen=True, kw_only=True)
class Requires:
    """What must be present on the machine before the tool can run."""

    __pydantic_config__: ClassVar[JsonObject] = _STRICT

    env: tuple[Text, ...] = ()
    """Environment variables that must be set."""
    python: tuple[Text, ...] = ()
    """Importable Python modules."""
    programs: tuple[Text, ...] = ()
    """Programs on PATH."""
    extra: str = ""
    """The extra of tooldisco-cli that installs the Python modules, such as ``excel``."""


@dataclass(frozen=True, kw_only=True)
class Example:
    """One call of the tool, and what it answered."""

    __pydantic_config__: ClassVar[JsonObject] = _STRICT

    input: JsonObject = field(default_factory=dict)
    """Arguments that fit the tool's schema."""
    result: Any = None
    """What the tool answers to them; `dry-run --mock` returns it."""
    note: str = ""
    """What the example shows."""


@dataclass(frozen=True, kw_only=True)
class PythonExecutor:
    """Calls a Python function with the arguments as keywords."""

    __pydantic_config__: ClassVar[JsonObject] = _STRICT

    function: Annotated[str, Pattern(r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")]
    """`package.module:function`, plain or async."""
    arguments: JsonObject = field(default_factory=dict)
    """Fixed keyword arguments beside the tool's own; values may be templates, such as `{env:NAME}`."""


@dataclass(frozen=True, kw_only=True)
class CommandExecutor:
    """Runs a program with a list of arguments; no shell is ever involved."""

    __pydantic_config__: ClassVar[JsonObject] = _STRICT

    argv: Annotated[tuple[Any, ...], Bounds(min_length=1)]
    """The program and its arguments; each is a template. A list inside is dropped whole when it lacks a value."""
    stdin: str | None = None
    """Text for the program's standard input, a template."""
    cwd: str | None = None
    """Working folder, a template; else the folder that tooldisco was started in."""
    env: dict[str, str] = field(default_factory=dict)
    """Variables for the program beside PATH, HOME, LANG and the like; values are templates."""
    output: Literal["text", "json", "lines"] = "text"
    """How to read what the program prints."""
    success_exit_codes: tuple[int, ...] = (0,)
    """Exit codes that are no failure."""


@dataclass(frozen=True, kw_only=True)
class HttpExecutor:
    """Sends one HTTP request."""

    __pydantic_config__: ClassVar[JsonObject] = _STRICT

    url: Text
    """Address, a template; arguments are percent-encoded into it."""
    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] = "GET"
    query: dict[str, Any] = field(default_factory=dict)
    """Query parameters; a parameter without a value is left out."""
    headers: dict[str, str] = field(default_factory=dict)
    basic_auth: tuple[str, str] | None = None
    """User and password, templates."""
    bearer: str | None = None
    """Token of an Authorization header, a template."""
    json: Any = None
    """Body sent as JSON: a template of any shape."""
    form: dict[str, Any] | None = None
    """Body sent as a form."""
    body: str | None = None
    """Body sent as text, a template."""
    result: str | dict[str, str] | None = None
    """A JSON pointer into the answer, or names with one pointer each; left out, the whole answer."""
    expect: dict[str, Any] = field(default_factory=dict)
    """JSON pointers with the value that each must have, for services that say 200 and fail in the body, such as
    `{"/errcode" = 0}`; any other answer is a failure of the tool."""
    allow_private: bool = False
    """Whether the request may go to private, loopback and link-local addresses."""


@dataclass(frozen=True, kw_only=True)
class McpExecutor:
    """Calls a tool of an MCP server."""

    __pydantic_config__: ClassVar[JsonObject] = _STRICT

    server: Text
    """Name under `[mcp_servers]` of this manifest or of the settings."""
    tool: str = ""
    """Its name on that server; left out, the tool's own name."""


@dataclass(frozen=True, kw_only=True)
class McpServer:
    """How to reach an MCP server: a command to start (stdio), or a URL (streamable HTTP)."""

    __pydantic_config__: ClassVar[JsonObject] = _STRICT

    command: tuple[Text, ...] = ()
    url: str = ""
    env: dict[str, str] = field(default_factory=dict)
    """Variables for the command; values may be `{env:NAME}`."""
    headers: dict[str, str] = field(default_factory=dict)
    """Headers for the URL; values may hold `{env:NAME}`."""
    cwd: str | None = None
    timeout_seconds: Annotated[float, Bounds(gt=0)] = 30.0
    """How long it may take to start and to list its tools."""
    allow_private: bool = False


Executor = PythonExecutor | CommandExecutor | HttpExecutor | McpExecutor


@dataclass(frozen=True, kw_only=True)
class Tool:
    """One version of a tool, as its manifest declares it (after the file's defaults)."""

    __pydantic_config__: ClassVar[JsonObject] = _STRICT

    name: Name
    """What people and models call it."""
    title: str = ""
    """A short name for people, in any language."""
    description: str = ""
    """What it does and when to use it; the model reads this."""
    category: str = "utility"
    tags: tuple[Text, ...] = ()
    keywords: tuple[Text, ...] = ()
    """Other words for it: searched, never shown to the model."""
    expected_queries: tuple[Text, ...] = ()
    """Queries that must find this tool: `tooldisco eval` checks them; they are never indexed."""
    owner: str = ""
    version: Text = "1.0"
    deprecated_versions: tuple[Text, ...] = ()
    """Versions of this name that should no longer be used."""
    superseded_by: str | None = None
    """The tool to use instead."""
    sunset: dt.date | None = None
    """The day from which it will no longer work."""
    related: tuple[Name, ...] = ()
    aliases: tuple[Text, ...] = ()
    """Other names that find and call it."""
    enabled: bool = True
    """False removes the tool, and every lower layer's tool of this name, from the catalog."""
    timeout_seconds: Annotated[float, Bounds(gt=0, le=86400)] = 30.0
    max_result_chars: Annotated[int, Bounds(ge=200)] = 20000
    """How much of a result is shown; the whole is kept behind a handle."""
    annotations: Annotations = field(default_factory=Annotations)
    requires: Requires = field(default_factory=Requires)
    input_schema: JsonObject = field(default_factory=lambda: {"type": "object", "properties": {}})
    """JSON Schema 2020-12 of the arguments, an object at the top."""
    output_schema: JsonObject | None = None
    """JSON Schema of the result, where it is known."""
    examples: tuple[Example, ...] = ()
    python: PythonExecutor | None = None
    command: CommandExecutor | None = None
    http: HttpExecutor | None = None
    mcp: McpExecutor | None = None

    @property
    def executor(self) -> Executor | None:
        """How the tool runs; None only for a mask, and for a tool registered in code."""
        return self.python or self.command or self.http or self.mcp


LayerKind = Literal["shipped", "system", "user", "project", "tools-dir", "code"]


class Layer(NamedTuple):
    """One ``tools.d`` directory and its place in the stack; later layers override earlier ones."""

    kind: LayerKind
    path: str


class Source(NamedTuple):
    """Where a tool was declared."""

    layer: Layer
    path: str
    line: int
