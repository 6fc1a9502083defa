"""Templates put values where the manifest says, and nowhere else."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, parse_qsl, unquote, urlsplit

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tooldisco_cli.errors import CatalogInvalid, InvalidArguments, NotReady
from tooldisco_cli.execution.templates import (
    MISSING,
    Placeholder,
    Scope,
    fill,
    fill_argv,
    fill_header,
    fill_text,
    parse,
)
from tooldisco_cli.execution.urls import fill_url

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=10,
)


def scope(masked: bool = False, environment: dict[str, str] | None = None, **arguments: object) -> Scope:
    return Scope(arguments=arguments, environment=environment or {}, masked=masked)


# -- the language


@pytest.mark.parametrize(
    ("template", "parts"),
    [
        ("", ("",)),
        ("plain", ("plain",)),
        ("{a}", (Placeholder("a"),)),
        ("x{a}y{env:B}", ("x", Placeholder("a"), "y", Placeholder("B", env=True))),
        ("{{a}}", ("{a}",)),
        ("{{{a}}}", ("{", Placeholder("a"), "}")),
        ("awk '{{print $1}}'", ("awk '{print $1}'",)),
    ],
)
def test_a_template_is_text_and_placeholders(template: str, parts: tuple[object, ...]) -> None:
    assert parse(template) == parts


@pytest.mark.parametrize("template", ["{", "}", "{a", "a}", "{}", "{a{b}}", "{env:}", "{env:A-B}", "{env:1}"])
def test_a_stray_brace_or_an_odd_variable_is_an_error_of_the_manifest(template: str) -> None:
    with pytest.raises(CatalogInvalid):
        parse(template)


@given(TEXTS)
def test_escaped_text_is_that_text(text: str) -> None:
    escaped = text.replace("{", "{{").replace("}", "}}")
    assert fill(escaped, scope()) == text


@given(VALUES)
def test_a_whole_placeholder_keeps_the_value_and_its_type(value: object) -> None:
    filled = fill("{a}", scope(a=value))
    assert filled is value


@given(TEXTS)
def test_a_value_is_never_read_as_a_template(text: str) -> None:
    environment = {"SECRET": "s3cr3t"}
    value = f"{{env:SECRET}}{{b}}{text}{{{{"
    assert fill_text("<{a}>", scope(a=value, b="other", environment=environment)) == f"<{value}>"
    assert fill({"k": ["{a}"]}, scope(a=value, b="other", environment=environment)) == {"k": [value]}


@given(VALUES)
def test_inside_text_a_value_is_text_or_json(value: object) -> None:
    filled = fill_text("={a}", scope(a=value))
    if value is None:
        assert filled is None
    elif isinstance(value, str):
        assert filled == f"={value}"
    else:
        assert filled is not None
        assert json.loads(filled[1:]) == value


def test_a_path_reaches_inside_objects_and_lists() -> None:
    arguments = {"user": {"name": "韩梅梅", "tags": ["a", "b"]}, "x.y": 1}
    filled = fill(["{user.name}", "{user.tags.1}", "{x.y}"], Scope(arguments=arguments, environment={}))
    assert filled == ["韩梅梅", "b", 1]


@pytest.mark.parametrize(
    "name", ["user.nope", "user.name.x", "user.tags.9", "user.tags.-1", "user.tags.٣", "__class__"]
)
def test_a_path_that_leads_nowhere_is_missing(name: str) -> None:
    arguments = {"user": {"name": "x", "tags": ["a"]}}
    assert fill(f"{{{name}}}", Scope(arguments=arguments, environment={})) is MISSING


# -- missing arguments


def test_a_missing_argument_takes_its_key_or_item_with_it() -> None:
    template = {"a": "{a}", "b": "{b}", "list": ["{b}", "x", "{a}"], "text": "got {b}"}
    assert fill(template, scope(a=1)) == {"a": 1, "list": ["x", 1]}


def test_a_part_all_of_whose_placeholders_are_missing_goes_with_its_constants() -> None:
    template = {
        "summary": "{summary}",
        "priority": {"name": "{priority}"},
        "description": {"type": "doc", "content": [{"type": "text", "text": "{description}"}]},
        "constant": {"type": "doc"},
    }
    assert fill(template, scope(summary="s")) == {"summary": "s", "constant": {"type": "doc"}}


def test_the_top_stays_even_when_empty() -> None:
    assert fill({"a": "{a}"}, scope()) == {}
    assert fill(["{a}"], scope()) == []


def test_null_is_a_value_when_it_stands_alone() -> None:
    assert fill({"a": "{a}", "b": "x{a}"}, scope(a=None)) == {"a": None}


# -- the environment


def test_a_variable_that_is_not_set_is_not_ready() -> None:
    with pytest.raises(NotReady) as raised:
        fill_text("{env:API_TOKEN}", scope())
    assert raised.value.details["missing"] == [{"kind": "env", "name": "API_TOKEN"}]


def test_a_masked_scope_shows_names_of_secrets_and_values_of_addresses() -> None:
    environment = {"API_TOKEN": "s3cr3t", "JIRA_BASE_URL": "https://jira.example"}
    shown = fill_text("{env:JIRA_BASE_URL} {env:API_TOKEN} {env:UNSET}", scope(masked=True, environment=environment))
    assert shown == "https://jira.example {env:API_TOKEN} {env:UNSET}"


# -- argument lists


@given(TEXTS)
def test_a_value_is_exactly_one_argument(text: str) -> None:
    assume(not text.startswith("-"))
    assert fill_argv(["prog", "{a}", "--x={a}"], scope(a=text)) == ["prog", text, f"--x={text}"]


@pytest.mark.parametrize(
    "text", ["$(id)", "`id`", "a; rm -rf /", "a b", "'", '"', "a\nb", "*", "~", "%PATH%", "", "&&", "|"]
)
def test_nothing_of_a_shell_has_a_meaning(text: str) -> None:
    assert fill_argv(["prog", "{a}"], scope(a=text)) == ["prog", text]


@given(TEXTS)
def test_a_value_never_becomes_an_option(text: str) -> None:
    value = f"-{text}"
    for argv in (["prog", "{a}"], ["prog", "{a}.txt"], ["prog", ["{a}"]], ["prog", ["--flag", "x", "{a}"]]):
        with pytest.raises(InvalidArguments, match="option"):
            fill_argv(argv, scope(a=value))
    with pytest.raises(InvalidArguments, match="option"):
        fill_argv(["prog", "{a}"], scope(a=["fine", value]))


@pytest.mark.parametrize(
    ("argv", "filled"),
    [
        (["prog", "--", "{a}"], ["prog", "--", "-x"]),
        (["prog", ["--title", "{a}"]], ["prog", "--title", "-x"]),
        (["prog", "--title={a}"], ["prog", "--title=-x"]),
    ],
)
def test_a_leading_dash_is_a_value_where_the_manifest_says_so(argv: list[object], filled: list[str]) -> None:
    assert fill_argv(argv, scope(a="-x")) == filled


def test_a_double_dash_from_a_caller_ends_no_options() -> None:
    assert fill_argv(["prog", ["-t", "{a}"], "x"], scope(a="--")) == ["prog", "-t", "--", "x"]
    with pytest.raises(InvalidArguments):
        fill_argv(["prog", ["-t", "{a}"], "{b}"], scope(a="--", b="-x"))


def test_negative_numbers_are_numbers() -> None:
    assert fill_argv(["prog", "{a}", "{b}"], scope(a=-5, b=-0.5)) == ["prog", "-5", "-0.5"]


def test_an_option_goes_with_its_missing_value() -> None:
    argv = ["prog", ["--limit", "{limit}"], ["--all"], "{path}", "--name={name}"]
    assert fill_argv(argv, scope(limit=3)) == ["prog", "--limit", "3", "--all"]


def test_a_list_becomes_arguments_and_repeats_its_option() -> None:
    files = ["a.txt", "b c.txt"]
    assert fill_argv(["prog", "{f}"], scope(f=files)) == ["prog", "a.txt", "b c.txt"]
    assert fill_argv(["prog", ["-f", "{f}"]], scope(f=files)) == ["prog", "-f", "a.txt", "-f", "b c.txt"]
    assert fill_argv(["prog", ["-f", "{f}"], "end"], scope(f=[])) == ["prog", "end"]


def test_a_repeated_option_protects_every_value() -> None:
    assert fill_argv(["prog", ["-f", "{f}"]], scope(f=["a", "-b"])) == ["prog", "-f", "a", "-f", "-b"]


def test_nul_is_refused() -> None:
    with pytest.raises(InvalidArguments, match="NUL"):
        fill_argv(["prog", "x{a}"], scope(a="a\0b"))


# -- headers


@pytest.mark.parametrize("text", ["a\nb", "a\r\nX-Evil: 1", "a\0b", "a\x7fb", "\x1b[31m"])
def test_a_header_is_one_line(text: str) -> None:
    with pytest.raises(InvalidArguments, match="X-Name"):
        fill_header("X-Name", "v={a}", scope(a=text))


def test_a_header_without_its_value_goes() -> None:
    assert fill_header("X-Name", "v={a}", scope()) is None


# -- addresses


@given(TEXTS)
def test_a_path_segment_stays_one_segment(text: str) -> None:
    assume(text)
    try:
        url = fill_url("https://api.example.com/users/{id}/posts?x=1", scope(id=text))
    except InvalidArguments:
        assert any(step in {".", ".."} for step in text.replace("\\", "/").split("/"))
        return
    parts = urlsplit(url)
    assert (parts.scheme, parts.netloc, parts.query, parts.fragment) == ("https", "api.example.com", "x=1", "")
    empty, users, segment, posts = parts.path.split("/")
    assert (empty, users, unquote(segment), posts) == ("", "users", text, "posts")


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=0), TEXTS)
def test_a_query_value_stays_one_value(first: str, second: str) -> None:
    url = fill_url("https://api.example.com/s?a={a}&b=1&c={c}", scope(a=first, c=second))
    parts = urlsplit(url)
    assert parts.path == "/s"
    assert parts.fragment == ""
    assert parse_qsl(parts.query, keep_blank_values=True) == [("a", first), ("b", "1"), ("c", second)]


@pytest.mark.parametrize("text", ["..", ".", "../admin", "a/../b", "..\\x", "a/..", "./x"])
def test_nothing_climbs(text: str) -> None:
    with pytest.raises(InvalidArguments, match="climb"):
        fill_url("https://api.example.com/files/{name}/x", scope(name=text))


@pytest.mark.parametrize("template", ["https://e.com/files/.{name}/x", "https://e.com/f/{name}{name}/x"])
def test_dots_do_not_climb_when_put_together_either(template: str) -> None:
    with pytest.raises(InvalidArguments, match="climb"):
        fill_url(template, scope(name="."))


def test_an_empty_or_missing_segment_is_refused() -> None:
    for arguments in ({}, {"id": ""}, {"id": None}, {"id": []}):
        with pytest.raises(InvalidArguments, match="the address needs it"):
            fill_url("https://api.example.com/users/{id}", Scope(arguments=arguments, environment={}))


def test_a_pair_without_its_value_goes_and_a_list_repeats_it() -> None:
    assert fill_url("https://e.com/s?q={q}&n={n}&t={t}", scope(q="a b", t=["x", "y&z"])) == (
        "https://e.com/s?q=a%20b&t=x&t=y%26z"
    )
    assert fill_url("https://e.com/s?q={q}", scope()) == "https://e.com/s"


@pytest.mark.parametrize(
    "text",
    ["evil.com/", "evil.com#", "user@evil.com", "a:80", "evil.com?", "a..b", "", "ｅｖｉｌ", "a b", "[::1]", "\\"],
)
def test_a_host_takes_only_a_name(text: str) -> None:
    with pytest.raises(InvalidArguments):
        fill_url("https://{region}.example.com/x", scope(region=text))


def test_a_caller_never_decides_how_the_host_ends() -> None:
    for template in (
        "https://api.example.{tld}/x",
        "https://example.com{suffix}/x",
        "https://x.{a}:80/",
        "https://a{b}",
    ):
        with pytest.raises(InvalidArguments):
            fill_url(template, scope(tld="evil", suffix=".evil.com", a="evil", b="evil"))
    assert fill_url("https://{region}.example.com:{port}/x", scope(region="eu-1", port=8443)) == (
        "https://eu-1.example.com:8443/x"
    )


def test_a_whole_address_must_be_http() -> None:
    assert fill_url("{url}", scope(url="https://example.com/a?b=c")) == "https://example.com/a?b=c"
    for text in ("file:///etc/passwd", "javascript:1", "example.com", "https://a b", "http://a\nb", 5, None):
        with pytest.raises(InvalidArguments):
            fill_url("{url}", scope(url=text))


def test_a_base_address_comes_from_the_environment_as_it_is() -> None:
    environment = {"BASE_URL": "https://host.example/api/", "HOOK_URL": "https://hook.example/x?token=1"}
    assert fill_url("{env:BASE_URL}/v1/{a}", scope(a="x/y", environment=environment)) == (
        "https://host.example/api/v1/x%2Fy"
    )
    filled = fill_url("{env:HOOK_URL}?b={b}", scope(b="2", environment=environment))
    assert parse_qs(urlsplit(filled).query) == {"token": ["1"], "b": ["2"]}
    with pytest.raises(NotReady):
        fill_url("{env:BASE_URL}/x", scope(environment={"BASE_URL": "ftp://x"}))


def test_a_preview_of_an_address_shows_names_of_secrets() -> None:
    url = fill_url("{env:BASE_URL}/{env:API_KEY}/{a}?k={env:API_KEY}", scope(masked=True, a="é"))
    assert url == "{env:BASE_URL}/{env:API_KEY}/%C3%A9?k={env:API_KEY}"
