"""The view of a search: hits, why they came, and what to try when there are none."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tooldisco_cli.render.streams import print_json, print_line, print_note
from tooldisco_cli.render.terminal import NARROW, print_columns, styled, terminal
from tooldisco_cli.render.untrusted import visible

if TYPE_CHECKING:
    from rich.console import Console

    from tooldisco_cli.search.answer import Absence, Answer, Contribution, Hit

SCHEMA = "tooldisco.search/1"


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
    if console.width < NARROW:
        for hit in answer.hits:
            _stacked(console, hit)
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 1, 0), header_style="dim")
    table.add_column("tool", overflow="fold", max_width=max(24, console.width // 3))
    table.add_column("score", justify="right")
    table.add_column("category", overflow="fold", max_width=16)
    table.add_column("what it does", overflow="fold", ratio=1)
    for hit in answer.hits:
        table.add_row(
            styled((visible(hit.name), "bold cyan")),
            f"{hit.relevance_score:.2f}",
            styled((visible(hit.category), "green")),
            _what(hit),
        )
    console.print(table)


def _what(hit: Hit) -> Any:
    title, description = visible(hit.title), summary(hit.description)
    if not title:
        return styled((description, ""))
    return styled((title, "bold"), (f"\n{description}", "")) if description else styled((title, "bold"))


def _stacked(console: Console, hit: Hit) -> None:
    from rich.padding import Padding

    score, category = f"{hit.relevance_score:.2f}", visible(hit.category)
    console.print(
        styled((visible(hit.name), "bold cyan"), (f"  {score}  ", ""), (category, "green")), overflow="fold"
    )
    console.print(Padding(_what(hit), (0, 0, 1, 2)))


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
