"""Manifests kept between runs: what comes from the cache is what parsing gives, and nothing about it can fail."""

from __future__ import annotations

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from tooldisco_cli import paths
from tooldisco_cli.catalog import kept, parallel, reading
from tooldisco_cli.catalog.kept import Reading, Stamp, decoded, encoded, kept_file, tool_of
from tooldisco_cli.catalog.layers import LoadedLayer, load_layer
from tooldisco_cli.catalog.manifest import parse_manifest
from tooldisco_cli.catalog.reading import read_folder, read_layer
from tooldisco_cli.catalog.tool import Layer, Tool
from tooldisco_cli.tomlfile import decode_json, encode

EVERYTHING = """
manifest = 1

[defaults]
category = "ops"
tags = ["default"]
annotations = { read_only = true }

[[tool]]
name = "full"
title = "Full 全部"
description = '''Two
lines, and a "quote".'''
tags = ["a", "标签"]
keywords = ["k"]
expected_queries = ["find it"]
owner = "me"
version = "2.0"
deprecated_versions = ["1.0"]
superseded_by = "other"
sunset = 2027-06-30
related = ["other"]
aliases = ["x:y"]
timeout_seconds = 20
max_result_chars = 300
annotations = { idempotent = true }
requires = { env = ["A"], python = ["b"], programs = ["c"], extra = "d" }
input_schema = '''{"type": "object", "properties": {"a": {"default": null, "maximum": 1e300}}}'''
output_schema = { type = "object", since = 2020-01-01T00:00:00Z }
[[tool.examples]]
input = { a = 123456789012345678901234567890 }
result = [1, 2.5, "three"]
note = "n"
[tool.command]
argv = ["run", 1, ["-x", "{a}"]]
stdin = "in"
cwd = "."
env = { B = "{env:B}" }
output = "json"
success_exit_codes = [0, 3]

[[tool]]
name = "web"
[tool.http]
url = "https://example.com/{id}"
method = "POST"
query = { page = 1 }
headers = { X-Key = "{env:KEY}" }
basic_auth = ["{env:USER}", "{env:PASSWORD}"]
json = { deep = [{ a = true }] }
result = { id = "/id" }
expect = { "/errcode" = 0 }

[[tool]]
name = "remote"
mcp.server = "files"

[[tool]]
name = "remote_two"
mcp = { server = "files", tool = "other name" }

[[tool]]
name = "of_settings"
mcp.server = "elsewhere"

[[tool]]
name = "code"
python = { function = "package.module:function", arguments = { fixed = 1 } }

[[tool]]
name = "mask"
enabled = false

[mcp_servers.files]
command = ["server", "."]
env = { TOKEN = "{env:TOKEN}" }
timeout_seconds = 5

[mcp_servers.unused]
url = "https://example.com/mcp"
"""

FAULTY = """
manifest = 1
unknown = 1

[[tool]]
name = "good"
command.argv = ["true"]

[[tool]]
name = "bad name"
timeout = 3
command.argv = ["true"]

[[tool]]
name = "mask_in_spite"
enabled = false
nonsense = true

[[tool]]
name = "warned"
input_schema = { type = "object", required = ["nowhere"] }
command.argv = ["true"]
"""

KINDS = {
    "everything.toml": EVERYTHING,
    "faulty.toml": FAULTY,
    "empty.toml": "",
    "not-toml.toml": "manifest = [",
    "newer.toml": "manifest = 9",
    "bom.toml": "\ufeffmanifest = 1\r\n[[tool]]\r\nname = 'crlf'\r\ncommand.argv = ['true']\r\n",
    "deep/below.toml": "manifest = 1\n\n\n[[tool]]\nname = 'below'\ncommand.argv = ['true']\n",
    "项目.toml": "manifest = 1\n[[tool]]\nname = 'chinese_path'\ncommand.argv = ['true']\n",
}


class Shelf:
    """A folder of manifests, a home with its cache, and how many files were parsed."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = root / "tools.d"
        self.home = root / "home"
        self.environment = {"TOOLDISCO_HOME": str(self.home)}
        self.layer = Layer("tools-dir", str(self.folder))
        self.parsed: list[str] = []

        def counted(data: bytes, path: str) -> Any:
            self.parsed.append(Path(path).name)
            return parse_manifest(data, path)

        monkeypatch.setattr(parallel, "parse_manifest", counted)
        for name, text in KINDS.items():
            self.write(name, text)

    @property
    def place(self) -> Path:
        return kept_file(str(self.folder), self.environment)

    def write(self, name: str, text: str, age_seconds: float = 60) -> Path:
        """Write a manifest that was last changed some time ago."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8", newline="")
        then = time.time_ns() - int(age_seconds * 1e9)
        os.utime(path, ns=(then, then))
        return path

    def read(self, **options: Any) -> LoadedLayer:
        self.parsed.clear()
        return read_layer(self.layer, self.environment, **options)

    def is_as_parsed(self, loaded: LoadedLayer) -> bool:
        fresh = load_layer(self.layer)
        # The texts differ where 20 stands for 20.0, which are equal.
        digests = [[d.digest for d in one.declarations()] for one in (loaded, fresh)]
        return loaded == fresh and repr(loaded) == repr(fresh) and digests[0] == digests[1]


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    return Shelf(tmp_path, monkeypatch)


def test_what_is_kept_is_what_parsing_gives(shelf):
    first = shelf.read()
    assert sorted(shelf.parsed) == sorted(Path(name).name for name in KINDS)
    again = shelf.read()
    assert shelf.parsed == []
    assert shelf.is_as_parsed(first)
    assert shelf.is_as_parsed(again)
    assert {problem.line for manifest in again.manifests for problem in manifest.problems} > {0, 3}


def test_tools_of_one_file_share_its_server(shelf):
    shelf.read()
    servers = [d.server for d in shelf.read().declarations() if d.tool.name.startswith("remote")]
    assert len(servers) == 2
    assert servers[0] is servers[1] is not None


def test_an_edit_parses_that_file_only(shelf):
    shelf.read()
    shelf.write("bom.toml", KINDS["bom.toml"].replace("crlf", "lf"), age_seconds=30)
    loaded = shelf.read()
    assert shelf.parsed == ["bom.toml"]
    assert shelf.is_as_parsed(loaded)
    shelf.read()
    assert shelf.parsed == []


def test_files_that_come_and_go_are_seen(shelf):
    shelf.read()
    (shelf.folder / "faulty.toml").unlink()
    shelf.write("new.toml", KINDS["deep/below.toml"].replace("below", "new"))
    loaded = shelf.read()
    assert shelf.parsed == ["new.toml"]
    assert shelf.is_as_parsed(loaded)
    assert "faulty.toml" not in shelf.place.read_text("utf-8")


def test_a_touched_file_is_hashed_and_not_parsed(shelf):
    shelf.read()
    os.utime(shelf.folder / "everything.toml", ns=(10**18, 10**18))
    assert shelf.is_as_parsed(shelf.read())
    assert shelf.parsed == []


def test_a_change_within_the_clocks_grain_is_seen_by_its_content(shelf):
    path = shelf.write("young.toml", KINDS["deep/below.toml"], age_seconds=0)
    status = path.stat()
    shelf.read()
    path.write_text(KINDS["deep/below.toml"].replace("below", "after"), "utf-8")  # in place: same inode and size
    os.utime(path, ns=(status.st_mtime_ns, status.st_mtime_ns))
    loaded = shelf.read()
    assert shelf.parsed == ["young.toml"]
    assert shelf.is_as_parsed(loaded)


def test_a_file_that_has_settled_is_not_opened_again(shelf, monkeypatch):
    shelf.read()
    opened: list[str] = []
    monkeypatch.setattr(reading, "content_digest", lambda path: opened.append(path) or "")
    shelf.read()
    assert opened == []


def test_a_file_that_cannot_be_read_is_told_and_never_kept(shelf):
    (shelf.folder / "nowhere.toml").symlink_to(shelf.folder / "missing")
    shelf.read()
    loaded = shelf.read()
    assert shelf.is_as_parsed(loaded)
    assert "is a link to nothing" in str([m.problems for m in loaded.manifests])
    assert "nowhere.toml" not in shelf.place.read_text("utf-8")
    before = shelf.place.stat().st_mtime_ns
    shelf.read()
    assert shelf.place.stat().st_mtime_ns == before


@pytest.mark.parametrize("cut", [0, 1, 30, 200, -1])
def test_a_cache_cut_off_is_parsed_anew(shelf, cut):
    shelf.read()
    shelf.place.write_bytes(shelf.place.read_bytes()[:cut])
    assert shelf.is_as_parsed(shelf.read())
    assert len(shelf.parsed) == len(KINDS)
    shelf.read()
    assert shelf.parsed == []


@given(st.data())
def test_no_damaged_byte_is_ever_believed(tmp_path_factory, data):
    root = tmp_path_factory.getbasetemp() / "damaged"
    folder, environment = root / "tools.d", {"TOOLDISCO_HOME": str(root / "home")}
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "m.toml").exists():
        (folder / "m.toml").write_text(EVERYTHING, "utf-8")
    read_folder(str(folder), environment)
    place = kept_file(str(folder), environment)
    good = place.read_bytes()
    at = data.draw(st.integers(0, len(good) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != good[at]))
    place.write_bytes(good[:at] + bytes([byte]) + good[at + 1 :])
    assert kept.read_kept(place) == {}
    assert read_folder(str(folder), environment).readings[0].manifest == parse_manifest(
        EVERYTHING.encode(), str(folder / "m.toml")
    )


def test_another_version_of_the_program_parses_anew(shelf, monkeypatch):
    shelf.read()
    monkeypatch.setattr(kept, "__version__", "0.0.0.other")
    shelf.read()
    assert len(shelf.parsed) == len(KINDS)


def test_without_the_cache_nothing_is_read_from_it_or_written(shelf):
    assert shelf.is_as_parsed(shelf.read(use_cache=False))
    assert not shelf.home.exists()
    shelf.read()
    shelf.read(use_cache=False)
    assert len(shelf.parsed) == len(KINDS)


def test_a_cache_folder_that_cannot_be_written_is_no_failure(shelf):
    shelf.home.write_text("a file where the folder should be")
    assert shelf.is_as_parsed(shelf.read())
    assert shelf.is_as_parsed(shelf.read())


def test_a_read_only_cache_is_still_used(shelf, monkeypatch):
    shelf.read()
    shelf.write("bom.toml", KINDS["bom.toml"].replace("crlf", "lf"), age_seconds=30)

    def refuse(*_: Any) -> None:
        raise PermissionError(13, "read-only")

    monkeypatch.setattr("tooldisco_cli.atomic.unfinished_path", refuse)
    for _ in range(2):
        assert shelf.is_as_parsed(shelf.read())
        assert shelf.parsed == ["bom.toml"]


def test_many_at_once_all_read_the_same(shelf):
    with ThreadPoolExecutor(8) as pool:
        loaded = list(pool.map(lambda _: read_layer(shelf.layer, shelf.environment), range(16)))
    assert all(one == loaded[0] for one in loaded)
    assert [path.name for path in shelf.place.parent.iterdir()] == [shelf.place.name]


def test_what_crashed_writers_left_is_removed(shelf):
    folder = paths.cache_folder(shelf.environment) / "manifests"
    folder.mkdir(parents=True)
    left, young = folder / "new-left", folder / "new-young"
    for path in (left, young):
        path.write_text("half")
    os.utime(left, (1, 1))
    shelf.read()
    assert not left.exists()
    assert young.exists()


def test_how_parsing_goes_is_told_and_nothing_where_nothing_is_parsed(shelf):
    told: list[tuple[int, int]] = []
    shelf.read(tell=lambda done, total: told.append((done, total)))
    assert told[-1] == (len(KINDS), len(KINDS))
    assert told == sorted(told)
    told.clear()
    shelf.read(tell=lambda done, total: told.append((done, total)))
    assert told == []


# --- equality with pydantic, for anything that a manifest may hold

_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("Cc",)), min_size=1, max_size=12)
_WORDS = st.lists(_TEXT, max_size=3)
_NAME = st.from_regex(r"[a-zA-Z0-9_-]{1,20}", fullmatch=True)
_VALUE = st.recursive(
    st.one_of(st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), _TEXT, st.dates()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_TEXT, inner, max_size=3)),
    max_leaves=8,
)
_TABLE = st.dictionaries(_TEXT, _VALUE, max_size=3)
_TEXTS = st.dictionaries(_TEXT, _TEXT, max_size=2)


def _some(**keys: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=keys)


_EXECUTORS = st.one_of(
    st.fixed_dictionaries({"function": st.just("a.b:c")}, optional={"arguments": _TABLE}).map(
        lambda table: {"python": table}
    ),
    st.fixed_dictionaries(
        {"argv": st.lists(_VALUE, min_size=1, max_size=3)},
        optional={
            "stdin": _TEXT,
            "cwd": _TEXT,
            "env": _TEXTS,
            "output": st.sampled_from(["text", "json", "lines"]),
            "success_exit_codes": st.lists(st.integers(0, 255), max_size=3),
        },
    ).map(lambda table: {"command": table}),
    st.fixed_dictionaries(
        {"url": _TEXT},
        optional={
            "query": _TABLE,
            "headers": _TEXTS,
            "basic_auth": st.lists(_TEXT, min_size=2, max_size=2),
            "bearer": _TEXT,
            "json": _VALUE,
            "form": _TABLE,
            "body": _TEXT,
            "result": st.one_of(_TEXT, _TEXTS),
            "expect": _TABLE,
            "allow_private": st.booleans(),
        },
    ).map(lambda table: {"http": table}),
    st.fixed_dictionaries({"server": _TEXT}, optional={"tool": _TEXT}).map(lambda table: {"mcp": table}),
)
_TOOLS = st.builds(
    lambda name, keys, executor: {"name": name} | keys | executor,
    _NAME,
    _some(
        title=_TEXT,
        description=_TEXT,
        category=_TEXT,
        tags=_WORDS,
        keywords=_WORDS,
        expected_queries=_WORDS,
        owner=_TEXT,
        version=st.sampled_from(["1", "2.0rc1", "nonsense"]),
        deprecated_versions=_WORDS,
        superseded_by=_TEXT,
        sunset=st.dates(),
        related=st.lists(_NAME, max_size=2),
        aliases=_WORDS,
        enabled=st.booleans(),
        timeout_seconds=st.one_of(st.integers(1, 99), st.floats(0.1, 99)),
        max_result_chars=st.integers(200, 10**6),
        annotations=_some(
            read_only=st.booleans(), destructive=st.booleans(), idempotent=st.booleans(), open_world=st.booleans()
        ),
        requires=_some(env=_WORDS, python=_WORDS, programs=_WORDS, extra=_TEXT),
        input_schema=_TABLE.map(lambda table: {"type": "object"} | table),
        output_schema=_TABLE,
        examples=st.lists(_some(input=_TABLE, result=_VALUE, note=_TEXT), max_size=2),
    ),
    _EXECUTORS,
)


@given(_TOOLS)
def test_a_tool_is_made_as_pydantic_makes_it(table):
    text = encode(table)
    assert isinstance(text, str)
    checked = decode_json(Tool, text, table)
    assert isinstance(checked, Tool), checked
    assert repr(tool_of(json.loads(text))) == repr(checked)


@given(st.lists(_TOOLS, max_size=3), _some(category=_TEXT, tags=_WORDS, requires=_some(env=_WORDS)))
def test_a_manifest_comes_back_from_its_text_as_it_was(tables, defaults):
    data = tomli_w.dumps({"manifest": 1, "defaults": defaults, "tool": tables}).encode()
    was = Reading(parse_manifest(data, "m.toml"), "digest", Stamp(1, 2, 3), 4)
    (back,) = decoded(encoded([was]))
    assert repr(back) == repr(was)
    assert [d.digest for d in back.manifest.declarations] == [d.digest for d in was.manifest.declarations]


def test_every_key_of_a_tool_is_tried():
    tried = {f.name for f in fields(Tool)}
    loaded = parse_manifest(EVERYTHING.encode(), "m.toml")
    given_keys = {key for d in loaded.declarations for key in json.loads(d.content)["tool"]}
    assert tried == given_keys
