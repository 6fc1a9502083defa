"""A tool named alone is read alone, and is the same tool as that of the whole catalog."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_search_store import environment  # noqa: F401 - a fixture
from test_search_updating import Layer, layer, manifest  # noqa: F401 - a fixture

from tooldisco_cli.catalog.loading import load_catalog
from tooldisco_cli.search import declared
from tooldisco_cli.search.declared import declared_tools
from tooldisco_cli.search.store import ask, open_index


@pytest.fixture
def home(layer, environment, tmp_path):  # noqa: F811
    """A user's folders with some tools of every kind beside those of the layer."""
    layer.write(7, manifest(7, "Say no", 'aliases = ["nein"]\nversion = "2.5"\ndeprecated_versions = ["1.0"]'))
    layer.write(8, manifest(8, "Twice") + manifest(8, "Twice", 'version = "2.0"').removeprefix("manifest = 1"))
    layer.write(9, manifest(9, "Not here", "enabled = false"))
    layer.write(10, manifest(10, "Other").replace("tool_10", "send_email"))
    layer.write(11, manifest(11, "Faulty", "faulty = 1") + manifest(12, "Good").removeprefix("manifest = 1"))
    layer.write(
        13,
        manifest(13, "Through a server").replace('command.argv = ["x"]', 'mcp.server = "files"'),
    )
    (tmp_path / "work" / ".git").mkdir(parents=True)
    (tmp_path / "work" / "tools.d").mkdir()
    (tmp_path / "work" / "tools.d" / "p.toml").write_text(manifest(20, "A project's"))
    config = Path(environment["TOOLDISCO_HOME"]) / "config"
    config.mkdir(parents=True)
    (config / "config.toml").write_text('[mcp_servers.files]\ncommand = ["x"]\n')
    return {"tools_dirs": [layer.folder], "cwd": tmp_path / "work", "environment": environment}


def test_it_is_as_in_the_whole_catalog(home):
    open_index(**home)
    whole = load_catalog(**home)
    alone = 0
    for entry in whole:
        found = declared_tools([entry.name], **home)
        if found is not None:
            alone += 1
            assert found[0].get(entry.name) == entry
            assert list(found[0].by_name) == [entry.name]
            if entry.tool.mcp:
                assert found[0].servers == whole.servers != {}
    assert alone > len(whole) - 6


@pytest.mark.parametrize("name", ["tool_1", "tool_7", "tool_7@2.5", "tool_12", "tool_13", "calculate"])
def test_one_file_is_read(home, monkeypatch, name):
    open_index(**home)
    read = []
    monkeypatch.setattr(declared, "read_alone", lambda path, record: read.append(path) or real(path, record))
    found = declared_tools([name], **home)
    assert found is not None
    assert len(read) == 1
    assert found[0].get(name).name == name.partition("@")[0]


real = declared.read_alone


@pytest.mark.parametrize(
    "name",
    ["tool_8", "tool_9", "tool_11", "send_email", "tool_20", "nein", "Tool 1", "no_such_tool", "", "a b", "\udcff"],
)
def test_what_others_have_a_say_in_takes_the_whole_catalog(home, name):
    open_index(**home)
    assert declared_tools([name], **home) is None
    assert declared_tools(["tool_1", name], **home) is None


def test_several_are_read_together(home):
    open_index(**home)
    found = declared_tools(["tool_1", "tool_2", "tool_1"], **home)
    assert found is not None
    assert sorted(found[0].by_name) == ["tool_1", "tool_2"]


def test_the_messages_are_those_of_the_whole(home):
    _, messages = ask(lambda index: index, **home)
    found = declared_tools(["tool_1"], **home)
    assert found is not None
    assert found[1] == messages != ()
    assert any("faulty" in message.text for message in messages)


def test_without_an_index_or_after_a_change_the_whole_catalog_is_loaded(home, layer):  # noqa: F811
    assert declared_tools(["tool_1"], **home) is None
    open_index(**home)
    assert declared_tools(["tool_1"], **home) is not None
    layer.write(3, manifest(1, "Taken over"))
    assert declared_tools(["tool_1"], **home) is None
    open_index(**home)
    assert declared_tools(["tool_1"], **home) is None  # declared twice by now
    assert declared_tools(["tool_2"], **home) is not None
