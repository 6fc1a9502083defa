"""The options that may stand before a command's name and after it, taken together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tooldisco_cli.render.streams import Output

if TYPE_CHECKING:
    import typer

    from tooldisco_cli.catalog import Catalog


class Common(NamedTuple):
    """The options that every command takes, wherever they stood."""

    tools_dirs: tuple[Path, ...] = ()
    output: Output = Output()

    def load(self) -> Catalog:
        """Load the catalog and say on stderr what is wrong with it, unless told to be quiet."""
        import gc

        from tooldisco_cli.catalog import load_catalog
        from tooldisco_cli.catalog.reading import collection_paused
        from tooldisco_cli.render.progress import progress

        with collection_paused(), progress("reading manifests", self.output) as tell:
            catalog = load_catalog(self.tools_dirs, tell=tell)
            gc.freeze()  # the catalog lives to the end, and nothing in it is to be found unused
        self.warn_about(catalog)
        return catalog

    def load_tools(self, *names: str) -> Catalog:
        """Load as much of the catalog as has some tools: their manifests alone where the kept index tells so."""
        from tooldisco_cli.search.declared import declared_tools

        found = declared_tools(names, self.tools_dirs)
        if found is None:
            return self.load()
        catalog, messages = found
        self.warn(messages)
        return catalog

    def warn_about(self, catalog: Catalog) -> None:
        """Say on stderr what is wrong with the catalog, unless told to be quiet."""
        problems = [(problem.severity, str(problem)) for problem in catalog.problems]
        self.warn([*problems, *(("note", note) for note in catalog.notes)])

    def warn(self, messages: Sequence[tuple[str, str]]) -> None:
        """Say on stderr what is wrong with manifests, unless told to be quiet; pairs of severity and text."""
        if messages and not self.output.quiet:
            from tooldisco_cli.render.problems import warn_of

            warn_of(messages, self.output)


def common(ctx: typer.Context) -> Common:
    """Return the shared options of a command and of the groups above it, taken together."""
    levels = list(_levels(ctx))
    return Common(
        tools_dirs(ctx),
        Output(
            as_json=any(params.get("as_json") for params in levels),
            no_color=any(params.get("no_color") for params in levels),
            quiet=any(params.get("quiet") for params in levels),
        ),
    )


def tools_dirs(ctx: typer.Context) -> tuple[Path, ...]:
    """Return the folders of every ``--tools-dir``, in the order in which they were given."""
    return tuple(Path(folder) for params in _levels(ctx) for folder in params.get("tools_dir") or ())


def _levels(ctx: Any) -> Iterator[dict[str, Any]]:
    if ctx.parent is not None:
        yield from _levels(ctx.parent)
    yield ctx.params
