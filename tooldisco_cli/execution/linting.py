"""What can be wrong with the templates of a manifest, found without running anything."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from tooldisco_cli.catalog.tool import JsonObject, McpServer, Tool
from tooldisco_cli.errors import CatalogInvalid
from tooldisco_cli.execution.schemas import pointed
from tooldisco_cli.execution.templates import Placeholder, parse, placeholders
from tooldisco_cli.tomlfile import near_word

_CODE_OPTIONS: dict[str, str] = {
    r"(?:ba|da|z|k|c|tc|fi|a)?sh(?:\.exe)?": r"-[a-z]*c[a-z]*",
    r"(?:powershell|pwsh)(?:\.exe)?": r"-(?:c|command|enc|encodedcommand)",
    r"cmd(?:\.exe)?": r"/[ck]",
    r"(?:python|pypy)[\d.]*(?:\.exe)?": r"-[A-Za-z]*c",
    r"(?:perl|ruby|lua|r|rscript)[\d.]*(?:\.exe)?": r"-[A-Za-z]*e",
    r"(?:node|bun|deno)(?:\.exe)?": r"-e|--eval|-p|--print|eval",
    r"php[\d.]*(?:\.exe)?": r"-r",
}
"""Programs that run code, and the option behind which the code stands."""
_LOADED_CODE = re.compile(
    r"PATH|BASH_ENV|ENV|IFS|LD_\w+|DYLD_\w+|PYTHON(?:PATH|STARTUP|HOME)|PERL5(?:LIB|OPT)|RUBY(?:LIB|OPT)|NODE_OPTIONS"
    r"|GIT_(?:SSH|SSH_COMMAND|EXTERNAL_DIFF|PAGER|EDITOR)|PAGER|EDITOR|JAVA_TOOL_OPTIONS"
)


def declared_templates(tool: Tool, server: McpServer | None = None) -> Iterator[tuple[str, Any]]:
    """Yield every template of a tool with its place, such as ``http.headers.Accept``; texts only, each by itself."""
    if tool.python is not None:
        yield from _texts("python.arguments", tool.python.arguments)
    if tool.command is not None:
        yield from _texts("command.argv", tool.command.argv)
        yield from _texts("command.stdin", tool.command.stdin)
        yield from _texts("command.cwd", tool.command.cwd)
        yield from _texts("command.env", tool.command.env)
    if tool.http is not None:
        for name in ("url", "query", "headers", "basic_auth", "bearer", "json", "form", "body"):
            yield from _texts(f"http.{name}", getattr(tool.http, name))
    if server is not None:
        for name in ("command", "url", "env", "headers", "cwd"):
            yield from _texts(f"mcp_servers.{name}", getattr(server, name))


def _texts(place: str, template: Any) -> Iterator[tuple[str, str]]:
    if isinstance(template, str):
        yield place, template
    elif isinstance(template, Mapping):
        for key, value in template.items():
            yield from _texts(f"{place}.{key}", value)
    elif isinstance(template, list | tuple):
        for index, value in enumerate(template):
            yield from _texts(f"{place}[{index}]", value)


def environment_names(tool: Tool, server: McpServer | None = None) -> tuple[str, ...]:
    """Return the variables that the tool's templates name, in order; a template that cannot be read has none."""
    names: dict[str, None] = {}
    for _, template in declared_templates(tool, server):
        if "{env:" not in template:
            continue
        try:
            names |= {part.name: None for part in placeholders(template) if part.env}
        except CatalogInvalid:
            continue
    return tuple(names)


def template_problems(tool: Tool, server: McpServer | None = None) -> list[str]:
    """Return what is wrong with a tool's templates, each as one line that begins with its place.

    Found are stray braces, arguments that the schema does not have, variables that ``requires.env`` does not list,
    paths of addresses that need an optional argument, and places where a caller's text would become code: the
    program itself, the text behind ``sh -c`` and its like, and variables such as ``LD_PRELOAD``.
    """
    problems: list[str] = []
    known = _known_arguments(tool.input_schema)
    for place, template in declared_templates(tool, server):
        try:
            found = list(placeholders(template))
        except CatalogInvalid as error:
            problems.append(f"{place}: {error.message} ({error.hint})")
            continue
        for placeholder in found:
            problem = _placeholder_problem(placeholder, place, tool, known)
            if problem:
                problems.append(f"{place}: {problem}")
    return [*problems, *code_problems(tool), *_path_problems(tool)]


def _placeholder_problem(part: Placeholder, place: str, tool: Tool, known: set[str] | None) -> str:
    if part.env:
        listed = part.name in tool.requires.env or place.startswith("mcp_servers")
        return "" if listed else f"{part} is not in requires; add {part.name} to requires.env"
    if place.startswith("mcp_servers"):
        return (
            f"{part} is an argument, and a server is started before there are any; only {{env:NAME}} can stand here"
        )
    first = part.name.split(".")[0]
    if known is None or part.name in known or first in known:
        return ""
    near = near_word(first, sorted(known))
    remedy = f"did you mean {{{near}}}?" if near else "write {{ and }} for braces that are text"
    return f"{part} is no argument of the tool; {remedy}"


def _known_arguments(schema: JsonObject) -> set[str] | None:
    """Return the names of the parameters at the top of a schema, None when it does not tell them."""
    names: set[str] = set()
    seen: set[int] = set()
    pending: list[Any] = [schema]
    while pending:
        part = pending.pop()
        if not isinstance(part, Mapping) or id(part) in seen:
            continue
        seen.add(id(part))
        if "$dynamicRef" in part or "patternProperties" in part:
            return None
        properties = part.get("properties")
        if isinstance(properties, Mapping):
            names |= set(properties)
        reference = part.get("$ref")
        if isinstance(reference, str):
            target = pointed(schema, reference)
            if target is None:
                return None
            pending.append(target)
        for key in ("allOf", "anyOf", "oneOf"):
            branches = part.get(key)
            pending += branches if isinstance(branches, list) else []
        pending += [part.get(key) for key in ("if", "then", "else")]
        dependent = part.get("dependentSchemas")
        pending += list(dependent.values()) if isinstance(dependent, Mapping) else []
    return names


def code_problems(tool: Tool) -> Iterator[str]:
    """Yield where a command would make a caller's text into a program, code, or what a program loads.

    The command executor refuses to run a tool with one of these.
    """
    if tool.command is None:
        return
    words = list(_texts("command.argv", tool.command.argv))
    if words and _has_argument(words[0][1]):
        yield f"{words[0][0]}: the program itself cannot come from an argument"
    for index, (place, word) in enumerate(words):
        if not _has_argument(word):
            continue
        before = [text for _, text in words[:index]]
        program = _interpreter(before)
        if program:
            yield f"{place}: {program} would run the argument as code; pass it as an argument of its own or by stdin"
    for name, value in tool.command.env.items():
        if _has_argument(value) and _LOADED_CODE.fullmatch(name.upper()):
            yield f"command.env.{name}: decides what code is loaded, so it cannot come from an argument"


def _interpreter(before: list[str]) -> str:
    """Return the program that would take the next word as code, when there is one.

    Any word may be the interpreter (``env sh -c``, ``docker exec box sh -c``). Behind the code itself, a word is
    an argument of the script and harmless.
    """
    if len(before) < 2:
        return ""
    option = before[-1]
    for word in before[:-1]:
        name = PurePath(word.replace("\\", "/")).name.lower()
        for pattern, code_option in _CODE_OPTIONS.items():
            if re.fullmatch(pattern, name) and re.fullmatch(code_option, option, re.IGNORECASE):
                return name
    return ""


def _has_argument(template: str) -> bool:
    try:
        return any(not part.env for part in placeholders(template))
    except CatalogInvalid:
        return False


def _path_problems(tool: Tool) -> Iterator[str]:
    if tool.http is None:
        return
    try:
        parts = parse(tool.http.url)
    except CatalogInvalid:
        return
    properties = tool.input_schema.get("properties")
    required = tool.input_schema.get("required")
    if not isinstance(properties, Mapping) or not isinstance(required, list | tuple | None):
        return
    for part in parts:
        if isinstance(part, str):
            if "?" in part:
                return
            continue
        given = part.name in (required or ()) or "default" in (properties.get(part.name) or {})
        if not part.env and part.name in properties and not given:
            yield f"http.url: {part} is optional, but the path needs it; add it to required or give it a default"
