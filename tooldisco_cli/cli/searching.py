"""What ``tooldisco search`` does, once its options are read: by typer, or by the shortcut."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tooldisco_cli.cli.context import Common
from tooldisco_cli.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tooldisco_cli.search.answer import Answer
    from tooldisco_cli.search.index import SearchIndex

DEFAULT_LIMIT = 5
MOST = 1000
"""Tools that may be asked for."""
MODES = ("words", "hybrid", "regex")


class Wanted(NamedTuple):
    """A query, and how it is meant."""

    query: str
    categories: Sequence[str] = ()
    tags: Sequence[str] = ()
    limit: int = DEFAULT_LIMIT
    explain: bool = False
    explain_tool: str | None = None
    mode: str = MODES[0]
    use_cache: bool = True


def find(wanted: Wanted, given: Common) -> int:
    """Search, print the answer, and return the exit code: 1 when nothing fits.

    Raises UsageError for an empty query, and for explanations of a pattern.
    """
    if not wanted.query.strip():
        raise UsageError(
            "the query is empty", hint="say what you want to do, such as: tooldisco search send an email"
        )
    if wanted.mode == "regex" and (wanted.explain or wanted.explain_tool):
        raise UsageError("--explain is for words; a pattern either matches or not")
    from tooldisco_cli.render.progress import progress
    from tooldisco_cli.render.search import show_answer, show_unknown_filter
    from tooldisco_cli.search.store import ask

    categories, tags = wanted.categories, wanted.tags

    def question(index: SearchIndex) -> tuple[Answer, dict[str, list[str]]]:
        if wanted.mode == "regex":
            return index.search_regex(wanted.query, categories=categories, tags=tags, limit=wanted.limit), {}
        if wanted.mode == "hybrid":
            from tooldisco_cli.cli.meaning import with_meaning

            index = with_meaning(index, use_cache=wanted.use_cache, tell=tell)
        answer = index.search(
            wanted.query,
            categories=categories,
            tags=tags,
            limit=wanted.limit,
            explain=wanted.explain,
            explain_tool=wanted.explain_tool,
        )
        return answer, {} if answer.hits else _known(index, categories, tags)

    with progress("reading and indexing tools", given.output) as tell:
        (answer, known), messages = ask(question, given.tools_dirs, use_cache=wanted.use_cache, tell=tell)
    given.warn(messages)
    show_answer(answer, given.output, explain=wanted.explain, explain_tool=wanted.explain_tool)
    for option, words in ("category", categories), ("tag", tags):
        if option in known:
            show_unknown_filter(option, words, known[option], given.output)
    return 0 if answer.hits else 1


def _known(index: SearchIndex, categories: Sequence[str], tags: Sequence[str]) -> dict[str, list[str]]:
    """Return every category, and every tag, as far as the user named one, so that a misspelt one can be told."""
    from tooldisco_cli.search.prefixes import beginning_with

    known = {}
    if categories:
        known["category"] = beginning_with(index, "category", "", 10_000)
    if tags:
        known["tag"] = beginning_with(index, "tag", "", 10_000)
    return known
