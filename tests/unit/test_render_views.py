"""Whatever a manifest, a tool or a query says, no view writes anything that a terminal would obey."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import unicodedata
from importlib.resources import files
from pathlib import Path
from unittest import mock

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from tooldisco_cli.authoring.importing import ImportReport
from tooldisco_cli.catalog.snapshot import Catalog, Entry
from tooldisco_cli.catalog.tool import CommandExecutor, Example, Layer, Source, Tool
from tooldisco_cli.errors import UsageError
from tooldisco_cli.render.authoring import show_import
from tooldisco_cli.render.failure import show_failure, show_surprise
from tooldisco_cli.render.problems import show_problems, warn_of
from tooldisco_cli.render.search import by_word, show_answer, show_unknown_filter
from tooldisco_cli.render.standing import Standing
from tooldisco_cli.render.streams import Output
from tooldisco_cli.render.terminal import Column, print_grid, terminal
from tooldisco_cli.render.tools import show_categories, show_tool, show_tools
from tooldisco_cli.search.answer import Absence, Answer, Contribution, Hit
from tooldisco_cli.tomlfile import Problem

ROGUE = "\x00\x07\x08\x0c\x1b\x7f\x85\x9b\x9d\u061c\u200b\u200d\u200e\u202e\u2066\u2069\ufe0f\ufeff\u2028\r\n\t\ud800"
PLAIN = "ab_ 发送，。（é🙂[bold]"
TEXT = st.text(st.one_of(st.sampled_from(ROGUE), st.sampled_from(PLAIN), st.characters(codec=None)), max_size=40)
DIRECTIONS = {"LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"}

contributions = st.lists(
    st.builds(Contribution, st.sampled_from(["title", "parameter_texts"]), TEXT, TEXT, st.floats(0, 9)), max_size=3
).map(tuple)
hits = st.builds(
    Hit, name=TEXT, title=TEXT, description=TEXT, category=TEXT, tags=st.lists(TEXT, max_size=2).map(tuple),
    version=TEXT, input_schema=st.just({"type": "object"}), relevance_score=st.floats(0, 1),
    layer=st.just("user"), path=TEXT, line=st.integers(0, 9), contributions=contributions,
)  # fmt: skip
answers = st.builds(
    Answer, query=TEXT, hits=st.lists(hits, max_size=2).map(tuple), total=st.integers(0, 9),
    hidden=st.dictionaries(st.sampled_from(["category", "tag"]), st.integers(1, 5)),
    near_names=st.lists(TEXT, max_size=2).map(tuple), near_categories=st.lists(TEXT, max_size=2).map(tuple),
    absence=st.none() | st.builds(Absence, TEXT, TEXT, st.none() | st.integers(1, 9), contributions),
)  # fmt: skip
arguments = st.dictionaries(TEXT, TEXT, max_size=2)
tools = st.builds(
    Tool, name=TEXT, title=TEXT, description=TEXT, category=TEXT, tags=st.lists(TEXT, max_size=2).map(tuple),
    aliases=st.lists(TEXT, max_size=2).map(tuple), owner=TEXT, version=TEXT, superseded_by=st.none() | TEXT,
    examples=st.lists(st.builds(Example, input=arguments, result=TEXT), max_size=1).map(tuple),
    command=st.builds(CommandExecutor, argv=st.lists(TEXT, min_size=1, max_size=2).map(tuple)),
    input_schema=st.builds(
        lambda name, kind, text: {"properties": {name: {"type": kind, "description": text}}, "required": [name]},
        TEXT, TEXT, TEXT,
    ),
)  # fmt: skip
entries = st.builds(
    Entry, tool=tools, source=st.builds(Source, st.just(Layer("user", "/x")), TEXT, st.integers(0, 9)),
    digest=st.just("ab"), trusted=st.booleans(),
)  # fmt: skip
problems = st.builds(Problem, TEXT, st.integers(0, 9), TEXT, TEXT, TEXT, st.sampled_from(["error", "warning"]))


class Stream(io.TextIOWrapper):
    """A stream as the commands have it, and what was written to it."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", errors="backslashreplace", newline="", write_through=True)

    def getvalue(self) -> str:
        return self.buffer.getvalue().decode()


@contextlib.contextmanager
def screen(columns: int | None):
    """Take what is written: to a pipe, or to a dumb terminal of so many columns, which gets no styles."""
    out, err = Stream(), Stream()
    variables = {"TERM": "dumb", "FORCE_COLOR": "1", "COLUMNS": str(columns), "LINES": "40"} if columns else {}
    kept = {k: v for k, v in os.environ.items() if k not in {"FORCE_COLOR", "NO_COLOR", "TOOLDISCO_DEBUG", "COLUMNS"}}
    with mock.patch.dict(os.environ, kept | variables, clear=True), mock.patch.multiple(sys, stdout=out, stderr=err):
        yield out, err


def assert_nothing_is_obeyed(text: str) -> None:
    obeyed = {c for c in text if c != "\n" and unicodedata.category(c) in {"Cc", "Zl", "Zp"}}
    assert obeyed == set()
    assert not {c for c in text if unicodedata.bidirectional(c) in DIRECTIONS or c in "\u061c\u200e\u200f"}


SCREENS = st.sampled_from([None, 20, 60, 200])
OUTPUTS = st.sampled_from([Output(), Output(as_json=True)])


@given(answers, SCREENS, OUTPUTS, st.booleans())
@settings(deadline=None)
def test_of_a_search(answer, columns, output, explain):
    with screen(columns) as (out, err):
        show_answer(answer, output, explain=explain, explain_tool=answer.query)
        show_unknown_filter("tag", [answer.query], answer.near_names, output)
    assert_nothing_is_obeyed(out.getvalue() + err.getvalue())


@given(st.lists(entries, max_size=2), SCREENS, OUTPUTS)
@settings(deadline=None)
def test_of_tools(listed, columns, output):
    catalog = Catalog(by_name={entry.name: (entry,) for entry in listed})
    with screen(columns) as (out, err):
        show_tools(listed, catalog, output)
        show_tools([], catalog, output)
        show_categories(catalog.categories(), output)
        for entry in listed:
            show_tool(entry, output, Standing())
    assert_nothing_is_obeyed(out.getvalue() + err.getvalue())


@given(st.lists(problems, max_size=3), TEXT, SCREENS, OUTPUTS)
@settings(deadline=None)
def test_of_faults_and_failures(found, text, columns, output):
    report = ImportReport(
        files=(text,), tools=1, renamed=((text, text),), skipped=((text, text),), notes=((text, text),)
    )
    with screen(columns) as (out, err):
        show_problems(found, 1, output)
        warn_of([(problem.severity, str(problem)) for problem in found] + [("note", text)], output)
        show_failure(UsageError(text, hint=text), as_json=output.as_json)
        show_surprise(RuntimeError(text), as_json=output.as_json)
        show_import(report, Path(text.replace("\0", "") or "x"), output)
    assert_nothing_is_obeyed(out.getvalue() + err.getvalue())


def test_quiet_leaves_stderr_empty():
    with screen(None) as (_, err):
        show_answer(Answer(query="x", total=3, hidden={"tag": 1}), Output(quiet=True))
        show_tools([], Catalog(), Output(quiet=True))
    assert err.getvalue() == ""


CELL = st.text(st.sampled_from("ab_/ 发送，。"), max_size=30).map(lambda text: " ".join(text.split()))


@given(st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=5), st.integers(20, 100), st.integers(0, 4))
@settings(deadline=None)
def test_a_grid_fits_its_terminal_loses_nothing_and_lines_up(rows, width, indent):
    with screen(width) as (out, _):
        console = terminal(Output())
        print_grid(console, [Column(most=12), Column(), Column()], rows, heads=["one", "two", "three"], indent=indent)
    lines = out.getvalue().removesuffix("\n").split("\n")
    assert max(map(cell_len, lines)) <= width
    written = "".join("".join(lines).split())
    assert sorted(written) == sorted(
        "".join("".join(row) for row in [("one", "two", "three"), *rows]).replace(" ", "")
    )
    second = lines[0].index("two")
    for line in lines:
        before = ""
        while len(before) < len(line) and cell_len(before) < second:
            before = line[: len(before) + 1]
        assert before.isspace() or before.endswith("  ") or len(before) == len(line)


def test_what_each_word_added_is_told_once_a_word_largest_first():
    found = by_word(
        [
            Contribution("title", "mail", "mail", 1.0),
            Contribution("title", "mail", "mail", 0.5),
            Contribution("parameter_texts", "mail", "mail", 2.0),
            Contribution("tags", "email", "邮件", 9.0),
        ]
    )
    assert found == [
        ("邮件 → email", 9.0, [("tags", 9.0)]),
        ("mail", 3.5, [("parameter texts", 2.0), ("title", 1.5)]),
    ]


@pytest.mark.parametrize(
    "path", sorted(files("tooldisco_cli").joinpath("render/schemas").iterdir(), key=str), ids=lambda path: path.name
)
def test_each_shipped_schema_is_one_and_is_named_for_its_number(path):
    schema = json.loads(path.read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    name, _, number = path.stem.rpartition("-")
    assert schema["properties"]["schema"]["const"] == f"tooldisco.{name}/{number}"
    assert "schema" in schema["required"]
