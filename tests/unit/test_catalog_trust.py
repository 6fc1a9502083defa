"""Approvals: pinned by digest, shown as a diff, safe with two writers, and failing closed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tooldisco_cli.catalog.layers import LoadedLayer, load_layer
from tooldisco_cli.catalog.tool import Layer
from tooldisco_cli.catalog.trust import TrustItem, approve, read_pins, revoke, trust_diff, trust_status
from tooldisco_cli.errors import Untrusted


class Project:
    def __init__(self, root: Path) -> None:
        self.folder = root / "tools.d"
        self.folder.mkdir()
        self.store = root / "state" / "trust.json"

    def write(self, text: str) -> LoadedLayer:
        (self.folder / "m.toml").write_text(f"manifest = 1\n{text}", encoding="utf-8")
        return self.layer()

    def layer(self) -> LoadedLayer:
        return load_layer(Layer("project", str(self.folder)))

    def status(self) -> dict[str, str]:
        return {item.reference: item.standing for item in trust_status(self.layer(), path=self.store)}

    def item(self, reference: str) -> TrustItem:
        return next(item for item in trust_status(self.layer(), path=self.store) if item.reference == reference)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def tool(name: str, program: str = "x") -> str:
    return f'[[tool]]\nname = "{name}"\ncommand.argv = ["{program}"]\n'


def test_a_tool_is_new_then_approved_then_changed_then_gone(project: Project) -> None:
    project.write(tool("a"))
    assert project.status() == {"a@1.0": "new"}
    changed = approve(project.layer(), path=project.store)
    assert [item.reference for item in changed] == ["a@1.0"]
    assert project.status() == {"a@1.0": "approved"}
    project.write(tool("a", "rm"))
    assert project.status() == {"a@1.0": "changed"}
    project.write(tool("b"))
    assert project.status() == {"a@1.0": "gone", "b@1.0": "new"}
    approve(project.layer(), path=project.store)
    assert project.status() == {"b@1.0": "approved"}


def test_masks_are_approved_like_tools(project: Project) -> None:
    project.write('[[tool]]\nname = "a"\nenabled = false')
    assert project.item("a@1.0").mask
    approve(project.layer(), path=project.store)
    project.write('[[tool]]\nname = "a"\nenabled = true\ncommand.argv = ["x"]')
    assert project.status() == {"a@1.0": "changed"}


def test_only_what_is_named_is_approved(project: Project) -> None:
    project.write(tool("a") + tool("b") + tool("b").replace('"b"', '"b"\nversion = "2.0"'))
    approve(project.layer(), ["a"], path=project.store)
    approve(project.layer(), ["b@2.0"], path=project.store)
    assert project.status() == {"a@1.0": "approved", "b@1.0": "new", "b@2.0": "approved"}


def test_an_unknown_name_approves_nothing(project: Project) -> None:
    project.write(tool("a"))
    with pytest.raises(Untrusted, match="no tool zzz"):
        approve(project.layer(), ["a", "zzz"], path=project.store)
    assert project.status() == {"a@1.0": "new"}


def test_what_was_shown_is_what_is_approved(project: Project) -> None:
    shown = project.write(tool("a"))
    project.write(tool("a", "rm"))
    approve(shown, path=project.store)
    assert project.status() == {"a@1.0": "changed"}


def test_revoking(project: Project) -> None:
    project.write(tool("a") + tool("b") + tool("c"))
    approve(project.layer(), path=project.store)
    assert revoke(str(project.folder), ["a", "zzz"], path=project.store) == ("a@1.0",)
    assert project.status() == {"a@1.0": "new", "b@1.0": "approved", "c@1.0": "approved"}
    assert revoke(str(project.folder), path=project.store) == ("b@1.0", "c@1.0")


def test_a_link_to_the_project_is_the_same_project(project: Project, tmp_path: Path) -> None:
    project.write(tool("a"))
    approve(project.layer(), path=project.store)
    (tmp_path / "link").symlink_to(project.folder)
    (item,) = trust_status(load_layer(Layer("project", str(tmp_path / "link"))), path=project.store)
    assert item.standing == "approved"


class TestDiff:
    def test_shows_what_changed_as_people_wrote_it(self, project: Project) -> None:
        project.write(tool("a") + 'description = """\nReads mail.\nNothing else.\n"""')
        approve(project.layer(), path=project.store)
        project.write(tool("a", "rm") + 'description = """\nReads mail.\nNothing at all.\n"""')
        diff = trust_diff(project.item("a@1.0")).splitlines()
        assert diff[:2] == ["--- approved", "+++ declared now"]
        changes = {line.strip() for line in diff if line[0] in "+-"}
        assert {"-Nothing else.", "+Nothing at all.", '-    "x",', '+    "rm",'} <= changes
        assert " Reads mail." in diff

    def test_shows_a_changed_server(self, project: Project) -> None:
        text = '[[tool]]\nname = "a"\nmcp.server = "s"\n[mcp_servers.s]\nurl = "https://one"\n'
        project.write(text)
        approve(project.layer(), path=project.store)
        project.write(text.replace("one", "two"))
        diff = trust_diff(project.item("a@1.0"))
        assert '-url = "https://one"' in diff
        assert '+url = "https://two"' in diff

    def test_shows_a_new_tool_whole_and_an_approved_one_not_at_all(self, project: Project) -> None:
        project.write(tool("a"))
        assert '+name = "a"' in trust_diff(project.item("a@1.0"))
        approve(project.layer(), path=project.store)
        assert trust_diff(project.item("a@1.0")) == ""

    def test_shows_what_toml_cannot_hold(self, project: Project) -> None:
        project.write(tool("a") + 'input_schema = \'{"type": "object", "default": null}\'')
        assert '"default": null' in trust_diff(project.item("a@1.0"))


class TestStore:
    def test_is_for_its_owner_alone(self, project: Project) -> None:
        project.write(tool("a"))
        approve(project.layer(), path=project.store)
        assert project.store.stat().st_mode & 0o077 == 0
        assert project.store.parent.stat().st_mode & 0o077 == 0

    def test_leaves_no_other_file_behind(self, project: Project) -> None:
        project.write(tool("a"))
        approve(project.layer(), path=project.store)
        assert sorted(path.name for path in project.store.parent.iterdir()) == ["trust.json", "trust.json.lock"]

    @pytest.mark.parametrize(
        "content",
        [
            b"", b"{", b"[]", b"null", b"{}", b"\xff", b'{"schema": "tooldisco.trust/2", "layers": {}}',
            b'{"schema": "tooldisco.trust/1"}', b'{"schema": "tooldisco.trust/1", "layers": []}',
            b'{"schema": "tooldisco.trust/1", "layers": {"x": {"a@1.0": {"digest": "0", "content": "{}"}}}}',
            b'{"schema": "tooldisco.trust/1", "layers": {"x": {"a@1.0": {"digest": "0", "content": 1}}}}',
            b"[" * 100_000,
        ],
    )  # fmt: skip
    def test_damaged_approves_nothing_and_is_not_overwritten(self, project: Project, content: bytes) -> None:
        layer = project.write(tool("a"))
        project.store.parent.mkdir()
        project.store.write_bytes(content)
        pins = read_pins(project.store)
        assert str(project.store) in pins.damage
        assert not any(pins.approves(str(project.folder), declaration) for declaration in layer.declarations())
        for change in (lambda: approve(layer, path=project.store), lambda: trust_status(layer, path=project.store)):
            with pytest.raises(Untrusted) as raised:
                change()
            assert "move" in raised.value.hint
        assert project.store.read_bytes() == content

    def test_with_an_edited_digest_is_damaged(self, project: Project) -> None:
        project.write(tool("a"))
        approve(project.layer(), path=project.store)
        document = json.loads(project.store.read_text())
        (pinned,) = document["layers"].values()
        pinned["a@1.0"]["digest"] = "0" * 64
        project.store.write_text(json.dumps(document))
        assert "does not fit" in read_pins(project.store).damage

    def test_that_is_a_folder_is_damaged(self, project: Project) -> None:
        project.store.mkdir(parents=True)
        assert read_pins(project.store).damage

    def test_that_cannot_be_written_is_told(self, project: Project, tmp_path: Path) -> None:
        layer = project.write(tool("a"))
        (tmp_path / "file").touch()
        with pytest.raises(Untrusted, match="cannot be kept"):
            approve(layer, path=tmp_path / "file" / "trust.json")

    def test_keeps_what_many_writers_approve_at_once(self, project: Project) -> None:
        names = [f"t{index}" for index in range(8)]
        project.write("".join(map(tool, names)))
        script = (
            "import sys; from pathlib import Path; from tooldisco_cli.catalog.layers import load_layer\n"
            "from tooldisco_cli.catalog.tool import Layer; from tooldisco_cli.catalog.trust import approve\n"
            "approve(load_layer(Layer('project', sys.argv[1])), [sys.argv[2]], path=Path(sys.argv[3]))"
        )
        arguments = [[sys.executable, "-c", script, str(project.folder), name, str(project.store)] for name in names]
        running = [subprocess.Popen(argv, env=os.environ.copy()) for argv in arguments]
        assert [process.wait(60) for process in running] == [0] * len(names)
        assert set(project.status().values()) == {"approved"}
