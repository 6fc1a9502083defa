"""Each http tool of the shipped catalog sends what its service's public documentation asks for.

A local server stands in for every service. The pages that were looked up are named beside each expectation.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from shipped import Asked, Service, attempt, catalog, failure, run, service


@pytest.fixture
def site() -> Iterator[Service]:
    with service() as running:
        yield running


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


JIRA = {"JIRA_EMAIL": "bot@example.com", "JIRA_API_TOKEN": "jira-token-123"}
CONFLUENCE = {"CONFLUENCE_EMAIL": "bot@example.com", "CONFLUENCE_API_TOKEN": "confluence-token-123"}
SALESFORCE = {"SALESFORCE_ACCESS_TOKEN": "00Dxx!token"}
GITHUB = {"GITHUB_TOKEN": "ghp_token123456"}
GITHUB_HEADERS = {
    "authorization": "Bearer ghp_token123456",
    "accept": "application/vnd.github+json",
    "x-github-api-version": "2022-11-28",
}


@dataclass
class Case:
    """A call, the request that it must make, an answer of the service, and the tool's result."""

    tool: str
    page: str
    arguments: dict[str, Any]
    method: str
    path: str
    answer: Any
    result: Any
    host: str = ""
    base_variable: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    query: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    json: Any = None
    form: dict[str, str] | None = None


CASES = [
    Case(
        "send_sms", "https://www.twilio.com/docs/messaging/api/message-resource#create-a-message-resource",
        {"phone": "+8613800138000", "message": "会议取消 & 改期"},
        "POST", "/2010-04-01/Accounts/AC0123/Messages.json",
        {"sid": "SM1", "status": "queued", "body": "x"}, {"message_id": "SM1", "status": "queued"},
        host="api.twilio.com",
        environment={"TWILIO_ACCOUNT_SID": "AC0123", "TWILIO_AUTH_TOKEN": "auth-token",
        "TWILIO_FROM": "+15550001111"},
        headers={
            "authorization": basic("AC0123", "auth-token"),
            "content-type": "application/x-www-form-urlencoded",
        },
        form={"To": "+8613800138000", "Body": "会议取消 & 改期", "From": "+15550001111"},
    ),
    Case(
        "send_slack_message", "https://docs.slack.dev/reference/methods/chat.postMessage",
        {"channel": "#ops", "text": "done", "thread_ts": "1503435956.000247"},
        "POST", "/api/chat.postMessage",
        {"ok": True, "channel": "C1", "ts": "1.2"}, {"channel": "C1", "ts": "1.2"},
        host="slack.com", environment={"SLACK_BOT_TOKEN": "xoxb-123456"},
        headers={"authorization": "Bearer xoxb-123456", "content-type": "application/json"},
        json={"channel": "#ops", "text": "done", "thread_ts": "1503435956.000247"},
    ),
    Case(
        "send_teams_message",
        "https://learn.microsoft.com/en-us/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using",
        {"title": "CI", "text": "**Build 42** failed"},
        "POST", "/workflows/1", b"", None, base_variable="TEAMS_WEBHOOK_URL",
        json={
            "type": "message",
            "attachments": [
                {
                    "contentType": "application/vnd.microsoft.card.adaptive",
                    "content": {
                        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
                        "type": "AdaptiveCard",
                        "version": "1.4",
                        "body": [
                            {"type": "TextBlock", "text": "CI", "size": "Large", "weight": "Bolder", "wrap": True},
                            {"type": "TextBlock", "text": "**Build 42** failed", "wrap": True},
                        ],
                    },
                }
            ],
        },
    ),
    Case(
        "send_wecom_message", "https://developer.work.weixin.qq.com/document/path/99110",
        {"text": "广州今日天气：29 度", "at_phones": ["13800001111", "@all"]},
        "POST", "/cgi-bin/webhook/send", {"errcode": 0, "errmsg": "ok"}, {"errmsg": "ok"},
        host="qyapi.weixin.qq.com", environment={"WECOM_WEBHOOK_KEY": "693a91f6-7xxx"},
        query={"key": "693a91f6-7xxx"},
        json={
            "msgtype": "text",
            "text": {"content": "广州今日天气：29 度", "mentioned_mobile_list": ["13800001111", "@all"]},
        },
    ),
    Case(
        "send_telegram_message", "https://core.telegram.org/bots/api#sendmessage",
        {"chat_id": "-1001234567890", "text": "备份完成"},
        "POST", "/bot123%3AABC/sendMessage",
        {"ok": True, "result": {"message_id": 17, "chat": {"id": -1001234567890}}},
        {"message_id": 17, "chat_id": -1001234567890},
        host="api.telegram.org", environment={"TELEGRAM_BOT_TOKEN": "123:ABC"},
        json={"chat_id": "-1001234567890", "text": "备份完成", "disable_notification": False},
    ),
    Case(
        "send_discord_message", "https://discord.com/developers/docs/resources/webhook#execute-webhook",
        {"text": "**v1.2** @everyone"},
        "POST", "/api/webhooks/1/abc", {"id": "12", "channel_id": "11"}, {"id": "12", "channel_id": "11"},
        base_variable="DISCORD_WEBHOOK_URL", query={"wait": "true"},
        json={"content": "**v1.2** @everyone", "allowed_mentions": {"parse": []}},
    ),
    Case(
        "push_notification", "https://docs.ntfy.sh/publish/#publish-as-json",
        {"topic": "li-lei-7f3a", "message": "备份完成", "title": "Backup", "tags": ["tada"],
        "click": "https://e.com/1"},
        "POST", "/", {"id": "sPs7", "time": 1735941600, "event": "message"}, {"id": "sPs7", "time": 1735941600},
        base_variable="NTFY_URL",
        json={
            "topic": "li-lei-7f3a", "message": "备份完成", "title": "Backup", "priority": 3, "tags": ["tada"],
            "click": "https://e.com/1",
        },
    ),
    Case(
        "create_jira_ticket",
        "https://developer.atlassian.com/cloud/jira/platform/rest/v3/api-group-issues/#api-rest-api-3-issue-post",
        {"project": "OPS", "summary": "登录页空白", "description": "在 Safari 上", "issue_type": "Bug",
        "labels": ["web"]},
        "POST", "/rest/api/3/issue",
        {"id": "10042", "key": "OPS-42", "self": "https://x/10042"},
        {"key": "OPS-42", "id": "10042", "url": "https://x/10042"},
        base_variable="JIRA_BASE_URL", environment=JIRA,
        headers={"authorization": basic("bot@example.com", "jira-token-123")},
        json={
            "fields": {
                "project": {"key": "OPS"},
                "summary": "登录页空白",
                "issuetype": {"name": "Bug"},
                "labels": ["web"],
                "description": {
                    "type": "doc",
                    "version": 1,
                    "content": [{"type": "paragraph", "content": [{"type": "text", "text": "在 Safari 上"}]}],
                },
            }
        },
    ),
    Case(
        "create_jira_ticket",
        "https://developer.atlassian.com/cloud/jira/platform/rest/v3/api-group-issues/#api-rest-api-3-issue-post",
        {"project": "OPS", "summary": "only the least"},
        "POST", "/rest/api/3/issue", {"key": "OPS-43"}, {"key": "OPS-43"},
        base_variable="JIRA_BASE_URL", environment=JIRA,
        json={
            "fields": {"project": {"key": "OPS"}, "summary": "only the least", "issuetype": {"name": "Task"}}
        },
    ),
    Case(
        "search_jira",
        "https://developer.atlassian.com/cloud/jira/platform/rest/v3/api-group-issue-search/"
        "#api-rest-api-3-search-jql-get",
        {"jql": "project = OPS AND text ~ \"a&b\"", "max_results": 5},
        "GET", "/rest/api/3/search/jql",
        {"issues": [{"key": "OPS-42"}], "nextPageToken": "T"},
        {"issues": [{"key": "OPS-42"}], "next_page_token": "T"},
        base_variable="JIRA_BASE_URL", environment=JIRA,
        query={
            "jql": "project = OPS AND text ~ \"a&b\"", "maxResults": "5",
            "fields": "summary,status,assignee,priority,issuetype,created,updated",
        },
        headers={"authorization": basic("bot@example.com", "jira-token-123")},
    ),
    Case(
        "comment_jira_ticket",
        "https://developer.atlassian.com/cloud/jira/platform/rest/v3/api-group-issue-comments/"
        "#api-rest-api-3-issue-issueidorkey-comment-post",
        {"key": "OPS-42", "text": "已修复"},
        "POST", "/rest/api/3/issue/OPS-42/comment", {"id": "1", "self": "https://x/1"},
        {"id": "1", "url": "https://x/1"},
        base_variable="JIRA_BASE_URL", environment=JIRA,
        json={
            "body": {
                "type": "doc",
                "version": 1,
                "content": [{"type": "paragraph", "content": [{"type": "text", "text": "已修复"}]}],
            }
        },
    ),
    Case(
        "get_salesforce_contact",
        "https://developer.salesforce.com/docs/atlas.en-us.api_rest.meta/api_rest/dome_get_field_values.htm",
        {"contact_id": "0035g00000XyzAbAAJ"},
        "GET", "/services/data/v61.0/sobjects/Contact/0035g00000XyzAbAAJ",
        {"Id": "0035g00000XyzAbAAJ", "Name": "Han Meimei", "Email": "h@e.com", "Phone": "1", "MobilePhone": None,
         "Title": "CTO", "AccountId": "001"},
        {"id": "0035g00000XyzAbAAJ", "name": "Han Meimei", "email": "h@e.com", "phone": "1", "mobile": None,
         "title": "CTO", "account_id": "001"},
        base_variable="SALESFORCE_INSTANCE_URL", environment=SALESFORCE,
        query={"fields": "Id,Name,Email,Phone,MobilePhone,Title,AccountId"},
        headers={"authorization": "Bearer 00Dxx!token"},
    ),
    Case(
        "search_salesforce_contacts",
        "https://developer.salesforce.com/docs/atlas.en-us.api_rest.meta/api_rest/resources_search_parameterized.htm",
        {"text": "han@example.com", "max_results": 3},
        "GET", "/services/data/v61.0/parameterizedSearch/",
        {"searchRecords": [{"Id": "003"}]}, {"contacts": [{"Id": "003"}]},
        base_variable="SALESFORCE_INSTANCE_URL", environment=SALESFORCE,
        query={
            "q": "han@example.com", "sobject": "Contact",
            "Contact.fields": "Id,Name,Email,Phone,MobilePhone,Title,AccountId", "Contact.limit": "3",
        },
        headers={"authorization": "Bearer 00Dxx!token"},
    ),
    Case(
        "query_salesforce", "https://developer.salesforce.com/docs/atlas.en-us.api_rest.meta/api_rest/dome_query.htm",
        {"soql": "SELECT Name FROM Account LIMIT 1"},
        "GET", "/services/data/v61.0/query/",
        {"totalSize": 1, "done": True, "records": [{"Name": "ACME"}]},
        {"total": 1, "done": True, "records": [{"Name": "ACME"}]},
        base_variable="SALESFORCE_INSTANCE_URL", environment=SALESFORCE,
        query={"q": "SELECT Name FROM Account LIMIT 1"}, headers={"authorization": "Bearer 00Dxx!token"},
    ),
    Case(
        "create_github_issue", "https://docs.github.com/en/rest/issues/issues#create-an-issue",
        {"owner": "octocat", "repo": "hello-world", "title": "Crash", "labels": ["bug"]},
        "POST", "/repos/octocat/hello-world/issues",
        {"number": 1347, "html_url": "https://github.com/o/h/issues/1347", "state": "open"},
        {"number": 1347, "url": "https://github.com/o/h/issues/1347", "state": "open"},
        host="api.github.com", environment=GITHUB, headers=GITHUB_HEADERS, json={"title": "Crash", "labels": ["bug"]},
    ),
    Case(
        "search_github_issues", "https://docs.github.com/en/rest/search/search#search-issues-and-pull-requests",
        {"query": "repo:octocat/hello-world is:open crash", "sort": "updated", "max_results": 2},
        "GET", "/search/issues", {"total_count": 1, "items": [{"number": 1}]}, {"total": 1, "items": [{"number": 1}]},
        host="api.github.com", environment=GITHUB, headers=GITHUB_HEADERS,
        query={"q": "repo:octocat/hello-world is:open crash", "sort": "updated", "per_page": "2"},
    ),
    Case(
        "search_github_repositories", "https://docs.github.com/en/rest/search/search#search-repositories",
        {"query": "tetris language:assembly"},
        "GET", "/search/repositories", {"total_count": 0, "items": []}, {"total": 0, "items": []},
        host="api.github.com", environment=GITHUB, headers=GITHUB_HEADERS,
        query={"q": "tetris language:assembly", "per_page": "10"},
    ),
    Case(
        "create_gitlab_issue", "https://docs.gitlab.com/api/issues/#create-an-issue",
        {"project": "group/app", "title": "Crash", "labels": "bug,mobile"},
        "POST", "/api/v4/projects/group%2Fapp/issues",
        {"iid": 14, "web_url": "https://gitlab.com/g/a/-/issues/14", "state": "opened"},
        {"number": 14, "url": "https://gitlab.com/g/a/-/issues/14", "state": "opened"},
        base_variable="GITLAB_BASE_URL", environment={"GITLAB_TOKEN": "glpat-123456"},
        headers={"private-token": "glpat-123456"}, json={"title": "Crash", "labels": "bug,mobile"},
    ),
    Case(
        "search_gitlab_issues", "https://docs.gitlab.com/api/issues/#list-project-issues",
        {"project": "12", "text": "crash", "labels": "bug"},
        "GET", "/api/v4/projects/12/issues", [{"iid": 14}], [{"iid": 14}],
        base_variable="GITLAB_BASE_URL", environment={"GITLAB_TOKEN": "glpat-123456"},
        headers={"private-token": "glpat-123456"},
        query={"search": "crash", "state": "opened", "labels": "bug", "per_page": "20"},
    ),
    Case(
        "search_notion", "https://developers.notion.com/reference/post-search",
        {"text": "发布计划"},
        "POST", "/v1/search", {"results": [{"id": "1"}], "has_more": False}, {"pages": [{"id": "1"}], "more": False},
        host="api.notion.com", environment={"NOTION_TOKEN": "ntn_123456"},
        headers={"authorization": "Bearer ntn_123456", "notion-version": "2022-06-28"},
        json={"query": "发布计划", "page_size": 10, "filter": {"property": "object", "value": "page"}},
    ),
    Case(
        "create_notion_page", "https://developers.notion.com/reference/post-page",
        {"parent_page_id": "59833787-2cf9-4fdf-8782-e53db20768a5", "title": "周会纪要", "text": "决定周五发布。"},
        "POST", "/v1/pages", {"id": "a1", "url": "https://www.notion.so/a1"},
        {"id": "a1", "url": "https://www.notion.so/a1"},
        host="api.notion.com", environment={"NOTION_TOKEN": "ntn_123456"},
        headers={"authorization": "Bearer ntn_123456", "notion-version": "2022-06-28"},
        json={
            "parent": {"page_id": "59833787-2cf9-4fdf-8782-e53db20768a5"},
            "properties": {"title": {"title": [{"text": {"content": "周会纪要"}}]}},
            "children": [
                {
                    "object": "block",
                    "type": "paragraph",
                    "paragraph": {"rich_text": [{"type": "text", "text": {"content": "决定周五发布。"}}]},
                }
            ],
        },
    ),
    Case(
        "create_notion_page", "https://developers.notion.com/reference/post-page",
        {"parent_page_id": "598337872cf94fdf8782e53db20768a5", "title": "空页"},
        "POST", "/v1/pages", {"id": "a2", "url": "u"}, {"id": "a2", "url": "u"},
        host="api.notion.com", environment={"NOTION_TOKEN": "ntn_123456"},
        json={
            "parent": {"page_id": "598337872cf94fdf8782e53db20768a5"},
            "properties": {"title": {"title": [{"text": {"content": "空页"}}]}},
        },
    ),
    Case(
        "search_confluence",
        "https://developer.atlassian.com/cloud/confluence/rest/v1/api-group-search/#api-wiki-rest-api-search-get",
        {"cql": 'type = page AND text ~ "部署"'},
        "GET", "/wiki/rest/api/search", {"results": [{"title": "部署手册"}], "totalSize": 1},
        {"results": [{"title": "部署手册"}], "total": 1},
        base_variable="CONFLUENCE_BASE_URL", environment=CONFLUENCE,
        headers={"authorization": basic("bot@example.com", "confluence-token-123")},
        query={"cql": 'type = page AND text ~ "部署"', "limit": "10"},
    ),
    Case(
        "get_confluence_page",
        "https://developer.atlassian.com/cloud/confluence/rest/v2/api-group-page/#api-pages-id-get",
        {"page_id": "65601"},
        "GET", "/wiki/api/v2/pages/65601",
        {"id": "65601", "title": "部署手册", "version": {"number": 3},
        "body": {"view": {"value": "<p>先备份。</p>"}}},
        {"id": "65601", "title": "部署手册", "version": 3, "html": "<p>先备份。</p>"},
        base_variable="CONFLUENCE_BASE_URL", environment=CONFLUENCE, query={"body-format": "view"},
        headers={"authorization": basic("bot@example.com", "confluence-token-123")},
    ),
    Case(
        "find_place", "https://open-meteo.com/en/docs/geocoding-api",
        {"name": "上海", "max_results": 1},
        "GET", "/v1/search", {"results": [{"name": "上海", "latitude": 31.2}]},
        {"places": [{"name": "上海", "latitude": 31.2}]},
        host="geocoding-api.open-meteo.com", query={"name": "上海", "language": "zh", "count": "1", "format": "json"},
    ),
    Case(
        "get_weather", "https://open-meteo.com/en/docs",
        {"latitude": 31.22, "longitude": -121.46, "days": 1},
        "GET", "/v1/forecast",
        {"current": {"temperature_2m": 12.3}, "current_units": {"temperature_2m": "°C"}, "daily": {},
        "daily_units": {},
         "timezone": "Asia/Shanghai", "elevation": 4},
        {"current": {"temperature_2m": 12.3}, "current_units": {"temperature_2m": "°C"}, "daily": {},
        "daily_units": {},
         "timezone": "Asia/Shanghai"},
        host="api.open-meteo.com",
        query={
            "latitude": "31.22", "longitude": "-121.46", "forecast_days": "1", "timezone": "auto",
            "current": "temperature_2m,apparent_temperature,relative_humidity_2m,precipitation,weather_code,"
                       "wind_speed_10m",
            "daily": "weather_code,temperature_2m_max,temperature_2m_min,precipitation_sum,"
                     "precipitation_probability_max,wind_speed_10m_max",
        },
    ),
    Case(
        "get_exchange_rates", "https://frankfurter.dev/v1/",
        {"base": "USD", "symbols": "CNY,EUR", "date": "2026-03-02"},
        "GET", "/v1/2026-03-02",
        {"amount": 1.0, "base": "USD", "date": "2026-03-02", "rates": {"CNY": 7.08, "EUR": 0.86}},
        {"date": "2026-03-02", "base": "USD", "rates": {"CNY": 7.08, "EUR": 0.86}},
        host="api.frankfurter.dev", query={"base": "USD", "symbols": "CNY,EUR"},
    ),
    Case(
        "get_wikipedia_summary", "https://en.wikipedia.org/api/rest_v1/#/Page%20content/get_page_summary__title_",
        {"title": "AC/DC", "language": "en"},
        "GET", "/api/rest_v1/page/summary/AC%2FDC",
        {"title": "AC/DC", "description": "band", "extract": "AC/DC are ...",
         "content_urls": {"desktop": {"page": "https://en.wikipedia.org/wiki/AC/DC"}}},
        {"title": "AC/DC", "description": "band", "extract": "AC/DC are ...",
         "url": "https://en.wikipedia.org/wiki/AC/DC"},
        host="en.wikipedia.org", query={"redirect": "true"}, headers={"accept": "application/json"},
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.tool}-{len(case.arguments)}")
def test_sends_what_the_documentation_asks_for(case: Case, site: Service, tmp_path: Path) -> None:
    site.answer = case.answer
    environment = dict(case.environment)
    if case.base_variable:
        whole = catalog().get(case.tool).tool.http.url == f"{{env:{case.base_variable}}}"
        environment[case.base_variable] = site.url + (case.path if whole else "")
    got = run(site.entry(case.tool), case.arguments, folder=tmp_path, environment=environment)
    [asked] = site.asked
    assert (asked.method, asked.host, asked.path) == (case.method, case.host, case.path)
    assert asked.query == case.query
    assert {name: asked.headers.get(name) for name in case.headers} == case.headers
    assert asked.headers["user-agent"].startswith("tooldisco/")
    if case.json is not None:
        assert asked.headers["content-type"] == "application/json"
        assert asked.json == case.json
    elif case.form is not None:
        assert asked.form == case.form
    else:
        assert asked.body == b""
    assert got == case.result


def test_every_http_tool_is_tried_here() -> None:
    tried = {case.tool for case in CASES} | {"call_webhook"}
    assert {entry.name for entry in catalog() if entry.tool.http} == tried


@pytest.mark.parametrize(
    ("tool", "arguments", "environment", "answer", "said"),
    [
        ("send_slack_message", {"channel": "#ops", "text": "x"}, {"SLACK_BOT_TOKEN": "xoxb-123456"},
         {"ok": False, "error": "not_in_channel"}, "not_in_channel"),
        ("send_wecom_message", {"text": "x"}, {"WECOM_WEBHOOK_KEY": "key-123456"},
         {"errcode": 93000, "errmsg": "invalid webhook url"}, "93000"),
        ("send_telegram_message", {"chat_id": "@abcd", "text": "x"}, {"TELEGRAM_BOT_TOKEN": "123:ABC"},
         {"ok": False, "description": "chat not found"}, "chat not found"),
    ],
)  # fmt: skip
def test_a_refusal_with_status_200_is_a_failure(tool, arguments, environment, answer, said, site, tmp_path) -> None:
    site.answer = answer
    done = attempt(site.entry(tool), arguments, folder=tmp_path, environment=environment)
    assert done.error is not None
    assert done.error.code == "tool_failed"
    assert said in f"{done.error.message} {done.error.details}"


@pytest.mark.parametrize("case", [case for case in CASES if case.environment], ids=lambda case: case.tool)
def test_secrets_show_nowhere_when_the_service_repeats_them(case: Case, site: Service, tmp_path: Path) -> None:
    secrets = [v for n, v in case.environment.items() if any(w in n for w in ("TOKEN", "KEY", "SECRET"))]
    site.status, site.answer = 400, {"message": f"bad: {secrets}"}
    environment = case.environment | ({case.base_variable: site.url} if case.base_variable else {})
    done = attempt(site.entry(case.tool), case.arguments, folder=tmp_path, environment=environment)
    assert done.error is not None
    assert not any(secret in str(done.error.as_dict()) for secret in secrets)


class TestWebhook:
    def test_posts_the_payload(self, site: Service, tmp_path: Path) -> None:
        site.answer = {"status": "success"}
        # The schema takes https only; the server here speaks http, so the pattern is tried by itself below.
        entry = site.entry("call_webhook")
        entry = replace(entry, tool=replace(entry.tool, input_schema={"type": "object"}))
        got = run(entry, {"url": f"{site.url}/hook", "payload": {"event": "部署"}}, folder=tmp_path, private=True)
        [asked] = site.asked
        assert (asked.method, asked.path, asked.json) == ("POST", "/hook", {"event": "部署"})
        assert got == {"status": "success"}

    @pytest.mark.parametrize(
        "url",
        ["https://127.0.0.1/x", "https://[::1]/x", "https://169.254.169.254/latest/meta-data", "https://10.0.0.1/",
         "https://localhost/x", "https://0x7f000001/", "https://2130706433/", "https://[::ffff:10.0.0.1]/"],
    )  # fmt: skip
    def test_refuses_addresses_that_are_not_public(self, url: str, tmp_path: Path) -> None:
        said = failure("call_webhook", {"url": url, "payload": {}}, folder=tmp_path)
        assert said.startswith(("refused", "tool_failed", "invalid_arguments"))
        assert "connection refused" not in said.lower()

    @pytest.mark.parametrize(
        "url", ["http://example.com/", "file:///etc/passwd", "ftp://example.com/", "https://a b/"]
    )
    def test_takes_https_only(self, url: str, tmp_path: Path) -> None:
        assert failure("call_webhook", {"url": url, "payload": {}}, folder=tmp_path).startswith("invalid_arguments")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("get_salesforce_contact", {"contact_id": "../../query"}),
        ("comment_jira_ticket", {"key": "OPS-1/../../x", "text": "x"}),
        ("get_confluence_page", {"page_id": "1/../2"}),
        ("create_github_issue", {"owner": "..", "repo": "x", "title": "x"}),
        ("get_exchange_rates", {"base": "USD", "date": "latest/../x"}),
        ("send_sms", {"phone": "13800138000", "message": "x"}),
        ("send_slack_message", {"channel": "#ops, #all", "text": "x"}),
        ("get_weather", {"latitude": 91, "longitude": 0}),
        ("query_salesforce", {"soql": "DELETE FROM Account"}),
    ],
)
def test_schemas_reject_what_is_wrong(tool: str, arguments: dict[str, Any], tmp_path: Path) -> None:
    assert failure(tool, arguments, folder=tmp_path).startswith("invalid_arguments")


def test_a_repository_named_by_dots_never_climbs(site: Service, tmp_path: Path) -> None:
    arguments = {"owner": "octocat", "repo": "..", "title": "x"}
    said = failure(site.entry("create_github_issue"), arguments, folder=tmp_path, environment=GITHUB)
    assert said.startswith("invalid_arguments")
    assert site.asked == list[Asked]()
