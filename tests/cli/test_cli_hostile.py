"""What is printed for a program to read again is obeyed by no terminal on its way."""

from __future__ import annotations

import json
import tomllib

import pytest

ROGUE = "red \x9b31m, \u202ereversed\u2066, \u200bhidden, \U000e0041tag"

MANIFEST = """
manifest = 1

[[tool]]
name = "rogue"
description = "red \\u009b31m, \\u202ereversed\\u2066, \\u200bhidden, \\U000E0041tag"
command.argv = ["true"]
[tool.input_schema]
type = "object"
properties.a = { type = "string", default = "\\u202e" }
"""


def test_a_tool_as_toml_holds_no_control_and_reads_back_the_same(tooldisco, user_tools):
    user_tools(MANIFEST)
    ran = tooldisco("tools", "show", "rogue", "--toml")
    assert ran.code == 0
    assert not set("\x9b\u202e\u2066\u200b\U000e0041") & set(ran.out)
    (tool,) = tomllib.loads(ran.out)["tool"]
    assert tool["description"] == ROGUE
    assert tool["input_schema"]["properties"]["a"]["default"] == "\u202e"


def test_a_list_marks_tools_that_nobody_has_approved_in_a_pipe_too(tooldisco, tmp_path):
    folder = tmp_path / "work" / "tools.d"
    folder.mkdir()
    (folder / "own.toml").write_text(MANIFEST)
    (line,) = [line for line in tooldisco("tools", "list").out.splitlines() if line.startswith("rogue")]
    assert "[not trusted]" in line


@pytest.mark.parametrize(("count", "said"), [(1, "1 tool in 1 manifest below"), (2, "2 tools in 1 manifest below")])
def test_an_import_counts_what_it_wrote(tooldisco, tmp_path, count, said):
    source = tmp_path / "some.jsonl"
    source.write_text("\n".join(json.dumps({"name": f"t{i}", "description": "d"}) for i in range(count)))
    ran = tooldisco("tools", "import", str(source), "--to", str(tmp_path / "to"))
    assert ran.out.startswith(said)
    again = tooldisco("tools", "import", str(source), "--to", str(tmp_path / "to"))
    assert again.code == 2
    assert "--overwrite" in again.err
