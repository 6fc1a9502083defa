"""Without a model a person chooses; what they type becomes the same calls that a model makes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import pytest

from tooldisco_cli.agent.backend import Request, Turn
from tooldisco_cli.agent.guided import Choice, GuidedBackend, _pairs
from tooldisco_cli.catalog.snapshot import Catalog
from tooldisco_cli.execution.pairs import parse_pairs


class Typist:
    """Types the same answer to every question."""

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.offered = ""

    async def choose(self, question: str, choices: Sequence[Choice], *, otherwise: str) -> int | str:
        self.offered = otherwise
        return self.answer


def next_call(typed: str, content: list[dict]) -> dict | None:
    """Return the call that what a person typed becomes, or None for an end."""

    async def turn() -> Turn:
        request = Request(model="guided", max_tokens=1, system=[], tools=[], messages=[{"content": content}])
        async for item in GuidedBackend(Catalog, Typist(typed)).answer(request):
            assert isinstance(item, Turn)
            return item
        raise AssertionError

    uses = asyncio.run(turn()).content
    return uses[0]["input"] if uses else None


def text(words: str) -> list[dict]:
    return [{"type": "text", "text": words}]


NOTHING = [{"type": "tool_result", "content": text(json.dumps({"found": False}))}]


@pytest.mark.parametrize("words", ["发送邮件", "/etc/hosts", "copy / to here", "//"])
def test_words_are_searched_for_as_words(words):
    assert next_call("", text(words)) == {"query": words}


def test_a_pattern_between_slashes_is_searched_for_as_one_at_first_and_later():
    assert next_call("", text("/^send_|notify/")) == {"query": "^send_|notify", "regex": True}
    assert next_call("/发送.*邮件/", NOTHING) == {"query": "发送.*邮件", "regex": True}
    assert next_call("send", NOTHING) == {"query": "send"}


def test_nothing_typed_is_the_end():
    assert next_call("", NOTHING) is None


@pytest.mark.parametrize(
    ("part", "typed", "value"),
    [
        ({"enum": ["low", 3]}, "3", 3),
        ({"enum": ["low", "3"]}, "3", "3"),
        ({"type": ["array", "null"], "items": {"type": "string"}}, "a, b，c", ["a", "b", "c"]),
        ({"type": "array", "items": {"type": "integer"}}, "[1, 2]", [1, 2]),
        ({"type": "object"}, '{"k": [1]}', {"k": [1]}),
    ],
)
def test_what_is_typed_for_a_parameter_becomes_what_its_schema_asks_for(part, typed, value):
    assert parse_pairs(_pairs("key", typed, part), {"type": "object", "properties": {"key": part}}) == {"key": value}
