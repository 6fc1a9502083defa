"""``tooldisco trust``: approve a project's own tools."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from tooldisco_cli.cli.context import common
from tooldisco_cli.cli.options import AsJson, NoColor, Quiet
from tooldisco_cli.errors import NothingFound, Refused

if TYPE_CHECKING:
    from tooldisco_cli.catalog.layers import LoadedLayer

app = typer.Typer(
    name="trust",
    help="Approve a project's own tools.",
    invoke_without_command=True,
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME]...", help="Tools as name or name@version; left out, all of them."),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def _project() -> LoadedLayer:
    from tooldisco_cli.catalog.loading import project_layer

    loaded = project_layer()
    if loaded is None:
        raise NothingFound(
            "there is no project tools.d here",
            hint="a project's tools are in the nearest tools.d from here up to the repository's root",
        )
    return loaded


@app.callback(invoke_without_command=True)
def trust(
    ctx: typer.Context, yes: Yes = False, as_json: AsJson = False, no_color: NoColor = False, quiet: Quiet = False
) -> None:
    """Show what a project's tools.d declares or changed, and approve it after a question.

    Until then its tools can be found and shown, but do not run, and replace nothing.
    """
    if ctx.invoked_subcommand is None:
        _approve(ctx, None, yes=yes)


@app.command("approve")
def approve_tools(
    ctx: typer.Context, name: Names = None, yes: Yes = False, as_json: AsJson = False, quiet: Quiet = False
) -> None:
    """Approve tools of the project, all or those named, after showing what they are."""
    _approve(ctx, name, yes=yes)


def _approve(ctx: typer.Context, names: list[str] | None, *, yes: bool) -> None:
    given = common(ctx)
    loaded = _project()
    from tooldisco_cli.catalog.trust import approve, trust_status
    from tooldisco_cli.render.trust import show_pending, show_trust

    if not yes:
        pending = [item for item in trust_status(loaded) if item.standing != "approved"]
        chosen = [item for item in pending if not names or item.reference.partition("@")[0] in names
                  or item.reference in names]  # fmt: skip
        if not chosen and not names:
            show_trust((), loaded, given.output)
            return
        show_pending(chosen, loaded)
        if not (sys.stdin and sys.stdin.isatty() and sys.stderr.isatty()):
            raise Refused("nobody can be asked here", hint="look at `tooldisco trust diff`, then add --yes")
        sys.stderr.write("Approve? [y/N] ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() not in {"y", "yes", "是", "好"}:
            raise Refused("not approved")
    show_trust(approve(loaded, names or None), loaded, given.output)


@app.command("status")
def status(ctx: typer.Context, as_json: AsJson = False, no_color: NoColor = False, quiet: Quiet = False) -> None:
    """List the project's tools: new, changed since approved, approved, or gone."""
    given = common(ctx)
    loaded = _project()
    from tooldisco_cli.catalog.trust import trust_status
    from tooldisco_cli.render.trust import show_status

    show_status(trust_status(loaded), loaded, given.output)


@app.command("diff")
def diff(ctx: typer.Context, name: Names = None, no_color: NoColor = False) -> None:
    """Show what changed since it was approved, and all of what is new."""
    given = common(ctx)
    loaded = _project()
    from tooldisco_cli.catalog.trust import trust_status
    from tooldisco_cli.render.trust import show_diffs

    items = [item for item in trust_status(loaded) if item.standing != "approved"]
    if name:
        items = [item for item in items if item.reference in name or item.reference.partition("@")[0] in name]
    show_diffs(items, given.output)


@app.command("revoke")
def revoke_tools(ctx: typer.Context, name: Names = None, as_json: AsJson = False, quiet: Quiet = False) -> None:
    """Take approvals of this project back, all or those named."""
    given = common(ctx)
    loaded = _project()
    from tooldisco_cli.catalog.trust import revoke
    from tooldisco_cli.render.trust import show_revoked

    gone = revoke(loaded.layer.path, name or None)
    show_revoked(gone, given.output)
    if name and not gone:
        raise typer.Exit(NothingFound.exit_code)
