"""A footprint tells every change of a folder's manifests from outside, and which manifests changed."""

from __future__ import annotations

import os
from array import array
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooldisco_cli.catalog.footprint import Footprint, Listing, changed_manifests, footprint

FAR = 2**62
"""A moment that no file is as young as."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in range(5):
        (tmp_path / f"{number}.toml").write_text("x")
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "deep.toml").write_text("x")
    return tmp_path


def changes(before: Footprint, after: Footprint) -> tuple[set[str], set[str]] | None:
    found = changed_manifests(before.listings, after.listings)
    return None if found is None else ({Path(p).name for p in found[0]}, {Path(p).name for p in found[1]})


def test_nothing_changed(folder: Path) -> None:
    before, after = footprint([str(folder)], FAR), footprint([str(folder)], FAR)
    assert before == after
    assert changes(before, after) == (set(), set())


def test_an_edit_an_addition_and_a_removal_are_told(folder: Path) -> None:
    before = footprint([str(folder)], FAR)
    (folder / "1.toml").write_text("longer")
    (folder / "2.toml").unlink()
    (folder / "9.toml").write_text("x")
    (folder / "below" / "deep.toml").write_text("longer")
    after = footprint([str(folder)], FAR)
    assert before.digest != after.digest
    assert changes(before, after) == ({"1.toml", "2.toml", "deep.toml"}, {"1.toml", "9.toml", "deep.toml"})


def test_a_file_put_in_the_place_of_another_of_its_size_and_time_is_told_by_its_inode(folder: Path) -> None:
    before = footprint([str(folder)], FAR)
    status = (folder / "1.toml").stat()
    other = folder / "1.other"
    other.write_text("y")
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.replace(folder / "1.toml")
    after = footprint([str(folder)], FAR)
    assert before.digest != after.digest
    assert changes(before, after) == ({"1.toml"}, {"1.toml"})


def test_a_new_folder_and_one_that_goes_are_their_manifests(folder: Path) -> None:
    before = footprint([str(folder)], FAR)
    (folder / "more").mkdir()
    (folder / "more" / "a.toml").write_text("x")
    (folder / "below" / "deep.toml").unlink()
    (folder / "below").rmdir()
    assert changes(before, footprint([str(folder)], FAR)) == ({"deep.toml"}, {"a.toml"})


def test_a_link_to_nowhere_is_more_than_a_manifest(folder: Path) -> None:
    before = footprint([str(folder)], FAR)
    (folder / "x.toml").symlink_to("nowhere")
    after = footprint([str(folder)], FAR)
    assert before.digest != after.digest
    assert changes(before, after) is None


def test_a_missing_folder_has_a_footprint_and_its_coming_is_more_than_a_manifest(tmp_path: Path) -> None:
    there = tmp_path / "there"
    before = footprint([str(there)], FAR)
    there.mkdir()
    (there / "a.toml").write_text("x")
    after = footprint([str(there)], FAR)
    assert before.digest != after.digest
    assert changes(before, after) is None


def test_a_folder_that_stands_twice_is_told_whole(folder: Path) -> None:
    twice = footprint([str(folder), str(folder)], FAR)
    assert changes(twice, twice) is None
    assert twice.digest != footprint([str(folder)], FAR).digest


def test_hidden_files_and_other_files_do_not_count(folder: Path) -> None:
    before = footprint([str(folder)], FAR)
    (folder / ".hidden.toml").write_text("x")
    (folder / "readme.md").write_text("x")
    assert footprint([str(folder)], FAR) == before


def test_a_name_that_is_no_text_is_told(folder: Path) -> None:
    before = footprint([str(folder)], FAR)
    name = os.fsdecode(b"\xff\n.toml")
    (folder / name).write_text("x")
    assert changes(before, footprint([str(folder)], FAR)) == (set(), {name})


def test_files_at_or_after_a_moment_are_recent(folder: Path) -> None:
    old = folder / "0.toml"
    os.utime(old, ns=(10, 10))
    moment = min(path.stat().st_mtime_ns for path in folder.rglob("*.toml") if path != old)
    recent = footprint([str(folder)], moment).recent
    assert sorted(map(os.path.basename, recent)) == ["1.toml", "2.toml", "3.toml", "4.toml", "deep.toml"]
    assert footprint([str(folder)], FAR).recent == ()


def test_times_before_the_epoch_and_inodes_of_64_bits_are_held(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.utime(folder / "0.toml", ns=(-5_000_000_000, -5_000_000_000))
    real = os.stat

    def huge(*args: object, **options: object) -> SimpleNamespace:
        status = real(*args, **options)  # type: ignore[call-overload]
        names = ("st_mode", "st_dev", "st_size", "st_mtime_ns")
        return SimpleNamespace(st_ino=2**64 - 5, **{name: getattr(status, name) for name in names})

    monkeypatch.setattr(os, "stat", huge)
    before = footprint([str(folder / "below")], FAR)
    assert before.listings[0].stamps[2] == 2**63 - 5
    monkeypatch.undo()
    assert footprint([str(folder)], FAR).listings[0].stamps[1] == -5_000_000_000


ROWS = st.dictionaries(st.sampled_from([f"{n}.toml" for n in range(12)]), st.integers(0, 3), max_size=12)


def listing(rows: dict[str, int], padding: int) -> Listing:
    """Return a folder of some manifests, each with its size, and of many others so that stamps are compared in spans."""
    everything = rows | {f"x{number:04}.toml": 0 for number in range(padding)}
    names = sorted(everything)
    return Listing("/f", names, array("q", [n for name in names for n in (everything[name], 7, 7)]), ())


@given(ROWS, ROWS, st.sampled_from([0, 300]))
def test_exactly_the_rows_that_differ_are_told(before: dict[str, int], after: dict[str, int], padding: int) -> None:
    found = changed_manifests([listing(before, padding)], [listing(after, padding)])
    rows, others = set(before.items()), set(after.items())
    assert found == ({f"/f/{name}" for name, _ in rows - others}, {f"/f/{name}" for name, _ in others - rows})
