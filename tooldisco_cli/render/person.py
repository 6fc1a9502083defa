"""A person at the terminal, in place of a model or beside one: chooses, fills in, answers questions."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tooldisco_cli.render.asking import note_wrapped, read_line
from tooldisco_cli.render.streams import json_text, print_note
from tooldisco_cli.render.tools import type_words
from tooldisco_cli.render.untrusted import visible

if TYPE_CHECKING:
    from tooldisco_cli.agent.guided import Choice


def can_ask() -> bool:
    """Whether somebody sits at the terminal."""
    return bool(sys.stdin and sys.stdin.isatty() and sys.stderr and sys.stderr.isatty())


async def answer_question(question: str, options: Sequence[str]) -> str:
    """Put a model's question before the person; a number chooses an option."""
    print_note("")
    note_wrapped(visible(question))
    for number, option in enumerate(options, 1):
        note_wrapped(f"  {number}. {visible(option)}", hang=5)
    said = await read_line("> ")
    if said.isascii() and said.isdigit() and 1 <= int(said) <= len(options):
        return options[int(said) - 1]
    return said


async def confirm_guided() -> bool:
    """Offer to go on without a model."""
    print_note("")
    note_wrapped("Without a model you can still search, choose and run tools yourself (--model guided).")
    return (await read_line("Do that now? [Y/n] ")).lower() in {"", "y", "yes", "是", "好"}


class TerminalPerson:
    """Answers for the guided backend."""

    async def choose(self, question: str, choices: Sequence[Choice], *, otherwise: str) -> int | str:
        """Ask for a number, or for other text."""
        print_note(f"\n{question}")
        for number, choice in enumerate(choices, 1):
            about = visible(choice.about)
            text = f"{visible(choice.name)}  {about[:100]}{'…' if len(about) > 100 else ''}"
            note_wrapped(f"  {number}. {text}", hang=5)
        while True:
            said = await read_line(f"[{f'1-{len(choices)}, ' if choices else ''}{otherwise}] ")
            if not choices or not _is_number(said):
                return said
            if 1 <= int(said) <= len(choices):
                return int(said) - 1
            note_wrapped(f"  there is no {said} here: 1 to {len(choices)}, or words")

    async def fill(self, name: str, schema: Mapping[str, Any], *, required: bool, trouble: str) -> str:
        """Ask for one parameter: its type, choices and default are shown; Enter leaves an optional one out."""
        if trouble:
            note_wrapped(f"  {visible(trouble)}")
        elif schema.get("description"):
            note_wrapped(f"  {visible(str(schema['description']))}")
        options = schema.get("enum")
        if isinstance(options, list):
            for number, option in enumerate(options, 1):
                note_wrapped(f"    {number}. {visible(json_text(option))}", hang=7)
        default = f", default {json_text(schema['default'])}" if "default" in schema else ""
        need = "" if required else ", optional"
        while True:
            said = await read_line(f"  {visible(name)} ({visible(type_words(schema))}{need}{default}): ")
            if not said or not isinstance(options, list):
                return said
            texts = [option if isinstance(option, str) else json_text(option) for option in options]
            if _is_number(said) and 1 <= int(said) <= len(options):
                return texts[int(said) - 1]
            if said in texts:
                return said
            note_wrapped(f"  {visible(said)} is none of these: 1 to {len(options)}, or the value itself")


def _is_number(said: str) -> bool:
    return said.isascii() and said.isdigit() and len(said) < 10
