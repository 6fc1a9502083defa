"""``tooldisco doctor``."""

from __future__ import annotations

import os

import typer

from tooldisco_cli.cli.context import common
from tooldisco_cli.cli.options import AsJson, NoColor, Quiet, ToolsDirs

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


@app.command("doctor")
def doctor(
    ctx: typer.Context,
    as_json: AsJson = False,
    tools_dir: ToolsDirs = None,
    no_color: NoColor = False,
    quiet: Quiet = False,
) -> None:
    """Check everything: manifests, what each tool lacks on this machine, the kept index, folders.

    Exits 3 when a manifest or the kept index is damaged; a tool that lacks something is no fault.
    """
    given = common(ctx)
    from tooldisco_cli import paths
    from tooldisco_cli.catalog.loading import check_catalog, load_catalog
    from tooldisco_cli.errors import CatalogInvalid
    from tooldisco_cli.execution.readiness import missing
    from tooldisco_cli.render.doctor import Checkup, show_checkup
    from tooldisco_cli.search.generations import kept_indexes, verify

    catalog = load_catalog(given.tools_dirs)
    folders = {"config": paths.config_folder(), "cache": paths.cache_folder(), "state": paths.state_folder()}
    checkup = Checkup(
        tools=len(catalog),
        missing={entry.reference: missing(entry, os.environ, servers=catalog.servers) for entry in catalog},
        untrusted=tuple(entry.reference for entry in catalog if not entry.trusted),
        problems=tuple(check_catalog(catalog)),
        notes=catalog.notes,
        index_faults=tuple(f"{folder}: {fault}" for folder in kept_indexes() for fault in verify(folder)),
        unwritable=tuple(str(path) for path in folders.values() if not _writable(path)),
        layers=tuple((layer.kind, layer.path) for layer in catalog.layers),
    )
    show_checkup(checkup, given.output)
    if checkup.index_faults or any(problem.severity == "error" for problem in checkup.problems):
        raise typer.Exit(CatalogInvalid.exit_code)


def _writable(path: os.PathLike[str]) -> bool:
    """Whether a folder can be written, or made."""
    from pathlib import Path

    folder = Path(path)
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder.is_dir() and os.access(folder, os.W_OK)
