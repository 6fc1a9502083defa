"""The locator finds the line of every key that tomllib finds, however it is written."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from tooldisco_cli.tomlposition import key_lines, line_of


def paths_of(value: Any, key: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, dict):
        items: list[tuple[str | int, Any]] = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    else:
        return
    for name, item in items:
        yield (*key, name)
        yield from paths_of(item, (*key, name))


CASES = {
    "a plain key": ("x = 1\ny = 2\n", ("y",), 2),
    "a table": ("\n[a.b]\nc = 1", ("a", "b", "c"), 3),
    "an implied table": ("\n[a.b]\nc = 1", ("a",), 2),
    "a dotted key": ("a.b.c = 1\na.b.d = 2", ("a", "b", "d"), 2),
    "spaces around dots": ('a . "b" .c = 1', ("a", "b", "c"), 1),
    "the second table of an array": ("[[t]]\nx=1\n[[t]]\nx=2", ("t", 1, "x"), 4),
    "a table below an array of tables": ("[[t]]\n[t.s]\nx=1\n[[t]]\n[t.s]\nx=2", ("t", 1, "s", "x"), 6),
    "an array of tables inside another": (
        "[[t]]\n[[t.e]]\n[[t.e]]\nx=1\n[[t]]\n[[t.e]]\nx=2",
        ("t", 1, "e", 0, "x"),
        7,
    ),
    "an inline table": ('a = { b = { c = 1 }, "d e" = 2 }', ("a", "d e"), 1),
    "a list over lines": ("a = [\n  1, # one\n\n  [2,\n   3],\n]", ("a", 1, 1), 5),
    "a table in a list": ("a = [\n  {x = 1},\n  {x = 2}\n]", ("a", 1, "x"), 3),
    "after a text of many lines": ('a = """\n[b]\nc = 1\n"""\nd = 1', ("d",), 5),
    "after quotes at the end of a text": ('a = """x"""""\nd = 1', ("d",), 2),
    "after an escaped quote": ('a = """\\""" \n"""\nd = 1', ("d",), 3),
    "after a literal text": ("a = '''\n\\'''\nd = 1", ("d",), 3),
    "a bracket in a text": ('a = "]"\nb = [ "]", \'}\' ]\nc = 1', ("c",), 3),
    "a sign of comment in a text": ('a = "# no"\nb = 1 # yes = 2\nc = 1', ("c",), 3),
    "an escaped key": ('"a\\u0062" = 1', ("ab",), 1),
    "a literal key": ("\n'a.b' = 1", ("a.b",), 2),
    "an empty key": ('\n"" = 1', ("",), 2),
    "a key that looks like a number": ("\n1.2 = 3", ("1", "2"), 2),
    "a date with a space": ("a = 1979-05-27 07:32:00 # b\nc = 1", ("c",), 2),
    "carriage returns": ("a = 1\r\n\r\n[b]\r\nc = 1\r\n", ("b", "c"), 4),
    "a byte-order mark": ("\ufeffa = 1", ("a",), 1),
    "a header with a comment": ("[a] # [b]\nc = 1", ("a", "c"), 2),
    "the outer table after the inner": ("[a.b]\nx = 1\n[a]\ny = 1", ("a", "y"), 4),
}


@pytest.mark.parametrize(("text", "key", "line"), CASES.values(), ids=CASES)
def test_finds_the_line_of(text: str, key: tuple[str | int, ...], line: int) -> None:
    lines = key_lines(text)
    assert lines[key] == line
    assert set(lines) == set(paths_of(tomllib.loads(text.removeprefix("\ufeff"))))


def test_an_unknown_key_has_the_line_of_the_nearest_table_around_it() -> None:
    lines = key_lines("[[tool]]\n[tool.http]\nurl = 'x'")
    assert line_of(lines, ("tool", 0, "http", "method")) == 2
    assert line_of(lines, ("nothing",)) == 0


@pytest.mark.parametrize(
    "text", ["a = [", 'a = """', "a", "[a", "= 1", "a = {b = 1", 'a = "x', "[[a]\nb=1", '"\\q" = 1']
)
def test_text_that_is_not_toml_gives_the_lines_found_so_far(text: str) -> None:
    assert key_lines(f"ok = 1\n{text}")[("ok",)] == 1


def test_nesting_past_the_recursion_limit_gives_the_lines_found_so_far() -> None:
    assert key_lines(f"ok = 1\na = {'[' * 5000}{']' * 5000}")[("ok",)] == 1


keys = st.one_of(
    st.from_regex(r"[a-z0-9_-]{1,4}", fullmatch=True), st.text(max_size=4).filter(lambda k: "\r" not in k)
)
keys = keys.filter(lambda key: not any("\ud800" <= c <= "\udfff" for c in key))
texts = st.text(st.sampled_from("ab\"'\\\n\t[]{}#=., 短"), max_size=12)
scalars = st.one_of(
    st.integers(-9, 9), st.booleans(), st.floats(allow_nan=False, allow_infinity=False), texts, st.dates(), st.times()
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=3)),
    max_leaves=12,
)
documents = st.dictionaries(keys, values, max_size=5)


@given(documents, st.booleans(), st.booleans())
def test_every_key_of_a_written_document_has_a_line_and_nothing_else_does(
    document: dict[str, Any], multiline: bool, windows: bool
) -> None:
    text = tomli_w.dumps(document, multiline_strings=multiline)
    if windows:
        text = text.replace("\n", "\r\n")
    assert set(key_lines(text)) == set(paths_of(tomllib.loads(text)))


class Writer:
    """Writes TOML in styles that hypothesis draws, and remembers the line of each key."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.text = ""
        self.lines: dict[tuple[str | int, ...], int] = {}

    def pick(self, *choices: str) -> str:
        return str(self.draw(st.sampled_from(choices)))

    def note(self, key: tuple[str | int, ...]) -> None:
        self.lines.setdefault(key, self.text.count("\n") + 1)

    def gap(self) -> None:
        self.text += self.pick("", "", "\n", "# tool = 1\n", "  \n\t# [x]\n")

    def key(self, name: str) -> None:
        self.text += self.pick(name, f'"{name}"', f"'{name}'")

    def value(self, key: tuple[str | int, ...], depth: int) -> None:
        kind = self.pick("scalar", "scalar", "list", "table") if depth < 3 else "scalar"
        if kind == "scalar":
            self.text += self.pick(
                "1", "-0.5e3", "true", "1979-05-27T07:32:00Z", '"a\\"]b#"', "'\\'", '""', "''",
                '"""\n[a]\nb = 1\n"""', "'''\n[[t]]\n\\'''", '"""a\\\n  "" b""""', "''''a'''''",
            )  # fmt: skip
        elif kind == "list":
            self.text += "["
            for index in range(self.draw(st.integers(0, 3))):
                self.text += self.pick("", " ", "\n", " # ]\n")
                self.note((*key, index))
                self.value((*key, index), depth + 1)
                self.text += self.pick(",", " ,", "\n,")
            self.text += self.pick("", "\n", "# c\n") + "]"
        else:
            self.text += "{"
            for index in range(self.draw(st.integers(0, 3))):
                self.text += self.pick(" ", "") if not index else self.pick(",", " , ")
                name = f"k{index}"
                self.note((*key, name))
                self.key(name)
                self.text += self.pick("=", " = ")
                self.value((*key, name), depth + 1)
            self.text += self.pick("", " ") + "}"

    def pairs(self, key: tuple[str | int, ...]) -> None:
        for index in range(self.draw(st.integers(0, 3))):
            self.gap()
            names = [f"p{index}", "q"][: self.draw(st.integers(1, 2))]
            self.text += self.pick("", "  ")
            for depth, name in enumerate(names):
                self.text += "." if depth else ""
                self.note((*key, *names[: depth + 1]))
                self.key(name)
            self.text += self.pick("=", " = ")
            self.value((*key, *names), 1)
            self.text += self.pick("\n", " # end\n")

    def document(self) -> None:
        self.pairs(())
        for index in range(self.draw(st.integers(0, 3))):
            self.gap()
            self.note(("tool",))
            self.note(("tool", index))
            self.text += self.pick("[[tool]]\n", "[[ tool ]]\n", '[["tool"]] # x\n')
            self.pairs(("tool", index))
            if self.draw(st.booleans()):
                self.gap()
                self.note(("tool", index, "http"))
                self.text += self.pick("[tool.http]\n", " [ tool . 'http' ]\n")
                self.pairs(("tool", index, "http"))


@given(st.data())
def test_every_key_has_the_line_at_which_it_was_written(data: st.DataObject) -> None:
    writer = Writer(data.draw)
    writer.document()
    text = writer.text
    assert set(writer.lines) == set(paths_of(tomllib.loads(text)))
    assert key_lines(text) == writer.lines
    assert key_lines(text.replace("\n", "\r\n")) == writer.lines
