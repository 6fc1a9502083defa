"""Layers, overrides, masks, versions and trust: what the catalog holds in the end."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tooldisco_cli import paths
from tooldisco_cli.catalog import Catalog, check_catalog, check_paths, load_catalog
from tooldisco_cli.catalog.layers import load_layer
from tooldisco_cli.catalog.loading import project_layer
from tooldisco_cli.catalog.stacking import assemble
from tooldisco_cli.catalog.tool import Layer, McpServer
from tooldisco_cli.catalog.trust import approve, revoke, trust_file
from tooldisco_cli.errors import SettingsInvalid, UnknownTool, UsageError
from tooldisco_cli.settings import Settings


class House:
    """A machine's folders in a temporary place."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.shipped = root / "shipped" / "tools.d"
        self.system = root / "system" / "tools.d"
        self.user = root / "home" / "config" / "tools.d"
        self.project = root / "project" / "tools.d"
        self.environment = {"TOOLDISCO_HOME": str(root / "home")}

    def write(self, folder: Path, text: str, name: str = "m.toml") -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"manifest = 1\n{text}", encoding="utf-8")
        return folder

    def load(self, *tools_dirs: Path, settings: Settings | None = None, **environment: str) -> Catalog:
        self.project.parent.mkdir(exist_ok=True)
        return load_catalog(
            tools_dirs, cwd=self.project.parent, settings=settings, environment=self.environment | environment
        )

    def approve(self, *names: str) -> None:
        loaded = project_layer(self.project.parent)
        assert loaded is not None
        approve(loaded, names or None, path=trust_file(self.environment))


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    house = House(tmp_path)
    monkeypatch.setattr(paths, "shipped_tools", lambda: house.shipped)
    monkeypatch.setattr(paths, "system_tools", lambda: house.system)
    return house


def tool(name: str, description: str = "", version: str = "1.0", keys: str = "") -> str:
    return (
        f'[[tool]]\nname = "{name}"\ndescription = "{description}"\nversion = "{version}"\n'
        f'command.argv = ["x"]\n{keys}\n'
    )


def mask(name: str) -> str:
    return f'[[tool]]\nname = "{name}"\nenabled = false\n'


def origin(catalog: Catalog, name: str) -> str:
    return catalog.get(name).source.layer.kind


class TestLayers:
    def test_a_machine_without_any_folder_has_an_empty_catalog(self, house: House) -> None:
        catalog = house.load()
        assert (len(catalog), catalog.layers, catalog.problems, catalog.notes) == (0, (), (), ())

    def test_stack_from_shipped_to_the_argument(self, house: House) -> None:
        folders = [house.shipped, house.system, house.user, house.project]
        folders += [house.root / name for name in ("settings", "variable", "argument")]
        for number, folder in enumerate(folders):
            house.write(folder, "".join(tool(f"t{index}", str(number)) for index in range(number, 7)))
        house.approve()
        catalog = house.load(
            folders[6], settings=Settings(tools_dirs=(str(folders[4]),)), TOOLDISCO_TOOLS_DIR=str(folders[5])
        )
        assert [layer.path for layer in catalog.layers] == list(map(str, folders))
        kinds = ["shipped", "system", "user", "project", "tools-dir", "tools-dir", "tools-dir"]
        assert [layer.kind for layer in catalog.layers] == kinds
        assert [entry.tool.description for entry in catalog] == list("0123456")

    def test_later_folders_win(self, house: House) -> None:
        one = house.write(house.root / "one", tool("x", "one"))
        two = house.write(house.root / "two", tool("x", "two"))
        assert house.load(one, two).get("x").tool.description == "two"
        assert house.load(two, one).get("x").tool.description == "one"
        variable = os.pathsep.join([str(two), "", str(one)])
        assert house.load(TOOLDISCO_TOOLS_DIR=variable).get("x").tool.description == "one"

    def test_a_folder_that_stands_twice_counts_at_its_higher_place(self, house: House) -> None:
        house.write(house.project, tool("x"))
        catalog = house.load(house.project)
        assert [layer.kind for layer in catalog.layers] == ["tools-dir"]
        assert catalog.get("x").trusted

    def test_the_shipped_folder_is_never_a_project(self, house: House, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(paths, "shipped_tools", lambda: house.project)
        house.write(house.project, tool("x"))
        assert origin(house.load(), "x") == "shipped"
        assert house.load().get("x").trusted
        assert project_layer(house.project.parent) is None

    def test_folders_of_the_settings_are_meant_against_the_settings_file(self, house: House) -> None:
        house.write(house.root / "home" / "config" / "more", tool("x"))
        assert house.load(settings=Settings(tools_dirs=("more",))).get("x").trusted

    def test_a_missing_folder_of_the_argument_is_wrong_usage(self, house: House) -> None:
        with pytest.raises(UsageError, match="does not exist"):
            house.load(house.root / "nowhere")
        with pytest.raises(UsageError, match="is not a folder"):
            house.load(house.write(house.root / "x", "") / "m.toml")

    def test_a_missing_folder_of_settings_or_variable_is_told(self, house: House) -> None:
        catalog = house.load(settings=Settings(tools_dirs=("/nowhere/a",)), TOOLDISCO_TOOLS_DIR="/nowhere/b")
        assert [(problem.severity, problem.message) for problem in catalog.problems] == [
            ("error", "no such folder: /nowhere/a"),
            ("error", "no such folder: /nowhere/b"),
        ]

    def test_a_home_of_nobody_is_a_folder_that_is_not_there(self, house: House) -> None:
        catalog = house.load(
            settings=Settings(tools_dirs=("~no-such-user/a",)), TOOLDISCO_TOOLS_DIR="~no-such-user/b"
        )
        assert [problem.message for problem in catalog.problems] == [
            "no such folder: ~no-such-user/a",
            "no such folder: ~no-such-user/b",
        ]
        with pytest.raises(UsageError, match="does not exist"):
            house.load(Path("~no-such-user/c"))

    @pytest.mark.skipif(os.name == "nt", reason="Windows keeps a folder that a process works in")
    def test_a_working_folder_that_was_deleted_is_told(self, house: House, monkeypatch: pytest.MonkeyPatch) -> None:
        gone = house.root / "gone"
        gone.mkdir()
        monkeypatch.chdir(gone)
        gone.rmdir()
        with pytest.raises(UsageError, match="the working folder is gone"):
            load_catalog(environment=house.environment)

    def test_settings_are_read_where_none_are_given(self, house: House) -> None:
        config = house.root / "home" / "config" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text('tools_dirs = ["more"]\n[mcp_servers.s]\ncommand = ["run"]')
        house.write(config.parent / "more", tool("x"))
        catalog = house.load()
        assert catalog.get("x").name == "x"
        assert catalog.servers == {"s": McpServer(command=("run",))}
        config.write_text("tool_dirs = []")
        with pytest.raises(SettingsInvalid):
            house.load()

    def test_faulty_servers_of_the_settings_are_problems_with_their_line(self, house: House) -> None:
        config = house.root / "home" / "config" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text('[mcp_servers.good]\ncommand = ["run"]\n[mcp_servers.bad]\ncommand = "run"')
        catalog = house.load()
        assert list(catalog.servers) == ["good"]
        assert [str(problem) for problem in catalog.problems] == [
            f"{config}:4: mcp_servers.bad.command: must be a list, not text"
        ]

    def test_one_bad_file_never_hides_the_good_ones(self, house: House) -> None:
        house.write(house.user, tool("x"))
        house.write(house.user, "[[tool", "bad.toml")
        catalog = house.load()
        assert len(catalog) == 1
        assert len(catalog.problems) == 1


class TestOverrides:
    def test_replace_all_lower_versions(self, house: House) -> None:
        house.write(house.shipped, tool("x", version="1.0") + tool("x", version="2.0"))
        house.write(house.user, tool("x", version="0.5"))
        assert house.load().get("x").versions == ("0.5",)

    def test_masks_remove_all_lower_versions(self, house: House) -> None:
        house.write(house.shipped, tool("x", version="1.0") + tool("x", version="2.0") + tool("y"))
        house.write(house.user, mask("x"))
        catalog = house.load()
        assert list(catalog.by_name) == ["y"]
        with pytest.raises(UnknownTool):
            catalog.get("x")

    def test_a_higher_layer_may_declare_what_a_lower_one_masked(self, house: House) -> None:
        house.write(house.system, mask("x"))
        house.write(house.user, tool("x"))
        assert origin(house.load(), "x") == "user"

    def test_a_masked_version_leaves_the_others_of_its_own_layer(self, house: House) -> None:
        house.write(house.shipped, tool("x", version="3.0"))
        house.write(house.user, tool("x", version="1.0") + tool("x", version="2.0", keys="enabled = false"))
        assert house.load().get("x").versions == ("1.0",)

    def test_a_faulty_override_leaves_the_lower_tool_and_says_so(self, house: House) -> None:
        house.write(house.shipped, tool("x"))
        house.write(house.user, tool("x", keys="timeout_seconds = 0"))
        catalog = house.load()
        assert origin(catalog, "x") == "shipped"
        assert len(catalog.problems) == 1


class TestVersions:
    def test_the_highest_that_is_not_deprecated_is_current(self, house: House) -> None:
        house.write(house.user, tool("x", version="1.9"))
        house.write(house.user, tool("x", version="1.10", keys='deprecated_versions = ["2"]'), "b.toml")
        house.write(house.user, tool("x", version="2.0"), "c.toml")
        entry = house.load().get("x")
        assert entry.tool.version == "1.10"
        assert entry.versions == ("2.0", "1.10", "1.9")
        assert entry.deprecated == ("2.0",)

    def test_others_are_reached_by_name_and_version(self, house: House) -> None:
        house.write(house.user, tool("x", version="1.0", keys='aliases = ["s:x@y"]') + tool("x", version="2.0"))
        catalog = house.load()
        assert catalog.get("x@1.0").tool.version == "1.0"
        assert catalog.get("X@1").reference == "x@1.0"
        assert catalog.get("x@2.0").reference == "x"
        with pytest.raises(UnknownTool, match=r"no version '3'"):
            catalog.get("x@3")

    def test_deprecation_in_another_layer_does_not_count(self, house: House) -> None:
        house.write(house.shipped, tool("x", version="3.0", keys='deprecated_versions = ["1.0"]'))
        house.write(house.user, tool("x", version="1.0"))
        assert house.load().get("x").deprecated == ()

    def test_all_deprecated_leaves_the_newest(self, house: House) -> None:
        keys = 'deprecated_versions = ["1.0", "2.0"]'
        house.write(house.user, tool("x", version="1.0", keys=keys) + tool("x", version="2.0"))
        assert house.load().get("x").tool.version == "2.0"


class TestAliases:
    def test_find_the_tool_exactly_as_its_name_does(self, house: House) -> None:
        aliases = ["twilio:sendSms", "a@b", "@scope/x", "a.b c", "发短信", "x@1.0@y"]
        listed = ", ".join(f'"{alias}"' for alias in aliases)
        house.write(house.user, tool("send_sms", keys=f"aliases = [{listed}]"))
        catalog = house.load()
        for alias in aliases:
            assert catalog.get(alias).name == "send_sms"
            assert catalog.get(f"{alias}@1.0").name == "send_sms"
            assert catalog.get(alias.replace(":", " ")).name == "send_sms"

    def test_a_name_wins_over_an_alias(self, house: House) -> None:
        house.write(house.user, tool("a", keys='aliases = ["b"]') + tool("b"))
        catalog = house.load()
        assert catalog.get("b").name == "b"
        (problem,) = catalog.problems
        assert (problem.severity, problem.line) == ("warning", 2)
        assert problem.message == "'b' is also the name of 'b', which it will reach"

    def test_of_two_tools_reach_the_first_by_name(self, house: House) -> None:
        house.write(house.user, tool("b", keys='aliases = ["z"]') + tool("a", keys='aliases = ["z"]'))
        catalog = house.load()
        assert catalog.get("z").name == "a"
        assert "also the alias of 'a'" in catalog.problems[0].message

    def test_that_meet_across_layers_are_only_noted(self, house: House) -> None:
        house.write(house.shipped, tool("a", keys='aliases = ["b"]'))
        house.write(house.user, tool("b"))
        catalog = house.load()
        assert catalog.problems == ()
        assert len(catalog.notes) == 1

    def test_of_an_untrusted_tool_never_take_over_anothers(self, house: House) -> None:
        house.write(house.shipped, tool("send_sms", keys='aliases = ["sms"]'))
        house.write(house.project, tool("a", keys='aliases = ["sms"]') + tool("Send-sms") + tool("sendSms"))
        catalog = house.load()
        assert catalog.get("sms").name == "send_sms"
        assert catalog.get("send sms").name == "send_sms"

    def test_of_an_untrusted_tool_never_are_other_spellings_of_a_trusted_one(self, house: House) -> None:
        house.write(house.shipped, tool("send_sms", keys='aliases = ["twilio:sms"]') + tool("b"))
        evil = tool("a", keys='aliases = ["sendSms", "Send-SMS", "twilio sms", "mine"]') + tool("Twilio-SMS")
        house.write(house.project, evil)
        catalog = house.load()
        for alias in "sendSms", "Send-SMS", "SEND_SMS", "twilio sms", "Twilio SMS", "twilio:sms":
            assert catalog.get(alias).name == "send_sms"
        assert catalog.get("mine").name == "a"
        assert [note for note in catalog.notes if "'sendSms' is another spelling of 'send_sms'" in note]
        assert catalog.get("Twilio-SMS").name == "Twilio-SMS"

    def test_of_symbols_alone_or_like_a_version_are_aliases_too(self, house: House) -> None:
        house.write(house.shipped, tool("b", keys='aliases = ["***", "b 2"]'))
        house.write(house.project, tool("a", keys='aliases = ["???", "b@2"]'))
        catalog = house.load()
        assert (catalog.get("***").name, catalog.get("???").name) == ("b", "a")
        assert [note for note in catalog.notes if "'b@2' is another spelling of 'b'" in note]


class TestTrust:
    def test_a_projects_new_tools_are_there_and_not_trusted(self, house: House) -> None:
        house.write(house.project, tool("x"))
        assert not house.load().get("x").trusted
        house.approve()
        assert house.load().get("x").trusted

    def test_other_layers_are_trusted(self, house: House) -> None:
        for folder in (house.shipped, house.system, house.user, house.root / "more"):
            house.write(folder, tool(folder.parent.name))
        assert all(entry.trusted for entry in house.load(house.root / "more"))

    @pytest.mark.parametrize("declared", [tool("x", "theirs"), mask("x")])
    def test_overrides_and_masks_wait_for_approval(self, house: House, declared: str) -> None:
        house.write(house.shipped, tool("x", "ours"))
        house.write(house.project, declared)
        catalog = house.load()
        assert catalog.get("x").tool.description == "ours"
        assert catalog.get("x").trusted
        (note,) = catalog.notes
        assert note.startswith(f"{house.project}/m.toml:2: 'x' would ")
        assert "nobody has approved it" in note
        house.approve()
        catalog = house.load()
        assert catalog.notes == ()
        assert [entry.tool.description for entry in catalog] == (["theirs"] if "theirs" in declared else [])

    def test_a_users_mask_is_not_lifted_by_a_project(self, house: House) -> None:
        house.write(house.shipped, tool("x"))
        house.write(house.user, mask("x"))
        house.write(house.project, tool("x", "theirs"))
        catalog = house.load()
        assert len(catalog) == 0
        assert "would replace a mask" in catalog.notes[0]

    def test_the_same_tool_again_is_no_override(self, house: House) -> None:
        house.write(house.shipped, tool("x"))
        house.write(house.project, tool("x"))
        catalog = house.load()
        assert catalog.notes == ()
        assert origin(catalog, "x") == "shipped"

    def test_a_change_needs_approval_again(self, house: House) -> None:
        house.write(house.shipped, tool("x", "ours"))
        house.write(house.project, tool("x", "theirs") + tool("y", "new"))
        house.approve()
        house.write(house.project, tool("x", "changed") + tool("y", "changed"))
        catalog = house.load()
        assert catalog.get("x").tool.description == "ours"
        assert "changed since it was approved" in catalog.notes[0]
        assert not catalog.get("y").trusted

    def test_of_several_versions_only_the_approved_replace_a_lower_tool(self, house: House) -> None:
        house.write(house.shipped, tool("x", "ours"))
        house.write(house.project, tool("x", "theirs", "1.0") + tool("x", "theirs", "9.0"))
        house.approve("x@1.0")
        catalog = house.load()
        assert catalog.get("x").versions == ("1.0",)
        assert catalog.get("x").tool.description == "theirs"
        assert len(catalog.notes) == 1

    def test_deprecation_by_a_waiting_override_does_not_count(self, house: House) -> None:
        house.write(house.shipped, tool("x", version="1.0") + tool("x", version="2.0"))
        house.write(house.project, tool("x", version="3.0", keys='deprecated_versions = ["2.0"]'))
        assert house.load().get("x").tool.version == "2.0"

    def test_approval_is_for_one_folder(self, house: House) -> None:
        house.write(house.project, tool("x"))
        house.approve()
        house.project.parent.rename(house.root / "moved")
        catalog = load_catalog(cwd=house.root / "moved", environment=house.environment)
        assert not catalog.get("x").trusted

    def test_can_be_revoked(self, house: House) -> None:
        house.write(house.project, tool("x"))
        house.approve()
        revoke(str(house.project), ["x"], path=trust_file(house.environment))
        assert not house.load().get("x").trusted

    def test_a_damaged_record_trusts_nothing_and_says_so(self, house: House) -> None:
        house.write(house.project, tool("x"))
        house.approve()
        trust_file(house.environment).write_text('{"schema": "tooldisco.tr')
        catalog = house.load()
        assert not catalog.get("x").trusted
        assert "no project tool is trusted" in catalog.notes[0]


class TestAssemble:
    def test_touches_no_file(self, house: House, monkeypatch: pytest.MonkeyPatch) -> None:
        house.write(house.user, tool("x"))
        loaded = load_layer(Layer("user", str(house.user)))
        monkeypatch.setattr("builtins.open", None)
        monkeypatch.setattr("os.open", None)
        monkeypatch.setattr("os.stat", None)
        assert assemble([loaded]).get("x").name == "x"


class TestCheckPaths:
    def test_of_a_good_folder_finds_nothing(self, house: House) -> None:
        assert check_paths([house.write(house.user, tool("x"))]) == []

    def test_finds_what_loading_finds(self, house: House) -> None:
        house.write(house.user, tool("x") + tool("x") + tool("y", keys="timeout_seconds = 0"))
        (house.user / "folder.toml").mkdir()
        problems = check_paths([house.user])
        assert [Path(problem.path).name for problem in problems] == ["folder.toml", "m.toml", "m.toml"]

    @pytest.mark.parametrize("name", ["m.toml", "m.txt"])
    def test_takes_single_files_of_any_name(self, house: House, name: str) -> None:
        house.write(house.user, tool("x", keys="timeout_seconds = 0"), name)
        assert [problem.line for problem in check_paths([house.user / name])] == [7]

    def test_holds_schemas_against_the_meta_schema_with_the_line(self, house: House) -> None:
        keys = 'input_schema.type = "object"\ninput_schema.properties.a.type = "text"\noutput_schema.type = 3'
        folder = house.write(house.user, tool("ok") + tool("x", keys=keys))
        problems = check_paths([folder])
        assert [(problem.line, problem.key) for problem in problems] == [
            (14, "tool[1].input_schema.properties.a.type"),
            (15, "tool[1].output_schema.type"),
        ]
        assert all("is not JSON Schema" in problem.message for problem in problems)
        assert [problem.line for problem in check_catalog(house.load())] == [8, 8]

    def test_holds_examples_against_the_schema(self, house: House) -> None:
        keys = '[tool.input_schema]\ntype = "object"\nproperties.a.type = "integer"\n'
        keys += '[[tool.examples]]\ninput = { a = "x" }'
        (problem,) = check_paths([house.write(house.user, tool("x", keys=keys))])
        assert (problem.line, problem.key) == (11, "tool[0].examples[0].input.a")

    def test_a_reference_to_nowhere_is_told(self, house: House) -> None:
        keys = 'examples = [{ input = { a = 1 } }]\n[tool.input_schema]\ntype = "object"\n'
        keys += 'properties.a."$ref" = "#/nothing"'
        (problem,) = check_paths([house.write(house.user, tool("x", keys=keys))])
        assert problem.message.startswith("cannot be used")

    def test_a_missing_path_is_wrong_usage(self, house: House) -> None:
        with pytest.raises(UsageError):
            check_paths([house.root / "nowhere"])

    def test_a_link_to_nothing_is_a_problem(self, house: House) -> None:
        house.root.joinpath("x.toml").symlink_to("nowhere")
        assert "is a link to nothing" in check_paths([house.root / "x.toml"])[0].message
