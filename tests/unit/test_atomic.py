"""Files that are replaced whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from tooldisco_cli.atomic import replacing


@pytest.mark.parametrize("durable", [False, True])
def test_a_file_is_replaced_at_the_end(tmp_path: Path, durable: bool) -> None:
    path = tmp_path / "kept"
    path.write_bytes(b"old")
    with replacing(path, durable=durable) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_when_anything_fails_the_file_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), replacing(path) as file:
        file.write(b"half of what")
        raise KeyboardInterrupt
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"), replacing(tmp_path / "gone" / "kept") as file:
        file.write(b"x")
