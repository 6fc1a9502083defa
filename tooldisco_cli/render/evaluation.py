"""Views of an evaluation."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tooldisco_cli.render.streams import Output, print_json, print_line
from tooldisco_cli.render.terminal import print_columns
from tooldisco_cli.render.untrusted import visible
from tooldisco_cli.search.evaluation import MEASURES

if TYPE_CHECKING:
    from tooldisco_cli.search.evaluation import Evaluation
    from tooldisco_cli.search.judged import JudgedSet

EVAL_SCHEMA = "tooldisco.eval/1"
CONFUSIONS_SCHEMA = "tooldisco.confusions/1"


def show_evaluation(evaluation: Evaluation, judged: JudgedSet, output: Output, *, worst: int) -> None:
    """Print the measures of all queries and of each language, and the queries that went worst."""
    languages = evaluation.by_language()
    failed = evaluation.worst(worst)
    if output.as_json:
        body = {
            "tools": len(judged.entries),
            "queries": len(evaluation.outcomes),
            "notes": list(judged.notes),
            "measures": _measures(evaluation),
            "languages": {
                language: {"queries": len(part.outcomes), "measures": _measures(part)}
                for language, part in languages.items()
            },
            "worst": [
                {"query": o.query.text, "id": o.query.id, "relevant": sorted(o.query.relevant),
                 "found": list(o.found),
                 "recall@5": o.measures["recall@5"], "mrr": o.measures["mrr"]}
                for o in failed
            ],
        }  # fmt: skip
        print_json(EVAL_SCHEMA, body)
        return
    print_line(f"{len(judged.entries):,} tools, {len(evaluation.outcomes):,} queries")
    parts = {"all": evaluation} | (languages if len(languages) > 1 else {})
    rows = [["", *(f"{name} ({len(part.outcomes):,})" for name, part in parts.items())]]
    for measure in MEASURES:
        cells = []
        for part in parts.values():
            estimate = part.estimate(measure)
            cells.append(f"{estimate.mean:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]")
        rows.append([measure, *cells])
    print_columns(rows)
    for note in judged.notes:
        output.note(f"note: {visible(note)}")
    if failed:
        print_line("\nworst queries, the tools that are right, and what came instead")
    for outcome in failed:
        print_line(f"  {visible(outcome.query.text)[:160]}")
        print_line(f"    right: {', '.join(map(visible, sorted(outcome.query.relevant)))}")
        print_line(f"    found: {', '.join(map(visible, outcome.found[:5])) or 'nothing'}")


def _measures(evaluation: Evaluation) -> dict[str, Any]:
    result = {}
    for measure in MEASURES:
        estimate = evaluation.estimate(measure)
        result[measure] = {key: round(value, 4) for key, value in asdict(estimate).items()}
    return result


def show_confusions(evaluation: Evaluation, judged: JudgedSet, output: Output, *, limit: int) -> None:
    """Print which tools are taken for each other, and which are not found."""
    pairs = evaluation.confusions()[:limit]
    never, unasked = evaluation.never_found(), evaluation.without_query()
    if output.as_json:
        body = {
            "tools": len(judged.entries),
            "queries": len(evaluation.outcomes),
            "confusions": [asdict(pair) for pair in pairs],
            "never_found": never,
            "without_query": unasked,
        }
        print_json(CONFUSIONS_SCHEMA, body)
        return
    if pairs:
        rows = [["times", "wanted", "came first", "such as"]]
        rows += [[str(p.count), visible(p.wanted), visible(p.found), visible(p.example)[:80]] for p in pairs]
        print_columns(rows)
    else:
        print_line("no query finds another tool first")
    if never:
        print_line(f"\nin the first five of none of their queries: {', '.join(map(visible, never))}")
    if unasked:
        output.note(f"{len(unasked):,} tools have no query: {', '.join(map(visible, unasked[:10]))}")
