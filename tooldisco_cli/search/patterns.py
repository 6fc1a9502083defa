"""Search by regular expression, over the texts of tools as they were written.

The expressions are those of Rust's regex crate, which the engine brings: no look-around and no back-references, and
time linear in the text whatever the pattern, so that no pattern of a model can hang a session. The engine's own regex
query would not do, as it sees single stems and not texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tooldisco_cli.errors import UsageError
from tooldisco_cli.search.documents import schema_texts
from tooldisco_cli.search.engine import utf8

MAX_PATTERN = 200

_IN_NAME, _IN_LABELS, _IN_DESCRIPTION, _IN_PARAMETERS = 1.0, 0.8, 0.6, 0.4


def compiled(pattern: str) -> Callable[[str], bool]:
    """Return what tells whether a pattern matches somewhere in a text; an empty match is none.

    Raises UsageError for a pattern that is empty, longer than 200 characters, or wrong.
    """
    from tantivy import TextAnalyzerBuilder, Tokenizer

    if not pattern.strip():
        raise UsageError("the pattern is empty", hint="give a regular expression, such as 'send|notify'")
    if len(pattern) > MAX_PATTERN:
        raise UsageError(f"the pattern has {len(pattern)} characters; at most {MAX_PATTERN} are allowed")
    try:
        analyzer = TextAnalyzerBuilder(Tokenizer.regex(utf8(pattern))).build()
    except ValueError as error:
        hint = "the syntax is that of Rust's regex crate: no look-around, no back-references"
        raise UsageError(f"wrong pattern {pattern!r}{_reason(pattern)}", hint=hint) from error

    def matches(text: str) -> bool:
        return bool(analyzer.analyze(utf8(text)))

    return matches


def _reason(pattern: str) -> str:
    """Say what is wrong with a pattern as Python's own parser sees it; the engine does not say it at all."""
    import re

    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        return f": {error}"
    return ""


def relevance(document: Mapping[str, Any], matches: Callable[[str], bool]) -> float:
    """Return where in a stored tool a pattern matches: 1 its name, .8 labels, .6 description, .4 parameters, 0 no."""
    if any(map(matches, [document["name"], *document["aliases"]])):
        return _IN_NAME
    if any(map(matches, [document["title"], document["category"], *document["tags"], *document["keywords"]])):
        return _IN_LABELS
    if matches(document["description"]):
        return _IN_DESCRIPTION
    names, texts, values = schema_texts(document["input_schema"])
    return _IN_PARAMETERS if any(map(matches, [*names, *texts, *values])) else 0.0
