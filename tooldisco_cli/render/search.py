"""The view of a search: hits, why they came, and what to try when there are none."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tooldisco_cli.render.streams import print_json, print_line, print_note
from tooldisco_cli.render.terminal import cell_len, print_columns, styled, terminal
from tooldisco_cli.render.untrusted import visible
from tooldisco_cli.render.wrapping import wrap

if TYPE_CHECKING:
    from rich.console import Console

    from tooldisco_cli.search.answer import Absence, Answer, Contribution, Hit

SCHEMA = "tooldisco.search/1"
WIDEST = 100
"""Lines longer than this are hard to read, however wide the terminal is."""


def show_answer(answer: Answer, *, as_json: bool, explain: bool, no_color: bool) -> None:
    """Print the answer of a search; what is not a result goes to stderr."""
    if as_json:
        print_json(SCHEMA, answer_body(answer, explain=explain))
        return
    console = terminal(no_color=no_color) if answer.hits else None
    if console:
        _on_terminal(console, answer)
    else:
        print_columns([_row(hit) for hit in answer.hits])
    if explain:
        for hit in answer.hits:
            print_line(f"\n{visible(hit.name)}: what each word added")
            _contributions(hit.contributions)
    for line in _remarks(answer):
        print_note(line)
    if answer.absence:
        _absence(answer.absence)


def answer_body(answer: Answer, *, explain: bool) -> dict[str, Any]:
    """Return the body of ``tooldisco.search/1``."""
    results = []
    for hit in answer.hits:
        result = asdict(hit)
        if not explain:
            del result["contributions"]
        results.append(result)
    body: dict[str, Any] = {"query": answer.query, "total": answer.total, "results": results}
    if answer.hidden:
        body["hidden"] = answer.hidden
    if not answer.hits:
        body |= {"near_names": list(answer.near_names), "near_categories": list(answer.near_categories)}
    if answer.absence:
        body["absence"] = asdict(answer.absence)
    return body


def summary(description: str, limit: int = 160) -> str:
    """Return the beginning of a description as one line of at most ``limit`` characters."""
    text = visible(description)
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def _row(hit: Hit) -> list[str]:
    what = " · ".join(part for part in (visible(hit.title), summary(hit.description)) if part)
    return [visible(hit.name), f"{hit.relevance_score:.2f}", visible(hit.category), what]


def _on_terminal(console: Console, answer: Answer) -> None:
    width = min(console.width, WIDEST)
    for hit in answer.hits:
        name, score, category = visible(hit.name), f"{hit.relevance_score:.2f}", visible(hit.category)
        gap = width - cell_len(name) - cell_len(score) - cell_len(category) - 2
        parts = (name, "bold cyan"), (" " * max(2, gap), ""), (score, ""), (f"  {category}", "green")
        console.print(styled(*parts), overflow="fold")
        for line in wrap(visible(hit.title), width - 2, most=2):
            console.print(styled((f"  {line}", "bold")))
        for line in wrap(visible(hit.description[:2000]), width - 2, most=2):
            console.print(styled((f"  {line}", "")))
        console.print()


def _remarks(answer: Answer) -> list[str]:
    remarks = []
    if not answer.hits:
        remarks.append(f"nothing found for {visible(answer.query)!r}")
        if answer.near_names:
            remarks.append(f"  near names: {', '.join(map(visible, answer.near_names))}")
        if answer.near_categories:
            remarks.append(f"  categories: {', '.join(map(visible, answer.near_categories))}")
    elif answer.total > len(answer.hits):
        remarks.append(f"{len(answer.hits)} of {answer.total:,} matches; --limit shows more")
    for kind, count in answer.hidden.items():
        one = count == 1
        remarks.append(
            f"--{kind} hides {count:,} {'match that fits' if one else 'matches that fit'} as well or better"
        )
    return remarks


def _contributions(contributions: tuple[Contribution, ...]) -> None:
    rows = [["word", "found as", "in", "score"]]
    rows += [[visible(c.word), visible(c.term), c.field, f"{c.score:.2f}"] for c in contributions]
    print_columns(rows if contributions else [["named in the query", "", "", ""]])


def _absence(absence: Absence) -> None:
    print_line(f"\n{visible(absence.name)}: {absence.reason}")
    if absence.contributions:
        _contributions(absence.contributions)
