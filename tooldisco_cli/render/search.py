"""The view of a search: hits, why they came, and what to try when there are none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tooldisco_cli.render.streams import Output, print_json
from tooldisco_cli.render.terminal import WIDEST, Column, print_columns, print_grid, print_wrapped, styled, terminal
from tooldisco_cli.render.untrusted import visible
from tooldisco_cli.render.wrapping import cell_len

if TYPE_CHECKING:
    from rich.console import Console

    from tooldisco_cli.search.answer import Absence, Answer, Contribution, Hit

SCHEMA = "tooldisco.search/1"
_READ = 2000
"""Characters of a description that are looked at for the two lines that are shown of it."""


def show_answer(answer: Answer, output: Output, *, explain: bool = False, explain_tool: str | None = None) -> None:
    """Print the answer of a search; what is not a result goes to stderr."""
    if output.as_json:
        print_json(SCHEMA, answer_body(answer, explain=explain))
        return
    console = terminal(output)
    if console is not None:
        for hit in answer.hits:
            _hit(console, hit, explain=explain)
    elif explain:
        for hit in answer.hits:
            print_columns([_row(hit)])
            _contributions(None, hit.contributions)
    else:
        print_columns([_row(hit) for hit in answer.hits])
    if answer.absence:
        _absence(console, answer.absence)
    elif explain_tool is not None:
        print_wrapped(console, f"{visible(explain_tool)}: it is among the results")
    for line in _remarks(answer):
        output.note(line)


def answer_body(answer: Answer, *, explain: bool) -> dict[str, Any]:
    """Return the body of ``tooldisco.search/1``."""
    results = []
    for hit in answer.hits:
        result = hit._asdict()
        del result["contributions"]
        if explain:
            result["contributions"] = _plain(hit.contributions)
        results.append(result)
    body: dict[str, Any] = {
        "query": answer.query,
        "total": answer.total,
        "confident": answer.confident,
        "results": results,
    }
    if answer.hidden:
        body["hidden"] = answer.hidden
    if not answer.hits:
        body |= {"near_names": list(answer.near_names), "near_categories": list(answer.near_categories)}
    if answer.absence:
        body["absence"] = {**answer.absence._asdict(), "contributions": _plain(answer.absence.contributions)}
    return body


def _plain(contributions: Iterable[Contribution]) -> list[dict[str, Any]]:
    return [contribution._asdict() for contribution in contributions]


def summary(description: str, limit: int = 160) -> str:
    """Return the beginning of a description as one line of at most ``limit`` characters."""
    text = visible(description[: limit * 4])
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def by_word(contributions: Iterable[Contribution]) -> list[tuple[str, float, list[tuple[str, float]]]]:
    """Return what each word added: the word (and what it was found as), its sum, and its fields, largest first."""
    sums: dict[str, dict[str, float]] = {}
    for one in contributions:
        word = visible(one.word if one.word == one.term else f"{one.word} → {one.term}")
        fields = sums.setdefault(word, {})
        field = one.field.replace("_", " ")
        fields[field] = fields.get(field, 0.0) + one.score
    found = [
        (word, sum(fields.values()), sorted(fields.items(), key=lambda item: (-item[1], item[0])))
        for word, fields in sums.items()
    ]
    return sorted(found, key=lambda item: (-item[1], item[0]))


def _row(hit: Hit) -> list[str]:
    what = " · ".join(part for part in (visible(hit.title), summary(hit.description)) if part)
    return [visible(hit.name), f"{hit.relevance_score:.2f}", visible(hit.category), _mark(hit) + what]


def _mark(hit: Hit) -> str:
    """Return the words that set a tool apart which nobody has approved."""
    return "" if hit.trusted else "[not trusted] "


def _hit(console: Console, hit: Hit, *, explain: bool) -> None:
    name, score, category = visible(hit.name), f"{hit.relevance_score:.2f}", visible(hit.category)
    width = min(console.width, WIDEST)
    gap = width - cell_len(name) - cell_len(score) - cell_len(category) - 2
    if gap >= 2:
        console.print(styled((name, "bold cyan"), (" " * gap, ""), (score, "dim"), (f"  {category}", "green")))
    else:
        print_wrapped(console, name, "bold cyan")
        print_wrapped(console, f"{score}  {category}", "green", indent=2)
    if not hit.trusted:
        print_wrapped(console, "not trusted: it cannot run before `tooldisco trust`", "yellow", indent=2)
    if hit.title:
        print_wrapped(console, visible(hit.title), "bold", indent=2, most=2)
    if hit.description.strip():
        print_wrapped(console, visible(hit.description[:_READ]), indent=2, most=2)
    if explain:
        _contributions(console, hit.contributions)
    console.print()


def _contributions(console: Console | None, contributions: Sequence[Contribution]) -> None:
    rows = [
        [word, f"{score:.2f}", ", ".join(f"{field} {part:.2f}" for field, part in fields)]
        for word, score, fields in by_word(contributions)
    ] or [["the query names it", "", ""]]
    if console is None:
        print_columns([[f"  {word}", score, fields] for word, score, fields in rows])
    else:
        columns = [Column("yellow", most=console.width // 3), Column("dim"), Column("dim")]
        print_grid(console, columns, rows, indent=2)


def _absence(console: Console | None, absence: Absence) -> None:
    print_wrapped(console, f"{visible(absence.name)}: {visible(absence.reason)}")
    if absence.contributions:
        _contributions(console, absence.contributions)


def _remarks(answer: Answer) -> list[str]:
    remarks = []
    if not answer.hits:
        where = " under these filters" if answer.hidden else ""
        remarks.append(f"nothing found for '{visible(answer.query[:_READ])}'{where}")
        if answer.near_names:
            remarks.append(f"  near names: {', '.join(map(visible, answer.near_names))}")
        if answer.near_categories and not answer.hidden:
            remarks.append(f"  categories: {', '.join(map(visible, answer.near_categories))}")
    elif not answer.confident:
        remarks.append("weak matches: none of them may be what you want")
    elif answer.total > len(answer.hits):
        remarks.append(f"{len(answer.hits)} of {answer.total:,} matches; --limit shows more")
    better = " that fit as well or better" if answer.hits else ""
    for kind, count in answer.hidden.items():
        remarks.append(f"--{kind} hides {count:,} {'match' if count == 1 else 'matches'}{better}")
    return remarks


def show_unknown_filter(option: str, given: Sequence[str], known: Iterable[str], output: Output) -> None:
    """Say on stderr which words after ``--category`` or ``--tag`` no tool has, and the nearest that some tool has."""
    from difflib import get_close_matches

    known = list(known)
    for word in given:
        if word in known:
            continue
        near = [other for other in known if other.startswith(word)][:3] or get_close_matches(word, known, 3, 0.6)
        meant = f"; did you mean {', '.join(map(visible, near))}?" if near else ""
        output.note(f"no tool has {option} '{visible(word)}'{meant}")
