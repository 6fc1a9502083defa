"""The JSON Schema of the manifest format agrees with what the loader takes."""

from __future__ import annotations

import tomllib
from typing import Any

import jsonschema
import pytest

from tooldisco_cli.catalog import manifest_schema
from tooldisco_cli.catalog.manifest import parse_manifest

TOOL = '[[tool]]\nname = "x"\ncommand.argv = ["x"]\n'


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    schema = manifest_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return schema


@pytest.mark.parametrize(
    "text",
    [
        "",
        TOOL,
        f"{TOOL}sunset = '2027-06-30'",
        f"{TOOL}annotations = {{ destructive = true }}",
        f"{TOOL}input_schema.type = 'object'",
        f'{TOOL}input_schema = \'{{"type": "object"}}\'',
        "[defaults]\nowner = 'x'\nrequires.env = ['A']\n[mcp_servers.s]\nurl = 'u'",
        "[[tool]]\nname = 'x'\nenabled = false",
        "[[tool]]\nname = 'x'\nhttp = { url = 'u', result = '/a', basic_auth = ['{env:A}', '{env:B}'] }",
    ],
)
def test_takes_what_the_loader_takes(schema: dict[str, Any], text: str) -> None:
    text = f"manifest = 1\n{text}"
    assert parse_manifest(text.encode(), "m").problems == ()
    jsonschema.validate(tomllib.loads(text), schema)


@pytest.mark.parametrize(
    "text",
    [
        "manifest = 2",
        "x = 1",
        "manifest = 1\nx = 1",
        "manifest = 1\n[defaults]\nname = 'x'",
        "manifest = 1\n[[tool]]",
        f"manifest = 1\n{TOOL}descripton = ''",
        f"manifest = 1\n{TOOL}timeout_seconds = 0",
        f"manifest = 1\n{TOOL}tags = ['']",
        "manifest = 1\n[[tool]]\nname = 'a b'\ncommand.argv = ['x']",
        "manifest = 1\n[[tool]]\nname = 'x'\ncommand.argv = []",
        "manifest = 1\n[[tool]]\nname = 'x'\nhttp = { url = 'u', method = 'get' }",
        "manifest = 1\nmcp_servers.s.x = 1",
    ],
)
def test_refuses_what_the_loader_refuses(schema: dict[str, Any], text: str) -> None:
    assert parse_manifest(text.encode(), "m").problems
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tomllib.loads(text), schema)


def test_describes_each_key_of_a_tool_and_speaks_of_no_null(schema: dict[str, Any]) -> None:
    described = schema["properties"]["tool"]["items"]["properties"]
    assert described["keywords"]["description"] == "Other words for it: searched, never shown to the model."
    assert "null" not in str(schema).replace("null that TOML lacks", "")
    assert "None" not in str(schema)
