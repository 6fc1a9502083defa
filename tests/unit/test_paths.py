"""Where tooldisco's folders are."""

from __future__ import annotations

from pathlib import Path

import platformdirs
import pytest

from tooldisco_cli import paths


def test_one_variable_puts_all_folders_below_one(tmp_path: Path) -> None:
    environment = {"TOOLDISCO_HOME": str(tmp_path)}
    assert paths.config_folder(environment) == tmp_path / "config"
    assert paths.cache_folder(environment) == tmp_path / "cache"
    assert paths.state_folder(environment) == tmp_path / "state"
    assert paths.user_tools(environment) == tmp_path / "config" / "tools.d"


def test_the_variable_may_be_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOOLDISCO_HOME", "x")
    assert paths.config_folder() == tmp_path / "x" / "config"


def test_without_it_the_platform_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len({paths.config_folder({}), paths.cache_folder({}), paths.state_folder({})}) >= 2
    assert paths.config_folder({}).name == "tooldisco"


@pytest.mark.parametrize(
    "variables",
    [
        {"HOME": "/home/x"},
        {"HOME": "/home/x/"},
        {"HOME": "relative"},
        {"HOME": ""},
        {"HOME": "/home/x", "XDG_CONFIG_HOME": "", "XDG_CACHE_HOME": " ", "XDG_STATE_HOME": "relative"},
        {"HOME": "/home/x", "XDG_CONFIG_HOME": "/c", "XDG_CACHE_HOME": "/d//e/", "XDG_STATE_HOME": " /s "},
        {
            "HOME": "/home/x",
            "XDG_CONFIG_HOME": "/c/../d",
            "XDG_CACHE_HOME": "~/e",
            "XDG_STATE_HOME": "/s/\N{DEGREE SIGN}",
        },
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore::UserWarning")  # platformdirs warns of a relative folder
def test_the_folders_are_those_of_platformdirs(variables: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert paths.config_folder({}) == platformdirs.user_config_path("tooldisco", appauthor=False)
    assert paths.cache_folder({}) == platformdirs.user_cache_path("tooldisco", appauthor=False)
    assert paths.state_folder({}) == platformdirs.user_state_path("tooldisco", appauthor=False)


def test_a_tilde_is_a_home_folder_and_unchanged_where_there_is_no_such_user() -> None:
    assert paths.expanded("~/x") == Path.home() / "x"
    assert paths.expanded("~no-such-user/x") == Path("~no-such-user/x")
    assert paths.config_folder({"TOOLDISCO_HOME": "~no-such-user"}) == Path.cwd() / "~no-such-user" / "config"


def test_the_shipped_tools_are_a_folder() -> None:
    assert paths.shipped_tools().name == "tools.d"


class TestProjectTools:
    def test_are_the_nearest_upwards_within_the_repository(self, tmp_path: Path) -> None:
        (tmp_path / "repo" / ".git").mkdir(parents=True)
        (tmp_path / "repo" / "tools.d").mkdir()
        (tmp_path / "repo" / "a" / "b").mkdir(parents=True)
        assert paths.project_tools(tmp_path / "repo" / "a" / "b") == tmp_path / "repo" / "tools.d"
        (tmp_path / "repo" / "a" / "tools.d").mkdir()
        assert paths.project_tools(tmp_path / "repo" / "a" / "b") == tmp_path / "repo" / "a" / "tools.d"

    def test_are_never_above_the_repository(self, tmp_path: Path) -> None:
        (tmp_path / "tools.d").mkdir()
        (tmp_path / "repo" / ".git").mkdir(parents=True)
        assert paths.project_tools(tmp_path / "repo") is None

    def test_of_a_worktree_whose_git_is_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "tools.d").mkdir()
        (tmp_path / ".git").touch()
        (tmp_path / "a").mkdir()
        assert paths.project_tools(tmp_path / "a") == tmp_path / "tools.d"

    def test_outside_a_repository_are_those_of_the_folder_itself(self, tmp_path: Path) -> None:
        (tmp_path / "tools.d").mkdir()
        (tmp_path / "a").mkdir()
        assert paths.project_tools(tmp_path) == tmp_path / "tools.d"
        assert paths.project_tools(tmp_path / "a") is None

    def test_are_a_folder_not_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "tools.d").touch()
        assert paths.project_tools(tmp_path) is None
