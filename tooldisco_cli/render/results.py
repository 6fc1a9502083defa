"""Views of kept results."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from tooldisco_cli.render.moments import ago, iso
from tooldisco_cli.render.streams import Output, print_json, print_line
from tooldisco_cli.render.terminal import print_columns
from tooldisco_cli.render.untrusted import visible_lines

if TYPE_CHECKING:
    from tooldisco_cli.execution.spool import Kept, Page


def show_page(page: Page, output: Output) -> None:
    """Print one page; where it stands goes to stderr."""
    if output.as_json:
        print_json("tooldisco.result-page/1", asdict(page))
        return
    print_line((visible_lines(page.text) if sys.stdout.isatty() else page.text).rstrip("\n"))
    if page.pages > 1:
        more = f"; --page {page.page + 1} is next" if page.page < page.pages else ""
        output.note(f"page {page.page:,} of {page.pages:,}, {page.size:,} characters in all{more}")


def show_kept(kept: Sequence[Kept], output: Output) -> None:
    """Print the list of kept results."""
    if output.as_json:
        rows = [{"handle": item.handle, "size": item.size, "time": iso(item.time)} for item in kept]
        print_json("tooldisco.results/1", {"results": rows})
        return
    if not kept:
        output.note("no result is kept")
    print_columns([[item.handle, f"{item.size:,} bytes", ago(item.time)] for item in kept])
