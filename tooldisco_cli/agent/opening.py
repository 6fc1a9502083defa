"""Opens a session: loads what it needs, side by side with the import of the SDK, and puts the parts together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tooldisco_cli.agent.backend import Backend
from tooldisco_cli.agent.discovery import Discovery
from tooldisco_cli.agent.session import Limits, Session
from tooldisco_cli.agent.trace import Trace, TraceWriter, new_session_id, sessions_folder
from tooldisco_cli.catalog.snapshot import Catalog
from tooldisco_cli.execution.masking import Masker
from tooldisco_cli.execution.pipeline import Workbench
from tooldisco_cli.execution.protocol import Approver
from tooldisco_cli.execution.secrecy import MIN_SECRET_LENGTH, secrets_of
from tooldisco_cli.meta.answering import Asker, MetaTools
from tooldisco_cli.meta.definitions import SYSTEM_PROMPT
from tooldisco_cli.search.habits import Habits
from tooldisco_cli.search.index import SearchIndex
from tooldisco_cli.search.live import LiveCatalog
from tooldisco_cli.search.semantics import semantics
from tooldisco_cli.settings import Settings

_OWN_SECRETS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")


@dataclass(frozen=True, kw_only=True)
class Opening:
    """All that a session is opened with."""

    catalog: Catalog
    index: SearchIndex
    settings: Settings
    environment: Mapping[str, str]
    folder: Path
    backend: Backend
    model: str
    limits: Limits = field(default_factory=Limits)
    discovery: Discovery = "meta"
    pins: Sequence[str] = ()
    system: str = ""
    rehearse: bool = False
    assume_yes: bool | Collection[str] = False
    approver: Approver | None = None
    asker: Asker | None = None
    resumed: Trace | None = None
    record: bool = True
    live: LiveCatalog | None = None
    """What keeps ``catalog`` and ``index``, which are its own, current during the session."""
    by_meaning: bool = True
    """Whether searches go by meaning, too, where the extra is installed; ``search_by_meaning`` can forbid it."""
    by_usage: bool = True
    """Whether earlier use orders tools that fit a search alike; the setting ``search_by_usage`` can forbid it."""


def open_session(opening: Opening) -> Session:
    """Return a session that is ready to run, new or resumed; what a trace holds of shown tools is kept.

    Raises UnknownTool for a pin that is not in the catalog.
    """
    resumed = opening.resumed
    session_id = resumed.session if resumed else new_session_id()
    bench = Workbench(
        catalog=opening.catalog,
        settings=opening.settings,
        environment=opening.environment,
        folder=opening.folder,
        session=session_id,
    )
    meta = MetaTools(
        catalog=opening.catalog,
        index=opening.index,
        bench=bench,
        approver=opening.approver,
        asker=opening.asker,
        assume_yes=opening.assume_yes,
        rehearse=opening.rehearse,
        shown=set(resumed.state.get("shown", ())) if resumed else set(),
        meaning=semantics(opening.by_meaning and opening.settings.search_by_meaning, opening.environment),
        live=opening.live,
        habits=Habits(opening.environment) if opening.by_usage and opening.settings.search_by_usage else None,
    )
    trace, follow = None, None
    if opening.record:
        path = resumed.path if resumed else sessions_folder(opening.environment) / f"{session_id}.jsonl"
        header = {"session": session_id, "model": opening.model, "discovery": opening.discovery}
        trace = TraceWriter(path, header, Masker(all_secrets(opening.catalog, opening.environment)))
        follow = _masking(trace, opening)
    return Session(
        id=session_id,
        backend=opening.backend,
        meta=meta,
        model=opening.model,
        trace=trace,
        limits=opening.limits,
        discovery=opening.discovery,
        pins=tuple(opening.pins),
        system=opening.system or SYSTEM_PROMPT,
        messages=list(resumed.messages) if resumed else [],
        on_change=follow,
    )


def _masking(trace: TraceWriter, opening: Opening) -> Callable[[Catalog], None]:
    """Return what masks, after each change, the secrets of every catalog that the session has had."""
    known = set(all_secrets(opening.catalog, opening.environment))

    def follow(catalog: Catalog) -> None:
        known.update(all_secrets(catalog, opening.environment))
        trace.mask_with(Masker(known))

    return follow


def all_secrets(catalog: Catalog, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return every secret value that any tool of the catalog, or the model service, takes from the environment."""
    own = (environment.get(name, "") for name in _OWN_SECRETS)
    # A server of one's own takes any key, such as `x`, and masking that would mask half of every word.
    found = {value for value in own if len(value) >= MIN_SECRET_LENGTH}
    for versions in catalog.by_name.values():
        for entry in versions:
            server = entry.server
            if server is None and entry.tool.mcp is not None:
                server = catalog.servers.get(entry.tool.mcp.server)
            found.update(secrets_of(entry.tool, environment, server))
    return tuple(sorted(found, key=lambda text: (-len(text), text)))


def system_prompt(given: str | None) -> str:
    """Return the system prompt: ours, ours followed by what begins with ``+``, or what replaces it.

    ``@file`` takes the text from a file; ``+@file`` too. Raises UsageError for a file that cannot be read.
    """
    from tooldisco_cli.errors import UsageError

    if given is None:
        return SYSTEM_PROMPT
    extends = given.startswith("+")
    text = given.removeprefix("+")
    if text.startswith("@"):
        try:
            text = Path(text[1:]).expanduser().read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"--system: {text[1:]} cannot be read: {error}") from error
    return f"{SYSTEM_PROMPT}\n\n{text.strip()}" if extends else text
