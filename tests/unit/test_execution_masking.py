"""A secret that a tool was given shows nowhere, however it is written, and what is no secret stays."""

from __future__ import annotations

import html
import json
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooldisco_cli.execution.masking import MASK, Masker, Secret

SECRET = 's3cr3t/"密码"+x y&<'

FORMS = {
    "plain": SECRET,
    "json": json.dumps(SECRET)[1:-1],
    "json in utf-8": json.dumps(SECRET, ensure_ascii=False)[1:-1],
    "json with escaped slashes": json.dumps(SECRET)[1:-1].replace("/", "\\/"),
    "json in json": json.dumps(json.dumps(SECRET)[1:-1])[1:-1],
    "url": quote(SECRET, safe=""),
    "path": quote(SECRET),
    "form": quote_plus(SECRET),
    "url in lower case": quote(SECRET, safe="").replace("%E5%AF%86%E7%A0%81", "%e5%af%86%e7%a0%81")
    .replace("%2F", "%2f").replace("%2B", "%2b").replace("%3C", "%3c"),
    "html": html.escape(SECRET),
    "base64": b64encode(SECRET.encode()).decode().rstrip("="),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_secret_is_gone_however_it_is_written(form):
    masker = Masker([Secret(SECRET, "API_KEY")])
    for masked in (masker.text(f"before {form} after"), masker.data(f"before {form} after".encode()).decode()):
        assert masked.startswith("before [masked:API_KEY]")
        assert masked.endswith(" after")
        assert form[:8] not in masked


@given(st.binary(max_size=20), st.binary(max_size=20))
def test_a_secret_is_gone_from_base64_wherever_it_stands_in_it(before, after):
    secret = "sk-ant-api03-abcdefghijkl"
    for encode in (b64encode, urlsafe_b64encode):
        assert MASK in Masker([secret]).text(encode(before + secret.encode() + after).decode())


def test_basic_credentials_are_gone():
    header = "Basic " + b64encode(b"user:correct horse battery").decode()
    assert "[masked:PASSWORD]" in Masker([Secret("correct horse battery", "PASSWORD")]).text(header)


def test_each_line_of_a_private_key_is_a_secret():
    key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKcwggSjAgEAAoIB\n-----END KEY-----"
    assert Masker([Secret(key, "KEY")]).text("line 2: AQEFAASCBKcwggSjAgEAAoIB!") == "line 2: [masked:KEY]!"


def test_of_secrets_within_secrets_the_longest_is_replaced():
    masker = Masker([Secret("abcd", "SHORT"), Secret("abcdefgh", "LONG")])
    assert masker.text("abcdefgh abcd") == "[masked:LONG] [masked:SHORT]"


@pytest.mark.parametrize("secret", ["", "1", "yes", "abc"])
def test_what_is_too_short_is_not_masked_as_that_would_destroy_a_text(secret):
    assert Masker([secret]).text("1 yes abc") == "1 yes abc"


@given(
    st.lists(st.sampled_from(["token", "tok", "en-1", "token-1234", "x", "1234to"]), max_size=30), st.integers(1, 9)
)
def test_a_stream_is_masked_as_its_whole_would_be(words, size):
    data = "".join(words).encode()
    masker = Masker(["token-1234", "1234to"])
    chunks = [data[i : i + size] for i in range(0, len(data), size)]
    assert b"".join(masker.chunks(chunks)) == masker.data(data)


def test_json_is_masked_in_keys_values_and_numbers():
    masker = Masker(["9876543210"])
    value = {"9876543210": ["a 9876543210", 9876543210, True, None, 1.5]}
    assert masker.json(value) == {MASK: [f"a {MASK}", MASK, True, None, 1.5]}


def test_without_secrets_nothing_changes():
    assert Masker([]).text("anything") == "anything"
    assert Masker([]).json([1, "a"]) == [1, "a"]
    assert b"".join(Masker([]).chunks([b"a", b"b"])) == b"ab"
