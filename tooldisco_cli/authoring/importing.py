"""Turns tool definitions from elsewhere into manifests.

Read are JSON Lines of definitions, the answer of MCP's ``tools/list``, and the array of tools that the Messages API
takes. Nothing is lost in silence: what cannot be kept is in the report. A schema that holds ``null``, which TOML
lacks, is written as JSON in text, so it comes back exactly.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli

from tooldisco_cli.authoring.naming import accepted_names, file_stem
from tooldisco_cli.catalog.layers import load_layer
from tooldisco_cli.catalog.manifest import parse_manifest
from tooldisco_cli.catalog.tool import JsonObject, Layer
from tooldisco_cli.errors import UsageError
from tooldisco_cli.tomlfile import Problem, read_bytes

_HINTS = {
    "readOnlyHint": "read_only",
    "destructiveHint": "destructive",
    "idempotentHint": "idempotent",
    "openWorldHint": "open_world",
}
_SCHEMAS = frozenset({"input_schema", "inputSchema", "parameters"})
_KNOWN = _SCHEMAS | {
    *("name", "title", "description", "category", "tags", "annotations"),
    *("output_schema", "outputSchema"),
}
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff]+")
_OBEYED = re.compile("[\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e0fff]")
"""What TOML lets through and a terminal would obey or hide: written as escapes, which read back the same."""
_MAX_SOURCE = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What became of an import."""

    files: tuple[str, ...]
    """The manifests written."""
    tools: int
    """How many tools they declare."""
    renamed: tuple[tuple[str, str], ...] = ()
    """Original name and the name given to it; the original stays as an alias."""
    skipped: tuple[tuple[str, str], ...] = ()
    """What was not imported, and why."""
    notes: tuple[tuple[str, str], ...] = ()
    """What was changed or left out of a tool that was imported."""


def import_definitions(source: Path, target: Path, *, server: str, overwrite: bool = False) -> ImportReport:
    """Write the tools that ``source`` defines as manifests into the folder ``target``, one file per first tag.

    Tools without tags go to a file named for ``server``, the MCP server that all of them are to be called on. Every
    manifest is read back before any is written, so what is written loads.

    Raises UsageError when the source cannot be read or defines nothing, when a file is already there and not to be
    overwritten, or when the folder cannot be written.
    """
    if not server.strip():
        raise UsageError("the MCP server has no name", hint="give the name that it has under [mcp_servers]")
    importing = _Import(server)
    definitions = importing.distinct(_definitions(source))
    names = accepted_names(definitions)
    groups: dict[str, list[str]] = {}
    renamed = []
    for original, definition in definitions.items():
        text = importing.tool_text(original, names[original], definition)
        if text is None:
            continue
        if names[original] != original:
            renamed.append((original, names[original]))
        tags = definition.get("tags")
        first = tags[0] if isinstance(tags, list) and tags and isinstance(tags[0], str) else ""
        groups.setdefault(file_stem(first or server), []).append(text)
    files = {target / f"{stem}.toml": "\n".join(["manifest = 1\n", *texts]) for stem, texts in groups.items()}
    if not files:
        raise UsageError(
            f"{source} defines no tool that can be imported",
            hint="; ".join(f"{what}: {why}" for what, why in importing.skipped[:3]),
        )
    _write(files, target, overwrite=overwrite, importing=importing, names=set(names.values()))
    return ImportReport(
        files=tuple(map(str, sorted(files))),
        tools=sum(map(len, groups.values())),
        renamed=tuple(renamed),
        skipped=tuple(importing.skipped),
        notes=tuple(importing.notes),
    )


def _runs_at_service(definition: Mapping[str, Any]) -> bool:
    """Whether a Messages API request names a server tool, such as web search, which has a type and no schema."""
    kind = definition.get("type", "custom")
    return kind not in ("custom", "function") and isinstance(kind, str) and not _SCHEMAS & definition.keys()


class _Import:
    """One import, with what it has to tell."""

    def __init__(self, server: str) -> None:
        self.server = server
        self.skipped: list[tuple[str, str]] = []
        self.notes: list[tuple[str, str]] = []

    def distinct(self, definitions: Iterator[tuple[str, Any]]) -> dict[str, JsonObject]:
        """Return the definitions by name; of those with the same name, the first."""
        by_name: dict[str, JsonObject] = {}
        for place, definition in definitions:
            if isinstance(definition, Mapping) and isinstance(definition.get("function"), Mapping):
                definition = definition["function"]  # noqa: PLW2901 - OpenAI's wrapping
            if not isinstance(definition, Mapping):
                why = f"is not JSON: {definition}" if isinstance(definition, ValueError) else "is not an object"
                self.skipped.append((place, why))
                continue
            name = definition.get("name")
            if not isinstance(name, str) or not name.strip():
                self.skipped.append((place, "has no name"))
            elif _runs_at_service(definition):
                self.skipped.append((name, f"is run by the model's service itself (type {definition['type']})"))
            elif name not in by_name:
                by_name[name] = dict(definition)
            elif by_name[name] == definition:
                self.notes.append((name, f"is defined again, the same, at {place}"))
            else:
                self.skipped.append((place, f"defines {name!r} again, differently; the first is kept"))
        return by_name

    def tool_text(self, original: str, name: str, definition: JsonObject) -> str | None:
        """Return the ``[[tool]]`` of a definition as TOML that reads back, or None when it cannot be had."""
        try:
            tool = self._tool(original, name, definition)
            text = tool_toml(tool)
        except (ValueError, RecursionError) as error:
            why = "is nested too deeply" if isinstance(error, RecursionError) else str(error)
            if isinstance(error, UnicodeEncodeError):
                why = f"holds half a character ({error.object[error.start]!a})"
            self.skipped.append((original, why))
            return None
        problems = parse_manifest(f"manifest = 1\n\n{text}".encode(), "").problems
        errors = [problem for problem in problems if problem.severity == "error"]
        found = [
            f"{problem.key.removeprefix('tool[0]').lstrip('.')}: {problem.message}".removeprefix(": ")
            for problem in errors or problems
        ]
        (self.skipped if errors else self.notes).extend((original, message) for message in found)
        return None if errors else text

    def _tool(self, original: str, name: str, definition: JsonObject) -> JsonObject:
        tool: JsonObject = {"name": name}
        annotations = definition.get("annotations")
        annotations = annotations if isinstance(annotations, Mapping) else {}
        title = self._line(original, "title", definition.get("title") or annotations.get("title"))
        if not title and name != original and not original.isascii():
            title = self._line(original, "name", original)  # its name lost letters; people still read them
        if title:
            tool["title"] = title
        tool["description"] = self._text(original, definition.get("description"))
        category = self._line(original, "category", definition.get("category"))
        if category:
            tool["category"] = category
        tags = self._tags(original, definition.get("tags"))
        if tags:
            tool["tags"] = tags
        if name != original:
            if _CONTROL.search(original):
                self.notes.append((original, "its name holds control characters and is not kept as an alias"))
            else:
                tool["aliases"] = [original]
        hints = self._hints(original, annotations)
        if hints:
            tool["annotations"] = hints
        tool["mcp"] = {"server": self.server} | ({"tool": original} if name != original else {})
        given = next(
            (definition[key] for key in ("input_schema", "inputSchema", "parameters") if key in definition), None
        )
        tool["input_schema"] = self._input_schema(original, given)
        output = definition.get("output_schema", definition.get("outputSchema"))
        if isinstance(output, Mapping):
            tool["output_schema"] = dict(output)
        elif output is not None:
            self.notes.append((original, "its output schema is no object and is left out"))
        left = sorted(str(key) for key in definition if key not in _KNOWN and definition[key] is not None)
        if left:
            self.notes.append((original, f"left out: {', '.join(left)}"))
        json.dumps(tool, allow_nan=False, ensure_ascii=False).encode()
        return tool

    def _text(self, original: str, value: Any) -> str:
        if isinstance(value, str) and value.strip():
            return value
        self.notes.append((original, "has no description" if value in (None, "") else "its description is no text"))
        return ""

    def _line(self, original: str, key: str, value: Any) -> str:
        if value is None:
            return ""
        if not isinstance(value, str):
            self.notes.append((original, f"its {key} is no text and is left out"))
            return ""
        cleaned = _CONTROL.sub(" ", value).strip()
        if cleaned != value.strip():
            self.notes.append((original, f"control characters are taken out of its {key}"))
        return cleaned

    def _tags(self, original: str, value: Any) -> list[str]:
        if value is None:
            return []
        listed = value if isinstance(value, list) else [value]
        tags = (self._line(original, "tag", tag) for tag in listed)
        return list(dict.fromkeys(tag for tag in tags if tag))

    def _hints(self, original: str, annotations: Mapping[str, Any]) -> JsonObject:
        hints: JsonObject = {}
        for key, value in annotations.items():
            if key in _HINTS and isinstance(value, bool):
                hints[_HINTS[key]] = value
            elif key != "title" and value is not None:
                self.notes.append((original, f"its annotation {key} is left out"))
        return hints

    def _input_schema(self, original: str, value: Any) -> JsonObject:
        if value is None:
            self.notes.append((original, "has no input schema, so it takes no arguments"))
            return {"type": "object", "properties": {}}
        if not isinstance(value, Mapping):
            raise ValueError("its input schema is no object")  # noqa: TRY004 - caught above as the tool's fault
        schema = dict(value)
        kind = schema.get("type")
        if kind != "object":
            if kind is not None and not (isinstance(kind, list) and "object" in kind):
                raise ValueError(f"its input schema has type {kind!r}; arguments are an object")
            self.notes.append((original, 'its input schema is given type = "object"'))
            schema = {"type": "object"} | {key: item for key, item in schema.items() if key != "type"}
        for key in ("properties", "required"):
            if key in schema and schema[key] is None:
                self.notes.append((original, f"its input schema's {key}, which is null, is left out"))
                del schema[key]
        return schema


def _definitions(source: Path) -> Iterator[tuple[str, Any]]:
    """Yield each definition with its place; a ValueError in place of one that is not JSON."""
    data = read_bytes(source, _MAX_SOURCE)
    if isinstance(data, Problem):
        raise UsageError(str(data))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{source}: is not UTF-8 at byte {error.start}") from error
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        # Split at newlines alone: JSON text may hold U+2028 and the like, at which splitlines would cut.
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                yield f"{source}:{number}", _loaded(line)
        return
    if isinstance(document, dict) and isinstance(document.get("result"), dict):
        document = document["result"]
    listed = document.get("tools", [document]) if isinstance(document, dict) else document
    for index, definition in enumerate(listed if isinstance(listed, list) else [listed]):
        yield f"{source}[{index}]", definition


def _loaded(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        return error
    except RecursionError:
        return ValueError("nested too deeply")


def tool_toml(tool: JsonObject) -> str:
    """Return a tool as a ``[[tool]]`` table: the first of several ways of writing text that reads back the same.

    Text of many lines is the pleasant way, but it cannot hold a carriage return, and a literal no ``'''``.
    """
    schemas: dict[str, str] = {
        key: _OBEYED.sub(_json_escape, json.dumps(tool[key], indent=2, ensure_ascii=False)) + "\n"
        for key in ("input_schema", "output_schema")
        if key in tool and _holds_null(tool[key])
    }
    expected = tool | schemas
    for literal, multiline in ((True, True), (False, True), (False, False)):
        text = _written(tool, schemas, literal=literal, multiline=multiline)
        try:
            if tomli.loads(text) == {"tool": [expected]}:
                return text
        except tomli.TOMLDecodeError:
            continue
    raise ValueError("cannot be written as TOML")


def _written(tool: JsonObject, schemas: Mapping[str, str], *, literal: bool, multiline: bool) -> str:
    import tomli_w

    marks: dict[str, str] = {key: f"@{key}@" for key in schemas} if literal else dict(schemas)
    # tomli-w would write a short table into an inline list; below a plain header it cannot.
    text = tomli_w.dumps({"tool": tool | marks}, multiline_strings=multiline).replace("[tool]", "[[tool]]", 1)
    if literal:
        for key, mark in marks.items():
            text = text.replace(f'{key} = "{mark}"\n', f"{key} = '''\n{schemas[key]}'''\n", 1)
    return _OBEYED.sub(lambda match: f"\\U{ord(match.group()):08X}", text)


def _json_escape(match: re.Match[str]) -> str:
    return json.dumps(match.group())[1:-1]


def _holds_null(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_holds_null, value.values()))
    if isinstance(value, list):
        return any(map(_holds_null, value))
    return value is None


def _write(files: Mapping[Path, str], target: Path, *, overwrite: bool, importing: _Import, names: set[str]) -> None:
    there = [path for path in files if os.path.lexists(path)]
    if there and not overwrite:
        listed = ", ".join(str(path) for path in there[:3])
        raise UsageError(f"already there: {listed}", hint="choose another folder, or allow overwriting (--overwrite)")
    if target.exists() and not target.is_dir():
        raise UsageError(f"{target} is not a folder")
    written = set(map(str, files))
    if target.is_dir():
        for declaration in load_layer(Layer("tools-dir", str(target))).declarations():
            if declaration.tool.name in names and declaration.path not in written:
                importing.notes.append((declaration.tool.name, f"is already declared at {declaration.place}"))
    try:
        target.mkdir(parents=True, exist_ok=True)
        for path, text in files.items():
            _replace(path, text)
    except OSError as error:
        raise UsageError(f"{target}: cannot be written: {error.strerror or error}") from error


def _replace(path: Path, text: str) -> None:
    import tempfile

    # Named so that a catalog read in this moment does not take it for a manifest.
    descriptor, temporary = tempfile.mkstemp(prefix=".import-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        # mkstemp's files are private; a manifest is for whoever may read the folder.
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
