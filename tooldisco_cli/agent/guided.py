"""A backend without a model: a person chooses the tool and fills in its parameters, in the same loop and record."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Protocol

from tooldisco_cli.agent.backend import JsonObject, Piece, Request, Turn
from tooldisco_cli.catalog.snapshot import Catalog
from tooldisco_cli.errors import InvalidArguments, UsageError
from tooldisco_cli.execution.pairs import parse_pairs
from tooldisco_cli.meta.definitions import EXECUTE, SEARCH

_OTHERWISE = "other words to search for, a /pattern/, or Enter to end"


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing to choose from: what it is called, and what it does."""

    name: str
    about: str = ""


class Person(Protocol):
    """Who answers in place of a model."""

    async def choose(self, question: str, choices: Sequence[Choice], *, otherwise: str) -> int | str:
        """Return the index of a choice, or other text that the person typed (empty to end)."""

    async def fill(self, name: str, schema: Mapping[str, Any], *, required: bool, trouble: str) -> str:
        """Return what the person typed for one parameter, empty to leave it out; ``trouble`` says what was wrong."""


class GuidedBackend:
    """Searches for what the person says, lets them choose and fill in, and hands the call to the session."""

    name = "guided"

    def __init__(self, catalog: Callable[[], Catalog], person: Person) -> None:
        self._catalog = catalog
        self._person = person
        self._ids = count(1)

    async def close(self) -> None:
        """Nothing is held."""

    async def answer(self, request: Request) -> AsyncIterator[Piece | Turn]:
        """Yield the person's next step as if it were a model's answer."""
        last = request.messages[-1]["content"][-1]
        if last.get("type") == "text":
            yield self._search(last["text"])
            return
        text = "\n".join(part.get("text", "") for part in last.get("content", ()) if part.get("type") == "text")
        found = _found(text)
        if found is None:
            next_words = await self._person.choose("What next?", (), otherwise=_OTHERWISE)
            yield self._search(next_words) if isinstance(next_words, str) and next_words else _done()
            return
        choices = [Choice(tool["name"], tool.get("description", "")) for tool in found]
        question = "Which tool?" if choices else "Nothing fits."
        chosen = await self._person.choose(question, choices, otherwise=_OTHERWISE)
        if isinstance(chosen, str):
            yield self._search(chosen) if chosen else _done()
            return
        name = found[chosen]["name"]
        yield self._call(EXECUTE, {"tool_name": name, "tool_input": await self._arguments(name)})

    async def _arguments(self, name: str) -> JsonObject:
        schema = self._catalog().get(name).tool.input_schema
        properties: Mapping[str, Any] = schema.get("properties") or {}
        required = schema.get("required") or []
        arguments: JsonObject = {}
        ordered = sorted(properties, key=lambda key: key not in required)
        for key in ordered:
            part = properties[key] if isinstance(properties[key], Mapping) else {}
            trouble = ""
            while True:
                text = await self._person.fill(key, part, required=key in required, trouble=trouble)
                if not text:
                    if key in required and "default" not in part and part.get("type") != "string":
                        trouble = "a value is needed"
                        continue
                    if key in required and "default" not in part:
                        arguments[key] = ""
                    break
                try:
                    arguments |= parse_pairs(_pairs(key, text, part), schema)
                    break
                except (InvalidArguments, UsageError) as error:
                    trouble = error.message
        return arguments

    def _search(self, text: str) -> Turn:
        """Return a search for words, or for ``/a pattern/`` between slashes."""
        pattern = re.fullmatch(r"/(.+)/", text.strip(), re.DOTALL)
        return self._call(SEARCH, {"query": pattern[1], "regex": True} if pattern else {"query": text})

    def _call(self, name: str, arguments: JsonObject) -> Turn:
        use = {"type": "tool_use", "id": f"guided_{next(self._ids)}", "name": name, "input": arguments}
        return Turn(content=[use], stop_reason="tool_use", model="guided")


def _pairs(key: str, text: str, part: Mapping[str, Any]) -> list[str]:
    """Return what was typed as key=value pairs: JSON for objects, items separated by commas for lists."""
    kind = part.get("type")
    if isinstance(kind, list):
        kind = next((each for each in kind if each != "null"), None)
    options = part.get("enum")
    if isinstance(options, list) and text not in options and text in map(json.dumps, options):
        return [f"{key}:={text}"]
    if text[:1] in "[{" and kind in {"array", "object"}:
        return [f"{key}:={text}"]
    if kind == "array":
        return [f"{key}={item.strip()}" for item in text.replace("，", ",").split(",") if item.strip()]
    return [f"{key}:={text}"] if kind == "object" else [f"{key}={text}"]


def _found(text: str) -> list[JsonObject] | None:
    """Return the tools of a search's answer, or None for the result of anything else."""
    try:
        body = json.loads(text)
    except ValueError:
        return None
    if not isinstance(body, dict) or "found" not in body:
        return None
    tools = body.get("tools", [])
    return tools if isinstance(tools, list) else []


def _done() -> Turn:
    return Turn(content=[], stop_reason="end_turn", model="guided")
