"""Views of a project's tools and their approvals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tooldisco_cli.render.streams import Output, print_json, print_line, print_note
from tooldisco_cli.render.terminal import print_columns, styled, terminal
from tooldisco_cli.render.untrusted import visible, visible_lines

if TYPE_CHECKING:
    from tooldisco_cli.catalog.layers import LoadedLayer
    from tooldisco_cli.catalog.trust import TrustItem

SCHEMA = "tooldisco.trust-status/1"


def _what(item: TrustItem) -> str:
    return f"{item.standing}, removes the tool" if item.mask else item.standing


def show_status(items: Sequence[TrustItem], loaded: LoadedLayer, output: Output) -> None:
    """Print how each tool of the project stands."""
    if output.as_json:
        _json(items, loaded)
        return
    output.note(visible(loaded.layer.path))
    print_columns([[visible(item.reference), _what(item)] for item in items])


def _json(items: Sequence[TrustItem], loaded: LoadedLayer) -> None:
    rows = [{"tool": item.reference, "standing": item.standing, "mask": item.mask} for item in items]
    print_json(SCHEMA, {"layer": loaded.layer.path, "tools": rows})


def show_pending(items: Sequence[TrustItem], loaded: LoadedLayer) -> None:
    """Print, on stderr, everything that waits for approval, so that nobody approves what was not shown."""
    from tooldisco_cli.catalog.trust import trust_diff

    print_note(f"{visible(loaded.layer.path)} declares or changed:")
    for item in items:
        print_note(f"\n{visible(item.reference)} ({_what(item)})")
        for line in trust_diff(item).splitlines()[2:]:
            print_note(f"  {visible_lines(line)}")


def show_trust(changed: Sequence[TrustItem], loaded: LoadedLayer, output: Output) -> None:
    """Print what was approved now."""
    if output.as_json:
        _json(changed, loaded)
        return
    if not changed:
        print_line("everything here is approved already")
    for item in changed:
        print_line(f"{'forgot' if item.standing == 'gone' else 'approved'} {visible(item.reference)}")


def show_diffs(items: Sequence[TrustItem], output: Output) -> None:
    """Print unified diffs from what was approved to what is declared now."""
    from tooldisco_cli.catalog.trust import trust_diff

    console = terminal(output)
    styles = {"+": "green", "-": "red", "@": "cyan"}
    for item in items:
        print_line(f"{visible(item.reference)} ({_what(item)})")
        for line in trust_diff(item).splitlines():
            if console:
                console.print(styled((visible_lines(line), styles.get(line[:1], ""))))
            else:
                print_line(visible_lines(line))
    if not items:
        output.note("nothing differs from what was approved")


def show_revoked(references: Sequence[str], output: Output) -> None:
    """Print which approvals were taken back."""
    if output.as_json:
        print_json("tooldisco.trust-revoked/1", {"tools": list(references)})
        return
    for reference in references:
        print_line(f"revoked {visible(reference)}")
    if not references:
        output.note("nothing was approved")
