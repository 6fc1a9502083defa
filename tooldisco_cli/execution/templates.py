"""Templates of manifests: ``{argument}`` and ``{env:NAME}`` in the texts that say how a tool runs.

A text that is one placeholder and nothing else becomes the value itself, with its type; inside a longer text a
value is written as text. Filling is one pass over the template, so what a caller wrote is never read as a template
again, and each destination (argument list, URL, header) has a function that keeps a value from being more than a
value there. ``{argument.field}`` and ``{items.0}`` reach inside; ``{{`` and ``}}`` are braces.

What happens to a placeholder whose argument was not given is one rule: its element goes. A list loses the item, a
table the key; a list or table inside, all of whose placeholders lack their values, goes as a whole, constants and
all, so that ``{ type = "text", text = "{note}" }`` leaves nothing half-said. In an ``argv`` a nested list goes when
any of its values is missing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any, Final, Literal

from tooldisco_cli.errors import CatalogInvalid, InvalidArguments, NotReady
from tooldisco_cli.execution.protocol import Call

_TOKEN = re.compile(r"\{\{|\}\}|\{([^{}]+)\}|[{}]")
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPEN_NAME = re.compile(
    r"(?:^|_)(?:BASE_URL|INSTANCE_URL|SITE_URL|SERVER_URL|API_URL|ENDPOINT|HOST|HOSTNAME|PORT|USER|USERNAME|NAME|EMAIL|FROM"
    r"|SENDER|DATABASE|DB|SCHEMA|REGION|ZONE|TIMEZONE|SITE|DOMAIN|PROJECT|LANG|PATH|HOME|STARTTLS|TLS|SSL|VERSION)$"
)
_CLOSED_NAME = re.compile(r"TOKEN|SECRET|KEY|PASS|PWD|WEBHOOK|CREDENTIAL|COOKIE|PRIVATE")
_NOT_IN_HEADER = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


class Missing(Enum):
    """The type of ``MISSING``: no value, which is not the same as null."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING


@dataclass(frozen=True, slots=True)
class Placeholder:
    """One ``{name}`` of a template, or ``{env:name}`` when ``env``."""

    name: str
    env: bool = False

    def __str__(self) -> str:
        return f"{{env:{self.name}}}" if self.env else f"{{{self.name}}}"


Part = str | Placeholder


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What templates are filled from. ``masked`` shows ``{env:NAME}`` in place of a secret, or of what is not set."""

    arguments: Mapping[str, Any]
    environment: Mapping[str, str]
    masked: bool = False

    @classmethod
    def of(cls, call: Call, *, masked: bool = False) -> Scope:
        """Return the scope of one call; ``masked`` for previews."""
        return cls(arguments=call.arguments, environment=call.environment, masked=masked)

    def value(self, placeholder: Placeholder) -> Any:
        """Return the value of one placeholder, or ``MISSING``. Raises NotReady for a variable that is not set."""
        if not placeholder.env:
            return _resolve(placeholder.name, self.arguments)
        found = self.environment.get(placeholder.name)
        if self.masked and (found is None or is_secret_name(placeholder.name)):
            return str(placeholder)
        if found is None:
            raise NotReady(
                f"the environment variable {placeholder.name} is not set",
                hint=f"set it first: export {placeholder.name}=...",
                details={"missing": [{"kind": "env", "name": placeholder.name}]},
            )
        return found


def is_secret_name(name: str) -> bool:
    """Whether a variable of this name is taken for a secret: always, unless its name clearly says otherwise.

    The exceptions are addresses, users and the like: an approval must show where a request goes, and a result may
    hold links.
    """
    return not _OPEN_NAME.search(name.upper()) or says_secret(name)


def says_secret(name: str) -> bool:
    """Whether the name of a variable itself says that it holds a secret, such as ``SMTP_PASSWORD``."""
    return bool(_CLOSED_NAME.search(name.upper()))


@lru_cache(maxsize=4096)
def parse(template: str) -> tuple[Part, ...]:
    """Return a template as literal texts and placeholders, in order. Raises CatalogInvalid for a stray brace."""
    parts: list[Part] = []
    text, position = "", 0
    for token in _TOKEN.finditer(template):
        text += template[position : token.start()]
        position = token.end()
        name = token[1]
        if name is None:
            if len(token[0]) == 1:
                raise CatalogInvalid(
                    f"template {shortened(template)}: a brace that belongs to no placeholder",
                    hint="write {{ or }} for a brace that is text",
                )
            text += token[0][0]
            continue
        if text:
            parts.append(text)
            text = ""
        parts.append(_placeholder(name, template))
    text += template[position:]
    return (*parts, text) if text or not parts else tuple(parts)


def _placeholder(name: str, template: str) -> Placeholder:
    if not name.startswith("env:"):
        return Placeholder(name)
    variable = name.removeprefix("env:")
    if not _ENV_NAME.fullmatch(variable):
        raise CatalogInvalid(
            f"template {shortened(template)}: {variable!r} is no name of an environment variable",
            hint="such as {env:API_KEY}",
        )
    return Placeholder(variable, env=True)


def _resolve(name: str, arguments: Mapping[str, Any]) -> Any:
    if name in arguments:
        return arguments[name]
    value: Any = arguments
    for step in name.split("."):
        if isinstance(value, Mapping) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isascii() and step.isdigit() and int(step[:9]) < len(value):
            value = value[int(step[:9])]
        else:
            return MISSING
    return value


def text_of(value: Any) -> str:
    """Return a value as it is written inside a longer text: text as it is, everything else as compact JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def fill(template: Any, scope: Scope) -> Any:
    """Return a template of any shape with its values, ``MISSING`` when it is one text that lacks a value.

    At the top a list or table stays, even when empty; inside, the module's rule holds. Null is a value when it
    is given for a whole text, and counts as missing inside a longer one.
    """
    if isinstance(template, Mapping):
        return _fill_table(template, scope)[0]
    if isinstance(template, list | tuple):
        return _fill_list(template, scope)[0]
    return _fill_any(template, scope)[0]


def _fill_any(template: Any, scope: Scope) -> tuple[Any, bool, bool]:
    """Return the value, whether there were placeholders, and whether one of them had a value."""
    if isinstance(template, str):
        parts = parse(template)
        if not any(isinstance(part, Placeholder) for part in parts):
            return "".join(map(str, parts)), False, False
        if len(parts) == 1 and isinstance(parts[0], Placeholder):
            value = scope.value(parts[0])
        else:
            value = _joined(parts, scope)
        return value, True, value is not MISSING
    if isinstance(template, Mapping):
        filled: Any
        filled, wanted, got = _fill_table(template, scope)
    elif isinstance(template, list | tuple):
        filled, wanted, got = _fill_list(template, scope)
    else:
        return template, False, False
    return (MISSING if wanted and not got else filled), wanted, got


def _fill_table(template: Mapping[str, Any], scope: Scope) -> tuple[dict[str, Any], bool, bool]:
    items = {key: _fill_any(value, scope) for key, value in template.items()}
    kept = {key: item[0] for key, item in items.items() if item[0] is not MISSING}
    return kept, any(item[1] for item in items.values()), any(item[2] for item in items.values())


def _fill_list(template: Sequence[Any], scope: Scope) -> tuple[list[Any], bool, bool]:
    items = [_fill_any(value, scope) for value in template]
    kept = [item[0] for item in items if item[0] is not MISSING]
    return kept, any(item[1] for item in items), any(item[2] for item in items)


def _joined(parts: Sequence[Part], scope: Scope) -> str | Literal[Missing.MISSING]:
    texts = []
    for part in parts:
        value = part if isinstance(part, str) else scope.value(part)
        if value is MISSING or value is None:
            return MISSING
        texts.append(text_of(value))
    return "".join(texts)


def fill_text(template: str, scope: Scope) -> str | None:
    """Return a template as text, or None when a value is missing or null."""
    text = _joined(parse(template), scope)
    return None if text is MISSING else text


def fill_header(name: str, template: str, scope: Scope) -> str | None:
    """Return the value of an HTTP header, or None when it lacks a value.

    Raises InvalidArguments for a line break or another control character, which could start a header of its own.
    """
    text = fill_text(template, scope)
    if text is not None and _NOT_IN_HEADER.search(text):
        raise InvalidArguments(
            f"a value for the header {name} holds a line break or control character",
            hint="give it as one line of plain text",
        )
    return text


def fill_argv(argv: Sequence[Any], scope: Scope) -> list[str]:
    """Return the argument list of a program; the program itself first.

    A list given for a whole item becomes one argument per element; in a nested list (an option with its value) the
    option is repeated for each. An item that lacks a value goes, a nested list goes whole. A caller's text may not
    begin with ``-`` where the program would read it as an option: it may after a ``--`` of the manifest, directly
    behind an option in a nested list, and inside a longer text. Raises InvalidArguments for that, and for a NUL.
    """
    filled: list[str] = []
    ended = False
    for item in argv:
        if isinstance(item, list | tuple):
            filled += _group(item, scope, guarded=not ended)
        else:
            filled += _words(item, scope, guarded=bool(filled) and not ended) or ()
        ended = ended or item == "--"
    return filled


def _group(items: Sequence[Any], scope: Scope, *, guarded: bool) -> list[str]:
    columns: list[list[str]] = []
    for index, item in enumerate(items):
        behind_option = index == 1 and isinstance(items[0], str) and items[0].startswith("-")
        words = _words(item, scope, guarded=guarded and not behind_option)
        if words is None:
            return []
        columns.append(words)
    repeats = next((len(words) for words in columns if len(words) != 1), 1)
    return [
        word
        for number in range(repeats)
        for words in columns
        for word in (words if len(words) == 1 else words[number : number + 1])
    ]


def _words(item: Any, scope: Scope, *, guarded: bool) -> list[str] | None:
    if not isinstance(item, str):
        return [text_of(item)]
    parts = parse(item)
    first = parts[0]
    whole = len(parts) == 1 and isinstance(first, Placeholder)
    value = scope.value(first) if whole and isinstance(first, Placeholder) else _joined(parts, scope)
    if value is MISSING or value is None:
        return None
    given = [word for word in value if word is not None] if isinstance(value, list) else [value]
    words = [text_of(word) for word in given]
    for word, was in zip(words, given, strict=True):
        if "\0" in word:
            raise InvalidArguments("a value holds a NUL character, which no program can be given")
        number = isinstance(was, int | float)
        if guarded and isinstance(first, Placeholder) and not first.env and not number and word.startswith("-"):
            raise InvalidArguments(
                f"{first.name} begins with '-', so the program would read it as an option: {shortened(word)}",
                hint='for a file write ./ before it; a manifest allows it with "--" before the value in argv, '
                'or with a nested list such as ["--title", "{title}"]',
            )
    return words


def placeholders(template: Any) -> Iterator[Placeholder]:
    """Yield every placeholder of a template of any shape. Raises CatalogInvalid for a stray brace."""
    if isinstance(template, str):
        yield from (part for part in parse(template) if isinstance(part, Placeholder))
    elif isinstance(template, Mapping):
        for value in template.values():
            yield from placeholders(value)
    elif isinstance(template, list | tuple):
        for value in template:
            yield from placeholders(value)


def shortened(text: str) -> str:
    """Return a text as a message quotes it: at most 60 characters, in quotes."""
    return repr(text if len(text) <= 60 else text[:59] + "…")
