"""Answers the calls of a model: to the meta tools, and to tools whose definitions it was given directly."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from tooldisco_cli.catalog.definition import model_definition
from tooldisco_cli.catalog.snapshot import Catalog, Entry
from tooldisco_cli.catalog.watching import difference
from tooldisco_cli.errors import InvalidArguments, NothingFound, TooldiscoError, UnknownTool, UsageError
from tooldisco_cli.execution.approval import AssumeYes
from tooldisco_cli.execution.pipeline import Workbench, dry_run, execute
from tooldisco_cli.execution.protocol import Approver, Block, Execution, TextBlock
from tooldisco_cli.execution.spool import Spool
from tooldisco_cli.meta import definitions as names
from tooldisco_cli.meta.wording import compact, definition_first, found_tools, nothing_found, result_texts
from tooldisco_cli.search.answer import Answer
from tooldisco_cli.search.habits import Habits
from tooldisco_cli.search.index import SearchIndex
from tooldisco_cli.search.live import Current, LiveCatalog
from tooldisco_cli.search.semantics import Semantics

JsonObject = dict[str, Any]
Asker = Callable[[str, Sequence[str]], Awaitable[str]]
"""Puts a question with options (perhaps none) before the person, and returns the answer."""

PAGE_CHARS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The answer to one call, and what it was, for whoever shows the session."""

    blocks: tuple[Block, ...]
    is_error: bool = False
    tool: str = ""
    """The catalog's tool that was meant, where there is one."""
    execution: Execution | None = None
    answer: Answer | None = None
    rehearsed: bool = False
    """Whether it was only a dry run."""
    references: tuple[str, ...] = ()
    """Names that a search found, for discovery by ``tool_reference``."""


@dataclass(kw_only=True)
class MetaTools:
    """What answers the model's calls in one session; ``shown`` is what the session's searches have shown so far."""

    catalog: Catalog
    index: SearchIndex
    bench: Workbench
    approver: Approver | None = None
    asker: Asker | None = None
    assume_yes: AssumeYes = False
    rehearse: bool = False
    """Whether tools are only rehearsed: each call is answered with its preview."""
    shown: set[str] = field(default_factory=set)
    meaning: Semantics | None = None
    """Search by meaning as soon as its encoder is loaded; None to search by words alone."""
    habits: Habits | None = None
    """Earlier use, which orders hits that fit alike; None to order by words alone."""
    live: LiveCatalog | None = None
    """What keeps ``catalog`` and ``index`` current; None to stay with those of the beginning."""
    given: frozenset[str] = frozenset()
    """Tools whose definitions the model has from the beginning, such as pinned ones; those are never sent anew."""
    outdated: set[str] = field(default_factory=set)
    """Tools whose definition is another by now than the one that the model was shown or given."""

    def definitions(self) -> list[JsonObject]:
        """Return the meta tools' definitions, the same bytes for the same categories."""
        return names.meta_tools(self.catalog.categories(), with_person=self.asker is not None)

    async def refresh(self) -> tuple[str, ...]:
        """Take in what changed in the manifests; return what a person should be told of it.

        What runs meanwhile goes on with what it began with. The definitions that the model was given stay, because
        other bytes would cost their place in the cache; a tool that is declared otherwise by now answers its next
        call with its new definition. Permission given by name for one session ends with what it was given for.
        """
        if self.live is None:
            return ()
        notices = await asyncio.to_thread(self.live.refresh)
        old, new = self.catalog, self.live.current
        if new.catalog is not old:
            self._replace(old, new)
        return notices

    def _replace(self, old: Catalog, current: Current) -> None:
        new = current.catalog
        self.catalog, self.index = new, current.index
        self.bench = replace(self.bench, catalog=new)
        tools = difference(old, new)
        self.outdated.update(
            name for name in tools.changed if model_definition(old.get(name)) != model_definition(new.get(name))
        )
        self.outdated.update(self.given.intersection(tools.removed))
        self.shown.difference_update(tools.removed)
        if not isinstance(self.assume_yes, bool):
            self.assume_yes = {*self.assume_yes} - {*tools.changed, *tools.removed}

    def is_parallel(self, name: str, given: Any) -> bool:
        """Whether a call may run beside others: it changes nothing and asks nobody."""
        if name in {names.SEARCH, names.CATEGORIES, names.READ_RESULT}:
            return True
        target = str(given.get("tool_name", "")) if name == names.EXECUTE and isinstance(given, dict) else name
        try:
            return self.catalog.get(target).tool.annotations.read_only or self.rehearse
        except TooldiscoError:
            return True

    async def answer(self, name: str, given: Any) -> Reply:
        """Answer one call; every failure is a reply with ``is_error`` and a message that a model can act on."""
        try:
            arguments = _object(given)
            if name == names.SEARCH:
                return self._search(arguments)
            if name == names.CATEGORIES:
                return Reply(blocks=(TextBlock(compact({"categories": self.catalog.categories()})),))
            if name == names.READ_RESULT:
                return self._read(arguments)
            if name == names.ASK_USER:
                return await self._ask(arguments)
            if name == names.EXECUTE:
                return await self._execute(arguments)
            entry = self.catalog.get(name)
            if entry.name in self.outdated:
                return self._definition_of(entry)
            return await self._run(entry, arguments)
        except TooldiscoError as error:
            return failed(error)

    def _search(self, arguments: JsonObject) -> Reply:
        query, category = arguments.get("query"), arguments.get("category")
        if not isinstance(query, str) or not query.strip():
            raise InvalidArguments("query is missing", hint="give a few words for what the tool must do")
        limit = arguments.get("max_results", names.DEFAULT_RESULTS)
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= names.MAX_RESULTS:
            raise InvalidArguments(f"max_results must be a whole number from 1 to {names.MAX_RESULTS}")
        regex = arguments.get("regex", False)
        if not isinstance(regex, bool):
            raise InvalidArguments("regex must be true or false")
        categories = self.catalog.categories()
        if category is not None and category not in categories:
            known = ", ".join(list(categories)[:20])
            raise InvalidArguments(f"there is no category {category!r}", hint=f"leave it out, or one of: {known}")
        wanted = [category] if category else ()
        if regex:
            try:
                answer = self.index.search_regex(query, categories=wanted, limit=limit)
            except UsageError as error:
                raise InvalidArguments(error.message, hint=error.hint) from error
        else:
            index = self.index if self.meaning is None else self.meaning.of(self.index)
            index = index if self.habits is None else self.habits.applied(index)
            answer = index.search(query, categories=wanted, limit=limit)
        # The index on disk can be newer than this catalog by a moment.
        answer = answer._replace(hits=tuple(hit for hit in answer.hits if hit.name in self.catalog.by_name))
        entries = {hit.name: self.catalog.get(hit.name) for hit in answer.hits}
        self.shown.update(entries)
        self.outdated.difference_update(entries.keys() - self.given)
        found = bool(answer.hits)
        body = found_tools(answer, entries) if found else nothing_found(answer, categories, category, regex=regex)
        return Reply(blocks=(TextBlock(compact(body)),), answer=answer, references=tuple(entries))

    def _read(self, arguments: JsonObject) -> Reply:
        handle, page = arguments.get("handle"), arguments.get("page", 1)
        if not isinstance(handle, str) or isinstance(page, bool) or not isinstance(page, int):
            raise InvalidArguments("give handle as text and page as a whole number")
        read = Spool(environment=self.bench.environment).read_page(handle, page, PAGE_CHARS)
        head = f"[page {read.page} of {read.pages}]\n"
        return Reply(blocks=(TextBlock(head + read.text),))

    async def _ask(self, arguments: JsonObject) -> Reply:
        question, options = arguments.get("question"), arguments.get("options") or []
        if not isinstance(question, str) or not question.strip() or not isinstance(options, list):
            raise InvalidArguments("give question as text, and options as a list of texts or not at all")
        if self.asker is None:
            raise NothingFound(
                "nobody is here to answer", hint="go on with what you know, or end and say what you need"
            )
        said = await self.asker(question, [str(option) for option in options])
        return Reply(blocks=(TextBlock(said or "(no answer)"),))

    async def _execute(self, arguments: JsonObject) -> Reply:
        name, given = arguments.get("tool_name"), arguments.get("tool_input", {})
        if not isinstance(name, str) or not name:
            raise InvalidArguments("tool_name is missing", hint="give the exact name that search_tools has shown")
        if name in names.META_NAMES:
            raise InvalidArguments(f"{name} is called directly, not through {names.EXECUTE}")
        entry = self.catalog.get(name)
        self._refuse_old(entry)
        if entry.name not in self.shown or entry.name in self.outdated:
            return self._definition_of(entry)
        return await self._run(entry, given)

    def _definition_of(self, entry: Entry) -> Reply:
        """Refuse a call that was made without knowing the definition, with the definition."""
        body = definition_first(entry, model_definition(entry), changed=entry.name in self.outdated)
        self.shown.add(entry.name)
        self.outdated.discard(entry.name)
        return Reply(blocks=(TextBlock(compact(body)),), is_error=True, tool=entry.reference)

    def _refuse_old(self, entry: Entry) -> None:
        """Refuse a version that should no longer be used, where there is something to use instead."""
        tool = entry.tool
        today = dt.datetime.now(dt.UTC).date()
        gone = tool.sunset is not None and tool.sunset <= today
        instead = tool.superseded_by or ("" if entry.reference == entry.name else entry.name)
        if (gone or tool.version in entry.deprecated or (tool.superseded_by and gone)) and instead:
            raise UnknownTool(
                f"{entry.reference} is deprecated{' and no longer works' if gone else ''}",
                hint=f"use {instead} instead",
                details={"suggestions": [instead]},
            )

    async def _run(self, entry: Entry, given: Any) -> Reply:
        if self.rehearse:
            rehearsed = dry_run(entry, given, self.bench, mock=False)
            body = {"dry_run": True, "tool": rehearsed.reference, "would_run": rehearsed.preview,
                    "note": "nothing was run: this session is a rehearsal"}  # fmt: skip
            if rehearsed.missing:
                body["missing"] = [asdict(lack) for lack in rehearsed.missing]
            return Reply(blocks=(TextBlock(compact(body)),), tool=entry.reference, rehearsed=True)
        done = await execute(entry, given, self.bench, approver=self.approver, assume_yes=self.assume_yes)
        blocks = tuple(result_texts(done))
        return Reply(blocks=blocks, is_error=not done.ok, tool=entry.reference, execution=done)


def failed(error: TooldiscoError) -> Reply:
    """Return a failure as a reply: its code, message, hint and details, with at most three suggestions."""
    body = error.as_dict()
    if isinstance(body.get("suggestions"), list):
        body["suggestions"] = body["suggestions"][:3]
    return Reply(blocks=(TextBlock(compact({"error": body})),), is_error=True)


def _object(given: Any) -> JsonObject:
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError) as error:
            raise InvalidArguments(f"the input is no JSON object: {error}") from error
    if not isinstance(given, dict):
        raise InvalidArguments("the input must be a JSON object")
    return given
