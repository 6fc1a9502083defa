"""Versions are ordered as the packaging library orders them, with or without loading it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from tooldisco_cli.catalog.versions import is_version, newest_first, version_identity

plain = st.lists(st.integers(0, 30), min_size=1, max_size=4).map(lambda numbers: ".".join(map(str, numbers)))
suffixed = st.builds(str.__add__, plain, st.sampled_from(["a1", "b2", "rc1", ".post1", ".dev3", "+local.1"]))
any_version = st.one_of(plain, suffixed)


@pytest.mark.parametrize("text", ["1", "1.0", "0.0.1", "2024.12.31", "2.0rc1", "1.0.post1", "v1.0", "1!2.0"])
def test_versions(text: str) -> None:
    assert is_version(text)


@pytest.mark.parametrize(
    "text", ["", " 1", "1 ", "newest", "1.", ".1", "1..2", "1.0-", "１.０x", "1\n", "1" * 9999, "1." * 9999 + "1"]
)
def test_no_versions(text: str) -> None:
    assert not is_version(text)


@given(st.lists(any_version, max_size=6))
def test_order_is_that_of_packaging(versions: list[str]) -> None:
    assert newest_first(versions) == sorted(versions, key=Version, reverse=True)


@given(any_version, any_version)
def test_identity_is_equality_of_packaging(one: str, other: str) -> None:
    assert (version_identity(one) == version_identity(other)) == (Version(one) == Version(other))


def test_what_is_no_version_stands_for_itself() -> None:
    assert version_identity("newest") == "newest"
    assert version_identity("1" * 9999) == "1" * 9999


def test_ten_is_above_nine() -> None:
    assert newest_first(["1.9", "1.10", "1.2"]) == ["1.10", "1.9", "1.2"]
