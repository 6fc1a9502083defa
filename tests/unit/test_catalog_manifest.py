"""One manifest: from bytes to tools, servers and problems."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooldisco_cli.catalog.manifest import Manifest, merge_defaults, parse_manifest
from tooldisco_cli.catalog.tool import HttpExecutor, McpServer

TOOL = """[[tool]]
name = "send_sms"
command = { argv = ["sms"] }
"""


def parsed(text: str) -> Manifest:
    return parse_manifest(f"manifest = 1\n{text}".encode(), "m.toml")


def said(manifest: Manifest) -> list[str]:
    return [str(problem).removeprefix("m.toml:") for problem in manifest.problems]


def names(manifest: Manifest) -> list[str]:
    return [declaration.tool.name for declaration in manifest.declarations]


def test_the_example_of_the_format() -> None:
    manifest = parsed(r"""
[defaults]
category = "communication"
owner = "platform"

[[tool]]
name = "send_sms"
title = "Send SMS 发送短信"
description = '''
发送短信到指定手机号。Send one text message to a phone number.
'''
tags = ["sms", "短信", "手机"]
keywords = ["text message", "短消息"]
expected_queries = ["给客户发短信", "text a customer"]
version = "2.0"
deprecated_versions = ["1.0"]
related = ["send_email"]
aliases = ["twilio:sendSms"]
superseded_by = "send_message"
sunset = 2027-06-30
timeout_seconds = 20
max_result_chars = 20000
annotations = { read_only = false, destructive = false, idempotent = false, open_world = true }
requires = { env = ["TWILIO_ACCOUNT_SID"], python = ["x"], programs = ["curl"], extra = "sms" }

[tool.input_schema]
type = "object"
required = ["phone", "message"]
additionalProperties = false
properties.phone = { type = "string", pattern = '^\+[1-9][0-9]{6,14}$' }
properties.message = { type = "string", minLength = 1, maxLength = 160 }

[tool.http]
method = "POST"
url = "https://api.twilio.com/2010-04-01/Accounts/{env:TWILIO_ACCOUNT_SID}/Messages.json"
basic_auth = ["{env:TWILIO_ACCOUNT_SID}", "{env:TWILIO_AUTH_TOKEN}"]
form = { To = "{phone}", Body = "{message}", From = "{env:TWILIO_FROM}" }
result = { message_id = "/sid", status = "/status" }

[[tool.examples]]
input = { phone = "+8613800138000", message = "会议取消" }
result = { message_id = "SM0123", status = "queued" }

[mcp_servers.files]
command = ["npx", "-y", "@modelcontextprotocol/server-filesystem", "."]
""")
    assert manifest.problems == ()
    assert manifest.servers == {
        "files": McpServer(command=("npx", "-y", "@modelcontextprotocol/server-filesystem", "."))
    }
    (declaration,) = manifest.declarations
    assert declaration.line == 7
    tool = declaration.tool
    assert (tool.category, tool.owner, tool.version) == ("communication", "platform", "2.0")
    assert tool.sunset == dt.date(2027, 6, 30)
    assert tool.timeout_seconds == 20.0
    assert tool.annotations.destructive is False
    assert list(tool.input_schema["properties"]) == ["phone", "message"]
    assert isinstance(tool.executor, HttpExecutor)
    assert tool.executor.basic_auth == ("{env:TWILIO_ACCOUNT_SID}", "{env:TWILIO_AUTH_TOKEN}")
    assert tool.examples[0].result == {"message_id": "SM0123", "status": "queued"}


class TestFormatNumber:
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "m.toml: is empty (write manifest = 1 as its first line)"),
            ("# only a comment\n", "m.toml: does not say manifest = 1 (write manifest = 1 as its first line)"),
            (TOOL, "m.toml: does not say manifest = 1 (write manifest = 1 as its first line)"),
            (
                "manifest = 2",
                "m.toml:1: manifest: this version reads format 1, not 2 (a newer tooldisco may read it)",
            ),
            ('manifest = "1"', "m.toml:1: manifest: must be a whole number (write manifest = 1 as its first line)"),
            ("manifest = true", "m.toml:1: manifest: must be a whole number (write manifest = 1 as its first line)"),
        ],
    )
    def test_without_it_nothing_is_read(self, text: str, message: str) -> None:
        manifest = parse_manifest(text.encode(), "m.toml")
        assert [str(problem) for problem in manifest.problems] == [message]
        assert manifest.declarations == ()

    def test_a_manifest_without_tools_is_fine(self) -> None:
        assert parsed("") == Manifest("m.toml")


class TestFaultsOfATool:
    def test_take_out_that_tool_alone(self) -> None:
        manifest = parsed(
            f'{TOOL}\n[[tool]]\nname = "bad one"\n[tool.command]\nargv = ["x"]\n{TOOL.replace("sms", "mms")}'
        )
        assert names(manifest) == ["send_sms", "send_mms"]
        assert said(manifest) == ["7: tool[1].name: must be 1 to 64 letters a-z and A-Z, digits, `_` and `-`"]

    @pytest.mark.parametrize("name", ["", "a b", "a.b", "短信", "a" * 65, "a\\n"])
    def test_names(self, name: str) -> None:
        assert len(said(parsed(f'[[tool]]\nname = "{name}"\ncommand = {{ argv = ["x"] }}'))) == 1

    @pytest.mark.parametrize(
        ("keys", "expected"),
        [
            ("", "2: tool[0]: does not say how it runs (exactly one of python, command, http, mcp)"),
            (
                'command = { argv = ["x"] }\nmcp = { server = "s" }',
                "5: tool[0].mcp: has command and mcp (exactly one of python, command, http, mcp)",
            ),
            ("command = { argv = [] }", "4: tool[0].command.argv: must not be empty"),
            (
                'python = { function = "os.system" }',
                "4: tool[0].python.function: must look like `package.module:function`",
            ),
            (
                'command = { argv = ["x"], shell = true }',
                "4: tool[0].command.shell: unknown key "
                "(known keys: argv, stdin, cwd, env, output, success_exit_codes)",
            ),
            (
                'command = { argv = ["x"] }\ndescripton = ""',
                "5: tool[0].descripton: unknown key (did you mean `description`?)",
            ),
            (
                'command = { argv = ["x"] }\nversion = "newest"',
                "5: tool[0].version: is not a version (such as 2, 1.4.0 or 2.0rc1)",
            ),
            ('command = { argv = ["x"] }\nversion = 2.0', "5: tool[0].version: must be text, not a number"),
            (
                'command = { argv = ["x"] }\ndeprecated_versions = ["1", "?"]',
                "5: tool[0].deprecated_versions[1]: is not a version (such as 2, 1.4.0 or 2.0rc1)",
            ),
            ('command = { argv = ["x"] }\ntimeout_seconds = 0', "5: tool[0].timeout_seconds: must be more than 0"),
            (
                'command = { argv = ["x"] }\ntimeout_seconds = nan',
                "5: tool[0].timeout_seconds: must be a finite number (JSON has no inf and nan)",
            ),
            (
                'command = { argv = ["x"] }\nmax_result_chars = 10',
                "5: tool[0].max_result_chars: must be at least 200",
            ),
            (
                'command = { argv = ["x"] }\ntags = ["a\\u001b[31m"]',
                "5: tool[0].tags[0]: holds a control character (one line of plain text)",
            ),
            (
                'command = { argv = ["x"] }\ncategory = "a\\nb"',
                "5: tool[0].category: holds a control character (one line of plain text)",
            ),
            ('command = { argv = ["x"] }\ntags = [""]', "5: tool[0].tags[0]: must not be empty"),
        ],
    )
    def test_are_told_with_line_key_and_remedy(self, keys: str, expected: str) -> None:
        manifest = parsed(f'[[tool]]\nname = "x"\n{keys}')
        assert said(manifest) == [expected]
        assert manifest.declarations == ()

    def test_a_name_is_required(self) -> None:
        assert said(parsed('[[tool]]\ncommand = { argv = ["x"] }')) == ["2: tool[0].name: is missing"]

    def test_all_are_told_at_once(self) -> None:
        manifest = parsed('[[tool]]\nnam = "x"\ntags = 1\n[tool.http]\nmethod = "get"')
        assert [problem.line for problem in manifest.problems] == [2, 3, 4, 5, 6]

    def test_a_description_may_have_lines_and_anything_else(self) -> None:
        assert parsed(f'{TOOL}description = "a\\n\\u001b[31m"').problems == ()

    def test_a_description_of_five_megabytes_is_read(self) -> None:
        manifest = parsed(f'{TOOL}description = """{"x" * 5_000_000}"""')
        assert manifest.problems == ()
        assert len(manifest.declarations[0].tool.description) == 5_000_000


class TestInputSchema:
    @pytest.mark.parametrize(
        ("schema", "expected"),
        [
            ("{}", 'input_schema.type: has no type (arguments are an object: type = "object")'),
            (
                '{ type = "string" }',
                "input_schema.type: has type 'string' (arguments are an object: type = \"object\")",
            ),
            ('{ type = "object", properties = [] }', "input_schema.properties: must be a table of parameters"),
            (
                '{ type = "object", properties.a = "string" }',
                'input_schema.properties.a: must be a table ({ type = "string" }, for example)',
            ),
            ('{ type = "object", required = "a" }', "input_schema.required: must be a list of parameter names"),
            ("[]", "input_schema: must be a table, not a list"),
            (
                "'{'",
                "input_schema: is not JSON: "
                "Expecting property name enclosed in double quotes: line 1 column 2 (char 1) "
                "(a table, or JSON in text)",
            ),
            ("'{\"a\": NaN}'", "input_schema: is not JSON: NaN is no JSON (a table, or JSON in text)"),
            ("'[]'", "input_schema: must be a table, not a list"),
        ],
    )
    def test_must_be_an_objects(self, schema: str, expected: str) -> None:
        manifest = parsed(f"{TOOL}input_schema = {schema}")
        assert said(manifest) == [f"5: tool[0].{expected}"]
        assert manifest.declarations == ()

    def test_requiring_an_unknown_parameter_is_a_warning(self) -> None:
        manifest = parsed(f'{TOOL}input_schema = {{ type = "object", required = ["a"] }}')
        assert said(manifest) == ["5: tool[0].input_schema.required[0]: names 'a', which is no parameter"]
        assert manifest.problems[0].severity == "warning"
        assert names(manifest) == ["send_sms"]

    def test_may_be_json_in_text_which_can_hold_null(self) -> None:
        schema = {"type": "object", "properties": {"a": {"enum": ["x", None], "default": None}}}
        manifest = parsed(f"{TOOL}input_schema = '{json.dumps(schema)}'\noutput_schema = '{{\"const\": null}}'")
        assert manifest.problems == ()
        assert manifest.declarations[0].tool.input_schema == schema
        assert manifest.declarations[0].tool.output_schema == {"const": None}


class TestMasks:
    def test_need_no_executor(self) -> None:
        manifest = parsed('[[tool]]\nname = "x"\nenabled = false')
        assert manifest.problems == ()
        assert not manifest.declarations[0].tool.enabled

    def test_hold_in_spite_of_a_fault(self) -> None:
        manifest = parsed('[[tool]]\nname = "x"\nenabled = false\nreason = "broken"\ntimeout_seconds = inf')
        assert len(manifest.problems) == 1
        assert names(manifest) == ["x"]
        assert not manifest.declarations[0].tool.enabled
        assert json.loads(manifest.declarations[0].content)["tool"] == {"enabled": False, "name": "x"}


class TestSecrets:
    @pytest.mark.parametrize(
        ("keys", "key"),
        [
            ('headers = { Authorization = "Bearer abc" }', "headers.Authorization"),
            ('headers = { authorization = "Bearer abc" }', "headers.authorization"),
            ('headers = { X-Api-Key = "abc" }', "headers.X-Api-Key"),
            ('bearer = "abc"', "bearer"),
            ('basic_auth = ["me", "abc"]', "basic_auth"),
        ],
    )
    def test_in_a_manifest_are_errors_that_never_repeat_them(self, keys: str, key: str) -> None:
        manifest = parsed(f'[[tool]]\nname = "x"\n[tool.http]\nurl = "https://h"\n{keys}')
        (problem,) = manifest.problems
        assert (problem.line, problem.key, problem.message) == (6, f"tool[0].http.{key}", "holds a secret")
        assert "{env:" in problem.suggestion
        assert "abc" not in str(problem)
        assert manifest.declarations == ()

    def test_in_an_address(self) -> None:
        manifest = parsed('[[tool]]\nname = "x"\nhttp = { url = "https://me:abc@host/" }')
        assert said(manifest) == ["4: tool[0].http.url: holds a password (write it as {env:API_PASSWORD})"]

    @pytest.mark.parametrize(
        "keys",
        [
            'headers = { Authorization = "Bearer {env:TOKEN}", Accept = "text/plain" }',
            'headers = { Authorization = "Bearer {token}" }',
            'bearer = "{env:TOKEN}"',
            'basic_auth = ["api", "{env:KEY}"]',
            'basic_auth = ["{env:KEY}", ""]',
        ],
    )
    def test_from_the_environment_or_an_argument_are_fine(self, keys: str) -> None:
        assert parsed(f'[[tool]]\nname = "x"\n[tool.http]\nurl = "https://h/{{id}}"\n{keys}').problems == ()

    def test_of_a_server(self) -> None:
        manifest = parsed('[mcp_servers.s]\nurl = "https://h"\nheaders = { Authorization = "abc" }')
        assert said(manifest) == [
            '4: mcp_servers.s.headers.Authorization: holds a secret (write "Bearer {env:API_TOKEN}")'
        ]

    def test_by_the_name_of_a_variable_are_a_warning(self) -> None:
        manifest = parsed('[[tool]]\nname = "x"\ncommand = { argv = ["x"], env = { API_TOKEN = "abc" } }')
        assert said(manifest) == ['4: tool[0].command.env.API_TOKEN: looks like a secret (write "{env:API_TOKEN}")']
        assert names(manifest) == ["x"]


class TestServers:
    def test_of_the_file_are_given_to_its_tools(self) -> None:
        manifest = parsed('[[tool]]\nname = "x"\nmcp = { server = "s" }\n[mcp_servers.s]\ncommand = ["run"]')
        assert manifest.declarations[0].server == McpServer(command=("run",))

    def test_that_are_faulty_take_their_tools_out(self) -> None:
        manifest = parsed('[[tool]]\nname = "x"\nmcp = { server = "s" }\n[mcp_servers.s]\ncommand = "run"')
        assert said(manifest) == [
            "4: tool[0].mcp.server: the server 's' of this file has errors",
            "6: mcp_servers.s.command: must be a list, not text",
        ]
        assert manifest.declarations == ()

    @pytest.mark.parametrize(
        ("keys", "message"), [("", "is incomplete"), ('command = ["x"]\nurl = "u"', "has both command and url")]
    )
    def test_have_a_command_or_an_address(self, keys: str, message: str) -> None:
        assert said(parsed(f"[mcp_servers.s]\n{keys}")) == [
            f"2: mcp_servers.s: {message} (exactly one of command, url)"
        ]

    def test_elsewhere_are_the_settings_affair(self) -> None:
        manifest = parsed('[[tool]]\nname = "x"\nmcp = { server = "s" }')
        assert manifest.problems == ()
        assert manifest.declarations[0].server is None


class TestTopLevel:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("[[tools]]\nname = 'x'", "2: tools: unknown key (did you mean [[tool]]?)"),
            ("mcp_server = {}", "2: mcp_server: unknown key (did you mean `mcp_servers`?)"),
            ("category = 'x'", "2: category: unknown key (a tool's keys stand below [[tool]])"),
            ("[tool]\nname = 'x'", "2: tool: must be a list of tables (write [[tool]], with two brackets)"),
            ("tool = [1]", "2: tool[0]: must be a table (write [[tool]] above its keys)"),
            ("mcp_servers = 1", "2: mcp_servers: must be a table of servers (write [mcp_servers.NAME])"),
            ("mcp_servers.a = 1", "2: mcp_servers.a: must be a table (with command or url)"),
            ("defaults = 1", "2: defaults: must be a table (write [defaults] above its keys)"),
        ],
    )
    def test_faults(self, text: str, expected: str) -> None:
        assert said(parsed(text)) == [expected]

    def test_an_unknown_key_leaves_the_tools(self) -> None:
        assert names(parsed(f"color = 1\n{TOOL}")) == ["send_sms"]


class TestDefaults:
    def test_a_fault_is_told_where_it_was_written_and_once(self) -> None:
        manifest = parsed(f'[defaults]\ntimeout_seconds = "20"\n{TOOL}{TOOL.replace("sms", "mms")}')
        assert said(manifest) == ["3: defaults.timeout_seconds: must be a number, not text"]

    def test_a_fault_in_a_merged_table_is_told_on_the_right_side(self) -> None:
        manifest = parsed(f"[defaults.annotations]\nread_only = 1\n{TOOL}annotations = {{ idempotent = 1 }}")
        assert [problem.key for problem in manifest.problems] == [
            "defaults.annotations.read_only",
            "tool[0].annotations.idempotent",
        ]

    def test_unknown_keys_are_told_and_do_no_harm(self) -> None:
        manifest = parsed(f'[defaults]\nownr = "x"\nname = "y"\n{TOOL}')
        assert said(manifest) == [
            "3: defaults.ownr: unknown key (did you mean `owner`?)",
            "4: defaults.name: is each tool's own (move it below [[tool]])",
        ]
        assert names(manifest) == ["send_sms"]

    def test_an_executor_is_for_tools_that_have_none_or_the_same(self) -> None:
        manifest = parsed(
            '[defaults.mcp]\nserver = "s"\n[[tool]]\nname = "a"\n[[tool]]\nname = "b"\nmcp = { tool = "B" }\n'
            '[[tool]]\nname = "c"\ncommand = { argv = ["c"] }'
        )
        assert manifest.problems == ()
        a, b, c = (declaration.tool for declaration in manifest.declarations)
        assert a.mcp is not None
        assert b.mcp is not None
        assert (a.mcp.server, b.mcp.server, b.mcp.tool) == ("s", "s", "B")
        assert c.mcp is None

    def test_two_executors_are_refused(self) -> None:
        manifest = parsed('[defaults]\nmcp = { server = "s" }\ncommand = { argv = ["x"] }')
        assert len(manifest.problems) == 1

    values = st.one_of(
        st.integers(), st.text(), st.lists(st.integers()), st.dictionaries(st.sampled_from("abc"), st.integers())
    )
    tables = st.dictionaries(
        st.sampled_from(["tags", "requires", "annotations", "version", "command", "http"]), values
    )

    @given(tables, tables)
    def test_merging(self, defaults: dict[str, Any], table: dict[str, Any]) -> None:
        before = json.dumps([defaults, table])
        merged = merge_defaults(defaults, table)
        own = {"command", "http"} & set(table)
        for key, value in merged.items():
            if key not in table:
                assert value == defaults[key]
                assert key not in {"command", "http"} or not own
            elif isinstance(value, dict) and isinstance(defaults.get(key), dict):
                assert value == defaults[key] | table[key]
            else:
                assert value == table[key]
        assert set(table) <= set(merged) <= set(table) | set(defaults)
        assert json.dumps([defaults, table]) == before


class TestContent:
    def test_says_all_that_the_tool_is(self) -> None:
        manifest = parsed(
            '[defaults]\nowner = "me"\n[[tool]]\nname = "x"\nmcp.server = "s"\n[mcp_servers.s]\nurl = "u"'
        )
        assert manifest.declarations[0].content == (
            '{"tool":{"mcp":{"server":"s"},"name":"x","owner":"me"},"server":{"url":"u"}}'
        )

    def test_is_the_same_however_it_is_written(self) -> None:
        one = parsed("[[tool]]\nname = 'x'\ntags = ['短']\ncommand.argv = ['x']\n")
        other = parsed('# c\n[defaults]\ntags = [\n"\\u77ed"]\n[[tool]]\ncommand = { argv = ["x"] }\nname = "x"\n')
        assert one.declarations[0].digest == other.declarations[0].digest

    @pytest.mark.parametrize(
        "change",
        [
            ("argv = ['a']", "argv = ['b']"),
            ("'d'", "'e'"),
            ("read_only = true", "read_only = false"),
            ("url = 'u'", "url = 'v'"),
            ("a.type", "b.type"),
        ],
    )
    def test_changes_with_all_that_runs_or_that_a_model_reads(self, change: tuple[str, str]) -> None:
        text = (
            "[[tool]]\nname = 'x'\ndescription = 'd'\nannotations.read_only = true\ncommand.argv = ['a']\n"
            "[tool.input_schema]\ntype = 'object'\nproperties.a.type = 'string'\n"
            "[[tool]]\nname = 'y'\nmcp.server = 's'\n[mcp_servers.s]\nurl = 'u'\n"
        )
        before = [declaration.digest for declaration in parsed(text).declarations]
        after = [declaration.digest for declaration in parsed(text.replace(*change)).declarations]
        assert len(before) == len(after) == 2
        assert sum(one != other for one, other in zip(before, after, strict=True)) == 1


class TestLines:
    @pytest.mark.parametrize(
        ("text", "lines"),
        [
            (TOOL, [2]),
            (TOOL.replace("[[tool]]", "  [[ tool ]] # x"), [2]),
            (TOOL.replace("\n", "\r\n"), [2]),
            (f'{TOOL}description = """\n[[tool]]\n"""\n{TOOL.replace("sms", "mms")}', [2, 8]),
            ('tool = [\n{ name = "a", command.argv = ["x"] },\n{ name = "b", command.argv = ["x"] } ]', [3, 4]),
        ],
    )
    def test_of_each_tool(self, text: str, lines: list[int]) -> None:
        manifest = parsed(text)
        assert manifest.problems == ()
        assert [declaration.line for declaration in manifest.declarations] == lines


@given(st.binary(max_size=60))
def test_no_bytes_make_it_raise(data: bytes) -> None:
    parse_manifest(data, "m.toml")
    parse_manifest(b"manifest = 1\n[[tool]]\n" + data, "m.toml")


json_values = st.recursive(
    st.one_of(
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(st.characters(exclude_categories=["Cs"])),
        st.dates(),
        st.datetimes(),
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "type", "url", "a"]), inner, max_size=3)
    ),
    max_leaves=6,
)
tool_keys = st.sampled_from(
    [
        "name",
        "tags",
        "http",
        "command",
        "mcp",
        "python",
        "input_schema",
        "sunset",
        "requires",
        "examples",
        "enabled",
        "zzz",
    ]
)


@given(
    st.dictionaries(st.sampled_from(["tool", "defaults", "mcp_servers", "x"]), json_values),
    st.lists(st.dictionaries(tool_keys, json_values), max_size=2),
)
def test_no_document_makes_it_raise(document: dict[str, Any], tools: list[dict[str, Any]]) -> None:
    import tomli_w

    text = tomli_w.dumps({"manifest": 1} | ({"tool": tools} if tools else {}) | document)
    manifest = parse_manifest(text.encode(), "m.toml")
    assert all(problem.line for problem in manifest.problems if problem.severity == "error")


def test_the_names_of_meta_tools_are_taken():
    from tooldisco_cli.catalog.manifest import parse_manifest
    from tooldisco_cli.catalog.tool import RESERVED_NAMES
    from tooldisco_cli.meta.definitions import META_NAMES

    assert META_NAMES == RESERVED_NAMES
    for name in RESERVED_NAMES:
        manifest = parse_manifest(
            f'manifest = 1\n[[tool]]\nname = "{name}"\ncommand.argv = ["x"]\n'.encode(), "x.toml"
        )
        assert "meta tool" in manifest.problems[0].message
