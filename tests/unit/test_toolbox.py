"""The library: manifests and functions in one catalog, searched, rehearsed and run."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import Field

from tooldisco_cli import Toolbox
from tooldisco_cli.catalog import watching
from tooldisco_cli.errors import CatalogInvalid, InvalidArguments, Refused, UnknownTool, UsageError
from tooldisco_cli.execution.protocol import JsonBlock
from tooldisco_cli.settings import Settings
from tooldisco_cli.usage.log import UsageLog


@pytest.fixture
def box(tmp_path: Path) -> Toolbox:
    return Toolbox(settings=Settings(), environment={"TOOLDISCO_HOME": str(tmp_path / "home")}, folder=tmp_path)


@pytest.fixture
def orders(box: Toolbox) -> Toolbox:
    @box.tool(category="data", tags=["订单"], read_only=True)
    def find_orders(customer: str, limit: Annotated[int, Field(ge=1, le=100)] = 10) -> list[dict]:
        """Find the orders of a customer. 查询客户的订单。

        Args:
            customer: Name of the customer, such as 李雷.
        """
        return [{"customer": customer, "number": n} for n in range(limit)]

    return box


def test_a_function_is_found_beside_the_manifests_in_both_languages(orders):
    for query in ("客户的订单", "orders of a customer", "findOrders"):
        assert orders.search(query)[0].name == "find_orders"
    assert orders.search("发送邮件")[0].name == "send_email"
    assert {hit.category for hit in orders.search("客户", categories=["data"])} == {"data"}


def test_a_pattern_finds_by_the_texts_as_they_were_written(orders):
    assert [hit.name for hit in orders.search("^find_orders$", regex=True)] == ["find_orders"]
    assert orders.search("no such text here", regex=True) == ()
    with pytest.raises(UsageError):
        orders.search("find_(", regex=True)


def test_tools_that_fit_alike_are_ordered_by_earlier_use_unless_that_is_switched_off(tmp_path):
    environment = {"TOOLDISCO_HOME": str(tmp_path / "home")}
    UsageLog(environment=environment).record("west_orders", "1.0", "", 0.1)

    def first(by_usage: bool = True, settings: Settings | None = None) -> str:
        box = Toolbox(
            manifests=False,
            settings=settings or Settings(),
            environment=environment,
            folder=tmp_path,
            by_usage=by_usage,
        )
        for name in ("east_orders", "west_orders"):
            box.register(lambda: [], name=name, description="Find the orders of a customer.", read_only=True)
        return box.search("orders of a customer")[0].name

    assert first() == "west_orders"
    assert first(by_usage=False) == "east_orders"
    assert first(settings=Settings(search_by_usage=False)) == "east_orders"


def test_name_description_and_schema_come_from_the_function(orders):
    definition = orders.definition("find_orders")
    assert definition["description"].startswith("Find the orders of a customer. 查询客户的订单。")
    assert definition["input_schema"]["required"] == ["customer"]
    properties = definition["input_schema"]["properties"]
    assert properties["customer"] == {"type": "string", "description": "Name of the customer, such as 李雷."}
    assert properties["limit"] == {"type": "integer", "minimum": 1, "maximum": 100, "default": 10}
    assert definition["input_schema"]["additionalProperties"] is False


def test_it_runs_with_checked_arguments_and_defaults(orders):
    done = orders.run("find_orders", {"customer": "李雷", "limit": 2})
    assert done.blocks == (JsonBlock([{"customer": "李雷", "number": 0}, {"customer": "李雷", "number": 1}]),)
    assert len(orders.run("find_orders", {"customer": "x"}).blocks[0].value) == 10
    wrong = orders.run("find_orders", {"customer": "x", "limit": 0})
    assert isinstance(wrong.error, InvalidArguments)
    with pytest.raises(UnknownTool):
        orders.run("find_order_s_", {})


def test_what_changes_something_needs_approval(box):
    ran = []

    @box.tool(destructive=False)
    async def mark_paid(order: int, how: Literal["card", "cash"] = "card") -> str:
        """Mark an order as paid."""
        ran.append((order, how))
        return "ok"

    assert isinstance(box.run("mark_paid", {"order": 1}).error, Refused)
    assert ran == []
    assert box.dry_run("mark_paid", {"order": 1}).approval == "ask"

    async def approver(request):
        return "once" if request.arguments["order"] == 2 else "no"

    assert asyncio.run(box.execute("mark_paid", {"order": 2}, approver=approver)).ok
    assert not asyncio.run(box.execute("mark_paid", {"order": 3}, approver=approver)).ok
    assert box.run("mark_paid", {"order": 4, "how": "cash"}, assume_yes=True).ok
    assert ran == [(2, "card"), (4, "cash")]


def test_a_definition_may_be_given_instead(box):
    schema = {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}
    entry = box.register(lambda x: x * 2, name="double", description="Twice as much.", input_schema=schema,
                         read_only=True, version="2.1", aliases=("calc:double",))  # fmt: skip
    assert entry.reference == "double"
    assert box.run("calc:double", {"x": 4}).blocks == (JsonBlock(8),)


def test_the_context_is_for_the_executor_and_not_for_the_model(box, tmp_path):
    @box.tool(read_only=True)
    def where(name: str, *, context) -> str:
        """Say where."""
        return f"{name} {context.folder}"

    assert list(box.definition("where")["input_schema"]["properties"]) == ["name"]
    assert str(tmp_path) in str(box.run("where", {"name": "x"}).blocks)


@pytest.mark.parametrize("name", ["bad name", "", "x" * 65, "名字"])
def test_what_makes_no_tool_is_told(box, name):
    with pytest.raises(CatalogInvalid):
        box.register(lambda: None, name=name or " ")
    with pytest.raises(CatalogInvalid):
        box.register(lambda *args: None, name="args")
    with pytest.raises(CatalogInvalid):
        box.register(
            lambda: None, name="schema", input_schema={"type": "object", "properties": {"a": {"type": "strng"}}}
        )


def test_without_manifests_only_functions_are_there(tmp_path):
    box = Toolbox(manifests=False, settings=Settings(), environment={"TOOLDISCO_HOME": str(tmp_path)})
    assert len(box.catalog) == 0
    box.register(lambda: "hi", name="hello", description="Say hello.", read_only=True)
    assert [hit.name for hit in box.search("hello")] == ["hello"]


def test_a_toolbox_may_search_by_meaning(tmp_path):
    environment = {"TOOLDISCO_HOME": str(tmp_path)}
    for by_meaning, found in ((False, []), (True, ["feed_cat"])):
        box = Toolbox(manifests=False, settings=Settings(), environment=environment, by_meaning=by_meaning)
        box.register(lambda: None, name="feed_cat", description="Give the cat its food.", read_only=True)
        box.register(lambda: None, name="wash_car", description="Clean the car.", read_only=True)
        assert [hit.name for hit in box.search("nourrir le chaton")][:1] == found


class TestLive:
    @pytest.fixture(autouse=True)
    def looks_each_time(self, monkeypatch):
        monkeypatch.setattr(watching, "LONGEST_REST_SECONDS", 0.0)

    def write(self, folder: Path, text: str) -> None:
        folder.mkdir(exist_ok=True)
        (folder / "team.toml").write_text(
            f'manifest = 1\n[[tool]]\nname = "make_tea"\ndescription = "{text}"\ncategory = "utility"\n'
            'annotations = { read_only = true }\ncommand = { argv = ["printf", "tea"] }\n'
            'input_schema = { type = "object" }\n'
        )

    def test_it_follows_the_manifests_and_keeps_its_functions(self, tmp_path):
        self.write(tmp_path / "team", "Make a pot of tea.")
        environment = {"TOOLDISCO_HOME": str(tmp_path / "home")}
        options = {"settings": Settings(), "environment": environment, "folder": tmp_path}
        box = Toolbox([tmp_path / "team"], live=True, **options)
        still = Toolbox([tmp_path / "team"], **options)
        box.register(lambda: "coffee", name="make_coffee", description="Make a pot of coffee.", read_only=True)
        assert box.search("pot of tea")[0].name == "make_tea"
        self.write(tmp_path / "team", "Brew an infusion.")
        assert box.search("infusion")[0].name == "make_tea"
        assert box.definition("make_tea")["description"].startswith("Brew an infusion.")
        assert still.definition("make_tea")["description"].startswith("Make a pot of tea.")
        (tmp_path / "team" / "team.toml").write_text("no toml")
        assert box.search("infusion")[0].name == "make_tea"
        assert "team.toml" in str(box.catalog.problems[0])
        assert box.run("make_tea").ok
        (tmp_path / "team" / "team.toml").unlink()
        assert "make_tea" not in box.catalog.by_name
        assert box.run("make_coffee").blocks
        with pytest.raises(UnknownTool):
            box.run("make_tea")

    def test_a_folder_that_is_gone_leaves_the_tools_and_is_a_problem(self, tmp_path):
        self.write(tmp_path / "team", "Make a pot of tea.")
        box = Toolbox([tmp_path / "team"], live=True, settings=Settings(), folder=tmp_path,
                      environment={"TOOLDISCO_HOME": str(tmp_path / "home")})  # fmt: skip
        (tmp_path / "team" / "team.toml").unlink()
        (tmp_path / "team").rmdir()
        assert "make_tea" in box.catalog.by_name
        assert "does not exist" in box.catalog.problems[-1].message
