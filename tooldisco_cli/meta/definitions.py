"""What the meta tools look like to a model.

The definitions are the same bytes in every turn, and in every session over the same categories: prompt caching
depends on it. They are written for a model: what each tool is for, when, and what to do with its answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

JsonObject = dict[str, Any]

SEARCH: Final = "search_tools"
EXECUTE: Final = "execute_dynamic_tool"
CATEGORIES: Final = "list_categories"
READ_RESULT: Final = "read_result"
ASK_USER: Final = "ask_user"

META_NAMES: Final = frozenset({SEARCH, EXECUTE, CATEGORIES, READ_RESULT, ASK_USER})

MAX_RESULTS: Final = 20
DEFAULT_RESULTS: Final = 5
_MOST_CATEGORIES = 200
"""Beyond so many an enum would cost more than it helps; the category is then free text."""

SYSTEM_PROMPT: Final = """\
You are an agent with access to a large catalog of tools that you cannot see all at once.

How to work:
1. For each step of the task, call search_tools with a few words for what that step must do, in any language. Search \
for one need at a time; several searches may go in one turn.
2. Read the results. Each has a name, a description and its parameters; the best also have the full input_schema. \
Choose the tool whose description fits, not merely the first. If none fits, search again in other words, or call \
list_categories to see what there is.
3. Call execute_dynamic_tool with the exact tool_name and a tool_input that fits its schema. Never guess a name or \
parameters that no search has shown.
4. Read the result. When it is an error, its message says what to change: correct the arguments, or choose another \
tool. Do not repeat a call that failed without changing it. Long results are shortened; read_result gives their pages.
5. Use results in later calls exactly as they came. Do not invent ids, addresses, amounts or people.

Do only what the task asks for. Before anything that cannot be undone, be sure that it is meant. When the task is \
done, say briefly what you did and what came of it, in the language of the task. If it cannot be done with these \
tools, say so and why."""


def meta_tools(categories: Iterable[str], *, with_person: bool) -> list[JsonObject]:
    """Return the definitions of the meta tools; ``ask_user`` only when a person can answer."""
    tools = [_search(sorted(set(categories))), _execute(), _categories(), _read_result()]
    return [*tools, _ask_user()] if with_person else tools


def _search(categories: list[str]) -> JsonObject:
    category: JsonObject = {"type": "string", "description": "Only tools of this category."}
    if 0 < len(categories) <= _MOST_CATEGORIES:
        category["enum"] = categories
    return {
        "name": SEARCH,
        "description": (
            "Find tools in the catalog by what they do. Use it before execute_dynamic_tool, once for each thing that "
            "has to be done. The query is a few words, in Chinese, English or any other language: name the action "
            "and the object (发送邮件, query customers in a database), not the whole task and no file contents. "
            "The answer lists the best tools with their parameters; `found` is false when nothing fits, and it then "
            "suggests other words or categories."
        ),
        "input_schema": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "minLength": 1, "description": "What the tool must do, in a few words."},
                "regex": {"type": "boolean", "description": "The query is a regular expression."},
                "category": category,
                "max_results": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MAX_RESULTS,
                    "default": DEFAULT_RESULTS,
                    "description": "How many tools to list at most.",
                },
            },
            "required": ["query"],
            "additionalProperties": False,
        },
    }


def _execute() -> JsonObject:
    return {
        "name": EXECUTE,
        "description": (
            "Run a tool that search_tools has shown. tool_name is its exact name, tool_input an object that fits its "
            "input_schema. An error says what to change. A long result is shortened and comes with a handle for "
            "read_result. Tools that change something may be put before a person first, who can refuse."
        ),
        "input_schema": {
            "type": "object",
            "properties": {
                "tool_name": {"type": "string", "description": "Exact name of the tool, such as send_email."},
                "tool_input": {"type": "object", "description": "The tool's arguments; {} when it takes none."},
            },
            "required": ["tool_name", "tool_input"],
            "additionalProperties": False,
        },
    }


def _categories() -> JsonObject:
    return {
        "name": CATEGORIES,
        "description": (
            "List the categories of the catalog with their numbers of tools. Use it when searches find nothing."
        ),
        "input_schema": {"type": "object", "properties": {}, "additionalProperties": False},
    }


def _read_result() -> JsonObject:
    return {
        "name": READ_RESULT,
        "description": "Read one page of a result that was shortened. The handle stands in that result.",
        "input_schema": {
            "type": "object",
            "properties": {
                "handle": {"type": "string", "description": "The handle, as it stands in the result."},
                "page": {"type": "integer", "minimum": 1, "default": 1, "description": "Which page, from 1."},
            },
            "required": ["handle"],
            "additionalProperties": False,
        },
    }


def _ask_user() -> JsonObject:
    return {
        "name": ASK_USER,
        "description": (
            "Ask the person who gave the task one question, when something that only they can know is missing or "
            "unclear. Do not ask what a tool can find out, and not whether to go on."
        ),
        "input_schema": {
            "type": "object",
            "properties": {
                "question": {"type": "string", "minLength": 1, "description": "One clear question."},
                "options": {
                    "type": "array",
                    "items": {"type": "string"},
                    "maxItems": 9,
                    "description": "Answers to choose from, when there are only a few.",
                },
            },
            "required": ["question"],
            "additionalProperties": False,
        },
    }
