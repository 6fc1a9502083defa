"""The shipped manifests hold what their readers, human and model, count on."""

from __future__ import annotations

import importlib
import inspect
import keyword
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from shipped import attempt, catalog

from tooldisco_cli.catalog.loading import check_paths
from tooldisco_cli.catalog.snapshot import Entry
from tooldisco_cli.execution.linting import template_problems
from tooldisco_cli.execution.pipeline import Workbench, dry_run
from tooldisco_cli.paths import shipped_tools
from tooldisco_cli.settings import Settings

HAN = re.compile(r"[\u4e00-\u9fff]")
LATIN = re.compile(r"[A-Za-z]{2,}")
TOOLS = [pytest.param(entry, id=entry.name) for entry in catalog()]
CATEGORIES = {"communication", "data", "integration", "computation", "media", "utility"}


def test_nothing_is_wrong_with_any_manifest() -> None:
    assert check_paths([shipped_tools()]) == []


def test_six_categories_share_the_tools() -> None:
    counts = catalog().categories()
    assert set(counts) == CATEGORIES
    assert min(counts.values()) >= 10


def test_extras_are_those_of_the_package_and_cover_what_tools_import() -> None:
    import tomllib

    project = tomllib.loads((shipped_tools().parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    used = {entry.tool.requires.extra for entry in catalog()} - {""}
    assert used <= set(extras)
    everything = re.search(r"\[(.*)\]", extras["all"][0])
    assert everything is not None
    assert used <= set(everything[1].split(","))
    for entry in catalog():
        assert bool(entry.tool.requires.python) == bool(entry.tool.requires.extra), entry.name


@pytest.mark.parametrize("entry", TOOLS)
class TestEachTool:
    def test_speaks_both_languages(self, entry: Entry) -> None:
        tool = entry.tool
        for text in (tool.title, tool.description, " ".join(tool.expected_queries)):
            assert HAN.search(text)
            assert LATIN.search(text)
        assert 3 <= len(tool.expected_queries) <= 6
        assert tool.tags
        assert tool.keywords
        assert 60 <= len(tool.description) <= 1200

    def test_describes_every_field_with_an_example(self, entry: Entry) -> None:
        for name, field in (entry.tool.input_schema.get("properties") or {}).items():
            text = field.get("description", "")
            assert len(text) >= 12, name
            assert HAN.search(text) or "such as" in text or "Whether" in text, name

    def test_schema_is_closed_and_bounded(self, entry: Entry) -> None:
        schema = entry.tool.input_schema
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["additionalProperties"] is False
        for name, field in schema["properties"].items():
            kinds = field.get("type")
            if kinds == "string":
                assert {"enum", "maxLength", "pattern", "format"} & set(field), name
            if kinds == "integer":
                assert "enum" in field or {"minimum", "maximum"} <= set(field), name
            if kinds == "array":
                assert "items" in field, name
                assert "maxItems" in field or "enum" in field["items"], name

    def test_keywords_are_no_copies_of_queries(self, entry: Entry) -> None:
        queries = {query.casefold().strip() for query in entry.tool.expected_queries}
        assert queries.isdisjoint(word.casefold().strip() for word in entry.tool.keywords)
        assert all(len(word) <= 30 for word in entry.tool.keywords)

    def test_names_siblings_that_exist(self, entry: Entry) -> None:
        names = {other.name for other in catalog()}
        assert set(entry.tool.related) <= names - {entry.name}
        mentioned = set(re.findall(r"\b[a-z]+(?:_[a-z0-9]+)+\b", entry.tool.description))
        assert mentioned <= names | {"max_changes", "at_all"}, mentioned - names

    def test_annotations_do_not_contradict_each_other(self, entry: Entry) -> None:
        marks = entry.tool.annotations
        assert marks.destructive is not None
        if marks.read_only:
            assert not marks.destructive
        reaches_out = entry.tool.http is not None or bool(
            {name for name in entry.tool.requires.env if not name.startswith("X")}
        )
        assert marks.open_world or not reaches_out

    def test_its_examples_fit_its_schema(self, entry: Entry) -> None:
        assert entry.tool.examples
        for example in entry.tool.examples:
            jsonschema.validate(example.input, entry.tool.input_schema, cls=jsonschema.Draft202012Validator)
            assert example.result is not None

    def test_templates_name_only_what_there_is(self, entry: Entry) -> None:
        assert template_problems(entry.tool) == []

    def test_its_function_takes_exactly_its_arguments(self, entry: Entry) -> None:
        if entry.tool.python is None:
            return
        module, _, name = entry.tool.python.function.partition(":")
        function = getattr(importlib.import_module(module), name)
        assert not inspect.iscoroutinefunction(function)
        parameters = inspect.signature(function).parameters
        declared = entry.tool.input_schema["properties"]
        spelled = {name + ("_" if keyword.iskeyword(name) else ""): name for name in declared}
        assert set(parameters) - {"context"} == set(spelled)
        required = {n for n, p in parameters.items() if p.default is inspect.Parameter.empty} - {"context"}
        assert {spelled[n] for n in required} == set(entry.tool.input_schema.get("required", []))
        for parameter, name in spelled.items():
            default = parameters[parameter].default
            if "default" in declared[name] and not isinstance(declared[name]["default"], list):
                assert declared[name]["default"] == default, name

    def test_a_dry_run_of_its_example_works_with_nothing_configured(self, entry: Entry, tmp_path: Path) -> None:
        bench = Workbench(catalog=catalog(), settings=Settings(), environment={}, folder=tmp_path)
        done = dry_run(entry, dict(entry.tool.examples[0].input), bench, mock=True)
        assert done.mock == entry.tool.examples[0].result
        assert {lack.name for lack in done.missing if lack.kind == "env"} == set(entry.tool.requires.env)
        assert list(tmp_path.iterdir()) == []

    def test_says_what_it_lacks_instead_of_failing(self, entry: Entry, tmp_path: Path) -> None:
        if not entry.tool.requires.env:
            return
        done = attempt(entry, dict(entry.tool.examples[0].input), folder=tmp_path)
        assert done.error is not None
        assert done.error.code == "not_ready"
        assert all(name in str(done.error.as_dict()) for name in entry.tool.requires.env)

    def test_builtin_modules_import_nothing_heavy_and_nothing_of_ours(self, entry: Entry) -> None:
        if entry.tool.python is None:
            return
        module = importlib.import_module(entry.tool.python.function.partition(":")[0])
        source = Path(str(module.__file__)).read_text(encoding="utf-8")
        ours = set(re.findall(r"^\s*(?:from|import) (tooldisco_cli[\w.]*)", source, re.MULTILINE))
        assert all(name.startswith("tooldisco_cli.builtin") for name in ours)


# What these answer depends on no machine, day or chance, so their examples must be true to the letter.
TRUE_EXAMPLES = (
    "calculate", "describe_statistics", "fit_line", "sort_records", "group_records", "convert_units",
    "calculate_date",
    "count_workdays", "convert_lunar_date", "test_regex", "compute_hash", "convert_base64", "convert_url_encoding",
    "convert_data_format", "diff_texts", "convert_chinese", "get_pinyin", "slugify", "write_excel", "write_text_file",
)  # fmt: skip


@pytest.mark.parametrize("name", TRUE_EXAMPLES)
def test_the_example_is_what_the_tool_answers(name: str, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    for example in catalog().get(name).tool.examples:
        done = attempt(name, dict(example.input), folder=tmp_path)
        assert done.error is None, done.error
        [block] = done.blocks
        assert block.value == example.result  # type: ignore[union-attr]


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("send_email", {"to": "a@b.c", "subject": "x", "body": "x"}),
    ("send_email", {"to": ["a@b.c"], "subject": "x", "body": "x", "priority": 1}),
    ("query_mysql", {"sql": ""}),
    ("query_mysql", {"sql": "SELECT 1", "params": [[1]]}),
    ("read_excel", {"path": "a.xlsx", "max_rows": 0}),
    ("create_jira_ticket", {"project": "ops", "summary": "x"}),
    ("convert_lunar_date", {"date": "1800-01-01"}),
    ("count_workdays", {"date": "2026-01-01"}),
    ("count_workdays", {"date": "2026-01-01", "until": "2026-01-02", "add": 1}),
    ("compute_hash", {}),
    ("resize_image", {"path": "a.png", "output": "b.png"}),
    ("create_calendar_invite", {"path": "a.ics", "title": "x", "start": "2027-01-01T10:00", "attendees": ["a@b.c"]}),
    ("generate_password", {"length": 4}),
    ("get_weather", {"latitude": "31", "longitude": 121}),
]


@pytest.mark.parametrize(("tool", "arguments"), WRONG, ids=[f"{tool}-{n}" for n, (tool, _) in enumerate(WRONG)])
def test_schemas_reject_what_is_wrong(tool: str, arguments: dict[str, Any], tmp_path: Path) -> None:
    done = attempt(tool, arguments, folder=tmp_path)
    assert done.error is not None
    assert done.error.code == "invalid_arguments"
