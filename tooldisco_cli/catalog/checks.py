"""What a tool's declaration must hold beyond the types of its keys: executors, schemas, versions, secrets.

Each check yields faults whose keys are relative to the tool.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tooldisco_cli.catalog.tool import RESERVED_NAMES, HttpExecutor, JsonObject, McpServer, Tool
from tooldisco_cli.catalog.versions import is_version
from tooldisco_cli.tomlfile import Fault, Problem, dotted

if TYPE_CHECKING:
    from tooldisco_cli.tomlposition import KeyPath

EXECUTORS = ("python", "command", "http", "mcp")

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff]")
_PLACEHOLDER = re.compile(r"\{[^{}]+\}")
_SECRET_HEADERS = frozenset(
    {"authorization", "proxy-authorization", "cookie", "x-api-key", "api-key", "apikey", "x-auth-token"}
)
_SECRET_NAME = re.compile(r"(?:^|[_-])(?:api_?key|access_?key|token|secret|password|passwd)$", re.IGNORECASE)


def tool_faults(tool: Tool) -> Iterator[Fault]:
    """Yield what is wrong with a tool whose keys all have the right types."""
    executors = [name for name in EXECUTORS if getattr(tool, name) is not None]
    if len(executors) > 1 or (tool.enabled and not executors):
        found = f"has {' and '.join(executors)}" if executors else "does not say how it runs"
        key: KeyPath = (executors[1],) if executors else ()
        yield Fault(key, found, f"exactly one of {', '.join(EXECUTORS)}")
    if tool.name in RESERVED_NAMES:
        yield Fault(("name",), f"{tool.name!r} is the name of a meta tool", "choose another name")
    yield from _control_faults(tool)
    for key, version in chain(
        [(("version",), tool.version)],
        ((("deprecated_versions", i), text) for i, text in enumerate(tool.deprecated_versions)),
    ):
        if not is_version(version):
            yield Fault(key, "is not a version", "such as 2, 1.4.0 or 2.0rc1")
    yield from _input_schema_faults(tool.input_schema)
    if tool.http is not None:
        yield from _http_secret_faults(tool.http)
    if tool.command is not None and tool.command.env:
        yield from _env_secret_faults(tool.command.env, ("command", "env"))


def server_faults(server: McpServer) -> Iterator[Fault]:
    """Yield what is wrong with an MCP server, keys relative to its table."""
    if bool(server.command) == bool(server.url):
        yield Fault((), "has both command and url" if server.url else "is incomplete", "exactly one of command, url")
    yield from _header_secret_faults(server.headers, ("headers",))
    yield from _env_secret_faults(server.env, ("env",))
    yield from _url_secret_faults(server.url, ("url",))


def _control_faults(tool: Tool) -> Iterator[Fault]:
    texts = (tool.title, tool.category, tool.owner, *tool.tags, *tool.aliases, *tool.keywords)
    if not _CONTROL.search("".join(texts)):
        return
    for key in ("title", "category", "owner", "tags", "aliases", "keywords"):
        value = getattr(tool, key)
        for index, text in enumerate((value,) if isinstance(value, str) else value):
            if _CONTROL.search(text):
                place: KeyPath = (key,) if isinstance(value, str) else (key, index)
                yield Fault(place, "holds a control character", "one line of plain text")


def _input_schema_faults(schema: JsonObject) -> Iterator[Fault]:
    if schema.get("type") != "object":
        said = "has no type" if "type" not in schema else f"has type {schema['type']!r}"
        yield Fault(("input_schema", "type"), said, 'arguments are an object: type = "object"')
    properties = schema.get("properties", {})
    if not isinstance(properties, dict):
        yield Fault(("input_schema", "properties"), "must be a table of parameters")
        return
    for name, parameter in properties.items():
        if not isinstance(parameter, dict | bool):
            yield Fault(("input_schema", "properties", name), "must be a table", '{ type = "string" }, for example')
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        yield Fault(("input_schema", "required"), "must be a list of parameter names")
        return
    for index, name in enumerate(required):
        if name not in properties:
            yield Fault(
                ("input_schema", "required", index), f"names {name!r}, which is no parameter", severity="warning"
            )


def _http_secret_faults(http: HttpExecutor) -> Iterator[Fault]:
    if http.headers:
        yield from _header_secret_faults(http.headers, ("http", "headers"))
    if http.basic_auth is not None and not any(_PLACEHOLDER.search(part) for part in http.basic_auth):
        yield Fault(("http", "basic_auth"), "holds a secret", 'write ["{env:API_USER}", "{env:API_PASSWORD}"]')
    if http.bearer and not _PLACEHOLDER.search(http.bearer):
        yield Fault(("http", "bearer"), "holds a secret", 'write "{env:API_TOKEN}"')
    for name, value in http.query.items():
        if isinstance(value, str) and value and _SECRET_NAME.search(name) and not _PLACEHOLDER.search(value):
            yield Fault(("http", "query", name), "looks like a secret", 'write "{env:API_KEY}"', severity="warning")
    yield from _url_secret_faults(http.url, ("http", "url"))


def _header_secret_faults(headers: Mapping[str, str], key: KeyPath) -> Iterator[Fault]:
    for name, value in headers.items():
        if value and name.lower() in _SECRET_HEADERS and not _PLACEHOLDER.search(value):
            example = "Bearer {env:API_TOKEN}" if name.lower().endswith("authorization") else "{env:API_KEY}"
            yield Fault((*key, name), "holds a secret", f'write "{example}"')


def _env_secret_faults(variables: Mapping[str, str], key: KeyPath) -> Iterator[Fault]:
    for name, value in variables.items():
        if value and _SECRET_NAME.search(name) and not _PLACEHOLDER.search(value):
            yield Fault((*key, name), "looks like a secret", f'write "{{env:{name}}}"', severity="warning")


def _url_secret_faults(url: str, key: KeyPath) -> Iterator[Fault]:
    if "@" not in url:
        return
    try:
        password = urlsplit(url).password
    except ValueError:
        return
    if password and not _PLACEHOLDER.search(password):
        yield Fault(key, "holds a password", "write it as {env:API_PASSWORD}")


def check_schema(tool: Tool, *, path: str = "", line: int = 0) -> list[Problem]:
    """Return what the JSON Schema meta-schema (2020-12) finds wrong with a tool's schemas.

    Loads jsonschema, so it is for checks that a person asks for. ``path`` and ``line`` say where the tool stands.
    """
    return [
        Problem(path, line, fault.message, dotted(fault.key), fault.suggestion, fault.severity)
        for fault in schema_faults(tool)
    ]


def schema_faults(tool: Tool) -> Iterator[Fault]:
    """Yield what the JSON Schema meta-schema finds wrong, and examples that their own schema refuses."""
    import jsonschema

    broken = False
    for key, schema in (("input_schema", tool.input_schema), ("output_schema", tool.output_schema)):
        if schema is None:
            continue
        validator = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)
        try:
            errors = list(validator(validator.META_SCHEMA).iter_errors(schema))
        except RecursionError:
            yield Fault((key,), "is nested too deeply")
            broken = True
            continue
        broken = broken or bool(errors)
        for error in errors:
            yield Fault((key, *error.absolute_path), f"is not JSON Schema: {_first_line(error.message)}")
    if broken:
        return
    yield from _example_faults(tool)


def _example_faults(tool: Tool) -> Iterator[Fault]:
    import jsonschema
    from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]  # it ships no types

    validator = jsonschema.validators.validator_for(tool.input_schema, jsonschema.Draft202012Validator)
    for index, example in enumerate(tool.examples):
        try:
            # Given a registry, the validator fetches no $ref: checking a stranger's manifest is offline.
            errors = list(validator(tool.input_schema, registry=REGISTRY).iter_errors(example.input))
        except Exception as trouble:  # an unresolvable $ref arrives as one of many types
            yield Fault(("input_schema",), f"cannot be used: {_first_line(str(trouble))}")
            return
        for error in errors:
            key: tuple[Any, ...] = ("examples", index, "input", *error.absolute_path)
            yield Fault(key, f"does not fit the schema: {_first_line(error.message)}")


def _first_line(message: str) -> str:
    line = message.splitlines()[0] if message else message
    return line if len(line) <= 200 else line[:199] + "…"
