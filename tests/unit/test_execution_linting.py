"""Faults of templates are found without running anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tooldisco_cli.catalog import load_catalog
from tooldisco_cli.catalog.tool import (
    CommandExecutor,
    HttpExecutor,
    McpExecutor,
    McpServer,
    PythonExecutor,
    Requires,
    Tool,
)
from tooldisco_cli.execution.linting import environment_names, template_problems
from tooldisco_cli.execution.secrecy import secrets_of
from tooldisco_cli.execution.templates import is_secret_name

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}}}


def command(*argv: Any, **more: Any) -> Tool:
    return Tool(name="t", input_schema=SCHEMA, command=CommandExecutor(argv=argv, **more))


def test_a_tool_in_order_has_no_problems() -> None:
    assert template_problems(command("head", ["-n", "{limit}"], "--", "{path}")) == []


def test_the_shipped_catalog_has_no_problems(tmp_path: Path) -> None:
    catalog = load_catalog(cwd=tmp_path, environment={"TOOLDISCO_HOME": str(tmp_path)})
    assert len(catalog) > 0
    assert [problem for entry in catalog for problem in template_problems(entry.tool, entry.server)] == []


def test_an_unknown_argument_is_named_with_what_was_meant() -> None:
    [problem] = template_problems(command("cat", "{pth}"))
    assert problem == "command.argv[1]: {pth} is no argument of the tool; did you mean {path}?"


def test_a_regular_expression_reads_like_a_placeholder_and_the_remedy_says_so() -> None:
    [problem] = template_problems(command("grep", "-E", "a{1,3}"))
    assert "write {{ and }}" in problem


def test_a_variable_must_be_required() -> None:
    tool = Tool(name="t", http=HttpExecutor(url="https://e.com/", bearer="{env:TOKEN}"))
    assert template_problems(tool) == ["http.bearer: {env:TOKEN} is not in requires; add TOKEN to requires.env"]


def test_arguments_behind_references_and_alternatives_are_known() -> None:
    schema = {
        "type": "object",
        "$ref": "#/$defs/base",
        "anyOf": [{"properties": {"b": {}}}, {"properties": {"c": {}}}],
        "$defs": {"base": {"properties": {"a": {}}}},
    }
    tool = Tool(name="t", input_schema=schema, command=CommandExecutor(argv=("x", "{a}", "{b}", "{c.d}")))
    assert template_problems(tool) == []


@pytest.mark.parametrize(
    "argv",
    [
        ("{path}",),
        (["{path}"],),
        ("sh", "-c", "cat {path}"),
        ("/bin/bash", "-lc", "cat {path}"),
        ("env", "sh", "-c", "{path}"),
        ("docker", "exec", "box", "sh", "-c", "{path}"),
        ("python3.11", "-c", "{path}"),
        ("python", "-Ic", "{path}"),
        ("perl", "-ne", "{path}"),
        ("node", "--eval", "{path}"),
        ("powershell.exe", "-Command", "{path}"),
        ("cmd", "/c", "{path}"),
    ],
)
def test_a_callers_text_never_becomes_a_program_or_code(argv: tuple[Any, ...]) -> None:
    assert template_problems(command(*argv))


def test_an_argument_behind_the_code_is_harmless() -> None:
    assert template_problems(command("sh", "-c", 'cat -- "$1"', "sh", "{path}")) == []


def test_a_variable_that_loads_code_takes_no_argument() -> None:
    [problem] = template_problems(command("x", env={"LD_PRELOAD": "{path}", "FINE": "{path}"}))
    assert problem.startswith("command.env.LD_PRELOAD:")


def test_a_path_that_needs_an_optional_argument_is_found() -> None:
    tool = Tool(name="t", input_schema=SCHEMA, http=HttpExecutor(url="https://e.com/{path}?n={limit}"))
    assert template_problems(tool) == [
        "http.url: {path} is optional, but the path needs it; add it to required or give it a default"
    ]


def test_a_server_is_started_without_arguments() -> None:
    tool = Tool(name="t", input_schema=SCHEMA, mcp=McpExecutor(server="s"))
    server = McpServer(command=("x", "{path}"), env={"A": "{env:B}"})
    [problem] = template_problems(tool, server)
    assert problem.startswith("mcp_servers.command[1]:")
    assert environment_names(tool, server) == ("B",)


@pytest.mark.parametrize(
    "name", ["API_TOKEN", "SLACK_WEBHOOK_URL", "DATABASE_URL", "TWILIO_ACCOUNT_SID", "KEY_NAME", "X"]
)
def test_what_comes_from_the_environment_is_secret(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name", ["JIRA_BASE_URL", "SMTP_HOST", "SMTP_PORT", "MYSQL_USER", "TWILIO_FROM", "JIRA_EMAIL"]
)
def test_addresses_and_users_are_not(name: str) -> None:
    assert not is_secret_name(name)


def test_secrets_are_those_of_templates_and_requirements_with_passwords_inside_addresses() -> None:
    tool = Tool(
        name="t",
        requires=Requires(env=("SMTP_HOST", "API_BASE_URL", "PIN")),
        command=CommandExecutor(argv=("x", "{env:TOKEN}")),
    )
    environment = {
        "TOKEN": "t0ken-value",
        "SMTP_HOST": "mail.example.com",
        "API_BASE_URL": "https://user:pa%24word@host.example/",
        "PIN": "123",
        "OTHER_PASSWORD": "not-this-tools",
    }
    assert secrets_of(tool, environment) == ("t0ken-value", "pa%24word", "pa$word")


def test_a_python_function_may_see_every_secret() -> None:
    tool = Tool(name="t", python=PythonExecutor(function="a:b"))
    environment = {"SMTP_PASSWORD": "correct horse", "HOME": "/home/somebody", "KEY": "short"}
    assert secrets_of(tool, environment) == ("correct horse",)
