"""The library in one object: tools from manifests and from code, searched, rehearsed and run in a few lines.

from tooldisco_cli import Toolbox

box = Toolbox()

@box.tool(category="data", tags=["订单"], read_only=True)
def find_orders(customer: str, limit: int = 10) -> list[dict]:
    '''Find a customer's orders. 查询客户的订单。'''
    ...

for hit in box.search("客户最近的订单"):
    print(hit.name, hit.relevance_score)
done = box.run("find_orders", {"customer": "李雷"})
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

from tooldisco_cli.catalog.loading import load_catalog
from tooldisco_cli.catalog.snapshot import Catalog, Entry
from tooldisco_cli.catalog.tool import Annotations, JsonObject, Layer, Source, Tool
from tooldisco_cli.errors import CatalogInvalid, TooldiscoError
from tooldisco_cli.settings import Settings, load_settings
from tooldisco_cli.tomlfile import Problem

if TYPE_CHECKING:
    from tooldisco_cli.catalog.watching import WatchedCatalog
    from tooldisco_cli.execution.approval import AssumeYes
    from tooldisco_cli.execution.pipeline import DryRun, Workbench
    from tooldisco_cli.execution.protocol import Approver, Execution
    from tooldisco_cli.search.answer import Hit
    from tooldisco_cli.search.habits import Habits
    from tooldisco_cli.search.index import SearchIndex
    from tooldisco_cli.search.semantics import Semantics

F = TypeVar("F", bound=Callable[..., Any])

_LAYER = Layer("code", "")


class Toolbox:
    """A catalog with functions of your own beside the manifests. Functions stand above every layer.

    ``tools_dirs`` are further layers, as with ``--tools-dir``; ``manifests=False`` leaves all layers out;
    ``by_meaning=True`` searches by meaning, too; the first search then waits for the encoder of the semantic extra.
    ``by_usage=False`` orders tools that fit a search alike by name, not by how they were used before. With ``live``
    changes of manifests are taken in before each use: a broken file keeps its last good version, and its errors are
    in ``catalog.problems``.
    Raises UsageError for a folder that is not there, SettingsInvalid for the user's settings file.
    """

    def __init__(
        self,
        tools_dirs: Sequence[str | Path] = (),
        *,
        manifests: bool = True,
        settings: Settings | None = None,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
        by_meaning: bool = False,
        by_usage: bool = True,
        live: bool = False,
    ) -> None:
        self.environment = dict(os.environ if environment is None else environment)
        self.folder = folder or Path.cwd()
        self.settings = load_settings(self.environment) if settings is None else settings
        self._manifests = Catalog()
        self._watched: WatchedCatalog | None = None
        if manifests and live:
            from tooldisco_cli.catalog.watching import WatchedCatalog

            self._watched = WatchedCatalog(
                tools_dirs, cwd=self.folder, settings=self.settings, environment=self.environment
            )
            self._manifests = self._watched.catalog
        elif manifests:
            self._manifests = load_catalog(
                tools_dirs, cwd=self.folder, settings=self.settings, environment=self.environment
            )
        self._registered: dict[str, tuple[Entry, ...]] = {}
        self._catalog = self._manifests
        self._lock = threading.Lock()
        self._indexed: tuple[Catalog, SearchIndex] | None = None
        self._by_meaning = by_meaning
        self._semantics: Semantics | None = None
        self._by_usage = by_usage and self.settings.search_by_usage
        self._habits: Habits | None = None
        self._bench: Workbench | None = None

    @property
    def catalog(self) -> Catalog:
        """The catalog as it stands, an immutable snapshot."""
        self._take_in_changes()
        return self._catalog

    def _take_in_changes(self) -> None:
        with self._lock:
            if self._watched is None or not self._watched.is_stale():
                return
            try:
                self._watched.reload()
                self._manifests = self._watched.catalog
            except TooldiscoError as error:
                last = self._watched.catalog
                problem = Problem("", 0, error.message, suggestion="the tools stay as they were")
                self._manifests = replace(last, problems=(*last.problems, problem))
            self._stack()

    def _stack(self) -> None:
        """Put the registered functions above the manifests."""
        manifests = self._manifests
        layers = (*manifests.layers, _LAYER) if self._registered else manifests.layers
        self._catalog = replace(manifests, by_name={**manifests.by_name, **self._registered}, layers=layers)

    @overload
    def tool(self, function: F, /) -> F: ...
    @overload
    def tool(self, /, **declared: Any) -> Callable[[F], F]: ...
    def tool(self, function: Any = None, /, **declared: Any) -> Any:
        """Register a typed function as a tool, as a decorator; keywords as in ``register``."""
        if function is not None:
            self.register(function, **declared)
            return function

        def decorate(decorated: F) -> F:
            self.register(decorated, **declared)
            return decorated

        return decorate

    def register(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        category: str = "utility",
        tags: Iterable[str] = (),
        keywords: Iterable[str] = (),
        input_schema: JsonObject | None = None,
        read_only: bool = False,
        destructive: bool | None = None,
        **declared: Any,
    ) -> Entry:
        """Add a function, plain or async, to the catalog; it replaces a tool of the same name.

        Name, description and schema come from the function (its type hints, ``Annotated`` with pydantic's ``Field``,
        and what its docstring says of parameters) unless given. ``declared`` takes the other keys of a manifest.
        Raises CatalogInvalid when that makes no valid tool.
        """
        tool = Tool(
            name=name or function.__name__,
            description=description if description is not None else _described(function),
            category=category,
            tags=tuple(tags),
            keywords=tuple(keywords),
            input_schema=input_schema if input_schema is not None else schema_of(function),
            annotations=declared.pop("annotations", None)
            or Annotations(read_only=read_only, destructive=destructive),
            **declared,
        )
        _require_valid(tool)
        path, line = _place(function)
        content = json.dumps([tool.name, tool.version, tool.description, tool.input_schema], default=str)
        entry = Entry(
            tool=tool,
            source=Source(_LAYER, path, line),
            digest=hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest(),
            versions=(tool.version,),
            function=function,
        )
        with self._lock:
            self._registered[tool.name] = (entry,)
            self._stack()
        return entry

    def search(
        self,
        query: str,
        *,
        categories: Sequence[str] = (),
        tags: Sequence[str] = (),
        limit: int = 5,
        regex: bool = False,
    ) -> tuple[Hit, ...]:
        """Return the tools that fit a query best, in Chinese or English.

        With ``regex`` the query is a regular expression over the tools' texts (``SearchIndex.search_regex``). Raises
        UsageError for a wrong one, and where a toolbox is to search by meaning and the extra is missing.
        """
        catalog = self.catalog
        if self._indexed is None or self._indexed[0] is not catalog:
            from tooldisco_cli.search.index import SearchIndex

            self._indexed = (catalog, SearchIndex.build(catalog))
        index = self._indexed[1]
        if regex:
            return index.search_regex(query, categories=categories, tags=tags, limit=limit).hits
        if self._by_meaning:
            index = self._hybrid(index)
        if self._by_usage:
            if self._habits is None:
                from tooldisco_cli.search.habits import Habits

                self._habits = Habits(self.environment)
            index = self._habits.applied(index)
        return index.search(query, categories=categories, tags=tags, limit=limit).hits

    def _hybrid(self, index: SearchIndex) -> SearchIndex:
        if self._semantics is None:
            from tooldisco_cli.search.encoders import UniversalSentenceEncoder
            from tooldisco_cli.search.semantics import Semantics

            encoder = UniversalSentenceEncoder()
            self._semantics = Semantics(lambda: encoder, environment=self.environment)
        return self._semantics.wait(index)

    def definition(self, name: str) -> JsonObject:
        """Return ``name``, ``description`` and ``input_schema`` as a model sees them. Raises UnknownTool."""
        from tooldisco_cli.catalog.definition import model_definition

        return model_definition(self.catalog.get(name))

    def dry_run(self, name: str, arguments: JsonObject | None = None, *, mock: bool = False) -> DryRun:
        """Return what a call would do, without doing it. Raises UnknownTool and InvalidArguments."""
        from tooldisco_cli.execution.pipeline import dry_run

        return dry_run(self.catalog.get(name), arguments or {}, self._workbench(), mock=mock)

    async def execute(
        self,
        name: str,
        arguments: JsonObject | None = None,
        *,
        approver: Approver | None = None,
        assume_yes: AssumeYes = False,
    ) -> Execution:
        """Run a tool; its failure is a value, ``Execution.error``. Raises UnknownTool.

        Tools that are not read-only need ``approver`` or ``assume_yes`` (True, or the names of destructive ones).
        """
        from tooldisco_cli.execution.pipeline import execute

        return await execute(
            self.catalog.get(name), arguments or {}, self._workbench(), approver=approver, assume_yes=assume_yes
        )

    def run(self, name: str, arguments: JsonObject | None = None, *, assume_yes: AssumeYes = False) -> Execution:
        """Run a tool to its end, where no event loop runs. As ``execute``."""
        import asyncio

        return asyncio.run(self.execute(name, arguments, assume_yes=assume_yes))

    def _workbench(self) -> Workbench:
        from tooldisco_cli.execution.pipeline import Workbench

        if self._bench is None or self._bench.catalog is not self._catalog:
            self._bench = Workbench(
                catalog=self._catalog, settings=self.settings, environment=self.environment, folder=self.folder
            )
        return self._bench


def schema_of(function: Callable[..., Any]) -> JsonObject:
    """Return the JSON Schema of a function's arguments, with what its docstring says of each.

    Raises CatalogInvalid for parameters that no JSON object can give: positional-only, ``*args``, or types without
    a schema.
    """
    from docstring_parser import parse
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

    kinds = inspect.Parameter
    parameters = inspect.signature(function).parameters
    wrong = [p.name for p in parameters.values() if p.kind in {kinds.POSITIONAL_ONLY, kinds.VAR_POSITIONAL}]
    if wrong:
        raise CatalogInvalid(f"{function.__qualname__}: {', '.join(wrong)} cannot be given by name")
    bare: Any = _without_context(function) if "context" in parameters else function
    try:
        schema: JsonObject = TypeAdapter(bare).json_schema(mode="validation")
    except (PydanticSchemaGenerationError, PydanticUserError, NameError) as error:
        raise CatalogInvalid(f"{function.__qualname__}: its types have no JSON Schema: {error}") from error
    described = {item.arg_name: item.description for item in parse(inspect.getdoc(function) or "").params}
    properties = schema.setdefault("properties", {})
    for name, part in properties.items():
        if isinstance(part, dict):
            part.pop("title", None)
            if described.get(name):
                part.setdefault("description", described[name])
    return schema


def _without_context(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a stand-in with the same parameters but ``context``, which the executor gives and no model."""

    def stand_in(**_: Any) -> Any: ...

    signature = inspect.signature(function, eval_str=True)
    kept = [parameter for parameter in signature.parameters.values() if parameter.name != "context"]
    stand_in.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
    stand_in.__annotations__ = {p.name: p.annotation for p in kept if p.annotation is not p.empty}
    return stand_in


def _described(function: Callable[..., Any]) -> str:
    from docstring_parser import parse

    text = parse(inspect.getdoc(function) or "")
    return "\n\n".join(part.strip() for part in (text.short_description, text.long_description) if part)


def _place(function: Callable[..., Any]) -> tuple[str, int]:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code else ("", 0)


def _require_valid(tool: Tool) -> None:
    """Hold a tool from code to the rules of manifests: its name, version, schema and examples."""
    import re

    from tooldisco_cli.catalog.checks import check_schema
    from tooldisco_cli.catalog.tool import NAME_PATTERN
    from tooldisco_cli.catalog.versions import is_version

    if not re.fullmatch(NAME_PATTERN, tool.name):
        raise CatalogInvalid(f"{tool.name!r} is no name for a tool", hint="letters, digits, _ and -, at most 64")
    if not is_version(tool.version):
        raise CatalogInvalid(f"{tool.version!r} is no version", hint="such as 1.0")
    if tool.input_schema.get("type") != "object":
        raise CatalogInvalid(f"{tool.name}: the schema of its arguments is no object", hint='give type = "object"')
    errors = [problem for problem in check_schema(tool) if problem.severity == "error"]
    if errors:
        raise CatalogInvalid(f"{tool.name}: {errors[0]}")


__all__ = ["Toolbox", "schema_of"]
