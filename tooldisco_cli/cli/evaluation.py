"""``tooldisco eval``: how well tools are found."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tooldisco_cli.cli.context import Common, common
from tooldisco_cli.cli.meaning import with_meaning
from tooldisco_cli.cli.options import AsJson, Categories, NoColor, Quiet, ToolsDirs
from tooldisco_cli.errors import GateNotMet, NothingFound, UsageError

if TYPE_CHECKING:
    from tooldisco_cli.search.evaluation import Evaluation
    from tooldisco_cli.search.judged import JudgedSet

app = typer.Typer(
    name="eval",
    help="Measure how well tools are found.",
    invoke_without_command=True,
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
)


class Mode(StrEnum):
    """How to search."""

    WORDS = "words"
    HYBRID = "hybrid"


CatalogPath = Annotated[
    Path | None,
    typer.Option("--catalog", metavar="PATH", help="JSON Lines of tools, or a folder of manifests; else all layers."),
]
QueriesPath = Annotated[
    Path | None,
    typer.Option(
        "--queries", metavar="PATH", help="JSON Lines of query and relevant; else the tools' expected_queries."
    ),
]


@app.callback(invoke_without_command=True)
def evaluate_search(
    ctx: typer.Context,
    catalog: CatalogPath = None,
    queries: QueriesPath = None,
    mode: Annotated[
        Mode, typer.Option("--mode", help="`words`, or `hybrid`: by meaning too, which needs the semantic extra.")
    ] = Mode.WORDS,
    category: Categories = None,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-under",
            metavar="MEASURE=VALUE",
            help="Exit 1 below this, such as recall@5=0.95.",
            show_default=False,
        ),
    ] = None,
    worst: Annotated[
        int, typer.Option("--worst", min=0, max=1000, help="How many of the worst queries to show.")
    ] = 10,
    as_json: AsJson = False,
    tools_dir: ToolsDirs = None,
    no_color: NoColor = False,
    quiet: Quiet = False,
) -> None:
    """Measure recall, MRR and nDCG over judged queries, per language, with intervals and the worst queries.

    Without arguments the loaded catalog is measured by its tools' expected_queries.
    """
    if ctx.invoked_subcommand is not None:
        return
    gates = [_gate(text) for text in fail_under or ()]
    given = common(ctx)
    evaluation, judged = _evaluated(given, catalog, queries, category, mode)
    from tooldisco_cli.render.evaluation import show_evaluation

    show_evaluation(evaluation, judged, given.output, worst=worst)
    missed = [f"{name} is {evaluation.mean(name):.3f}, below {value:g}" for name, value in gates
              if evaluation.mean(name) < value]  # fmt: skip
    if missed:
        if given.output.as_json:
            raise typer.Exit(GateNotMet.exit_code)
        raise GateNotMet("; ".join(missed))


@app.command("confusions")
def confusions(
    ctx: typer.Context,
    catalog: CatalogPath = None,
    queries: QueriesPath = None,
    mode: Annotated[Mode, typer.Option("--mode", help="How to search: `words` or `hybrid`.")] = Mode.WORDS,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many pairs at most.")] = 20,
    as_json: AsJson = False,
    tools_dir: ToolsDirs = None,
    no_color: NoColor = False,
    quiet: Quiet = False,
) -> None:
    """Show pairs of tools whose queries find each other, and tools that no query finds."""
    given = common(ctx)
    evaluation, judged = _evaluated(given, catalog, queries, None, mode)
    from tooldisco_cli.render.evaluation import show_confusions

    show_confusions(evaluation, judged, given.output, limit=limit)


def _gate(text: str) -> tuple[str, float]:
    from tooldisco_cli.search.evaluation import MEASURES

    name, mark, value = text.partition("=")
    try:
        threshold = float(value)
    except ValueError:
        threshold = -1.0
    if not mark or name not in MEASURES or not 0.0 <= threshold <= 1.0:
        raise UsageError(
            f"{text!r} is no gate", hint=f"write MEASURE=VALUE with a value from 0 to 1; {', '.join(MEASURES)}"
        )
    return name, threshold


def _evaluated(
    given: Common, catalog: Path | None, queries: Path | None, categories: list[str] | None, mode: Mode
) -> tuple[Evaluation, JudgedSet]:
    from tooldisco_cli.render.progress import progress
    from tooldisco_cli.search.evaluation import evaluate
    from tooldisco_cli.search.index import SearchIndex
    from tooldisco_cli.search.judged import JudgedSet, expected_queries, read_catalog, read_queries

    notes: tuple[str, ...] = ()
    if catalog is None:
        entries: tuple[Any, ...] = given.load().entries
    elif catalog.is_dir():
        from tooldisco_cli.catalog.layers import load_layer
        from tooldisco_cli.catalog.stacking import assemble
        from tooldisco_cli.catalog.tool import Layer

        entries = assemble([load_layer(Layer("tools-dir", str(catalog)))]).entries
    else:
        entries = read_catalog(catalog)
    if queries is not None:
        judged, notes = read_queries(queries, (entry.name for entry in entries))
    else:
        judged = expected_queries(entries)
    if categories:
        names = {entry.name for entry in entries if entry.tool.category in categories}
        judged = tuple(query for query in judged if query.relevant & names)
    if not judged:
        raise NothingFound(
            "there is no query to ask", hint="give --queries, or expected_queries in the tools' manifests"
        )
    index = SearchIndex.build(entries)
    if mode is Mode.HYBRID:
        with progress("reading what tools mean", given.output) as tell:
            index = with_meaning(index, tell=tell)
    every = [entry.name for entry in entries]
    with progress("asking", given.output) as tell:
        asked = None if tell is None else lambda done: tell(done, len(judged))
        evaluation = evaluate(index, judged, catalog=every, progress=asked)
    return evaluation, JudgedSet(entries, judged, notes)
