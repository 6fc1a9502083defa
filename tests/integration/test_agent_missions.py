"""The three tasks of the mission: a scripted model, and real services that receive what it sends."""

from __future__ import annotations

import asyncio
import json
import os
from email import message_from_bytes, policy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs

import openpyxl
import pymysql
import pytest
from aiosmtpd.controller import Controller
from messages_api import Json, MessagesApi, run, say, search
from services import free_port

from tooldisco_cli import Toolbox
from tooldisco_cli.agent.anthropic_backend import AnthropicBackend
from tooldisco_cli.agent.events import SessionEnded, ToolResult
from tooldisco_cli.agent.opening import Opening, open_session
from tooldisco_cli.search.index import SearchIndex
from tooldisco_cli.settings import Settings


class Mailbox:
    def __init__(self) -> None:
        self.messages: list[Any] = []

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802
        message = message_from_bytes(envelope.content, policy=policy.default)
        self.messages.append((list(envelope.rcpt_tos), message))
        return "250 OK"


@pytest.fixture
def mailbox():
    box = Mailbox()
    controller = Controller(box, hostname="127.0.0.1", port=free_port())
    controller.start()
    box.variables = {"SMTP_HOST": "127.0.0.1", "SMTP_PORT": str(controller.port), "SMTP_TLS": "none",
                     "SMTP_FROM": "bot@example.com"}  # fmt: skip
    yield box
    controller.stop()


@pytest.fixture
def web():
    """A local stand-in for Salesforce, Jira and an SMS gateway; ``got`` is what it received."""
    got: list[tuple[str, str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def _any(self):
            body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
            kind = self.headers.get("content-type", "")
            given = json.loads(body) if "json" in kind else {k: v[0] for k, v in parse_qs(body).items()}
            got.append((self.command, self.path, given))
            answer: Json = {"sid": f"SM{len(got)}", "status": "queued"}
            if "/sobjects/Contact/" in self.path:
                contact = self.path.partition("/Contact/")[2][:18]
                answer = {"Id": contact, "Name": f"Name of {contact}", "Email": f"{contact.lower()}@example.com"}
            elif self.path.endswith("/issue"):
                answer = {"id": str(len(got)), "key": f"OPS-{len(got)}", "self": "http://x/1"}
            data = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = _any  # noqa: N815

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.got = got
    server.url = f"http://127.0.0.1:{server.server_port}"
    Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def mission(tmp_path, monkeypatch):
    """Run one task over the shipped catalog with a scripted model; return the events and the server."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key-12345")
    (tmp_path / "work").mkdir()

    def begin(task: str, script: list, variables: dict[str, str], tools_dirs=()):
        environment = {"TOOLDISCO_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"], **variables}
        settings = Settings(allow_private_addresses=True)
        box = Toolbox(tools_dirs, settings=settings, environment=environment, folder=tmp_path / "work")
        with MessagesApi(script) as server:
            session = open_session(
                Opening(by_meaning=False, catalog=box.catalog, index=SearchIndex.build(box.catalog), settings=box.settings,
                        environment=environment, folder=box.folder, model="claude-fake", assume_yes=True,
                        backend=AnthropicBackend(base_url=server.url, environment=environment))
            )  # fmt: skip

            async def all_events():
                try:
                    return [event async for event in session.run(task)]
                finally:
                    await session.backend.close()
                    session.trace.close()

            return asyncio.run(asyncio.wait_for(all_events(), 120)), server

    return begin


def results_of(body: Json) -> dict[str, Any]:
    """Return the results that the last message of a request carries, by the calls' ids."""
    found = {}
    for block in body["messages"][-1]["content"]:
        if block["type"] == "tool_result":
            text = block["content"][0]["text"]
            assert not block.get("is_error"), text
            found[block["tool_use_id"]] = json.loads(text)
    return found


def names_of(body: Json, use: str) -> list[str]:
    return [tool["name"] for tool in results_of(body)[use]["tools"]]


def test_an_email_cancels_a_meeting(mission, mailbox):
    def send(body: Json) -> list[Json]:
        assert names_of(body, "s")[0] == "send_email"
        text = "今天下午三点的会议取消，时间另行通知。"
        return [
            run(
                "m",
                "send_email",
                {"to": ["li.lei@example.com", "han@example.com"], "subject": "会议取消", "body": text},
            )
        ]

    events, _ = mission(
        "给李雷和韩梅梅发邮件取消下午的会议", [[search("s", "发送邮件")], send, [say("已发送。")]], mailbox.variables
    )
    assert events[-1].stop == "end_turn"
    [(recipients, message)] = mailbox.messages
    assert recipients == ["li.lei@example.com", "han@example.com"]
    assert message["Subject"] == "会议取消"
    assert "另行通知" in message.get_body().get_content()


def test_a_sheet_of_customers_becomes_tickets_and_a_summary(mission, mailbox, web, tmp_path):
    ids = ["0035g00000AAAAAAAA", "0035g00000BBBBBBBB", "0035g00000CCCCCCCC"]
    book = openpyxl.Workbook()
    book.active.append(["contact_id", "problem"])
    for number, contact in enumerate(ids):
        book.active.append([contact, f"问题 {number}"])
    book.save(tmp_path / "work" / "customers.xlsx")
    variables = mailbox.variables | {
        "SALESFORCE_INSTANCE_URL": web.url, "SALESFORCE_ACCESS_TOKEN": "sf-token-123",
        "JIRA_BASE_URL": web.url, "JIRA_EMAIL": "a@example.com", "JIRA_API_TOKEN": "jira-token-123",
    }  # fmt: skip

    def look_up(body: Json) -> list[Json]:
        rows = results_of(body)["r"]["rows"]
        return [
            run(f"c{i}", "get_salesforce_contact", {"contact_id": row["contact_id"]}) for i, row in enumerate(rows)
        ]

    def tickets(body: Json) -> list[Json]:
        contacts = results_of(body)
        return [
            run(f"t{i}", "create_jira_ticket", {"project": "OPS", "summary": f"回访 {contacts[f'c{i}']['name']}"})
            for i in range(3)
        ]

    def summary(body: Json) -> list[Json]:
        keys = [result["key"] for result in results_of(body).values()]
        return [run("m", "send_email", {"to": ["boss@example.com"], "subject": "工单汇总", "body": "\n".join(keys)})]

    script = [
        [search("a", "excel 表格"), search("b", "CRM contact lookup"), search("c", "bug ticket"), search("d", "发送邮件")],
        [run("r", "read_excel", {"path": "customers.xlsx"})],
        look_up, tickets, summary, [say("三个工单已创建，汇总已发送。")],
    ]  # fmt: skip
    events, server = mission("为表里的每个客户建工单并发汇总", script, variables)
    assert events[-1].stop == "end_turn", events[-1]
    found = [names_of(server.bodies[1], use)[0] for use in "acd"]
    assert found == ["read_excel", "create_jira_ticket", "send_email"]
    looked_up = [path for method, path, _ in web.got if method == "GET"]
    assert [any(contact in path for path in looked_up) for contact in ids] == [True] * 3
    issues = [given for method, path, given in web.got if method == "POST" and path.endswith("/issue")]
    assert [issue["fields"]["summary"] for issue in issues] == [f"回访 Name of {contact}" for contact in ids]
    [(recipients, message)] = mailbox.messages
    assert recipients == ["boss@example.com"]
    assert message.get_body().get_content().split() == [f"OPS-{n}" for n in (4, 5, 6)]
    assert "token-123" not in json.dumps(server.bodies)


@pytest.fixture
def big_customers(mariadb):
    """A table of customers in the database that all tests share, gone again after the test."""

    def execute(*statements: tuple) -> None:
        connection = pymysql.connect(
            host=mariadb["MYSQL_HOST"], port=int(mariadb.get("MYSQL_PORT", "3306")), user=mariadb["MYSQL_USER"],
            password=mariadb["MYSQL_PASSWORD"], database=mariadb["MYSQL_DATABASE"], autocommit=True,
        )  # fmt: skip
        with connection, connection.cursor() as cursor:
            for statement, *rows in statements:
                cursor.executemany(statement, rows) if rows else cursor.execute(statement)

    rows = [(f"客户{i}", f"+861380013800{i}", amount) for i, amount in enumerate([500, 12000, 10000, 30000, 15000])]
    execute(
        ("CREATE TABLE big_customers (name VARCHAR(40), phone VARCHAR(20), amount INT)",),
        ("INSERT INTO big_customers VALUES (%s, %s, %s)", *rows),
    )
    yield mariadb
    execute(("DROP TABLE big_customers",))


def test_each_large_customer_of_a_database_gets_one_text_message(mission, big_customers, web, tmp_path):
    # Twilio's address is fixed in the shipped manifest, so the same tool is declared for a gateway here.
    folder = tmp_path / "gateway"
    folder.mkdir()
    (folder / "sms.toml").write_text(
        'manifest = 1\n[[tool]]\nname = "send_sms"\ntitle = "Send SMS 发送短信"\n'
        'description = "Send one text message to a phone. 发送一条短信到手机。"\n'
        "annotations = { destructive = false }\n[tool.input_schema]\n"
        'type = "object"\nrequired = ["phone", "message"]\nproperties.phone = { type = "string" }\n'
        'properties.message = { type = "string" }\n'
        f'[tool.http]\nmethod = "POST"\nurl = "{web.url}/sms"\nform = {{ To = "{{phone}}", Body = "{{message}}" }}\n'
        'result = { message_id = "/sid", status = "/status" }\n',
        "utf-8",
    )

    def texts(body: Json) -> list[Json]:
        rows = results_of(body)["q"]["rows"]
        return [
            run(f"m{i}", "send_sms", {"phone": row[1], "message": f"尊敬的{row[0]}，感谢惠顾"})
            for i, row in enumerate(rows)
        ]

    query = {"sql": "SELECT name, phone FROM big_customers WHERE amount > %s ORDER BY phone", "params": [10000]}
    script = [
        [search("a", "query a database"), search("b", "发送短信")],
        [run("q", "query_mysql", query)],
        texts,
        [say("三条短信已发送。")],
    ]
    events, server = mission("给金额超过一万的客户各发一条短信", script, big_customers, [folder])
    assert events[-1].stop == "end_turn"
    assert isinstance(events[-1], SessionEnded)
    assert names_of(server.bodies[1], "a")[0] == "query_mysql"
    assert names_of(server.bodies[1], "b")[0] == "send_sms"
    sent = [given["To"] for method, path, given in web.got if path == "/sms"]
    assert sorted(sent) == ["+8613800138001", "+8613800138003", "+8613800138004"]
    assert sum(isinstance(event, ToolResult) and event.tool == "send_sms" for event in events) == 3
