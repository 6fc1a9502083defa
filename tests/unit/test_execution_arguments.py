"""Arguments are checked, explained, completed by defaults, and converted only where that is certain."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tooldisco_cli.errors import CatalogInvalid, InvalidArguments, UsageError
from tooldisco_cli.execution.arguments import check, parse_pairs, read_input
from tooldisco_cli.execution.limits import MAX_BYTES, MAX_DEPTH

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


def schema(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def refused(arguments: Any, wanted: dict[str, Any], **more: Any) -> InvalidArguments:
    with pytest.raises(InvalidArguments) as raised:
        check(arguments, wanted, **more)
    return raised.value


def first(arguments: Any, wanted: dict[str, Any]) -> dict[str, Any]:
    record: dict[str, Any] = refused(arguments, wanted).details["errors"][0]
    return record


# -- what is accepted


@given(st.dictionaries(TEXTS, JSON, max_size=5))
def test_without_a_schema_to_the_contrary_arguments_stay_as_they_are(arguments: dict[str, Any]) -> None:
    before = copy.deepcopy(arguments)
    assert check(arguments, {"type": "object"}).arguments == before
    assert check(json.dumps(arguments), {"type": "object"}).arguments == before
    assert arguments == before


@given(st.dictionaries(TEXTS, JSON, max_size=4) | st.lists(JSON, max_size=4))
def test_json_text_where_only_an_object_or_list_fits_is_read_as_one(value: Any) -> None:
    wanted = schema(a={"type": ["object", "array"]})
    checked = check({"a": json.dumps(value)}, wanted)
    assert checked.arguments == {"a": value}
    assert len(checked.notes) == 1
    assert check(checked.arguments, wanted).notes == ()


@given(TEXTS | JSON.map(json.dumps))
def test_text_where_text_fits_is_never_converted(text: str) -> None:
    for wanted in (
        {"type": "string"},
        {"type": ["string", "object", "array"]},
        {},
        {"anyOf": [{"type": "array"}, {}]},
    ):
        checked = check({"a": text}, schema(a=wanted))
        assert checked.arguments == {"a": text}
        assert checked.notes == ()


@pytest.mark.parametrize("value", ["5", "true", "null", "1.5"])
def test_numbers_and_booleans_in_text_are_not_guessed(value: str) -> None:
    assert first({"a": value}, schema(a={"type": ["integer", "number", "boolean", "null"]}))["rule"] == "type"


def test_conversion_reaches_inside_and_says_where() -> None:
    inner = {"type": "object", "properties": {"tags": {"type": "array", "items": {"type": "object"}}}}
    checked = check({"a": '{"tags": "[{}]"}'}, schema(a={"anyOf": [inner, {"type": "null"}]}))
    assert checked.arguments == {"a": {"tags": [{}]}}
    assert [note.split()[0] for note in checked.notes] == ["a.tags", "a"] or len(checked.notes) == 2


def test_no_arguments_at_all_may_be_empty_text() -> None:
    assert check("", schema()).arguments == {}
    assert check({}, {"type": "object", "properties": {}}).arguments == {}


def test_a_boolean_schema_and_other_dialects_are_understood() -> None:
    draft = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": {"a": True}}
    assert check({"a": [1]}, draft).arguments == {"a": [1]}
    record = first({"a": 1}, schema(a=False))
    assert (record["path"], record["message"]) == ("a", "is not accepted here")


# -- defaults


def test_defaults_are_filled_in_at_every_level_that_is_given() -> None:
    wanted = {
        "type": "object",
        "properties": {
            "limit": {"type": "integer", "default": 10},
            "color": {"$ref": "#/$defs/color"},
            "filter": {"type": "object", "properties": {"active": {"type": "boolean", "default": True}}},
            "rows": {"type": "array", "items": {"allOf": [{"properties": {"n": {"default": 1}}}]}},
            "absent": {"type": "object", "properties": {"x": {"default": 1}}},
        },
        "$defs": {"color": {"type": "string", "default": "red"}},
    }
    assert check({"filter": {}, "rows": [{}, {"n": 2}]}, wanted).arguments == {
        "limit": 10,
        "color": "red",
        "filter": {"active": True},
        "rows": [{"n": 1}, {"n": 2}],
    }


def test_a_default_is_a_copy_and_never_replaces_what_is_given() -> None:
    wanted = schema(tags={"type": "array", "default": []}, on={"type": ["boolean", "null"], "default": True})
    checked = check({"on": None}, wanted)
    assert checked.arguments == {"on": None, "tags": []}
    checked.arguments["tags"].append("x")
    assert wanted["properties"]["tags"]["default"] == []


def test_a_schema_that_refers_to_itself_is_followed_only_as_far_as_the_data() -> None:
    wanted = {
        "type": "object",
        "properties": {"n": {"default": 0}, "next": {"$ref": "#"}},
    }
    assert check({"next": {"next": {}}}, wanted).arguments == {"n": 0, "next": {"n": 0, "next": {"n": 0}}}
    assert check({"a": 1}, {"type": "object", "$defs": {"x": {"$ref": "#/$defs/x"}}}).arguments == {"a": 1}


# -- what is refused, and how it is said


@pytest.mark.parametrize(
    ("arguments", "wanted", "path", "rule", "words"),
    [
        ({}, schema(("a",), a={}), "a", "required", "is missing"),
        ({"b": 1}, schema(a={}), "b", "additionalProperties", "known: a"),
        ({"mesage": 1}, schema(message={}), "mesage", "additionalProperties", "did you mean 'message'?"),
        ({"a": "5"}, schema(a={"type": "integer"}), "a", "type", 'a whole number, not "5"'),
        ({"a": True}, schema(a={"type": "integer"}), "a", "type", "not true"),
        ({"a": "hihg"}, schema(a={"enum": ["low", "high"]}), "a", "enum", "did you mean 'high'?"),
        ({"a": "xy"}, schema(a={"maxLength": 1}), "a", "maxLength", "has 2 characters, may have at most 1"),
        ({"a": []}, schema(a={"minItems": 1}), "a", "minItems", "has 0 items, needs at least 1"),
        ({"a": 5}, schema(a={"maximum": 4}), "a", "maximum", "at most 4, not 5"),
        ({"a": "x"}, schema(a={"pattern": "^[0-9]+$"}), "a", "pattern", "^[0-9]+$"),
        ({"a": [1, 1.0]}, schema(a={"uniqueItems": True}), "a", "uniqueItems", "items 0 and 1 are the same"),
        ({"a": [{"b": "x"}]}, schema(a={"items": {"properties": {"b": {"type": "null"}}}}), "a[0].b", "type", "null"),
        ({"a": {"b c": 1}}, schema(a={"additionalProperties": {"type": "string"}}), 'a["b c"]', "type", "a text"),
        ([], schema(), "", "type", "must be an object"),
    ],
)  # fmt: skip
def test_a_fault_says_where_which_rule_and_what(
    arguments: Any, wanted: dict[str, Any], path: str, rule: str, words: str
) -> None:
    record = first(arguments, wanted)
    assert (record["path"], record["rule"]) == (path, rule)
    assert words in record["message"]


@pytest.mark.parametrize(
    ("format_name", "good", "bad"),
    [
        ("email", "li.lei@例子.cn", "a b@c"),
        ("email", "a@b", "<a@b>"),
        ("email", "a@b.co", "a@b.co\nBcc: x@y.z"),
        ("date", "2026-02-28", "2026-02-30"),
        ("date-time", "2026-12-01T10:00:00Z", "2026-12-01 10:00"),
        ("time", "10:00:00Z", "10"),
        ("duration", "P1DT2H", "1 day"),
        ("uri", "https://example.com/a?b", "not a uri"),
        ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123"),
        ("ipv4", "192.0.2.1", "192.0.2"),
        ("hostname", "example.com", "-x-"),
        ("regex", "^a+$", "("),
    ],
)
def test_formats_are_checked(format_name: str, good: str, bad: str) -> None:
    wanted = schema(a={"type": "string", "format": format_name})
    assert check({"a": good}, wanted).arguments == {"a": good}
    assert first({"a": bad}, wanted)["rule"] == "format"


def test_a_choice_is_explained_by_its_nearest_form() -> None:
    forms = [
        {
            "title": "By name",
            "properties": {"kind": {"const": "name"}, "name": {"type": "string"}},
            "required": ["name"],
        },
        {"title": "By id", "properties": {"kind": {"const": "id"}, "id": {"type": "integer"}}, "required": ["id"]},
    ]
    errors = refused({"who": {"kind": "id", "id": "5"}}, schema(who={"oneOf": forms})).details["errors"]
    assert errors[0]["message"] == "fits none of the 2 forms; nearest is form 2 (By id)"
    assert (errors[1]["path"], errors[1]["rule"]) == ("who.id", "type")


def test_a_choice_of_types_reads_as_one() -> None:
    record = first({"a": []}, schema(a={"anyOf": [{"type": "string"}, {"type": "integer"}]}))
    assert record["message"] == "must be a text or a whole number, not []"


def test_several_faults_are_one_line_the_most_helpful_first() -> None:
    wanted = schema(("to", "subject"), to={"items": {"format": "email"}}, subject={})
    error = refused({"to": ["x"], "subjct": 1}, wanted)
    assert "\n" not in error.message
    assert [record["path"] for record in error.details["errors"]] == ["subject", "subjct", "to[0]"]
    assert error.details["schema"] == wanted
    assert error.exit_code == 2
    json.dumps(error.as_dict())


def test_thousands_of_faults_are_ten_records() -> None:
    error = refused({"a": ["x"] * 50_000}, schema(a={"items": {"type": "integer"}}))
    assert len(error.details["errors"]) == 10
    assert len(error.message) < 2000


def test_secrets_and_sensitive_parameters_are_not_shown() -> None:
    wanted = schema(a={"type": "integer"}, password={"minLength": 99}, key={"writeOnly": True, "type": "integer"})
    error = refused({"a": "x t0ken y", "password": "hunter2", "key": "hunter3"}, wanted, secrets=["t0ken"])
    assert "***" in str(error.as_dict())
    for secret in ("t0ken", "hunter2", "hunter3"):
        assert secret not in str(error.as_dict())


def test_a_long_value_is_shortened() -> None:
    record = first({"a": "x" * 1_000_000}, schema(a={"maxLength": 5}))
    assert len(record["value"]) <= 100


# -- hostile input


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth - 1):
        value = {"a": value}
    return value


def test_depth_is_limited() -> None:
    assert check(nested(MAX_DEPTH), {"type": "object"}).arguments == nested(MAX_DEPTH)
    assert "nested deeper" in str(refused(nested(MAX_DEPTH + 1), {"type": "object"}))
    assert "nested deeper" in str(refused(nested(50_000), {"type": "object"}))
    assert "nested deeper" in str(refused('{"a":' * 50_000 + "1" + "}" * 50_000, {"type": "object"}))


def test_deep_json_in_text_that_would_be_converted_is_left_as_text() -> None:
    record = first({"a": "[" * 5000 + "]" * 5000}, schema(a={"type": "array"}))
    assert record["rule"] == "type"


@pytest.mark.parametrize(
    "large",
    [{"a": "x" * MAX_BYTES}, {"a": "短" * (MAX_BYTES // 3)}, {"a": [0] * (MAX_BYTES // 2)}],
    ids=["ascii", "chinese", "many"],
)
def test_size_is_limited(large: dict[str, Any]) -> None:
    assert "more than 10 MB" in str(refused(large, {"type": "object"}))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("a\0b", "NUL"),
        ("\ud800", "surrogate"),
        ("x\udfffy", "surrogate"),
        (float("nan"), "no JSON number"),
        (float("-inf"), "no JSON number"),
        (10**5000, "too many digits"),
        (b"bytes", "no form in JSON"),
        ((1,), "no form in JSON"),
        ({1: 2}, "no text"),
    ],
    ids=["nul", "high-surrogate", "low-surrogate", "nan", "infinity", "huge", "bytes", "tuple", "number-as-key"],
)
def test_what_is_no_json_text_is_refused(value: Any, words: str) -> None:
    for arguments in ({"a": value}, {"a": [{"b": value}]}):
        assert words in str(refused(arguments, {"type": "object"}))
    if isinstance(value, str):
        assert words in str(refused({value: 1}, {"type": "object"}))


@pytest.mark.parametrize(
    "text", ["{", "nope", '{"a": NaN}', '{"a": 1,}', "1" * 10_000, '{"a": "\\ud800"}', '{"a": "\\u0000"}']
)
def test_text_that_is_no_json_is_refused(text: str) -> None:
    refused(text, {"type": "object"})


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|a)*$", "(x+x+)+y", "^(([a-z])+.)+[A-Z]([a-z])+$"])
@pytest.mark.parametrize("text", ["a" * 40 + "!", "x" * 40, "a" * 5000 + "!"], ids=["short", "other", "long"])
def test_a_pattern_that_explodes_ends(pattern: str, text: str) -> None:
    refused({"a": text}, schema(a={"pattern": pattern}))


def test_a_pattern_on_a_long_text_ends() -> None:
    refused({"a": " " * 1_000_000 + "x"}, schema(a={"pattern": "\\s+$"}))
    refused(
        {" " * 1_000_000 + "x": 1},
        {"type": "object", "patternProperties": {"\\s+$": {}}, "additionalProperties": False},
    )


def test_many_unique_items_end() -> None:
    items = [{"n": number} for number in range(30_000)]
    assert len(check({"a": items}, schema(a={"uniqueItems": True})).arguments["a"]) == 30_000


@pytest.mark.parametrize(
    "broken",
    [
        {"type": "object", "properties": {"a": {"type": "strng"}}},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/nope"}}},
        {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/schema.json"}}},
        {"type": "object", "properties": {"a": {"$ref": "file:///etc/passwd"}}},
        {"type": "object", "properties": {"a": {"pattern": "("}}},
        {"type": "object", "properties": {"a": {"maximum": "x"}}},
        {"type": "object", "$ref": "#"},
    ],
)
def test_a_schema_that_cannot_be_used_is_the_manifests_fault(broken: dict[str, Any]) -> None:
    with pytest.raises(CatalogInvalid):
        check({"a": "x" if "pattern" in str(broken) else 1}, broken)


@given(JSON, JSON)
def test_checking_ends_in_arguments_or_in_one_of_two_errors(value: Any, wanted: Any) -> None:
    try:
        checked = check({"a": value}, {"type": "object", "properties": {"a": wanted}, "default": wanted})
    except (InvalidArguments, CatalogInvalid) as error:
        json.dumps(error.as_dict())
    else:
        json.dumps(checked.arguments)


# -- typed on a command line


PAIRS = schema(
    text={"type": "string"},
    count={"type": "integer"},
    ratio={"type": "number"},
    on={"type": "boolean"},
    nothing={"type": ["integer", "null"]},
    either={"type": ["integer", "string"]},
    tags={"type": "array", "items": {"type": "string"}},
    numbers={"type": "array", "items": {"type": "integer"}},
    one_or_more={"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
    filter={"type": "object", "properties": {"state": {"type": "string"}, "age": {"type": "integer"}}},
    level={"enum": [1, 2]},
    any={},
)


@pytest.mark.parametrize(
    ("pairs", "arguments"),
    [
        (["text=01"], {"text": "01"}),
        (["text="], {"text": ""}),
        (["text=a=b"], {"text": "a=b"}),
        (["text=true"], {"text": "true"}),
        (["text={}"], {"text": "{}"}),
        (["count=5", "ratio=-1.5e3"], {"count": 5, "ratio": -1500.0}),
        (["ratio=2"], {"ratio": 2}),
        (["on=true"], {"on": True}),
        (["nothing=null"], {"nothing": None}),
        (["either=5"], {"either": "5"}),
        (["either:=5"], {"either": 5}),
        (["level=2"], {"level": 2}),
        (["any=5"], {"any": "5"}),
        (["tags=a", "tags=b,c"], {"tags": ["a", "b,c"]}),
        (["tags=a"], {"tags": ["a"]}),
        (["tags=[1]"], {"tags": ["[1]"]}),
        (["numbers=1", "numbers=2"], {"numbers": [1, 2]}),
        (["numbers:=[1, 2]"], {"numbers": [1, 2]}),
        (["one_or_more=a"], {"one_or_more": "a"}),
        (["one_or_more=a", "one_or_more=b"], {"one_or_more": ["a", "b"]}),
        (["filter.state=open", "filter.age=5"], {"filter": {"state": "open", "age": 5}}),
        (['filter={"age": 5}'], {"filter": {"age": 5}}),
        (["filter:=null"], {"filter": None}),
        (["unknown.key=x"], {"unknown.key": "x"}),
        (["文本=好"], {"文本": "好"}),
    ],
)
def test_the_schema_types_a_pair(pairs: list[str], arguments: dict[str, Any]) -> None:
    parsed = parse_pairs(pairs, PAIRS)
    assert parsed == arguments
    assert [type(value) for value in parsed.values()] == [type(value) for value in arguments.values()]


@pytest.mark.parametrize(
    "pair", ["count=01", "count=1.0", "count=", "count= 5", "count=٣", "on=True", "on=1", "ratio=.5"]
)
def test_typed_values_are_strict(pair: str) -> None:
    with pytest.raises(InvalidArguments, match=pair.split("=", maxsplit=1)[0]):
        parse_pairs([pair], PAIRS)


@pytest.mark.parametrize(
    "pairs", [["text"], ["=x"], [":=1"], ["text=a", "text=b"], ["count=1", "count:=2"], ["filter..x=1"]]
)
def test_what_is_no_pair_or_given_twice_is_wrong_usage(pairs: list[str]) -> None:
    with pytest.raises(UsageError):
        parse_pairs(pairs, PAIRS)


@given(TEXTS)
def test_any_text_survives_the_command_line(text: str) -> None:
    assert parse_pairs([f"text={text}", f"tags={text}"], PAIRS) == {"text": text, "tags": [text]}


@given(JSON)
def test_any_json_survives_the_command_line(value: Any) -> None:
    assert parse_pairs([f"any:={json.dumps(value)}"], PAIRS) == {"any": value}


@given(st.lists(st.integers(-(10**15), 10**15), min_size=1, max_size=5))
def test_repeated_keys_build_a_typed_list(numbers: list[int]) -> None:
    assert parse_pairs([f"numbers={number}" for number in numbers], PAIRS) == {"numbers": numbers}


@given(TEXTS, TEXTS)
def test_a_dotted_key_of_the_schema_is_a_key(key: str, text: str) -> None:
    assume("=" not in key and not key.endswith(":"))
    dotted = f"a.{key}"
    assert parse_pairs([f"{dotted}={text}"], schema(**{dotted: {"type": "string"}, "a": {"type": "object"}})) == {
        dotted: text
    }


def test_input_is_json_a_file_or_standard_input(tmp_path: Path) -> None:
    file = tmp_path / "参数.json"
    file.write_bytes(b'\xef\xbb\xbf{"a": "\xe5\xa5\xbd"}')
    assert read_input('{"a": 1}') == {"a": 1}
    assert read_input(f"@{file}") == {"a": "好"}
    assert read_input("-", stdin=lambda size: b'{"a": 2}'[:size]) == {"a": 2}


def test_input_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    binary = tmp_path / "x.json"
    binary.write_bytes(b"\xff\xfe")
    for text in ("[1]", "nope", "", f"@{binary}"):
        with pytest.raises(InvalidArguments):
            read_input(text)
    for text in (f"@{tmp_path / 'none'}", f"@{tmp_path}", "@", "@a\0b", "@" + "x" * 5000):
        with pytest.raises(UsageError):
            read_input(text)
    with pytest.raises(InvalidArguments, match="10 MB"):
        read_input("-", stdin=lambda size: b" " * size)
