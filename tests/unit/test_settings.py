"""The user's settings: defaults without a file, strict with one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tooldisco_cli.errors import SettingsInvalid
from tooldisco_cli.settings import Policy, Settings, load_settings, settings_file


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "config").mkdir()
    return {"TOOLDISCO_HOME": str(tmp_path)}


def write(environment: dict[str, str], text: str) -> Path:
    path = settings_file(environment)
    path.write_text(text, encoding="utf-8")
    return path


def test_without_a_file_everything_has_its_default(environment: dict[str, str]) -> None:
    assert load_settings(environment) == Settings()


def test_an_empty_file_is_all_defaults(environment: dict[str, str]) -> None:
    write(environment, "")
    assert load_settings(environment) == Settings()


def test_every_key_can_be_set(environment: dict[str, str]) -> None:
    write(
        environment,
        'tools_dirs = ["~/tools"]\nallowed_folders = ["/data"]\nallow_private_addresses = true\nmodel = "m"\n'
        'base_url = "http://127.0.0.1:1"\nsearch_by_usage = false\nsearch_by_meaning = false\n[policy]\nallow_tools = ["x"]\ndeny_tools = ["y"]\n'
        '[mcp_servers.s]\ncommand = ["run"]',
    )
    assert load_settings(environment) == Settings(
        tools_dirs=("~/tools",),
        allowed_folders=("/data",),
        allow_private_addresses=True,
        model="m",
        base_url="http://127.0.0.1:1",
        search_by_usage=False,
        search_by_meaning=False,
        policy=Policy(allow_tools=("x",), deny_tools=("y",)),
        mcp_servers={"s": {"command": ["run"]}},
    )


def test_variables_win_over_the_file(environment: dict[str, str]) -> None:
    write(environment, 'model = "m"\nbase_url = "u"')
    assert load_settings(environment | {"TOOLDISCO_MODEL": "n", "TOOLDISCO_BASE_URL": ""}) == Settings(
        model="n", base_url="u"
    )


def test_faults_are_told_together_with_line_key_and_remedy(environment: dict[str, str]) -> None:
    path = write(environment, 'modell = "m"\n[policy]\nallow_tools = "x"')
    with pytest.raises(SettingsInvalid) as raised:
        load_settings(environment)
    assert raised.value.message.splitlines() == [
        f"{path}:1: modell: unknown key (did you mean `model`?)",
        f"{path}:3: policy.allow_tools: must be a list, not text",
    ]
    assert raised.value.exit_code == 3
    assert [problem["line"] for problem in raised.value.details["problems"]] == [1, 3]


def test_a_file_that_is_not_toml(environment: dict[str, str]) -> None:
    path = write(environment, "model =")
    with pytest.raises(SettingsInvalid, match="is not valid TOML"):
        load_settings(environment)
    path.write_bytes(b"model = '\xff'")
    with pytest.raises(SettingsInvalid, match="is not UTF-8 at byte 9"):
        load_settings(environment)


def test_a_file_that_cannot_be_read_is_not_taken_for_none(environment: dict[str, str]) -> None:
    settings_file(environment).symlink_to("nowhere")
    with pytest.raises(SettingsInvalid, match="is a link to nothing"):
        load_settings(environment)


@pytest.mark.parametrize(
    ("value", "meant"), [("0", False), ("off", False), (" No ", False), ("1", True), ("yes", True)]
)
def test_a_variable_switches_search_by_meaning(environment: dict[str, str], value: str, meant: bool) -> None:
    write(environment, f"search_by_meaning = {'false' if meant else 'true'}")
    assert load_settings(environment | {"TOOLDISCO_SEARCH_BY_MEANING": value}).search_by_meaning is meant
    assert load_settings(environment | {"TOOLDISCO_SEARCH_BY_MEANING": ""}).search_by_meaning is not meant
