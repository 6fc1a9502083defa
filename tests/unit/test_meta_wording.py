"""What a model reads of tools is small, exact, and stays within its budget."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tooldisco_cli.execution.protocol import Cut, Execution, FileBlock, JsonBlock, TextBlock
from tooldisco_cli.meta.definitions import META_NAMES, meta_tools
from tooldisco_cli.meta.wording import (
    SCHEMA_TOKENS,
    compact,
    estimated_tokens,
    found_tools,
    result_texts,
    shortened,
    signature,
)
from tooldisco_cli.search.answer import Answer, Hit


def test_a_signature_names_types_choices_and_defaults_and_what_is_needed_first():
    schema = {
        "type": "object",
        "required": ["to"],
        "properties": {
            "html": {"type": "boolean", "default": False},
            "to": {"type": "array", "items": {"type": "string"}},
            "level": {"enum": ["low", "high"]},
        },
    }
    assert signature(schema) == '(to: string[], html?: boolean = false, level?: "low" | "high")'
    assert signature({"type": "object", "properties": {}}) == "()"


@given(st.text(max_size=2000), st.integers(20, 500))
def test_a_description_is_never_longer_than_its_limit(text, limit):
    assert len(shortened(text, limit)) <= limit


def hit(name: str, size: int) -> Hit:
    schema = {"type": "object", "properties": {"p": {"type": "string", "description": "x" * size}}}
    return Hit(name=name, title="", description="d", category="c", tags=(), version="1.0", input_schema=schema,
               relevance_score=0.5, layer="user", path="", line=1)  # fmt: skip


@given(st.lists(st.integers(0, 9000), min_size=1, max_size=20))
def test_schemas_stay_within_their_budget_and_every_tool_has_one_or_a_signature(sizes):
    answer = Answer(query="q", hits=tuple(hit(f"t{i}", size) for i, size in enumerate(sizes)), total=len(sizes))
    tools = found_tools(answer, {})["tools"]
    spent = sum(estimated_tokens(compact({"input_schema": t["input_schema"]})) for t in tools if "input_schema" in t)
    assert spent <= SCHEMA_TOKENS
    assert all(("input_schema" in tool) != ("parameters" in tool) for tool in tools)


def test_a_result_tells_what_was_cut_and_how_to_read_on():
    done = Execution(reference="t", blocks=(JsonBlock({"a": "值"}), FileBlock("/x.pdf", "application/pdf", 9)),
                     handle="abcd", cut=Cut(unit="rows", total=1000, shown=40), notes=("read from text",))  # fmt: skip
    texts = [block.text for block in result_texts(done)]
    assert texts[0] == '{"a":"值"}'
    assert "/x.pdf" in texts[1]
    assert "40 of 1,000 rows" in texts[2]
    assert "abcd" in texts[2]
    assert result_texts(Execution(reference="t")) == [TextBlock("done; the tool returned nothing")]


def test_the_meta_tools_are_the_same_bytes_for_the_same_categories_in_any_order():
    one, two = meta_tools(["b", "a"], with_person=True), meta_tools(["a", "b", "a"], with_person=True)
    assert compact(one) == compact(two)
    assert {tool["name"] for tool in one} == META_NAMES
    assert "ask_user" not in {tool["name"] for tool in meta_tools(["a"], with_person=False)}
    assert (
        "enum" not in meta_tools(map(str, range(500)), with_person=False)[0]["input_schema"]["properties"]["category"]
    )
