"""The index on disk: used while it is true, rebuilt when it is not, and never a reason for a search to fail."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tooldisco_cli.search import store
from tooldisco_cli.search.generations import kept_indexes, verify
from tooldisco_cli.search.index import SearchIndex
from tooldisco_cli.search.store import ask, open_index


def tool(name: str, words: str) -> str:
    return f'manifest = 1\n[[tool]]\nname = "{name}"\ndescription = "{words}"\ncommand.argv = ["x"]\n'


@pytest.fixture
def layer(tmp_path: Path) -> Path:
    folder = tmp_path / "layer"
    folder.mkdir()
    (folder / "a.toml").write_text(tool("boil_egg", "Boil an egg 煮鸡蛋"), "utf-8")
    old(folder / "a.toml")
    return folder


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"TOOLDISCO_HOME": str(tmp_path / "home")}


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """One element for each time an index was built whole."""
    return counted_calls(monkeypatch, SearchIndex, "build")


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """One element for each time the whole catalog was loaded, to build an index or to bring it up to date."""
    return counted_calls(monkeypatch, store, "_build")


def counted_calls(monkeypatch: pytest.MonkeyPatch, owner: object, name: str) -> list[None]:
    counted: list[None] = []
    called = getattr(owner, name)

    def counting(*arguments, **options):
        counted.append(None)
        return called(*arguments, **options)

    monkeypatch.setattr(owner, name, counting)
    return counted


def old(path: Path, seconds: float = 100.0) -> None:
    """Let a file look as if it had been written long ago, so that its time alone tells whether it changed."""
    time = path.stat().st_mtime - seconds
    os.utime(path, (time, time))


def found(layer: Path, environment: dict[str, str], query: str = "egg", **options) -> list[str]:
    answer, _ = ask(lambda index: index.search(query), [layer], environment=environment, **options)
    return [hit.name for hit in answer.hits if hit.layer == "tools-dir"]


def test_is_built_once_and_then_read(layer, environment, builds):
    assert [found(layer, environment) for _ in range(3)] == [["boil_egg"]] * 3
    assert found(layer, environment, "煮鸡蛋") == ["boil_egg"]
    assert len(builds) == 1


@pytest.mark.parametrize("change", ["edit", "add", "remove", "rename", "same size", "in a subfolder"])
def test_follows_when_a_manifest_changes(layer, environment, builds, change):
    found(layer, environment)
    path = layer / "a.toml"
    if change == "edit":
        path.write_text(tool("boil_egg_softly", "Boil an egg"), "utf-8")
    elif change == "same size":
        path.write_text(path.read_text("utf-8").replace("boil_egg", "fry__egg"), "utf-8")
        old(path, 50)
    elif change == "add":
        (layer / "b.toml").write_text(tool("fry_egg", "Fry an egg"), "utf-8")
    elif change == "in a subfolder":
        (layer / "more").mkdir()
        (layer / "more" / "b.toml").write_text(tool("fry_egg", "Fry an egg"), "utf-8")
    elif change == "remove":
        path.unlink()
    else:
        path.rename(layer / "z.toml")
    expected = {
        "edit": {"boil_egg_softly"}, "same size": {"fry__egg"}, "remove": set(), "rename": {"boil_egg"},
    }.get(change, {"boil_egg", "fry_egg"})  # fmt: skip
    assert set(found(layer, environment)) == expected
    assert len(builds) == 1


def test_a_change_that_leaves_size_and_time_alike_is_seen_while_the_file_is_young(layer, environment):
    path = layer / "a.toml"
    path.write_text(tool("boil_egg", "Boil an egg"), "utf-8")
    time = path.stat().st_mtime_ns
    assert found(layer, environment) == ["boil_egg"]
    path.write_text(tool("cook_egg", "Boil an egg"), "utf-8")
    os.utime(path, ns=(time, time))
    assert found(layer, environment) == ["cook_egg"]


def test_a_young_file_is_asked_for_its_content_only_until_it_is_old(layer, environment, monkeypatch, builds):
    (layer / "a.toml").touch()
    found(layer, environment)
    [folder] = kept_indexes(environment)
    assert json.loads((folder / "meta.json").read_text())["recent"]
    now = store.time.time_ns() + 10_000_000_000
    monkeypatch.setattr(store.time, "time_ns", lambda: now)
    found(layer, environment)
    assert json.loads((folder / "meta.json").read_text())["recent"] == {}
    assert len(builds) == 1


def test_the_settings_and_approvals_are_part_of_what_it_depends_on(layer, environment, builds, tmp_path):
    found(layer, environment)
    more = tmp_path / "more"
    more.mkdir()
    (more / "m.toml").write_text(tool("peel_egg", "Peel an egg"), "utf-8")
    config = tmp_path / "home" / "config"
    config.mkdir(parents=True)
    (config / "config.toml").write_text(f"tools_dirs = ['{more}']\n", "utf-8")
    assert set(found(layer, environment)) == {"boil_egg", "peel_egg"}
    (more / "m.toml").write_text(tool("peel_egg_fast", "Peel an egg"), "utf-8")
    assert set(found(layer, environment)) == {"boil_egg", "peel_egg_fast"}
    (config / "config.toml").write_text("", "utf-8")
    assert set(found(layer, environment)) == {"boil_egg"}
    assert len(builds) == 1


@pytest.mark.parametrize("damage", ["cut", "emptied", "removed", "meta", "meta of another format", "wrong bytes"])
def test_heals_itself(layer, environment, damage):
    found(layer, environment)
    [folder] = kept_indexes(environment)
    [generation] = folder.glob("gen-*")
    biggest = max(generation.iterdir(), key=lambda path: path.stat().st_size)
    if damage == "cut":
        biggest.write_bytes(biggest.read_bytes()[:-7])
    elif damage == "emptied":
        biggest.write_bytes(b"")
    elif damage == "removed":
        shutil.rmtree(generation)
    elif damage == "meta":
        (folder / "meta.json").write_text('{"format":')
    elif damage == "meta of another format":
        (folder / "meta.json").write_text('{"format": 0}')
    else:
        for path in generation.iterdir():
            if path.suffix in {".store", ".term", ".idx"}:
                path.write_bytes(b"\xff" * path.stat().st_size)
    assert found(layer, environment) == ["boil_egg"]
    assert found(layer, environment) == ["boil_egg"]


def test_a_full_check_tells_of_a_changed_byte(layer, environment):
    found(layer, environment)
    [folder] = kept_indexes(environment)
    assert verify(folder) == []
    [path] = folder.glob("gen-*/*.store")
    data = bytearray(path.read_bytes())
    data[3] ^= 1
    path.write_bytes(data)
    assert verify(folder) == [f"{path.name}: differs from what was written"]


def test_old_generations_are_removed(layer, environment):
    for number in range(4):
        (layer / "a.toml").write_text(tool(f"boil_egg_{number}", "Boil an egg"), "utf-8")
        found(layer, environment)
    [folder] = kept_indexes(environment)
    assert len(list(folder.glob("gen-*"))) == 1
    assert list(folder.glob("new-*")) == []


def test_an_opened_index_outlives_its_generation(layer, environment):
    index = open_index([layer], environment=environment).tools
    shutil.rmtree(Path(environment["TOOLDISCO_HOME"]) / "cache")
    assert [hit.name for hit in index.search("boil egg").hits][:1] == ["boil_egg"]


def test_without_a_place_to_write_it_is_built_in_memory(layer, tmp_path):
    (tmp_path / "file").write_text("")
    environment = {"TOOLDISCO_HOME": str(tmp_path / "file" / "home")}
    assert found(layer, environment) == ["boil_egg"]


def test_without_the_cache_nothing_is_kept(layer, environment):
    assert found(layer, environment, use_cache=False) == ["boil_egg"]
    assert kept_indexes(environment) == []


def test_a_cache_that_cannot_be_written_is_still_read(layer, environment, monkeypatch, builds):
    found(layer, environment)
    # Root may write anywhere, so the refusal of a read-only disk is played: no lock file can be made there.
    real_open = SearchIndex.open

    def refuse(folder: Path):
        if folder.name.startswith("gen-"):
            raise store.IndexBroken("cannot make a lock file")
        return real_open(folder)

    monkeypatch.setattr(SearchIndex, "open", refuse)
    monkeypatch.setattr(store.os, "access", lambda *_: False)
    assert found(layer, environment) == ["boil_egg"]
    assert len(builds) == 1


def test_messages_about_manifests_come_from_the_cache_too(layer, environment):
    (layer / "bad.toml").write_text("nonsense", "utf-8")
    for _ in range(2):
        _, messages = ask(lambda index: index.search("egg"), [layer], environment=environment)
        assert [m.severity for m in messages] == ["error"]
        assert "bad.toml" in messages[0].text


def test_many_processes_at_once_all_answer_the_same(layer, environment):
    code = (
        "import sys, json; from tooldisco_cli.search.store import ask\n"
        "answer, _ = ask(lambda index: index.search('egg'), [sys.argv[1]])\n"
        "print(json.dumps([hit.name for hit in answer.hits]))"
    )

    def run(_: int) -> str:
        done = subprocess.run([sys.executable, "-c", code, str(layer)], env={**os.environ, **environment},
                              capture_output=True, text=True, timeout=300)  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    with ThreadPoolExecutor(20) as pool:
        answers = set(pool.map(run, range(20)))
    assert len(answers) == 1
    assert "boil_egg" in answers.pop()
    [folder] = kept_indexes(environment)
    assert verify(folder) == []


def test_processes_that_edit_and_search_at_once_all_get_an_answer(layer, environment):
    (layer / "b.toml").write_text(tool("feed_cat", "Feed the cat"), "utf-8")
    found(layer, environment)
    code = (
        "import sys; from pathlib import Path; from tooldisco_cli.search.store import ask\n"
        "path, number = Path(sys.argv[1]) / 'b.toml', sys.argv[2]\n"
        "for round in range(4):\n"
        "    text = path.read_text('utf-8').replace('Feed', 'Feed feed' + number, 1)\n"
        "    other = path.with_suffix(f'.{number}'); other.write_text(text, 'utf-8'); other.replace(path)\n"
        "    answer, _ = ask(lambda index: index.search('cat'), [sys.argv[1]])\n"
        "    assert [hit.name for hit in answer.hits][:1] == ['feed_cat'], answer\n"
    )

    def run(number: int) -> None:
        done = subprocess.run([sys.executable, "-c", code, str(layer), str(number)], env={**os.environ, **environment},
                              capture_output=True, text=True, timeout=300)  # fmt: skip
        assert done.returncode == 0, done.stderr

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(run, range(4)))
    assert found(layer, environment, "cat") == ["feed_cat"]
    [folder] = kept_indexes(environment)
    assert verify(folder) == []
