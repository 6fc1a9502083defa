"""An index brought up to date: only what changed is read, and every answer is that of an index built anew."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_search_store import builds, environment, loads  # noqa: F401 - fixtures

from tooldisco_cli.search import updating
from tooldisco_cli.search.answer import Answer
from tooldisco_cli.search.generations import kept_indexes, verify
from tooldisco_cli.search.index import SearchIndex
from tooldisco_cli.search.store import ask, open_index

TEXTS = [
    "Boil an egg until it is hard",
    "Send an e-mail to a customer 发送邮件给客户",
    "查询天气预报",
    "Compress pictures without loss",
    "Look up the exchange rate of two currencies. For the weather use tool_2.",
    "把文件打印出来",
    "Translate a text from one language into another",
]
QUERIES = ["boil egg", "发送邮件", "weather", "天气", "compress", "汇率", "print a file", "翻译", "tool_3", "zebra"]


def manifest(number: int, text: str, extra: str = "") -> str:
    return (
        f'manifest = 1\n[[tool]]\nname = "tool_{number}"\ndescription = "{text}"\n{extra}\n'
        f'command.argv = ["x"]\nannotations = {{ read_only = {str(len(text) % 2 == 0).lower()} }}\n'
    )


class Layer:
    """A folder of manifests, each of its own age, so that every change shows in a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.changes = 0
        folder.mkdir()

    def write(self, number: int, content: str) -> None:
        path = self.folder / f"{number}.toml"
        path.write_text(content, encoding="utf-8")
        self.changes += 1
        stamp = path.stat().st_mtime - 10_000 + self.changes
        os.utime(path, (stamp, stamp))


@pytest.fixture
def layer(tmp_path: Path) -> Layer:
    found = Layer(tmp_path / "layer")
    for number, text in enumerate(TEXTS):
        found.write(number, manifest(number, text))
    return found


def answers(index: SearchIndex) -> list[Answer]:
    return [index.search(query, limit=3, floor=False) for query in QUERIES]


def names(found: list[Answer]) -> list[list[str]]:
    return [[hit.name for hit in answer.hits if hit.layer == "tools-dir"] for answer in found]


def kept(layer: Layer, environment: dict[str, str]) -> list[Answer]:  # noqa: F811
    return ask(answers, [layer.folder], environment=environment)[0]


def anew(layer: Layer, environment: dict[str, str]) -> list[Answer]:  # noqa: F811
    return ask(answers, [layer.folder], environment=environment, use_cache=False)[0]


def found_by_name(layer: Layer, environment: dict[str, str], name: str, **options) -> list[str]:  # noqa: F811
    """Return the tools that a search for a name puts first because it calls them."""
    hits, _ = ask(lambda index: index.search(name, limit=9).hits, [layer.folder], environment=environment, **options)
    return [f"{hit.name} {hit.version} {hit.description}" for hit in hits if hit.relevance_score == 1.0]


def test_an_edit_is_taken_in_without_building(layer, environment, builds):  # noqa: F811
    kept(layer, environment)
    layer.write(3, manifest(3, "Feed the zebra of the zoo"))
    zebra = kept(layer, environment)[QUERIES.index("zebra")]
    assert [hit.name for hit in zebra.hits] == ["tool_3"]
    assert zebra.hits[0].description == "Feed the zebra of the zoo"
    assert len(builds) == 1
    kept(layer, environment)
    assert len(builds) == 1


def test_a_word_new_to_the_index_is_found_in_the_other_language(layer, environment, builds):  # noqa: F811
    kept(layer, environment)
    layer.write(0, manifest(0, "Book a hotel room"))
    layer.write(1, manifest(1, "喂养骆驼"))
    hits, _ = ask(lambda index: index.search("酒店").hits, [layer.folder], environment=environment)
    assert [hit.name for hit in hits][:1] == ["tool_0"]
    hits, _ = ask(lambda index: index.search("camel").hits, [layer.folder], environment=environment)
    assert [hit.name for hit in hits][:1] == ["tool_1"]
    assert len(builds) == 1


def test_a_file_that_comes_or_goes_is_taken_in_alone(layer, environment, builds, loads):  # noqa: F811
    kept(layer, environment)
    layer.write(9, manifest(9, "Feed the zebra"))
    assert "tool_9" in names(kept(layer, environment))[QUERIES.index("zebra")]
    (layer.folder / "9.toml").unlink()
    assert "tool_9" not in names(kept(layer, environment))[QUERIES.index("zebra")]
    assert found_by_name(layer, environment, "tool_9") == []
    assert (len(builds), len(loads)) == (1, 1)


def test_a_renamed_tool_is_taken_in_alone(layer, environment, builds, loads):  # noqa: F811
    kept(layer, environment)
    layer.write(3, manifest(33, "Feed the zebra"))
    assert found_by_name(layer, environment, "tool_33") == ["tool_33 1.0 Feed the zebra"]
    assert found_by_name(layer, environment, "tool_3") == []
    assert (len(builds), len(loads)) == (1, 1)


def test_tools_that_come_stand_in_the_order_of_names(layer, environment, builds):  # noqa: F811
    for number in (30, 10, 50):
        layer.write(number, manifest(number, "The very same words"))
    kept(layer, environment)
    for number in (41, 20, 40, 15, 60, 42):
        layer.write(number, manifest(number, "The very same words"))
        kept(layer, environment)
    hits, _ = ask(
        lambda index: index.search("very same words", limit=20).hits, [layer.folder], environment=environment
    )
    found = [hit.name for hit in hits if hit.layer == "tools-dir"]
    assert found == [f"tool_{number}" for number in (10, 15, 20, 30, 40, 41, 42, 50, 60)]
    assert len(builds) == 1


def test_a_name_that_others_mention_is_no_word_of_theirs(layer, environment, builds, loads):  # noqa: F811
    layer.write(7, manifest(7, "Pack a bag. For a zebra use tool_8."))
    kept(layer, environment)
    zebra = QUERIES.index("zebra")
    assert names(kept(layer, environment))[zebra] == ["tool_7"]
    layer.write(8, manifest(8, "Feed the zebra"))
    assert names(kept(layer, environment))[zebra] == ["tool_8"]
    layer.write(8, manifest(88, "Feed the zebra"))
    assert set(names(kept(layer, environment))[zebra]) == {"tool_88", "tool_7"}
    (layer.folder / "8.toml").unlink()
    assert names(kept(layer, environment))[zebra] == ["tool_7"]
    assert (len(builds), len(loads)) == (1, 1)


@pytest.mark.parametrize(
    "change",
    [
        'name = "tool_3"\naliases = ["tool_4"]',
        'name = "tool_3"\naliases = ["Tool 4"]',
        'name = "Tool-4"',
        'name = "tool_4"\nversion = "2.0"',
        'name = "tool_4"',
        'name = "tool_3"\nenabled = false',
        'name = "send_email"',
        'name = "tool_3"\nno_such_key = 1',
        'name = "tool_3"\n[[tool]]\nname = "tool_3"\nversion = "3.0"\ndescription = "x"\ncommand.argv = ["x"]',
        "broken",
    ],
)
def test_what_concerns_others_is_compared_with_the_whole_catalog(layer, environment, builds, loads, change):  # noqa: F811
    kept(layer, environment)
    layer.write(3, "= [" if change == "broken" else manifest(3, "Pack").replace('name = "tool_3"', change))
    kept(layer, environment)
    assert (len(builds), len(loads)) == (1, 2)
    for called in ("tool_3", "tool_4", "Tool 4", "send_email"):
        anew = found_by_name(layer, environment, called, use_cache=False)
        assert found_by_name(layer, environment, called) == anew
    layer.write(3, manifest(3, TEXTS[3]))
    assert found_by_name(layer, environment, "tool_3") == [f"tool_3 1.0 {TEXTS[3]}"]
    assert found_by_name(layer, environment, "tool_4") == [f"tool_4 1.0 {TEXTS[4]}"]


def test_a_lower_layers_tool_comes_back(layer, environment, tmp_path, loads):  # noqa: F811
    layer.write(9, manifest(9, "Feed the zebra").replace("tool_9", "send_email"))
    kept(layer, environment)
    (layer.folder / "9.toml").unlink()
    hits, _ = ask(lambda index: index.search("send_email").hits, [layer.folder], environment=environment)
    assert (hits[0].name, hits[0].layer) == ("send_email", "shipped")
    assert len(loads) == 2


def test_messages_follow_the_manifests(layer, environment):  # noqa: F811
    def messages() -> list[str]:
        return [message.text for message in ask(answers, [layer.folder], environment=environment)[1]]

    assert messages() == []
    layer.write(3, manifest(3, "Pack", "no_such_key = 1"))
    assert "no_such_key" in messages()[0]
    layer.write(4, manifest(4, "Pack"))
    assert "no_such_key" in messages()[0]
    layer.write(3, manifest(3, "Pack"))
    assert messages() == []


def test_after_a_part_was_replaced_it_is_built_anew(layer, environment, builds, monkeypatch):  # noqa: F811
    monkeypatch.setattr(updating, "MOST_FILES", 3)
    for number in range(100, 120):
        layer.write(number, manifest(number, f"Number {number}"))
    kept(layer, environment)
    for round_ in range(2):
        for number in range(100, 119):
            layer.write(number, manifest(number, f"Number {number} {round_}"))
        kept(layer, environment)
    assert len(builds) == 2


def test_the_generation_before_is_left_as_it_was(layer, environment):  # noqa: F811
    before = open_index([layer.folder], environment=environment).tools
    answered = answers(before)
    (place,) = kept_indexes(environment)
    layer.write(3, manifest(3, "Feed the zebra"))
    kept(layer, environment)
    assert answers(before) == answered
    assert verify(place) == []
    assert len([path for path in place.iterdir() if path.is_dir()]) == 1


def test_after_many_updates_it_is_built_anew(layer, environment, builds, monkeypatch):  # noqa: F811
    monkeypatch.setattr(updating, "MOST_UPDATES", 3)
    kept(layer, environment)
    for number in range(5):
        layer.write(3, manifest(3, f"Say {'zebra ' * (number + 1)}"))
        kept(layer, environment)
    assert len(builds) == 2


@pytest.mark.parametrize("damage", ["gone", "rubbish", "empty"])
def test_without_its_record_it_is_built_anew(layer, environment, builds, damage):  # noqa: F811
    kept(layer, environment)
    (place,) = kept_indexes(environment)
    (record,) = place.glob("gen-*/manifests.bin")
    if damage == "gone":
        record.unlink()
    else:
        record.write_bytes(b"{" * record.stat().st_size if damage == "rubbish" else b"")
    layer.write(3, manifest(3, "Feed the zebra"))
    assert names(kept(layer, environment))[QUERIES.index("zebra")] == ["tool_3"]
    assert len(builds) == 2


def test_where_links_cannot_be_made_files_are_copied(layer, environment, builds, monkeypatch):  # noqa: F811
    def refuse(*_):
        raise OSError("no links here")

    kept(layer, environment)
    monkeypatch.setattr(Path, "hardlink_to", refuse)
    layer.write(3, manifest(3, "Feed the zebra"))
    assert names(kept(layer, environment))[QUERIES.index("zebra")] == ["tool_3"]
    assert len(builds) == 1
    (place,) = kept_indexes(environment)
    assert verify(place) == []


ALIASES = ["", 'aliases = ["tool_2"]', 'aliases = ["shared"]', 'version = "2.0"', "enabled = false", "faulty = 1"]
CHANGES = st.tuples(
    st.integers(0, 8),
    st.none() | st.tuples(st.integers(0, 9), st.sampled_from(TEXTS), st.sampled_from(ALIASES)),
)


@settings(max_examples=25)
@given(st.lists(CHANGES, min_size=1, max_size=8))
def test_any_changes_answer_as_an_index_built_anew(tmp_path_factory, changes):
    home = tmp_path_factory.mktemp("updates")
    layer = Layer(home / "layer")
    for number, text in enumerate(TEXTS):
        layer.write(number, manifest(number, text))
    environment = {"TOOLDISCO_HOME": str(home / "home")}  # noqa: F811
    kept(layer, environment)
    for file, change in changes:
        if change is None:
            (layer.folder / f"{file}.toml").unlink(missing_ok=True)
        else:
            layer.write(file, manifest(*change))
        kept(layer, environment)
    everything = [f"tool_{number}" for number in range(10)] + ["shared"]
    for name in everything:
        assert found_by_name(layer, environment, name) == found_by_name(layer, environment, name, use_cache=False)
    for one, other in zip(kept(layer, environment), anew(layer, environment), strict=True):
        assert {hit.name for hit in one.hits} == {hit.name for hit in other.hits} or (
            # The engine still counts the words of what was replaced, so hits that were about equal may change places.
            abs(one.hits[-1].relevance_score - other.hits[-1].relevance_score) < 0.15
        )
        if other.hits and other.hits[0].relevance_score == 1.0:
            assert one.hits[0] == other.hits[0]
