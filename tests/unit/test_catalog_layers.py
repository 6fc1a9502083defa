"""Which files are manifests, and what becomes of the same tool declared twice in one folder."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from tooldisco_cli.catalog.layers import load_layer, manifest_files, without_duplicates
from tooldisco_cli.catalog.tool import Layer


def tool(name: str, keys: str = "", version: str = "1.0") -> str:
    return f'[[tool]]\nname = "{name}"\nversion = "{version}"\ncommand.argv = ["x"]\n{keys}\n'


def write(path: Path, *tools: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("manifest = 1\n" + "".join(tools), encoding="utf-8")
    return path


def found(folder: Path) -> list[str]:
    files, problems = manifest_files(folder)
    assert problems == []
    return [Path(file).relative_to(folder).as_posix() for file in files]


class TestManifestFiles:
    def test_are_toml_files_of_all_subfolders_sorted(self, tmp_path: Path) -> None:
        for name in ("b.toml", "a/z.toml", "a/b/c.toml", "a.toml", "短信.toml", "UPPER.TOML"):
            write(tmp_path / name)
        assert found(tmp_path) == ["UPPER.TOML", "a/b/c.toml", "a/z.toml", "a.toml", "b.toml", "短信.toml"]

    def test_leave_out_hidden_files_and_what_editors_leave(self, tmp_path: Path) -> None:
        for name in (".x.toml.swp", ".x.toml", "x.toml~", "#x.toml#", "x.toml.bak", ".git/x.toml", "x.txt", "toml"):
            write(tmp_path / name)
        assert found(tmp_path) == []

    def test_in_linked_folders_are_found_once(self, tmp_path: Path) -> None:
        write(tmp_path / "elsewhere" / "x.toml")
        (tmp_path / "tools").mkdir()
        (tmp_path / "tools" / "one").symlink_to(tmp_path / "elsewhere")
        (tmp_path / "tools" / "two").symlink_to(tmp_path / "elsewhere")
        assert len(found(tmp_path / "tools")) == 1

    def test_in_folders_linked_in_a_circle_are_found_once(self, tmp_path: Path) -> None:
        write(tmp_path / "a" / "x.toml")
        (tmp_path / "a" / "up").symlink_to(tmp_path)
        assert found(tmp_path) == ["a/x.toml"]

    def test_in_very_deep_folders(self, tmp_path: Path) -> None:
        folders = [tmp_path]
        for _ in range(1500):  # deeper than calls can nest
            folders.append(folders[-1] / "d")
            folders[-1].mkdir()
        manifest = write(folders[-1] / "x.toml")
        try:
            assert len(found(tmp_path)) == 1
        finally:  # pytest's own cleaning up nests calls
            manifest.unlink()
            for folder in reversed(folders[1:]):
                folder.rmdir()

    def test_a_folder_named_like_one_is_told(self, tmp_path: Path) -> None:
        write(tmp_path / "x.toml" / "y.toml")
        files, (problem,) = manifest_files(tmp_path)
        assert files == []
        assert str(problem) == f"{tmp_path}/x.toml: is a folder, not a file (rename it)"

    def test_a_folder_that_is_none_is_told(self, tmp_path: Path) -> None:
        files, (problem,) = manifest_files(write(tmp_path / "x.toml"))
        assert files == []
        assert "cannot be read" in problem.message


class TestLoadLayer:
    def test_one_bad_file_never_hides_another(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write(tmp_path / "good.toml", tool("good"))
        (tmp_path / "empty.toml").touch()
        (tmp_path / "half.toml").write_text('manifest = 1\n[[tool]]\nname = "ha')
        (tmp_path / "latin.toml").write_bytes("manifest = 1 # é".encode("latin-1"))
        (tmp_path / "gone.toml").symlink_to(tmp_path / "nothing")
        (tmp_path / "circle.toml").symlink_to("circle.toml")
        (tmp_path / "zero.toml").symlink_to("/dev/zero")
        os.mkfifo(tmp_path / "pipe.toml")
        (tmp_path / "folder.toml").mkdir()
        monkeypatch.chdir(tmp_path)
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("socket.toml")
            loaded = load_layer(Layer("user", str(tmp_path)))
        assert [declaration.tool.name for declaration in loaded.declarations()] == ["good"]
        problems = [*loaded.problems, *(p for manifest in loaded.manifests for p in manifest.problems)]
        assert sorted(Path(problem.path).stem for problem in problems) == [
            "circle", "empty", "folder", "gone", "half", "latin", "pipe", "socket", "zero",
        ]  # fmt: skip


class TestDuplicates:
    def test_name_both_places_and_neither_is_used(self, tmp_path: Path) -> None:
        write(tmp_path / "a.toml", tool("x"), tool("y"))
        write(tmp_path / "b.toml", "\n", tool("x"))
        by_name, (problem,) = without_duplicates(load_layer(Layer("user", str(tmp_path))).declarations())
        assert by_name["x"] == []
        assert len(by_name["y"]) == 1
        assert (problem.path, problem.line) == (f"{tmp_path}/b.toml", 3)
        assert f"'x' version 1.0 is already declared at {tmp_path}/a.toml:2; neither is used" in problem.message

    def test_are_also_those_whose_versions_only_look_different(self, tmp_path: Path) -> None:
        write(tmp_path / "a.toml", tool("x", version="1"), tool("x", version="1.0"))
        assert len(without_duplicates(load_layer(Layer("user", str(tmp_path))).declarations())[1]) == 1

    def test_are_not_different_versions(self, tmp_path: Path) -> None:
        write(tmp_path / "a.toml", tool("x", version="1.0"), tool("x", version="1.1"))
        by_name, problems = without_duplicates(load_layer(Layer("user", str(tmp_path))).declarations())
        assert problems == []
        assert len(by_name["x"]) == 2

    def test_of_three_are_told_twice(self, tmp_path: Path) -> None:
        write(tmp_path / "a.toml", tool("x"), tool("x"), tool("x"))
        assert len(without_duplicates(load_layer(Layer("user", str(tmp_path))).declarations())[1]) == 2

    def test_never_lift_a_mask(self, tmp_path: Path) -> None:
        write(tmp_path / "a.toml", tool("x", "enabled = false"), tool("x"))
        by_name, problems = without_duplicates(load_layer(Layer("user", str(tmp_path))).declarations())
        assert len(problems) == 1
        assert [declaration.tool.enabled for declaration in by_name["x"]] == [False]
