"""Search as its users meet it: small catalogs, and which tool comes first for what they type."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tooldisco_cli.catalog.snapshot import Entry
from tooldisco_cli.catalog.tool import Annotations, Layer, Source, Tool
from tooldisco_cli.errors import IndexBroken, UsageError
from tooldisco_cli.search.index import SearchIndex


def entry(name: str, description: str = "", **rest: Any) -> Entry:
    tool = Tool(name=name, description=description, **rest)
    return Entry(tool=tool, source=Source(Layer("user", "/tools.d"), f"/tools.d/{name}.toml", 3), digest="0" * 64)


def parameters(**described: str) -> dict[str, Any]:
    return {"type": "object", "properties": {k: {"type": "string", "description": d} for k, d in described.items()}}


ENTERPRISE = [
    entry(
        "send_email",
        "Send an e-mail message to one or more recipients over SMTP, with attachments.",
        category="communication",
        tags=("email", "smtp"),
        input_schema=parameters(to="Recipients", subject="Subject line", body="Plain text"),
    ),
    entry(
        "send_sms",
        "发送短信到指定手机号。",
        category="communication",
        tags=("sms",),
        aliases=("twilio:sendSms", "→短信!"),
        input_schema=parameters(phone="手机号", message="短信内容"),
    ),
    entry(
        "query_mysql",
        "Run a read-only SQL query against a MySQL database and return its rows.",
        category="data",
        tags=("sql", "database"),
    ),
    entry("read_excel", "Read the rows of one sheet of an Excel workbook (.xlsx).", category="data", tags=("xlsx",)),
    entry("create_jira_ticket", "Create an issue in Jira: a bug, a task or a story.", category="integration"),
    entry("get_salesforce_contact", "Look up a customer's contact record in Salesforce CRM.", category="integration"),
]


@pytest.fixture(scope="module")
def index() -> SearchIndex:
    return SearchIndex.build(ENTERPRISE)


def names(index: SearchIndex, query: str, **options: Any) -> list[str]:
    return [hit.name for hit in index.search(query, **options).hits]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("发送邮件", "send_email"),
        ("發送電子郵件", "send_email"),
        ("通知客户 手机短信", "send_sms"),
        ("query a database", "query_mysql"),
        ("查询数据库", "query_mysql"),
        ("excel 表格", "read_excel"),
        ("读取电子表格", "read_excel"),
        ("bug ticket", "create_jira_ticket"),
        ("notify customer by phone text", "send_sms"),
        ("text message", "send_sms"),
        ("ｅｘｃｅｌ", "read_excel"),
        ("emial", "send_email"),
        ("databse", "query_mysql"),
        ("sendemail with attachments", "send_email"),
        ("fasong duanxin", "send_sms"),
        ("duanxin", "send_sms"),
        ("fa song duan xin", "send_sms"),
        ("fasongduanxin", "send_sms"),
        ("短 信", "send_sms"),
    ],
)
def test_the_obvious_tool_comes_first(index: SearchIndex, query: str, first: str) -> None:
    assert names(index, query)[:1] == [first]


def test_the_object_outweighs_a_verb_that_another_tool_has_in_the_language_of_the_query() -> None:
    """The e-mail tool is described in English only, and many Chinese tools contain 发送."""
    others = [
        entry(f"send_{n}", f"发送{word}到指定地址。") for n, word in enumerate(["短信", "文件", "通知", "传真"])
    ]
    index = SearchIndex.build([*ENTERPRISE, *others])
    assert names(index, "发送邮件")[0] == "send_email"


@pytest.mark.parametrize("query", ["send email", "sendEmail", "send-email", "SEND_EMAIL", "Send Email", "send.email"])
def test_every_spelling_of_a_name_finds_it_first_with_full_relevance(index: SearchIndex, query: str) -> None:
    hit = index.search(query).hits[0]
    assert (hit.name, hit.relevance_score) == ("send_email", 1.0)


@pytest.mark.parametrize("alias", ["twilio:sendSms", "→短信!", "twilio send sms"])
def test_an_alias_finds_its_tool_as_exactly_as_its_name(index: SearchIndex, alias: str) -> None:
    hit = index.search(alias).hits[0]
    assert (hit.name, hit.relevance_score) == ("send_sms", 1.0)


@pytest.mark.parametrize(
    "query",
    [
        "read_excel, send_sms, query mysql",
        "read_excel send_sms query_mysql",
        "read excel send sms query mysql",
        "请依次调用 read_excel、sendSms 和 query-mysql",
        "read_excel and then sendSms and query_mysql",
    ],
)
def test_each_tool_that_a_query_names_is_in_the_results(query: str) -> None:
    index = SearchIndex.build([*ENTERPRISE[2:], entry("sendSms", "x"), entry("sendsms_x"), entry("send_sms", "y")])
    assert {"read_excel", "send_sms", "query_mysql"} <= set(names(index, query, limit=5))


def test_a_name_comes_before_tools_that_speak_of_it() -> None:
    talk = [entry(f"other_{n}", "query mysql " * 20) for n in range(20)]
    assert names(SearchIndex.build([*talk, *ENTERPRISE]), "query_mysql")[0] == "query_mysql"


def test_a_plain_word_inside_a_sentence_is_no_name() -> None:
    index = SearchIndex.build([entry("search", "Full text over a wiki"), entry("find_flight", "Search for flights")])
    assert names(index, "search for a cheap flight")[0] == "find_flight"


@pytest.mark.parametrize("query", ["sen", "send_e", "mys", "sales"])
def test_the_start_of_a_word_matches(index: SearchIndex, query: str) -> None:
    found = names(index, query)
    assert found
    assert any(query[:3] in name for name in found)


@pytest.mark.parametrize("query", ["zzzqqq", "the of and", "的 了 吗", "", "   ", "😀🎉", "!!!", "?"])
def test_what_means_nothing_finds_nothing_but_still_helps(index: SearchIndex, query: str) -> None:
    answer = index.search(query)
    assert answer.hits == ()
    assert answer.total == 0
    assert answer.near_categories[:1] == ("communication",)


def test_a_mistyped_name_is_suggested() -> None:
    index = SearchIndex.build([entry("qx_zzt_vv", "something")])
    answer = index.search("qxzzt_vvw")
    assert answer.hits == ()
    assert answer.near_names == ("qx_zzt_vv",)


def test_a_query_about_something_else_is_told_that_nothing_fits(index: SearchIndex) -> None:
    answer = index.search("bake a chocolate cake with whipped cream and strawberries for one birthday")
    assert answer.hits == ()
    assert index.search("bake a cake for one customer", floor=False).hits


def test_ties_are_ordered_by_name_whatever_the_order_of_building() -> None:
    twins = [entry(f"tool_{letter}", "Compress a folder") for letter in "cbgef"]
    assert names(SearchIndex.build(twins), "compress") == [f"tool_{letter}" for letter in "bcefg"]
    assert names(SearchIndex.build(twins[::-1]), "compress", limit=2) == ["tool_b", "tool_c"]


def test_ties_beyond_the_limit_are_ordered_by_name_too() -> None:
    many = [entry(f"tool_{number:03}", "Compress a folder") for number in range(300)]
    assert names(SearchIndex.build(many[::-1]), "compress folder", limit=5) == [f"tool_{n:03}" for n in range(5)]


def test_a_longer_answer_begins_like_a_shorter_one(index: SearchIndex) -> None:
    query = "Query the database. Then send an email; finally create a ticket."
    assert names(index, query, limit=6)[:2] == names(index, query, limit=2)


def test_each_sentence_of_a_query_gets_its_tool_early() -> None:
    crowd = [entry(f"flight_{n}", f"Search flights and book a flight ticket, airline {n}") for n in range(8)]
    index = SearchIndex.build([*crowd, *ENTERPRISE])
    found = names(index, "Search flights and book a flight ticket. Then create a bug ticket in Jira.", limit=3)
    assert "create_jira_ticket" in found
    assert any(name.startswith("flight_") for name in found)


def test_relevance_falls_from_one_and_stays_within_zero_and_one(index: SearchIndex) -> None:
    scores = [hit.relevance_score for hit in index.search("send_sms: send email to a customer. query rows").hits]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == 1.0
    assert all(0.0 <= score <= 1.0 for score in scores)
    assert max(hit.relevance_score for hit in index.search("email message").hits) < 1.0


def test_a_prefix_that_all_tools_share_does_not_dominate() -> None:
    index = SearchIndex.build(
        [entry(f"acme_{n}", f"Acme {w}") for n, w in enumerate(["weather", "invoice", "map"] * 9)]
    )
    assert index.search("acme invoice").hits[0].description == "Acme invoice"


def test_quoted_text_and_paths_do_not_choose_the_tool(index: SearchIndex) -> None:
    assert names(index, "send an email saying 'the excel database query of sheet rows failed'")[0] == "send_email"
    assert names(index, "read the excel sheet /srv/mysql/database/query/sql.xlsx")[0] == "read_excel"


@pytest.mark.parametrize(
    ("description", "query"),
    [
        ("日本の法令を検索します", "法令"),
        ("メールを送信する", "メール"),
        ("이메일을 보냅니다", "이메일"),
        ("ส่งอีเมล", "อีเมล"),
        ("Отправить письмо клиенту", "письмо"),
    ],
)
def test_other_scripts_are_found(description: str, query: str) -> None:
    index = SearchIndex.build([*ENTERPRISE, entry("other_script", description)])
    assert names(index, query)[0] == "other_script"


def test_parameter_names_texts_and_enum_values_are_searched() -> None:
    schema = {
        "type": "object",
        "properties": {
            "zoomLevel": {"type": "integer", "description": "Magnification of the microscope"},
            "stain": {"enum": ["giemsa", "gram"]},
            "nested": {"type": "array", "items": {"properties": {"slideLabel": {}}}},
        },
    }
    index = SearchIndex.build([*ENTERPRISE, entry("x", "Takes it", input_schema=schema)])
    for query in ("zoom level", "microscope", "giemsa", "slide label"):
        assert names(index, query)[0] == "x"


def test_a_sentence_that_sends_the_reader_to_a_sibling_does_not_find_the_tool() -> None:
    postgres = entry("query_pg", "Run a query on PostgreSQL. For MySQL and MariaDB use query_my.")
    mysql = entry("query_my", "Run a query on a MySQL server, with a long explanation of what it does and how.")
    index = SearchIndex.build([postgres, mysql])
    assert names(index, "MariaDB") == []
    assert names(index, "run a query on mysql")[0] == "query_my"


@pytest.mark.parametrize(("written", "asked"), [("GitHub", "github"), ("MySQL", "mysql"), ("github", "GitHub")])
def test_a_product_is_found_in_small_letters(written: str, asked: str) -> None:
    index = SearchIndex.build([*ENTERPRISE, entry("x", f"Open pages of {written}")])
    assert "x" in names(index, asked)


def test_the_object_of_a_sentence_counts_also_when_the_dictionary_has_it_with_its_verb() -> None:
    crm = [entry(f"crm_{n}", "查询客户资料", tags=("客户",)) for n in range(3)]
    assert names(SearchIndex.build([*ENTERPRISE, *crm]), "给客户发短信")[0] == "send_sms"


def test_where_words_leave_it_open_the_tool_that_only_reads_comes_first() -> None:
    writes = entry("b_sheet", "Excel workbook rows")
    reads = entry("z_sheet", "Excel workbook rows", annotations=Annotations(read_only=True))
    assert names(SearchIndex.build([writes, reads]), "excel workbook") == ["z_sheet", "b_sheet"]
    clearly = entry("b_sheet", "Write Excel workbook rows")
    assert names(SearchIndex.build([clearly, reads]), "write excel workbook")[0] == "b_sheet"


def test_expected_queries_are_never_searched() -> None:
    index = SearchIndex.build([entry("x", "plain", expected_queries=("xylophone",)), entry("y", keywords=("oboe",))])
    assert names(index, "xylophone") == []
    assert names(index, "oboe") == ["y"]


def test_categories_are_any_of_and_tags_all_of(index: SearchIndex) -> None:
    query = "send query read create customer"
    assert set(names(index, query, categories=["data", "integration"])) == {
        "query_mysql",
        "read_excel",
        "create_jira_ticket",
        "get_salesforce_contact",
    }
    assert names(index, query, tags=["sql", "database"]) == ["query_mysql"]
    assert names(index, query, tags=["sql", "smtp"]) == []
    assert names(index, "send_email", categories=["data"]) == []


def test_an_answer_says_how_many_matches_each_filter_hid(index: SearchIndex) -> None:
    assert index.search("send_email", categories=["data"]).hidden == {"category": 2}
    answer = index.search("query database rows", categories=["data"], tags=["xlsx"])
    assert answer.hidden == {"tag": 1}
    assert index.search("query database rows").hidden == {}


def test_a_hit_has_all_that_is_needed_to_show_it(index: SearchIndex) -> None:
    hit = index.search("send_sms").hits[0]
    assert hit.description == "发送短信到指定手机号。"
    assert (hit.category, hit.tags, hit.version) == ("communication", ("sms",), "1.0")
    assert hit.input_schema == parameters(phone="手机号", message="短信内容")
    assert (hit.layer, hit.path, hit.line) == ("user", "/tools.d/send_sms.toml", 3)
    assert hit.contributions == ()


def test_an_explained_hit_tells_what_each_word_added_in_which_field(index: SearchIndex) -> None:
    hit = index.search("发送邮件", explain=True).hits[0]
    found = {(part.field, part.term, part.word) for part in hit.contributions}
    assert ("name", "email", "邮件") in found
    assert ("tags", "email", "邮件") in found
    assert ("description", "send", "发送") in found
    scores = [part.score for part in hit.contributions]
    assert scores == sorted(scores, reverse=True)
    assert all(score > 0 for score in scores)


@pytest.mark.parametrize(
    ("tool", "query", "options", "reason"),
    [
        ("read_excel", "发送邮件", {}, "shares no word"),
        ("no_such_tool", "发送邮件", {}, "in the catalog"),
        ("send_sms", "send email", {"limit": 1}, "after the limit of 1"),
        ("send_email", "email", {"categories": ["data"]}, "filter hides it"),
        (
            "query_mysql",
            "bake chocolate cake with whipped cream, sugar, butter and strawberries, return",
            {},
            "below the floor",
        ),
    ],
)
def test_why_a_tool_did_not_come_up(
    index: SearchIndex, tool: str, query: str, options: dict[str, Any], reason: str
) -> None:
    absence = index.search(query, explain_tool=tool, **options).absence
    assert absence is not None
    assert absence.name == tool
    assert reason in absence.reason


def test_a_tool_after_the_limit_is_told_its_rank_and_its_own_words(index: SearchIndex) -> None:
    absence = index.search("send email", explain_tool="send_sms", limit=1).absence
    assert absence is not None
    assert absence.rank == 2
    assert absence.contributions
    assert index.search("send email", explain_tool="send_email").absence is None


def test_total_counts_beyond_the_limit(index: SearchIndex) -> None:
    answer = index.search("send an email or query a database", limit=1)
    assert len(answer.hits) == 1
    assert answer.total >= 2


def test_an_empty_catalog_answers() -> None:
    answer = SearchIndex.build([]).search("anything", explain_tool="x")
    assert answer.hits == ()
    assert answer.absence is not None


HOSTILE = [
    "\x00",
    "\ud800\udfff",
    'AND OR NOT "( ',
    '+-&&||!(){}[]^"~*?:\\/',
    "a:b:c field:value",
    "*",
    "/" * 500,
    "'" * 999,
    "A" * 100_000,
    "发送邮件" * 25_000,
    "send email " * 10_000,
    "aB" * 50_000,
    ",".join(f"w{n}" for n in range(20_000)),
    "中" * 100_000,
    "𠀀𠀁𠀂",
    "\u0301" * 1000,
    "(((((" * 1000,
]


@pytest.mark.parametrize("query", HOSTILE)
def test_no_query_is_an_error(index: SearchIndex, query: str) -> None:
    index.search(query, explain=True, explain_tool=query[:50], categories=[query[:50]], tags=[query[:50]])
    index.search(query)


@settings(max_examples=150, deadline=None)
@given(st.text(st.characters(codec=None, exclude_categories=()), max_size=120), st.integers(-1, 7))
def test_any_text_is_a_query(query: str, limit: int) -> None:
    answer = SHARED.search(query, limit=limit)
    assert len(answer.hits) <= max(limit, 0)
    assert answer.total >= len(answer.hits)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(st.characters(codec=None, exclude_categories=()), max_size=40), min_size=1, max_size=4))
def test_any_text_can_be_indexed_and_its_tool_is_found_by_name(texts: list[str]) -> None:
    tool = entry("the_tool", texts[0], title=texts[-1], tags=tuple(t for t in texts if t), keywords=tuple(texts))
    hit = SearchIndex.build([tool]).search("the_tool").hits[0]
    assert hit.description == texts[0]


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x4FFF), min_size=2, max_size=12))
def test_chinese_that_was_indexed_is_found_by_the_same_characters(text: str) -> None:
    """Index and query agree: jieba cut the one, the index's own vocabulary cuts the other."""
    index = SearchIndex.build([*ENTERPRISE, entry("the_tool", text)])
    assert "the_tool" in names(index, text, floor=False, limit=10)


SHARED = SearchIndex.build(ENTERPRISE)


def test_a_description_of_five_megabytes_is_stored_whole() -> None:
    index = SearchIndex.build([entry("big", "compress 压缩 " * 300_000), *ENTERPRISE])
    hit = index.search("big").hits[0]
    assert len(hit.description) == len("compress 压缩 ") * 300_000


def test_an_index_in_a_folder_answers_like_one_in_memory(tmp_path: Path, index: SearchIndex) -> None:
    SearchIndex.build(ENTERPRISE, tmp_path)
    opened = SearchIndex.open(tmp_path)
    for query in ("发送邮件", "query a database", "sendEmail", "bug ticket", "fasong duanxin"):
        assert opened.search(query, explain=True) == index.search(query, explain=True)


def test_a_folder_without_an_index_is_a_broken_index(tmp_path: Path) -> None:
    with pytest.raises(IndexBroken):
        SearchIndex.open(tmp_path)


def test_a_damaged_index_is_a_broken_index(tmp_path: Path) -> None:
    SearchIndex.build(ENTERPRISE, tmp_path)
    for file in tmp_path.iterdir():
        if file.suffix in {".store", ".term", ".idx"}:
            file.write_bytes(b"\x00" * file.stat().st_size)
    with pytest.raises(IndexBroken):
        SearchIndex.open(tmp_path).search("send email")


def test_threads_share_an_index(index: SearchIndex) -> None:
    expected = names(index, "发送邮件")
    found: list[list[str]] = []
    threads = [threading.Thread(target=lambda: found.append(names(index, "发送邮件"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 8


def test_a_query_loads_no_dictionary(tmp_path: Path) -> None:
    SearchIndex.build(ENTERPRISE, tmp_path)
    program = (
        "import sys; from pathlib import Path; from tooldisco_cli.search.index import SearchIndex;"
        f"assert SearchIndex.open(Path({str(tmp_path)!r})).search('发送邮件').hits[0].name == 'send_email';"
        "print(sorted({'jieba', 'rjieba', 'pydantic', 'numpy', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_pattern_finds_texts_as_they_were_written(index: SearchIndex) -> None:
    assert [hit.name for hit in index.search_regex("^send_").hits] == ["send_email", "send_sms"]
    assert [hit.name for hit in index.search_regex("手机号|(?i)SMTP,").hits] == ["send_email", "send_sms"]
    assert [hit.name for hit in index.search_regex(r"\(\.xlsx\)").hits] == ["read_excel"]


def test_a_pattern_in_the_name_comes_before_one_in_the_description(index: SearchIndex) -> None:
    hits = index.search_regex("(?i)query|return").hits
    assert [(hit.name, hit.relevance_score) for hit in hits] == [("query_mysql", 1.0)]
    hits = index.search_regex("(?i)email|recipients|message").hits
    assert [(hit.name, hit.relevance_score) for hit in hits] == [("send_email", 1.0), ("send_sms", 0.4)]


def test_a_pattern_is_filtered_and_limited(index: SearchIndex) -> None:
    answer = index.search_regex("e", categories=["data"], limit=1)
    assert [hit.name for hit in answer.hits] == ["query_mysql"]
    assert answer.total == 2
    assert answer.hidden == {"category": 4}
    assert index.search_regex("no such text").near_categories


@pytest.mark.parametrize("pattern", ["(", "[a", "a" * 201, "", "  ", "(?=x)", r"(a)\1", "*"])
def test_a_wrong_pattern_is_an_error_and_not_an_empty_answer(index: SearchIndex, pattern: str) -> None:
    with pytest.raises(UsageError):
        index.search_regex(pattern)


def test_a_pattern_that_would_explode_elsewhere_ends() -> None:
    index = SearchIndex.build([entry("x", "a" * 50_000 + "!")])
    assert index.search_regex(r"(a+)+$").hits == ()
    assert index.search_regex(r"(a|aa)+!").total == 1


def test_a_part_of_a_word_of_taiwan_does_not_outweigh_the_word() -> None:
    index = SearchIndex.build(
        [
            entry("query_postgres", "在 PostgreSQL 数据库上执行一条只读查询"),
            entry("query_mysql", "在 MySQL 数据库上查询"),
            entry("get_contact", "按编号查询一个客户的联系资料和所属公司"),
            entry("send_sms", "发送短信"),
        ]
    )
    assert index.search("資料庫查詢").hits[0].name == "query_mysql"


def test_one_index_answers_alike_however_often_it_was_asked(index: SearchIndex) -> None:
    queries = ["发送短信", "send an e-mail", "查询数据库", "exel", "fasong duanxin", "客户"]
    first = [index.search(query) for query in queries]
    assert [index.search(query) for query in queries] == first
    assert [SearchIndex.build(ENTERPRISE).search(query) for query in queries] == first
