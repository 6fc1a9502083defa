"""The catalog answers for names, aliases, spellings, versions, categories and tags."""

from __future__ import annotations

import pytest

from tooldisco_cli.catalog.snapshot import Catalog, Entry, normalised_name
from tooldisco_cli.catalog.tool import Layer, Source, Tool
from tooldisco_cli.errors import UnknownTool


def entry(tool: Tool) -> Entry:
    return Entry(tool=tool, source=Source(Layer("code", ""), "", 0), digest=tool.name)


@pytest.fixture
def catalog() -> Catalog:
    tools = [
        Tool(name="send_email", category="communication", tags=("mail", "邮件")),
        Tool(name="sendSMS", category="communication", aliases=("twilio:send",)),
        Tool(name="query-mysql", category="data", tags=("mail",)),
    ]
    return Catalog(by_name={tool.name: (entry(tool),) for tool in tools})


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        ("send_email", "send_email"),
        ("sendEmail", "send_email"),
        ("Send-Email", "send_email"),
        ("send email", "send_email"),
        ("ＳＥＮＤ＿ＥＭＡＩＬ", "send_email"),
        (" send_email ", "send_email"),
        ("send_sms", "sendSMS"),
        ("twilio:send", "sendSMS"),
        ("Twilio send", "sendSMS"),
        ("queryMysql", "query-mysql"),
    ],
)
def test_any_spelling_finds_a_tool(catalog: Catalog, spelled: str, name: str) -> None:
    assert catalog.get(spelled).name == name


@pytest.mark.parametrize("name", ["", "@", "@1.0", "zzz", "send"])
def test_other_names_find_nothing(catalog: Catalog, name: str) -> None:
    with pytest.raises(UnknownTool):
        catalog.get(name)


@pytest.mark.parametrize("name", ["send@email", "send_email@"])
def test_an_at_sign_without_a_version_is_only_spelling(catalog: Catalog, name: str) -> None:
    assert catalog.get(name).name == "send_email"


def test_a_mistyped_name_suggests_the_nearest(catalog: Catalog) -> None:
    with pytest.raises(UnknownTool) as raised:
        catalog.get("send_emial")
    assert raised.value.hint.startswith("did you mean send_email")
    assert raised.value.details["suggestions"][0] == "send_email"


def test_categories_and_tags_are_counted(catalog: Catalog) -> None:
    assert catalog.categories() == {"communication": 2, "data": 1}
    assert catalog.tags() == {"mail": 2, "邮件": 1}


def test_entries_are_in_order_of_name(catalog: Catalog) -> None:
    assert [item.name for item in catalog] == ["query-mysql", "sendSMS", "send_email"]
    assert len(catalog) == 3


@pytest.mark.parametrize(
    ("name", "normalised"),
    [
        ("sendEmail", "send_email"),
        ("HTTPServer2Go", "http_server2_go"),
        ("获取 天气", "获取_天气"),
        ("__", ""),
        ("A.b:c", "a_b_c"),
    ],
)
def test_normalised_names(name: str, normalised: str) -> None:
    assert normalised_name(name) == normalised
