"""What a model sees of a tool."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from tooldisco_cli.catalog import model_definition
from tooldisco_cli.catalog.snapshot import Entry
from tooldisco_cli.catalog.tool import Layer, Source, Tool


def definition(tool: Tool, **keys: Any) -> dict[str, Any]:
    return model_definition(Entry(tool=tool, source=Source(Layer("user", ""), "", 1), digest="", **keys))


def test_is_name_description_and_schema_and_never_keywords() -> None:
    schema = {"type": "object", "properties": {"to": {"type": "string"}}}
    tool = Tool(
        name="x", description="Does x.\n", keywords=("secret word",), expected_queries=("q",), input_schema=schema
    )
    assert definition(tool) == {
        "name": "x",
        "description": "Does x.\n\nVersion 1.0 (current).",
        "input_schema": schema,
    }


def test_without_a_description_is_the_version_alone() -> None:
    assert definition(Tool(name="x"))["description"] == "Version 1.0 (current)."


@pytest.mark.parametrize(
    ("tool", "keys", "line"),
    [
        (
            Tool(name="x", version="2.0"),
            {"versions": ("2.0", "1.0"), "deprecated": ("1.0",)},
            "Version 2.0 (current). Deprecated: 1.0.",
        ),
        (
            Tool(name="x", version="1.0"),
            {"versions": ("2.0", "1.0"), "deprecated": ("1.0",)},
            "Version 1.0 (deprecated); current is 2.0.",
        ),
        (Tool(name="x", version="1.0"), {"versions": ("2.0", "1.0")}, "Version 1.0; current is 2.0."),
        (Tool(name="x", version="1.0"), {"versions": ("1.0",), "deprecated": ("1.0",)}, "Version 1.0 (deprecated)."),
        (Tool(name="x", version="2.0", deprecated_versions=("1.0",)), {}, "Version 2.0 (current). Deprecated: 1.0."),
        (
            Tool(name="x", superseded_by="y", sunset=dt.date(2027, 6, 30)),
            {},
            "Version 1.0 (current). Use y instead. It stops working on 2027-06-30.",
        ),
    ],
)
def test_ends_with_a_line_about_versions(tool: Tool, keys: dict[str, Any], line: str) -> None:
    assert definition(tool, **keys)["description"] == line
