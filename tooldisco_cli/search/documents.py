"""From a tool to what the engine indexes: which of its texts count, how much, and what is stored for a hit.

All words go into one field of the engine. Repeating a word there is how a field's weight is said: BM25 then has one
document frequency and one length for each word, where separate fields, each with its own, measured clearly worse.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tooldisco_cli.search.folding import fold
from tooldisco_cli.search.names import exact_key, mention_key, name_keys

if TYPE_CHECKING:
    from tooldisco_cli.catalog.parallel import Tell
    from tooldisco_cli.catalog.snapshot import Entry
    from tooldisco_cli.catalog.tool import Tool

FIELD_WEIGHTS: Mapping[str, int] = {
    "name": 3,
    "title": 3,
    "keywords": 2,
    "tags": 2,
    "category": 1,
    "description": 2,
    "parameters": 1,
    "parameter_texts": 1,
    "enum": 1,
}
"""How often a field's words are counted; justified in ``benchmarks/ablation.md``."""

COUNTED_ONCE = frozenset({"parameters", "parameter_texts", "enum"})
"""Fields whose words count once however often they occur: long schemas must not win by repetition."""

MAX_CHARACTERS = 20_000
"""What is indexed of one field; the rest of a longer text is stored but not searched."""

PLACES_APART = 1 << 32
"""Between the places of two tools, in an index just built: room for tools that come later."""

_SENTENCES = re.compile(r"(?<=[.;!?])\s+|(?<=[。；！？])|[\n()（）]+")
_NAMES = re.compile(r"[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)+")
_NO_SCHEMAS = frozenset({"properties", "enum", "examples", "default", "const"})
_MAX_NODES = 2_000
_MAX_ENUM_VALUES = 50


def schema_texts(schema: Any) -> tuple[list[str], list[str], list[str]]:
    """Return the property names, the titles and descriptions, and the enum values of a JSON Schema, at any depth."""
    names: list[str] = []
    texts: list[str] = []
    values: list[str] = []
    waiting: list[Any] = [schema]
    for _ in range(_MAX_NODES):
        if not waiting:
            break
        node = waiting.pop()
        if isinstance(node, list):
            waiting.extend(reversed(node))
            continue
        if not isinstance(node, dict):
            continue
        texts.extend(node[key] for key in ("title", "description") if isinstance(node.get(key), str))
        enum = node.get("enum")
        if isinstance(enum, list):
            values.extend(value for value in enum[:_MAX_ENUM_VALUES] if isinstance(value, str))
        properties = node.get("properties")
        children: list[Any] = []
        if isinstance(properties, dict):
            names.extend(str(name) for name in properties)
            children.extend(properties.values())
        for key, value in node.items():
            if isinstance(value, (dict, list)) and key not in _NO_SCHEMAS:
                children.append(value)  # faster so: there are few
        waiting.extend(reversed(children))
    return names, texts, values


def field_texts(document: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the folded texts of each searched field of a stored document."""
    parameters, texts, values = schema_texts(document["input_schema"])
    fields: dict[str, Sequence[str]] = {
        "name": [document["name"]],
        "title": [document["title"]],
        "keywords": document["keywords"],
        "tags": document["tags"],
        "category": [document["category"]],
        "description": [document["description"]],
        "parameters": parameters,
        "parameter_texts": texts,
        "enum": values,
    }
    return {name: [fold(text[:MAX_CHARACTERS]) for text in texts if text] for name, texts in fields.items()}


def without_siblings(description: str, others: Container[str], own: str) -> str:
    """Return a folded description without the sentences that send a reader to another tool of the catalog.

    "For MySQL use query_mysql." says what a tool is not for; its words must not find the tool. A description in
    which every sentence names another tool is kept as it is.
    """
    kept = [
        sentence
        for sentence in _SENTENCES.split(description)
        if not any(name != own and name in others for name in _NAMES.findall(sentence))
    ]
    text = " ".join(kept)
    return text if text.strip() else description


def _mentions(tool: Tool) -> list[str]:
    folded = fold(tool.description[:MAX_CHARACTERS])
    return [name for name in dict.fromkeys(_NAMES.findall(folded)) if name != tool.name]


def stored_document(entry: Entry) -> dict[str, Any]:
    """Return the JSON that the engine keeps of a tool: all that a hit, an explanation or a regex search needs."""
    tool = entry.tool
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "category": tool.category,
        "tags": list(tool.tags),
        "keywords": list(tool.keywords),
        "aliases": list(tool.aliases),
        "version": tool.version,
        "input_schema": tool.input_schema,
        "trusted": entry.trusted,
        "layer": entry.source.layer.kind,
        "path": entry.source.path,
        "line": entry.source.line,
    }


def dump(document: Mapping[str, Any]) -> bytes:
    """Return a stored document as UTF-8 JSON; with lone surrogates in it as ASCII, dates in a schema as text."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), default=str)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(document, separators=(",", ":"), default=str).encode("ascii")


class Claim(NamedTuple):
    """What of a tool depends on the other tools of its catalog, or they on it."""

    entry: Entry
    keys: list[str]
    """What calls it."""
    alone: bool
    """Whether none of its keys is another tool's, too."""
    mentions: list[str]
    """What in its description could name another tool, each once."""


def claims_of(entries: Iterable[Entry]) -> list[Claim]:
    """Return what calls each tool, by name.

    Those are the keys that it holds, and other spellings of its own name that it shares. Trusted tools hold theirs
    before others, and names before aliases, as the catalog resolves them. Of an untrusted tool a word counts only
    when no spelling of it reaches another tool, so that a project cannot take over a word.
    """
    ordered = sorted(entries, key=lambda entry: entry.name)
    spelled = [[tuple(name_keys(word)) for word in (entry.name, *entry.tool.aliases)] for entry in ordered]
    # Sorting by trust keeps the order by name within.
    precedence = sorted(range(len(ordered)), key=lambda number: not ordered[number].trusted)
    holders: dict[str, int] = {}
    for number in precedence:
        for key in spelled[number][0]:
            holders.setdefault(key, number)
    for number in precedence:
        for keys in spelled[number][1:]:
            for key in keys:
                holders.setdefault(key, number)
    counts = Counter(key for words in spelled for key in {key for keys in words for key in keys})
    claims = []
    for number, entry in enumerate(ordered):
        claimed: dict[str, None] = {}
        for place, keys in enumerate(spelled[number]):
            held = [key for key in keys if holders[key] == number]
            if entry.trusted:
                claimed.update(dict.fromkeys(held if place else keys))
            elif len(held) == len(keys):
                claimed.update(dict.fromkeys(held))
        alone = all([counts[key] == 1 for keys in spelled[number] for key in keys])  # noqa: C419  # faster so
        claims.append(Claim(entry, list(claimed), alone, _mentions(entry.tool)))
    return claims


def tool_document(claim: Claim, place: int, names: Container[str]) -> dict[str, Any]:
    """Return the engine's document of a tool at a place, in a catalog that has ``names``.

    Its own ``names`` also tell of the tool itself and of what it mentions, for updates.
    """
    from tooldisco_cli.search.engine import utf8
    from tooldisco_cli.search.segmentation import index_terms

    tool = claim.entry.tool
    document = stored_document(claim.entry)
    words: list[str] = []
    grams: list[str] = []
    for field, texts in field_texts(document).items():
        if field == "description" and claim.mentions:
            texts = [without_siblings(text, names, tool.name) for text in texts]  # noqa: PLW2901
        found, pairs = index_terms("\n".join(texts))
        if field in COUNTED_ONCE:
            found, pairs = list(dict.fromkeys(found)), list(dict.fromkeys(pairs))
        words += found * FIELD_WEIGHTS[field]
        grams += pairs * FIELD_WEIGHTS[field]
    return {
        "text": " ".join(words),
        "grams": " ".join(grams),
        "names": " ".join([exact_key(tool.name), *claim.keys, *map(mention_key, claim.mentions)]),
        "category": utf8(tool.category),
        "tag": [utf8(tag) for tag in tool.tags],
        "place": 2 * place + (not tool.annotations.read_only),
        "document": dump(document),
    }


def engine_documents(claims: Sequence[Claim], tell: Tell | None = None) -> Iterator[dict[str, Any]]:
    """Yield the engine's document of each tool of a catalog, then the one that carries the term table."""
    from tooldisco_cli.search.bridge import bridge_terms
    from tooldisco_cli.search.segmentation import expect_tools

    expect_tools(len(claims))
    vocabulary: Counter[str] = Counter()
    names = {claim.entry.name for claim in claims}
    for number, claim in enumerate(claims, 1):
        document = tool_document(claim, number * PLACES_APART, names)
        vocabulary.update(set(document["text"].split(" ")))
        yield document
        if tell and number % 100 == 0:
            tell(number, len(claims))
    vocabulary.pop("", None)
    yield {"bridge": " ".join(bridge_terms(vocabulary))}
