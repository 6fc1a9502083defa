"""A catalog that lives on sees what becomes of its manifests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tooldisco_cli.catalog import watching
from tooldisco_cli.catalog.loading import load_catalog
from tooldisco_cli.catalog.watching import Difference, WatchedCatalog, difference
from tooldisco_cli.errors import UsageError
from tooldisco_cli.settings import Settings


@pytest.fixture(autouse=True)
def looks_each_time(monkeypatch):
    monkeypatch.setattr(watching, "LONGEST_REST_SECONDS", 0.0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "extra"
    folder.mkdir()
    write(folder / "plans.toml", make_plan="Make a plan.")
    return folder


@pytest.fixture
def watched(tmp_path: Path, folder: Path) -> WatchedCatalog:
    return WatchedCatalog(
        [folder], cwd=tmp_path, settings=Settings(), environment={"TOOLDISCO_HOME": str(tmp_path / "home")}
    )


def write(path: Path, **tools: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "manifest = 1\n"
    for name, description in tools.items():
        text += f'[[tool]]\nname = "{name}"\ndescription = "{description}"\ncategory = "utility"\n'
        text += 'input_schema = { type = "object" }\ncommand = { argv = ["true"] }\n'
    path.write_text(text, "utf-8")


def after(watched: WatchedCatalog) -> Difference:
    """Return what a change that must be seen did to the tools."""
    old = watched.catalog
    assert watched.is_stale()
    watched.reload()
    assert not watched.is_stale()
    return difference(old, watched.catalog)


def errors(watched: WatchedCatalog) -> list[str]:
    return [str(problem) for problem in watched.catalog.problems if problem.severity == "error"]


def test_it_is_what_load_catalog_gives(watched, tmp_path, folder):
    loaded = load_catalog(
        [folder], cwd=tmp_path, settings=Settings(), environment={"TOOLDISCO_HOME": str(tmp_path / "home")}
    )
    assert watched.catalog == loaded
    assert not watched.is_stale()


def test_new_changed_and_removed_tools_are_seen(watched, folder):
    write(folder / "more" / "extra.toml", new_tool="New.")
    assert after(watched) == Difference(added=("new_tool",))
    write(folder / "plans.toml", make_plan="Make a better plan.")
    assert after(watched) == Difference(changed=("make_plan",))
    (folder / "plans.toml").unlink()
    assert after(watched) == Difference(removed=("make_plan",))


def test_a_change_that_leaves_size_and_time_is_seen_while_it_is_fresh(watched, folder):
    path = folder / "plans.toml"
    before = path.stat()
    path.write_text(path.read_text().replace("Make", "Give"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert after(watched) == Difference(changed=("make_plan",))


def test_a_file_that_is_only_touched_changes_no_tool(watched, folder):
    os.utime(folder / "plans.toml")
    assert after(watched) == Difference()


@pytest.mark.parametrize("broken", ['manifest = 1\n[[tool]]\nname = "make_pl', "manifest = 99\n", "\x00"])
def test_a_broken_file_keeps_its_last_good_version_until_it_is_repaired(watched, folder, broken):
    path = folder / "plans.toml"
    path.write_text(broken)
    assert after(watched) == Difference()
    assert [error.startswith(str(path)) for error in errors(watched)] == [True]
    assert watched.held_back == {str(path)}
    write(path, make_plan="Make a better plan.")
    assert after(watched) == Difference(changed=("make_plan",))
    assert not errors(watched)
    assert not watched.held_back


def test_one_faulty_tool_holds_its_whole_file_back_and_no_other(watched, folder):
    path = folder / "plans.toml"
    write(path, make_plan="Other.", added="Added.")
    path.write_text(path.read_text().replace('name = "added"', 'name = "no good name"'))
    write(folder / "other.toml", other="Other.")
    assert after(watched) == Difference(added=("other",))
    assert watched.catalog.get("make_plan").tool.description == "Make a plan."


def test_a_file_that_never_was_good_gives_what_is_good_of_it(watched, folder):
    path = folder / "new.toml"
    write(path, good="Good.", bad="Bad.")
    path.write_text(path.read_text().replace('name = "bad"', 'name = "so bad"'))
    assert after(watched) == Difference(added=("good",))
    assert len(errors(watched)) == 1
    assert not watched.held_back


def test_a_broken_file_that_is_removed_is_gone(watched, folder):
    (folder / "plans.toml").write_text("no toml")
    after(watched)
    (folder / "plans.toml").unlink()
    assert after(watched) == Difference(removed=("make_plan",))
    assert not errors(watched)


def test_folders_that_come_later_are_seen_and_a_project_is_not_trusted(watched, tmp_path):
    write(tmp_path / "home" / "config" / "tools.d" / "mine.toml", mine="Mine.")
    assert after(watched) == Difference(added=("mine",))
    write(tmp_path / "tools.d" / "theirs.toml", theirs="Theirs.")
    assert after(watched) == Difference(added=("theirs",))
    assert watched.catalog.get("mine").trusted
    assert not watched.catalog.get("theirs").trusted


def test_a_given_folder_that_is_gone_is_an_error_and_leaves_the_catalog(watched, folder):
    (folder / "plans.toml").unlink()
    folder.rmdir()
    assert watched.is_stale()
    with pytest.raises(UsageError):
        watched.reload()
    assert "make_plan" in watched.catalog.by_name
    write(folder / "plans.toml", make_plan="Again.")
    assert after(watched) == Difference(changed=("make_plan",))


def test_a_dear_look_is_not_taken_again_at_once(watched, folder, monkeypatch):
    monkeypatch.setattr(watching, "LONGEST_REST_SECONDS", 3600.0)
    monkeypatch.setattr(watching, "CHEAP_SECONDS", 0.0)
    monkeypatch.setattr(watching, "_SHARE", 10**9)
    assert not watched.is_stale()
    write(folder / "plans.toml", make_plan="Other.")
    assert not watched.is_stale()
