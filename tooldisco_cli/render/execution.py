"""Views of an execution and of a dry run."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tooldisco_cli.errors import TooldiscoError, ToolFailed
from tooldisco_cli.render.failure import show_failure
from tooldisco_cli.render.streams import Output, json_text, print_json, print_line, print_note
from tooldisco_cli.render.untrusted import visible, visible_lines

if TYPE_CHECKING:
    from tooldisco_cli.execution.pipeline import DryRun
    from tooldisco_cli.execution.protocol import Block, Execution

EXECUTION_SCHEMA = "tooldisco.execution/1"
DRY_RUN_SCHEMA = "tooldisco.dry-run/1"

_APPROVALS = {
    "none": "runs without asking",
    "ask": "asks before it runs (--yes allows it)",
    "confirm": "asks for its name before it runs (--confirm NAME allows it)",
    "denied": "never runs: the policy in the settings denies it",
    "untrusted": "does not run before it is approved with `tooldisco trust`",
}


def preview_lines(preview: Mapping[str, Any]) -> list[str]:
    """Return a preview as safe lines: what kind of call it is, then each of its parts."""
    lines = []
    for key, value in preview.items():
        if key == "executor" or value in (None, {}, []):
            continue
        if isinstance(value, str) and "\n" in value:
            lines.append(f"  {visible(key)}:")
            lines += [f"    {line}" for line in visible_lines(value).split("\n")]
        elif isinstance(value, dict):
            lines.append(f"  {visible(key)}:")
            lines += [f"    {visible(str(name))}: {_short(item)}" for name, item in value.items()]
        else:
            lines.append(f"  {visible(key)}: {_short(value)}")
    return lines


def _short(value: Any, limit: int = 2000) -> str:
    text = visible(value if isinstance(value, str) else json_text(value))
    return text if len(text) <= limit else text[:limit] + f"… ({len(text):,} characters)"


def show_dry_run(rehearsed: DryRun, output: Output) -> None:
    """Print what a call would do."""
    if output.as_json:
        body = asdict(rehearsed)
        body["tool"] = body.pop("reference")
        body["ready"] = not rehearsed.missing
        if rehearsed.mock is None:
            del body["mock"]
        print_json(DRY_RUN_SCHEMA, body)
        return
    kind = rehearsed.preview.get("executor", "")
    print_line(f"{visible(rehearsed.reference)} would run this{f' ({kind})' if kind else ''}; nothing was run")
    for line in preview_lines(rehearsed.preview):
        print_line(line)
    if rehearsed.mock is not None:
        print_line(f"  example result: {_short(rehearsed.mock)}")
    for note in rehearsed.notes:
        output.note(f"note: {visible(note)}")
    output.note(_APPROVALS[rehearsed.approval])
    for lack in rehearsed.missing:
        print_note(f"missing: {visible(lack.name)} ({lack.kind}): {visible(lack.remedy)}")


def execution_body(done: Execution) -> dict[str, Any]:
    """Return the body of ``tooldisco.execution/1``."""
    body: dict[str, Any] = {
        "tool": done.reference,
        "ok": done.ok,
        "content": [block_body(block) for block in done.blocks],
        "seconds": round(done.seconds, 3),
        "size": done.size,
        "notes": list(done.notes),
        "facts": done.facts,
    }
    if done.handle:
        body["handle"] = done.handle
    if done.cut:
        body["cut"] = asdict(done.cut)
    if done.error:
        body["error"] = done.error.as_dict() | {"exit_code": done.error.exit_code}
    return body


def block_body(block: Block) -> dict[str, Any]:
    """Return one content block as JSON."""
    from tooldisco_cli.execution.protocol import ImageBlock, JsonBlock, TextBlock

    if isinstance(block, TextBlock):
        return {"type": "text", "text": block.text}
    if isinstance(block, JsonBlock):
        return {"type": "json", "value": block.value}
    if isinstance(block, ImageBlock):
        return {"type": "image", "media_type": block.media_type, "data": base64.b64encode(block.data).decode()}
    return {"type": "file", "path": block.path, "media_type": block.media_type, "size": block.size}


def show_execution(done: Execution, output: Output, *, saved: Path | None = None) -> None:
    """Print the result of an execution to stdout and all that is said about it to stderr."""
    if output.as_json:
        print_json(EXECUTION_SCHEMA, execution_body(done))
        return
    if saved is None or not done.ok:
        show_blocks(done)
    if done.error is not None:
        _show_error(done.error)
    for note in done.notes:
        output.note(f"note: {visible(note)}")
    if done.cut is not None:
        cut = done.cut
        whole = f"; all of it: tooldisco results show {done.handle}" if done.handle else ""
        output.note(f"{cut.shown:,} of {cut.total:,} {cut.unit} shown{whole}")
    if saved is not None and done.ok:
        output.note(f"written to {visible(str(saved))}")


def show_blocks(done: Execution) -> None:
    """Print content: cleaned on a terminal, as it is into a pipe; bytes never."""
    if done.error is not None and not done.blocks:
        return
    for block in done.blocks:
        print_line(block_text(block))


def block_text(block: Block) -> str:
    """Return a block as it is printed: on a terminal nothing in it is obeyed, and JSON is indented."""
    from tooldisco_cli.execution.protocol import ImageBlock, JsonBlock, TextBlock

    on_terminal = sys.stdout.isatty()
    if isinstance(block, TextBlock):
        text = block.text.rstrip("\n")
        return visible_lines(text) if on_terminal else text
    if isinstance(block, JsonBlock):
        return json_text(block.value, indent=2 if on_terminal else None)
    if isinstance(block, ImageBlock):
        return f"[image {visible(block.media_type)}, {len(block.data):,} bytes; --output FILE saves it]"
    return f"[file {visible(block.path)}, {visible(block.media_type)}, {block.size:,} bytes]"


def _show_error(error: TooldiscoError) -> None:
    show_failure(error, as_json=False)
    for fault in error.details.get("errors", ())[1:]:
        print_note(f"  {visible(str(fault.get('path', '')))}: {visible(str(fault.get('message', '')))}")
    for key in ("answer", "stderr"):
        if error.details.get(key):
            print_note(f"  {key}: {_short(error.details[key], 1000)}")


def save_result(done: Execution, path: Path) -> None:
    """Write a result to a file: an image's or file's bytes, text, or JSON. Raises ToolFailed."""
    from tooldisco_cli.execution.protocol import FileBlock, ImageBlock, JsonBlock
    from tooldisco_cli.execution.results import plain_text

    binary = [block for block in done.blocks if isinstance(block, (ImageBlock, FileBlock))]
    try:
        if len(binary) == 1 and isinstance(binary[0], ImageBlock):
            path.write_bytes(binary[0].data)
        elif len(binary) == 1 and isinstance(binary[0], FileBlock):
            import shutil

            shutil.copyfile(binary[0].path, path)
        elif done.handle:
            _save_whole(done.handle, path)
        elif len(done.blocks) == 1 and isinstance(done.blocks[0], JsonBlock):
            path.write_text(json.dumps(done.blocks[0].value, ensure_ascii=False, indent=2) + "\n", "utf-8")
        else:
            path.write_text(plain_text(done.blocks), "utf-8")
    except OSError as error:
        raise ToolFailed(f"the tool ran, but {path} cannot be written: {error.strerror or error}") from error


def _save_whole(handle: str, path: Path) -> None:
    from tooldisco_cli.execution.spool import Spool

    spool = Spool()
    with path.open("w", encoding="utf-8", errors="backslashreplace") as file:
        page = spool.read_page(handle, 1, 1_000_000)
        file.write(page.text)
        for number in range(2, page.pages + 1):
            file.write(spool.read_page(handle, number, 1_000_000).text)
