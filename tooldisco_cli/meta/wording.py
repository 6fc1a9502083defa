"""Tools and results as a model reads them: complete enough to act on, and small."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from tooldisco_cli.catalog.snapshot import Entry
from tooldisco_cli.execution.protocol import Block, Execution, FileBlock, JsonBlock, TextBlock
from tooldisco_cli.search.answer import Answer

JsonObject = dict[str, Any]

SCHEMA_TOKENS = 1500
"""About so many tokens of one search's answer are spent on full schemas and examples."""
_DESCRIPTION_CHARS = 400


def estimated_tokens(text: str) -> int:
    """Return about how many tokens a text takes: four ASCII characters to one, other characters one each."""
    others = sum(1 for character in text if ord(character) > 127)
    return (len(text) - others + 3) // 4 + others


def compact(value: Any) -> str:
    """Return JSON in the fewest characters, text readable."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def signature(schema: Mapping[str, Any]) -> str:
    """Return the parameters of a schema in one line: ``(to: string[], subject: string, html?: boolean = false)``."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or not properties:
        return "()" if schema.get("additionalProperties") is False or not properties else "(…)"
    required = schema.get("required")
    needed = set(required) if isinstance(required, list) else set()
    ordered = sorted(properties.items(), key=lambda item: item[0] not in needed)
    parts = []
    for name, part in ordered[:24]:
        text = f"{name}{'' if name in needed else '?'}: {_kind(part)}"
        if isinstance(part, Mapping) and "default" in part:
            text += f" = {compact(part['default'])}"
        parts.append(text)
    return f"({', '.join(parts)}{', …' if len(ordered) > 24 else ''})"


def _kind(part: Any, depth: int = 0) -> str:
    if not isinstance(part, Mapping) or depth > 3:
        return "any"
    enum = part.get("enum")
    if isinstance(enum, list) and enum:
        return " | ".join(compact(value) for value in enum[:8]) + (" | …" if len(enum) > 8 else "")
    kind = part.get("type")
    if kind == "array":
        return f"{_kind(part.get('items'), depth + 1)}[]"
    if isinstance(kind, list):
        return " | ".join(map(str, kind))
    return str(kind or "any")


def shortened(text: str, limit: int = _DESCRIPTION_CHARS) -> str:
    """Return the beginning of a description, ended at a sentence where that is near."""
    text = " ".join(text.split())
    if len(text) <= limit:
        return text
    cut = text[: limit - 1]
    stop = max(cut.rfind(mark) for mark in (". ", "。", "; ", "；"))
    return (cut[: stop + 1] if stop > limit // 2 else cut.rstrip()) + "…"


def found_tools(answer: Answer, entries: Mapping[str, Entry]) -> JsonObject:
    """Return the answer of a search: the best tools with full schema and example as far as the budget goes."""
    left = SCHEMA_TOKENS
    tools = []
    for hit in answer.hits:
        tool: JsonObject = {
            "name": hit.name,
            "description": shortened(hit.description),
            "category": hit.category,
            "tags": list(hit.tags),
            "relevance_score": round(hit.relevance_score, 2),
        }
        more: JsonObject = {"input_schema": hit.input_schema}
        entry = entries.get(hit.name)
        if entry is not None and entry.tool.examples:
            more["example"] = entry.tool.examples[0].input
        cost = estimated_tokens(compact(more))
        if cost <= left:
            left -= cost
            tool |= more
        else:
            tool["parameters"] = signature(hit.input_schema)
        if entry is not None and not entry.trusted:
            tool["note"] = "not approved on this machine yet: it cannot run"
        tools.append(tool)
    body: JsonObject = {"found": True, "tools": tools}
    if not answer.confident:
        body["note"] = "weak matches: none may be right; search in other words, or say that no tool fits"
    if answer.total > len(tools):
        body["more"] = answer.total - len(tools)
    return body


def nothing_found(
    answer: Answer, categories: Iterable[str], category: str | None, *, regex: bool = False
) -> JsonObject:
    """Return what to try when a search found nothing."""
    hints = ["use other words for the action or the object, or the other language"]
    if regex:
        hints = ["no text of a tool matches: begin with (?i) to ignore case, or search in words, without regex"]
    if category and answer.hidden.get("category"):
        hints.insert(0, f"{answer.hidden['category']} tools of other categories fit: search without category")
    body: JsonObject = {"found": False, "query": answer.query, "suggestions": hints}
    if answer.near_names:
        body["similar_names"] = list(answer.near_names)
    body["categories"] = list(answer.near_categories or categories)[:12]
    return body


def definition_first(entry: Entry, definition: JsonObject, *, changed: bool = False) -> JsonObject:
    """Return the refusal of a tool whose definition the model does not know, with all that it needs to call it again.

    ``changed`` says that the model knows an older one; else no search has shown the tool yet.
    """
    why = "it was changed since you were shown it" if changed else "no search has shown it in this session"
    body: JsonObject = {
        "error": {
            "code": "changed" if changed else "not_shown",
            "message": f"{entry.reference} was not run: {why}. Here is its definition; if it is the right tool, "
            "call it again with input that fits.",
        },
        "tool": definition,
    }
    if entry.tool.examples:
        body["tool"] = definition | {"example": entry.tool.examples[0].input}
    return body


def result_texts(done: Execution) -> list[Block]:
    """Return an execution as blocks for a model: text, images, and a line for what was cut, noted, or in a file."""
    if done.error is not None:
        return [TextBlock(compact({"error": done.error.as_dict()}))]
    blocks: list[Block] = []
    for block in done.blocks:
        if isinstance(block, JsonBlock):
            blocks.append(TextBlock(compact(block.value)))
        elif isinstance(block, FileBlock):
            blocks.append(TextBlock(f"[file {block.path}, {block.media_type}, {block.size:,} bytes]"))
        else:
            blocks.append(block)
    remarks = [f"[note: {note}]" for note in done.notes]
    if done.cut is not None:
        text = f"[{done.cut.shown:,} of {done.cut.total:,} {done.cut.unit} are shown"
        remarks.append(text + (f"; read_result gives all pages, handle {done.handle}]" if done.handle else "]"))
    if remarks:
        blocks.append(TextBlock("\n".join(remarks)))
    return blocks or [TextBlock("done; the tool returned nothing")]
