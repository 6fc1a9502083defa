"""File tools reach nothing outside the allowed folders, whatever the path says."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tooldisco_cli.builtin import places


@pytest.fixture
def context(tmp_path: Path) -> Any:
    work = tmp_path / "work"
    (work / "sub").mkdir(parents=True)
    (work / "a.txt").write_text("inside")
    (work / "sub" / "b.txt").write_text("inside")
    (tmp_path / "secret.txt").write_text("outside")
    (tmp_path / "work-too").mkdir()
    (tmp_path / "work-too" / "c.txt").write_text("outside")
    (work / "out").symlink_to("..")
    (work / "loop").symlink_to("loop")
    (work / "in").symlink_to("sub/b.txt")
    return SimpleNamespace(folder=work, allowed_folders=(work,), environment={}, allow_private_addresses=False)


PIECES = [
    "..",
    ".",
    "a.txt",
    "sub",
    "b.txt",
    "out",
    "in",
    "loop",
    "work",
    "work-too",
    "c.txt",
    "secret.txt",
    "",
    "/",
    "~",
]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(pieces=st.lists(st.sampled_from(PIECES), min_size=1, max_size=7), absolute=st.booleans())
def test_what_can_be_read_is_inside(pieces: list[str], absolute: bool, context: Any) -> None:
    path = ("/" if absolute else "") + "/".join(pieces)
    try:
        with places.open_file(path, context) as file:
            assert file.read() == b"inside"
    except (PermissionError, FileNotFoundError, ValueError, NotADirectoryError) as error:
        assert str(error)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(pieces=st.lists(st.sampled_from([*PIECES, "new.txt"]), min_size=1, max_size=6))
def test_what_can_be_written_is_inside(pieces: list[str], context: Any) -> None:
    try:
        place = places.new_file("/".join(pieces), context, may_exist=True)
    except (PermissionError, FileNotFoundError, ValueError, FileExistsError, NotADirectoryError) as error:
        assert str(error)
    else:
        assert place.is_relative_to(context.folder.resolve())


def test_a_folder_whose_name_begins_alike_is_another(context: Any) -> None:
    with pytest.raises(PermissionError):
        places.existing_file("../work-too/c.txt", context)


def test_a_link_put_in_place_after_the_check_is_not_followed(context: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    real = places.existing_file

    def swapped(path: str, *arguments: Any, **more: Any) -> Path:
        place = real(path, *arguments, **more)
        place.unlink()
        place.symlink_to(context.folder.parent / "secret.txt")
        return place

    monkeypatch.setattr(places, "existing_file", swapped)
    with pytest.raises(OSError, match=r"."):
        places.open_file("a.txt", context)


def test_an_error_leaves_no_draft(context: Any) -> None:
    place = places.new_file("new.txt", context)
    before = sorted(context.folder.iterdir())
    with pytest.raises(RuntimeError), places.staged(place) as draft:
        draft.write_text("half")
        raise RuntimeError
    assert sorted(context.folder.iterdir()) == before


def test_a_file_that_appears_meanwhile_is_kept(context: Any) -> None:
    place = places.new_file("new.txt", context)
    with pytest.raises(FileExistsError), places.staged(place) as draft:
        draft.write_text("mine")
        place.write_text("theirs")
    assert place.read_text() == "theirs"


def test_written_files_have_the_usual_permissions(context: Any) -> None:
    place = places.write_new("new.txt", b"x", context)
    (context.folder / "plain.txt").write_text("x")
    assert place.stat().st_mode == (context.folder / "plain.txt").stat().st_mode


def test_too_large_files_are_refused(context: Any) -> None:
    with pytest.raises(ValueError, match="at most 3"):
        places.read_bytes("a.txt", context, max_bytes=3)
    with pytest.raises(ValueError, match="NUL"):
        places.existing_file("a\0.txt", context)
