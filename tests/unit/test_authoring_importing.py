"""Definitions from elsewhere become manifests that load, and nothing is lost in silence."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tooldisco_cli.authoring.importing import ImportReport, import_definitions
from tooldisco_cli.catalog import Catalog
from tooldisco_cli.catalog.layers import load_layer
from tooldisco_cli.catalog.stacking import assemble
from tooldisco_cli.catalog.tool import Layer, McpExecutor
from tooldisco_cli.errors import UsageError

OBJECT: dict[str, Any] = {"type": "object", "properties": {}}


def tool(name: Any = "x", **keys: Any) -> dict[str, Any]:
    return {"name": name, "description": "Does it.", "input_schema": OBJECT} | keys


def imported(tmp_path: Path, *definitions: Any, overwrite: bool = False) -> tuple[ImportReport, Catalog]:
    source = tmp_path / "source.jsonl"
    source.write_text("\n".join(map(json.dumps, definitions)), encoding="utf-8")
    report = import_definitions(source, tmp_path / "tools.d", server="srv", overwrite=overwrite)
    catalog = assemble([load_layer(Layer("tools-dir", str(tmp_path / "tools.d")))])
    assert catalog.problems == ()
    assert len(catalog) == report.tools
    return report, catalog


class TestSources:
    def test_json_lines(self, tmp_path: Path) -> None:
        report, catalog = imported(tmp_path, tool("a", category="data", tags=["t"]), tool("b"))
        assert [Path(file).name for file in report.files] == ["srv.toml", "t.toml"]
        entry = catalog.get("a").tool
        assert (entry.description, entry.category, entry.tags) == ("Does it.", "data", ("t",))
        assert entry.mcp == McpExecutor(server="srv")
        assert report.renamed == report.skipped == report.notes == ()

    @pytest.mark.parametrize("wrapped", [False, True])
    def test_an_mcp_tools_list(self, tmp_path: Path, wrapped: bool) -> None:
        answer: dict[str, Any] = {
            "tools": [
                {
                    "name": "get-sum",
                    "title": "Sum",
                    "description": "Adds.",
                    "inputSchema": OBJECT,
                    "outputSchema": {"type": "object"},
                    "annotations": {
                        "readOnlyHint": True,
                        "destructiveHint": False,
                        "idempotentHint": True,
                        "openWorldHint": False,
                    },
                    "execution": {"taskSupport": "forbidden"},
                }
            ]
        }
        report, catalog = imported(tmp_path, {"jsonrpc": "2.0", "id": 1, "result": answer} if wrapped else answer)
        found = catalog.get("get-sum").tool
        assert (found.title, found.output_schema) == ("Sum", {"type": "object"})
        annotations = found.annotations
        assert (annotations.read_only, annotations.destructive) == (True, False)
        assert (annotations.idempotent, annotations.open_world) == (True, False)
        assert report.notes == (("get-sum", "left out: execution"),)

    def test_an_array_as_the_messages_api_takes_it(self, tmp_path: Path) -> None:
        _, catalog = imported(tmp_path, [tool("a"), tool("b")])
        assert [entry.name for entry in catalog] == ["a", "b"]

    def test_functions_as_other_services_wrap_them(self, tmp_path: Path) -> None:
        schema = {"type": "object", "properties": {"a": {"type": "string"}}}
        function = {"name": "a", "description": "d", "parameters": schema}
        _, catalog = imported(tmp_path, [{"type": "function", "function": function}])
        assert catalog.get("a").tool.input_schema == schema

    def test_tools_that_the_model_service_runs_itself_are_skipped(self, tmp_path: Path) -> None:
        report, catalog = imported(
            tmp_path, {"type": "web_search_20250305", "name": "web_search"}, tool("a", type="custom")
        )
        assert [entry.name for entry in catalog] == ["a"]
        assert report.skipped == (("web_search", "is run by the model's service itself (type web_search_20250305)"),)

    @pytest.mark.parametrize("content", [b"", b"nothing", b"[]", b"{}", b"\xff\xfe", b'{"tools": []}', b"[1]"])
    def test_that_define_nothing_are_wrong_usage(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "x.json").write_bytes(content)
        with pytest.raises(UsageError):
            import_definitions(tmp_path / "x.json", tmp_path / "tools.d", server="s")
        assert not (tmp_path / "tools.d").exists()

    def test_that_cannot_be_read_are_wrong_usage(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="No such file"):
            import_definitions(tmp_path / "x.json", tmp_path / "tools.d", server="s")

    def test_need_a_server(self, tmp_path: Path) -> None:
        (tmp_path / "x.json").write_text(json.dumps(tool()))
        with pytest.raises(UsageError, match="no name"):
            import_definitions(tmp_path / "x.json", tmp_path / "tools.d", server=" ")

    def test_a_line_that_is_not_json_is_skipped_with_its_number(self, tmp_path: Path) -> None:
        source = tmp_path / "x.jsonl"
        source.write_text(f"{json.dumps(tool('a'))}\n{{\n\n{json.dumps(tool('b'))}\n", encoding="utf-8-sig")
        report = import_definitions(source, tmp_path / "tools.d", server="s")
        assert report.tools == 2
        assert report.skipped[0][0] == f"{source}:2"

    def test_a_line_separator_inside_of_text_ends_no_line(self, tmp_path: Path) -> None:
        source = tmp_path / "x.jsonl"
        lines = [json.dumps(tool(name, description="a\u2028b"), ensure_ascii=False) for name in "ab"]
        source.write_text("\n".join(lines), encoding="utf-8")
        assert import_definitions(source, tmp_path / "tools.d", server="s").tools == 2


class TestNames:
    def test_that_models_refuse_are_given_new_ones_and_stay_as_aliases(self, tmp_path: Path) -> None:
        originals = ["Summarize Detection", "a.b:c", "@scope/x@y", "文案分析工具", "long" * 30]
        report, catalog = imported(tmp_path, *map(tool, originals))
        assert [original for original, _ in report.renamed] == originals
        for original, name in report.renamed:
            entry = catalog.get(original)
            assert entry.name == name
            assert entry.tool.aliases == (original,)
            assert entry.tool.mcp == McpExecutor(server="srv", tool=original)

    def test_that_lose_their_letters_stay_as_titles(self, tmp_path: Path) -> None:
        _, catalog = imported(tmp_path, tool("文案分析工具"), tool("短信", title="SMS"), tool("a.b"))
        assert catalog.get("文案分析工具").tool.title == "文案分析工具"
        assert catalog.get("短信").tool.title == "SMS"
        assert catalog.get("a.b").tool.title == ""

    def test_with_control_characters_are_no_aliases(self, tmp_path: Path) -> None:
        report, catalog = imported(tmp_path, tool("a\x1b[31m"))
        assert catalog.entries[0].tool.aliases == ()
        assert catalog.entries[0].tool.mcp == McpExecutor(server="srv", tool="a\x1b[31m")
        assert "control characters" in report.notes[0][1]

    @pytest.mark.parametrize("name", [None, 3, "", "  ", ["x"]])
    def test_that_are_none_are_skipped(self, tmp_path: Path, name: Any) -> None:
        report, _ = imported(tmp_path, tool(name), tool("ok"))
        assert report.skipped == ((f"{tmp_path}/source.jsonl:1", "has no name"),)

    def test_that_stand_twice(self, tmp_path: Path) -> None:
        report, catalog = imported(tmp_path, tool("a"), tool("a"), tool("a", description="Other."))
        assert catalog.get("a").tool.description == "Does it."
        assert report.notes == (("a", f"is defined again, the same, at {tmp_path}/source.jsonl:2"),)
        assert report.skipped[0][0] == f"{tmp_path}/source.jsonl:3"


class TestKeys:
    @pytest.mark.parametrize(
        ("keys", "note"),
        [
            ({"category": 3}, "its category is no text and is left out"),
            ({"category": ["a"]}, "its category is no text and is left out"),
            ({"category": "a\x1b"}, "control characters are taken out of its category"),
            ({"tags": ["a", 3]}, "its tag is no text and is left out"),
            ({"description": None}, "has no description"),
            ({"description": 3}, "its description is no text"),
            ({"annotations": {"readOnlyHint": "yes"}}, "its annotation readOnlyHint is left out"),
            ({"output_schema": []}, "its output schema is no object and is left out"),
            ({"cache_control": {}}, "left out: cache_control"),
            ({"input_schema": None}, "has no input schema, so it takes no arguments"),
            ({"input_schema": {}}, 'its input schema is given type = "object"'),
            ({"input_schema": {"properties": {"a": {}}}}, 'its input schema is given type = "object"'),
            ({"input_schema": {"type": ["object", "null"]}}, 'its input schema is given type = "object"'),
            (
                {"input_schema": OBJECT | {"required": None}},
                "its input schema's required, which is null, is left out",
            ),
        ],
    )
    def test_that_do_not_fit_are_told(self, tmp_path: Path, keys: dict[str, Any], note: str) -> None:
        report, _ = imported(tmp_path, tool("a", **keys))
        assert report.notes == (("a", note),)

    @pytest.mark.parametrize(
        ("schema", "reason"),
        [
            ([], "its input schema is no object"),
            ({"type": "string"}, "its input schema has type 'string'; arguments are an object"),
            ({"type": "object", "properties": []}, "input_schema.properties: must be a table of parameters"),
            ({"type": "object", "default": math.inf}, "Out of range float values are not JSON compliant"),
            ({"type": "object", "title": "\ud800"}, "holds half a character ('\\ud800')"),
        ],
    )
    def test_that_make_a_tool_useless_skip_it(self, tmp_path: Path, schema: Any, reason: str) -> None:
        report, _ = imported(tmp_path, tool("a", input_schema=schema), tool("ok"))
        assert [name for name, _ in report.skipped] == ["a"]
        assert reason in report.skipped[0][1]

    def test_nesting_without_end_skips_a_tool(self, tmp_path: Path) -> None:
        source = tmp_path / "x.jsonl"
        nested = '{"a": ' * 400 + "{}" + "}" * 400
        deep = json.dumps(tool("deep")).replace('"properties": {}', f'"properties": {nested}')
        source.write_text(f"{deep}\n{json.dumps(tool('ok'))}\n")
        report = import_definitions(source, tmp_path / "tools.d", server="s")
        assert report.tools == 1
        assert report.skipped == (("deep", "is nested too deeply"),)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), texts),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


class TestRoundTrip:
    @pytest.mark.parametrize(
        "schema",
        [
            OBJECT | {"properties": {"a": {"default": None}, "b": {"enum": ["x", None]}, "c": {"const": None}}},
            OBJECT | {"properties": {"a": {"description": "'''\x7f\r\n\"\"\"", "default": None}}},
            OBJECT
            | {"properties": {"a": {"description": "one\r\ntwo\n'''three'''\\"}, "": {}, "b.c": {"type": "string"}}},
            OBJECT | {"maximum": 2**64, "minimum": -1.5e300},
            OBJECT | {"x": [[1, [2]], [], [{"a": [{}]}, {"b": "\n"}]], "y": {}},
        ],
    )
    def test_schemas_come_back_exactly(self, tmp_path: Path, schema: dict[str, Any]) -> None:
        report, catalog = imported(tmp_path, tool("a", input_schema=schema, output_schema=schema))
        assert catalog.get("a").tool.input_schema == schema
        assert catalog.get("a").tool.output_schema == schema
        assert list(catalog.get("a").tool.input_schema["properties"]) == list(schema["properties"])
        assert report.notes == ()

    def test_a_schema_with_null_is_written_as_json_that_people_can_read(self, tmp_path: Path) -> None:
        imported(tmp_path, tool("a", input_schema=OBJECT | {"default": None}))
        text = (tmp_path / "tools.d" / "srv.toml").read_text()
        assert 'input_schema = \'\'\'\n{\n  "type": "object",' in text

    def test_text_of_many_lines_is_written_as_such(self, tmp_path: Path) -> None:
        imported(tmp_path, tool("a", description="One.\nTwo."))
        assert 'description = """\nOne.\nTwo."""\n' in (tmp_path / "tools.d" / "srv.toml").read_text()

    @pytest.mark.parametrize("default", [1, None])
    def test_what_a_terminal_would_obey_is_written_as_escapes(self, tmp_path: Path, default: Any) -> None:
        rogue = "a\x9b31m\u202eb\u2066\u200b\ufeff\u2028\U000e0041 '\\u202e' 👨\u200d👩 می\u200cخواهم"
        schema = OBJECT | {"properties": {rogue: {"description": rogue, "default": default}}}
        _, catalog = imported(tmp_path, tool("a", description=rogue, input_schema=schema))
        text = (tmp_path / "tools.d" / "srv.toml").read_text(encoding="utf-8")
        assert not set("\x1b\x9b\u202e\u2066\u200b\ufeff\u2028\U000e0041") & set(text)
        assert "👨\u200d👩 می\u200cخواهم" in text
        assert catalog.get("a").tool.input_schema == schema
        assert catalog.get("a").tool.description == rogue

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
    @given(texts, st.dictionaries(texts, json_values, max_size=3), texts.filter(lambda name: name.strip()))
    def test_anything_comes_back_exactly(
        self, tmp_path: Path, description: str, properties: dict[str, Any], name: str
    ) -> None:
        schema = {"type": "object", "properties": {key: {"default": value} for key, value in properties.items()}}
        definition = tool(name, description=description, input_schema=schema)
        _, catalog = imported(tmp_path, definition, overwrite=True)
        (entry,) = catalog.entries
        assert entry.tool.input_schema == schema
        assert entry.tool.description == (description if description.strip() else "")
        assert entry.tool.mcp is not None
        assert (entry.tool.mcp.tool or entry.name) == name


class TestFiles:
    def test_are_not_overwritten_unless_asked(self, tmp_path: Path) -> None:
        imported(tmp_path, tool("a"))
        with pytest.raises(UsageError, match="already there"):
            imported(tmp_path, tool("b", tags=["new"]), tool("c"))
        assert [path.name for path in (tmp_path / "tools.d").iterdir()] == ["srv.toml"]
        _, catalog = imported(tmp_path, tool("b"), overwrite=True)
        assert [entry.name for entry in catalog] == ["b"]

    def test_of_tags_never_leave_the_folder(self, tmp_path: Path) -> None:
        report, _ = imported(
            tmp_path, tool("a", tags=["../../x"]), tool("b", tags=["/etc/passwd"]), tool("c", tags=["Con"])
        )
        assert {Path(file).parent for file in report.files} == {tmp_path / "tools.d"}
        assert [Path(file).name for file in report.files] == ["con-tools.toml", "etc-passwd.toml", "x.toml"]

    def test_of_tags_that_differ_in_case_alone_are_one(self, tmp_path: Path) -> None:
        report, _ = imported(tmp_path, tool("a", tags=["Mail"]), tool("b", tags=["mail"]))
        assert len(report.files) == 1

    def test_elsewhere_in_the_folder_with_the_same_names_are_noted(self, tmp_path: Path) -> None:
        imported(tmp_path, tool("a"))
        source = tmp_path / "more.json"
        source.write_text(json.dumps([tool("a"), tool("b")]))
        report = import_definitions(source, tmp_path / "tools.d", server="other")
        assert report.notes == (("a", f"is already declared at {tmp_path}/tools.d/srv.toml:3"),)

    def test_cannot_be_written_below_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "tools.d").touch()
        with pytest.raises(UsageError, match="is not a folder"):
            imported(tmp_path, tool("a"))
