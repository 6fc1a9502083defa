"""A session sees what becomes of the manifests while it runs: real SDK, local server, files edited in between."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from messages_api import MessagesApi, run, say, search, use
from talking import Talk, talks

from tooldisco_cli.agent.events import Notice
from tooldisco_cli.agent.trace import read_trace
from tooldisco_cli.catalog import watching
from tooldisco_cli.execution.protocol import ApprovalRequest
from tooldisco_cli.search.live import LiveCatalog
from tooldisco_cli.settings import Settings


def write(path: Path, name: str, description: str, *, argv: str = '"printf", "ran"', more: str = "") -> None:
    path.write_text(
        f'manifest = 1\n[[tool]]\nname = "{name}"\ndescription = "{description}"\ncategory = "utility"\n'
        f"annotations = {{ read_only = true }}\ncommand = {{ argv = [{argv}] }}\n"
        f'input_schema = {{ type = "object", properties = {{ word = {{ type = "string" }} }} }}\n{more}',
        "utf-8",
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "team"
    folder.mkdir()
    write(folder / "plan.toml", "weekly_plan", "Make the weekly plan of a team.")
    return folder


@pytest.fixture
def talk(tmp_path, folder, monkeypatch) -> Iterator[Callable[..., Talk]]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key-12345")
    monkeypatch.setattr(watching, "LONGEST_REST_SECONDS", 0.0)

    def make(server: MessagesApi, *, variables: dict[str, str] | None = None, **options) -> Talk:
        environment = {"TOOLDISCO_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"], **(variables or {})}
        settings = Settings()
        live = LiveCatalog([tmp_path / "team"], cwd=tmp_path, settings=settings, environment=environment)
        here = {"settings": settings, "environment": environment, "folder": tmp_path}
        return Talk(server, **{"catalog": live.catalog, "index": live.index, "live": live, **here, **options})

    with talks(make) as begin:
        yield begin


def then(edit: Callable[[], object], *content: dict) -> Callable[[dict], list[dict]]:
    """Return a step of the script that edits a manifest before the model answers."""

    def step(_: dict) -> list[dict]:
        edit()
        return list(content)

    return step


def test_a_new_tool_is_found_by_the_next_search_runs_and_is_told_in_the_trace(talk, folder):
    session = talk([
        [search("a", "translate a poem")],
        then(lambda: write(folder / "poem.toml", "translate_poem", "Translate a poem."), search("b", "translate a poem")),
        [run("c", "translate_poem", {})],
        [say("done")],
    ])  # fmt: skip
    assert session.say().stop == "end_turn"
    assert "translate_poem" not in session.found("a")
    assert session.found("b")[0] == "translate_poem"
    assert session.result("c").text == "ran"
    assert session.told() == ["manifests changed; new: translate_poem"]
    recorded = read_trace(session.session.trace.path)
    assert [event.text for event in recorded.events if isinstance(event, Notice)] == session.told()


def test_definitions_sent_once_stay_the_same_bytes(talk, folder):
    session = talk([
        then(lambda: write(folder / "x.toml", "other", "Other.", more='tags = ["new"]\n'), search("a", "other")),
        then(lambda: write(folder / "plan.toml", "weekly_plan", "Make another plan."), search("b", "plan")),
        [say("done")],
    ], pins=["weekly_plan"])  # fmt: skip
    session.say()
    sent = {json.dumps(body["tools"]) for body in session.server.bodies}
    assert len(session.server.bodies) == 3
    assert len(sent) == 1


def test_a_removed_tool_is_neither_found_nor_run(talk, folder):
    session = talk([
        [search("a", "weekly plan")],
        then((folder / "plan.toml").unlink, search("b", "weekly plan"), run("c", "weekly_plan", {})),
        [say("done")],
    ])  # fmt: skip
    session.say()
    assert session.found("a")[0] == "weekly_plan"
    assert "weekly_plan" not in session.found("b")
    assert json.loads(session.result("c").text)["error"]["code"] == "unknown_tool"


def test_a_broken_file_stays_in_use_as_it_was_and_its_error_is_told_once(talk, folder):
    path = folder / "plan.toml"
    session = talk([
        [search("a", "weekly plan")],
        then(lambda: path.write_text("manifest = 1\n[[tool]\n"), search("b", "weekly plan"), run("c", "weekly_plan", {})),
        [run("d", "weekly_plan", {}), search("e", "weekly plan")],
        then(lambda: write(path, "weekly_plan", "Make the weekly plan of a whole team."), search("f", "weekly plan")),
        then(lambda: path.write_text("manifest = 1\n[[tool]\n"), search("g", "weekly plan")),
        [say("done")],
    ])  # fmt: skip
    session.say()
    assert {session.found(id_)[0] for id_ in "abefg"} == {"weekly_plan"}
    assert (session.result("c").text, session.result("d").text) == ("ran", "ran")
    broken, repaired, again = session.told()
    assert broken.startswith(f"{path}:2: ")
    assert broken.endswith("the file's last good version stays in use")
    assert repaired == "manifests changed; changed: weekly_plan"
    assert again == broken


def test_other_files_change_while_one_is_broken(talk, folder):
    def edit() -> None:
        (folder / "plan.toml").write_text("no toml")
        write(folder / "poem.toml", "translate_poem", "Translate a poem.")

    session = talk([then(edit, search("a", "poem"), search("b", "weekly plan")), [say("done")]])
    session.say()
    assert (session.found("a")[0], session.found("b")[0]) == ("translate_poem", "weekly_plan")


@pytest.mark.parametrize("pins", [(), ("weekly_plan",)])
def test_a_changed_tool_answers_with_its_new_definition_before_it_runs(talk, folder, pins):
    changed = 'examples = [{ input = { word = "x" } }]\n'
    call = use("b", "weekly_plan", {}) if pins else run("b", "weekly_plan", {})
    session = talk([
        [search("a", "weekly plan")],
        then(lambda: write(folder / "plan.toml", "weekly_plan", "Make a plan of the month.", more=changed), call),
        [run("c", "weekly_plan", {})],
        [say("done")],
    ], pins=pins)  # fmt: skip
    session.say()
    body = json.loads(session.result("b").text)
    assert body["error"]["code"] == "changed"
    assert body["tool"]["description"].startswith("Make a plan of the month.")
    assert session.result("c").text == "ran"


def test_a_search_that_shows_the_change_is_enough(talk, folder):
    session = talk([
        [search("a", "weekly plan")],
        then(lambda: write(folder / "plan.toml", "weekly_plan", "Make a plan."), search("b", "plan")),
        [run("c", "weekly_plan", {})],
        [say("done")],
    ])  # fmt: skip
    session.say()
    assert session.result("c").text == "ran"


def writes(path: Path, description: str, argv: str) -> None:
    """Write a tool that is not read-only, so that it has to be approved."""
    write(path, "book_room", description, argv=argv)
    path.write_text(path.read_text().replace("read_only = true", "destructive = false"))


def test_an_approval_for_the_session_ends_with_the_declaration_it_was_given_for(talk, folder):
    asked: list[ApprovalRequest] = []

    async def approver(request: ApprovalRequest) -> str:
        asked.append(request)
        return "session"

    path = folder / "room.toml"
    writes(path, "Book a room.", '"printf", "one"')
    session = talk([
        [search("a", "book a room")],
        [run("b", "book_room", {})],
        [run("c", "book_room", {})],
        then(lambda: writes(path, "Book a room.", '"printf", "two"'), run("d", "book_room", {})),
        [say("done")],
    ], approver=approver)  # fmt: skip
    session.say()
    assert [session.result(id_).text for id_ in "bcd"] == ["one", "one", "two"]
    assert [request.preview["argv"] for request in asked] == [["printf", "one"], ["printf", "two"]]


def test_a_permission_by_name_ends_when_the_tool_changes(talk, folder):
    path = folder / "room.toml"
    writes(path, "Book a room.", '"printf", "one"')
    session = talk([
        [search("a", "book a room")],
        [run("b", "book_room", {})],
        then(lambda: writes(path, "Book a room.", '"printf", "two"'), run("c", "book_room", {})),
        [say("done")],
    ], assume_yes={"book_room"})  # fmt: skip
    session.say()
    assert session.result("b").text == "one"
    assert json.loads(session.result("c").text)["error"]["code"] == "refused"


def test_what_runs_meanwhile_goes_on_with_what_it_began_with(talk, folder):
    path = folder / "slow.toml"
    write(path, "slow", "Wait a moment.", argv='"sh", "-c", "sleep 1; printf old"')

    async def both(session: Talk) -> list[str]:
        meta = session.session.meta
        meta.shown.add("slow")
        running = asyncio.ensure_future(meta.answer("execute_dynamic_tool", {"tool_name": "slow", "tool_input": {}}))
        await asyncio.sleep(0.3)
        path.unlink()
        assert await meta.refresh() == ("manifests changed; removed: slow",)
        gone = await meta.answer("execute_dynamic_tool", {"tool_name": "slow", "tool_input": {}})
        return [reply.blocks[0].text for reply in (await running, gone)]

    old, gone = asyncio.run(both(talk([[say("x")]])))
    assert old == "old"
    assert json.loads(gone)["error"]["code"] == "unknown_tool"


def test_a_change_that_was_read_when_the_turn_was_stopped_is_not_lost(talk, folder):
    meta = talk([[say("x")]]).session.meta
    write(folder / "poem.toml", "translate_poem", "Translate a poem.")
    meta.live.refresh()
    assert asyncio.run(meta.refresh()) == ()
    assert meta.catalog.get("translate_poem")
    assert meta.bench.catalog is meta.catalog


def test_secrets_of_new_tools_are_masked_in_the_trace(talk, folder):
    def edit() -> None:
        write(folder / "key.toml", "show_key", "Show the key.", argv='"echo", "{env:NEW_KEY}"')

    session = talk([
        then(edit, search("a", "show the key")),
        [say("It is very-secret-value-77.")],
    ], variables={"NEW_KEY": "very-secret-value-77"})  # fmt: skip
    session.say()
    recorded = session.session.trace.path.read_text("utf-8")
    assert "very-secret-value-77" not in recorded
    assert "[masked" in recorded


def test_native_discovery_refers_only_to_definitions_that_were_sent(talk, folder):
    session = talk([
        then(lambda: write(folder / "beer.toml", "zymurgy", "Zymurgy for brewers."), search("a", "plan zymurgy")),
        [search("b", "zymurgy for brewers")],
        [say("done")],
    ], discovery="native")  # fmt: skip
    session.say()
    mixed, only_new = (body["messages"][-1]["content"][0]["content"] for body in session.server.bodies[1:3])
    assert {"type": "tool_reference", "tool_name": "weekly_plan"} in mixed
    assert {block["type"] for block in mixed} == {"tool_reference"}
    assert "zymurgy" not in json.dumps(mixed)
    assert [block["type"] for block in only_new] == ["text"]
    assert "added after this session began" in only_new[0]["text"]


def test_a_folder_that_is_gone_leaves_the_tools_and_is_told_once(talk, folder):
    def edit() -> None:
        (folder / "plan.toml").unlink()
        folder.rmdir()

    session = talk([
        then(edit, search("a", "weekly plan")),
        [search("b", "weekly plan")],
        [say("done")],
    ])  # fmt: skip
    session.say()
    assert session.found("a")[0] == session.found("b")[0] == "weekly_plan"
    (told,) = session.told()
    assert told.endswith("the tools stay as they were")
