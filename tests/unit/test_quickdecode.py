"""Decoding without pydantic: whatever it takes, pydantic takes for the same value; and it takes what people write."""

from __future__ import annotations

import copy
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from tooldisco_cli import paths
from tooldisco_cli.catalog.manifest import merge_defaults
from tooldisco_cli.catalog.tool import McpServer, Tool
from tooldisco_cli.quickdecode import quickly_decoded
from tooldisco_cli.settings import Settings

FULL: dict[str, Any] = {
    "name": "send_email",
    "title": "发送邮件",
    "description": "Send an e-mail",
    "category": "communication",
    "tags": ["mail"],
    "keywords": ["邮件", "email"],
    "expected_queries": ["发送邮件"],
    "owner": "team",
    "version": "2.0",
    "deprecated_versions": ["1.0"],
    "superseded_by": None,
    "sunset": "2027-06-30",
    "related": ["read_email"],
    "aliases": ["mail"],
    "enabled": True,
    "timeout_seconds": 5,
    "max_result_chars": 500,
    "annotations": {"read_only": False, "destructive": None, "idempotent": True},
    "requires": {"env": ["SMTP_HOST"], "extra": "excel"},
    "input_schema": {"type": "object", "properties": {"to": {"type": "string"}, "n": {"minimum": 1.5}}},
    "output_schema": {"type": "object"},
    "examples": [{"input": {"to": "a@example.com"}, "result": [1, None], "note": "plain"}],
    "python": {"function": "package.module:function", "arguments": {"a": [1, {"b": 2}]}},
    "command": {"argv": ["x", ["--to", "{to}"]], "env": {"A": "b"}, "output": "json", "success_exit_codes": [0, 3]},
    "http": {
        "url": "https://example.com",
        "method": "POST",
        "basic_auth": ["{env:A}", "{env:B}"],
        "json": {"a": 1},
        "result": {"id": "/id"},
        "form": None,
        "expect": {"/errcode": 0},
    },
    "mcp": {"server": "everything", "tool": "echo"},
}
SERVER: dict[str, Any] = {"command": ["npx", "x"], "env": {"A": "{env:A}"}, "timeout_seconds": 3.5}
SETTINGS: dict[str, Any] = {
    "tools_dirs": ["a"],
    "policy": {},
    "mcp_servers": {"a": SERVER},
    "model": "m",
    "search_by_usage": False,
}
KINDS = [(Tool, FULL), (McpServer, SERVER), (Settings, SETTINGS)]


def by_pydantic(cls: Any, text: str) -> Any:
    try:
        return TypeAdapter(cls).validate_json(text, strict=True)
    except ValidationError:
        return "refused"


ADAPTERS = {cls: TypeAdapter(cls) for cls, _ in KINDS}


def typed(value: Any) -> Any:
    """Make 1, 1.0 and true differ, and lists and tuples."""
    return repr(value)


@pytest.mark.parametrize(("cls", "document"), KINDS)
def test_takes_every_key_and_makes_what_pydantic_makes(cls, document):
    text = json.dumps(document)
    assert typed(quickly_decoded(cls, text)) == typed(by_pydantic(cls, text))


def test_takes_every_shipped_tool():
    for path in Path(paths.shipped_tools()).rglob("*.toml"):
        document = tomllib.loads(path.read_text("utf-8"))
        for table in document["tool"]:
            merged = merge_defaults(document.get("defaults", {}), table)
            if not any(isinstance(merged.get(key), str) for key in ("input_schema", "output_schema")):
                assert quickly_decoded(Tool, json.dumps(merged)) is not None, merged["name"]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8)
    | st.sampled_from(["", "GET", "text", "json", "2027-02-30", "2027-06-30", "a:b", "名:b", "name\n", "x y", 0, 200, 86400, 86401]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        found += places(part, (*path, key))
    return found


def holder(document: Any, place: tuple[Any, ...]) -> Any:
    for key in place[:-1]:
        document = document[key]
    return document


@settings(max_examples=600)
@given(st.data())
def test_what_it_takes_pydantic_takes_for_the_same(data):
    cls, whole = data.draw(st.sampled_from(KINDS))
    document = copy.deepcopy(whole)
    for _ in range(data.draw(st.integers(1, 3))):
        known = places(document)
        place = data.draw(st.sampled_from(known))
        parent = holder(document, place)
        match data.draw(st.sampled_from(["other", "gone", "added"])):
            case "other":
                parent[place[-1]] = data.draw(VALUES)
            case "gone":
                del parent[place[-1]]
            case "added" if isinstance(parent, dict):
                parent[data.draw(st.text(max_size=8) | st.sampled_from(["env", "url", "cwd", "body"]))] = data.draw(
                    VALUES
                )
        if not document:
            break
    text = json.dumps(document)
    quick = quickly_decoded(cls, text)
    if quick is not None:
        try:
            exact = ADAPTERS[cls].validate_json(text, strict=True)
        except ValidationError as error:
            exact = str(error)
        assert typed(quick) == typed(exact)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("name", "x" * 65),
        ("name", "name\n"),
        ("name", "名"),
        ("tags", [""]),
        ("version", ""),
        ("timeout_seconds", 0),
        ("timeout_seconds", 10**400),
        ("timeout_seconds", True),
        ("max_result_chars", 199),
        ("max_result_chars", 300.0),
        ("sunset", "2027-13-01"),
        ("sunset", "20270101"),
        ("enabled", 1),
        ("enabled", "true"),
        ("input_schema", []),
        ("no_such_key", 1),
        ("annotations", {"readOnly": True}),
        ("python", {"arguments": {}}),
        ("http", {"url": "x", "method": "get"}),
        ("http", {"url": "x", "basic_auth": ["a", "b", "c"]}),
    ],
)
def test_leaves_to_pydantic_whatever_may_be_wrong(key, value):
    assert quickly_decoded(Tool, json.dumps(FULL | {key: value})) is None


def test_leaves_deep_values_to_pydantic():
    schema: dict[str, Any] = {}
    for _ in range(200):
        schema = {"properties": schema}
    assert quickly_decoded(Tool, json.dumps(FULL | {"input_schema": schema})) is None
