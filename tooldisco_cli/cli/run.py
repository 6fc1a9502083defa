"""``tooldisco run``: a session, for one task or as a conversation."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tooldisco_cli.cli.completion import complete_tool
from tooldisco_cli.cli.context import Common, common
from tooldisco_cli.cli.options import NoColor, Quiet, ToolsDirs
from tooldisco_cli.errors import ModelUnavailable, UnknownTool, UsageError

if TYPE_CHECKING:
    from tooldisco_cli.agent.backend import Backend
    from tooldisco_cli.agent.opening import Opening
    from tooldisco_cli.agent.session import Limits
    from tooldisco_cli.agent.trace import Trace
    from tooldisco_cli.catalog.snapshot import Catalog
    from tooldisco_cli.search.live import LiveCatalog

app = typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)

GUIDED = "guided"


class Discovery(StrEnum):
    """The ways of ``agent.discovery``."""

    META = "meta"
    NATIVE = "native"
    SERVER = "server"
    SERVER_REGEX = "server-regex"
    ALL = "all"


Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        help="Model of the service, or `guided` for none: you choose and fill in.",
        show_default=False,
    ),
]
BaseUrl = Annotated[
    str | None, typer.Option("--base-url", help="A server that speaks the Messages API. Also ANTHROPIC_BASE_URL.")
]
MaxTurns = Annotated[int, typer.Option("--max-turns", min=1, max=1000, help="Answers of the model at most.")]
MaxTokens = Annotated[int, typer.Option("--max-tokens", min=1, help="Tokens of one answer at most.")]
Budget = Annotated[
    int, typer.Option("--budget-tokens", min=0, help="Tokens of the whole session at most; 0: no limit.")
]
Rehearse = Annotated[
    bool, typer.Option("--dry-run", help="Run nothing: each call is answered with what it would do.")
]
Yes = Annotated[
    bool, typer.Option("--yes", "-y", help="Do not ask before tools run; those that may delete still need --confirm.")
]
Confirm = Annotated[
    list[str] | None,
    typer.Option("--confirm", metavar="NAME", help="This tool may run without asking.", show_default=False),
]
EventsAsJson = Annotated[bool, typer.Option("--json", help="Print one JSON event per line, described in the README.")]


@app.command("run", short_help="Give Claude a task, with every tool of the catalog.")
def run(
    ctx: typer.Context,
    task: Annotated[
        list[str] | None, typer.Argument(metavar="[TASK]...", help="The task, or @FILE; left out, a conversation.")
    ] = None,
    stdin: Annotated[bool, typer.Option("--stdin", help="Read the task from standard input.")] = False,
    model: Model = None,
    base_url: BaseUrl = None,
    discovery: Annotated[Discovery, typer.Option("--discovery", help="How the model finds tools.")] = Discovery.META,
    pin: Annotated[
        list[str] | None,
        typer.Option(
            "--pin", metavar="NAME", help="Give this tool up front.", autocompletion=complete_tool, show_default=False
        ),
    ] = None,
    system: Annotated[
        str | None,
        typer.Option("--system", metavar="TEXT", help="Replace the system prompt; +TEXT extends it; @FILE, +@FILE."),
    ] = None,
    max_turns: MaxTurns = 40,
    max_tokens: MaxTokens = 8192,
    budget_tokens: Budget = 0,
    rehearse: Rehearse = False,
    yes: Yes = False,
    confirm: Confirm = None,
    no_meaning: Annotated[
        bool, typer.Option("--no-meaning", help="Search by words alone, also where the semantic extra is installed.")
    ] = False,
    no_usage: Annotated[
        bool, typer.Option("--no-usage", help="Order tools that fit alike by name, not by how they were used before.")
    ] = False,
    no_record: Annotated[bool, typer.Option("--no-record", help="Keep no record of the session.")] = False,
    as_json: EventsAsJson = False,
    tools_dir: ToolsDirs = None,
    no_color: NoColor = False,
    quiet: Quiet = False,
) -> None:
    """Run a session in which a model discovers tools by searching, and uses them.

    It sees only search_tools, execute_dynamic_tool and three small helpers, however many tools there are. Exits 6
    when the model service cannot be used, 4 when the session ended otherwise than done.
    """
    given = common(ctx)
    text = _task(task, from_stdin=stdin)
    if text is None and not (sys.stdin and sys.stdin.isatty()):
        raise UsageError("there is no task", hint="give one in words, as @FILE, or with --stdin")
    from tooldisco_cli.agent.session import Limits

    run_session(
        given,
        text,
        model=model,
        base_url=base_url,
        discovery=discovery.value,
        pins=tuple(pin or ()),
        system=system,
        limits=Limits(max_turns=max_turns, max_tokens=max_tokens, budget_tokens=budget_tokens),
        rehearse=rehearse,
        yes=yes,
        confirm=tuple(confirm or ()),
        record=not no_record,
        by_meaning=not no_meaning,
        by_usage=not no_usage,
        stdin_is_task=stdin,
    )


def _task(words: list[str] | None, *, from_stdin: bool) -> str | None:
    if from_stdin:
        if words:
            raise UsageError("give the task in words or with --stdin, not both")
        text = sys.stdin.buffer.read(10_000_000).decode("utf-8-sig", "replace")
    elif not words:
        return None
    elif len(words) == 1 and words[0].startswith("@"):
        try:
            text = Path(words[0][1:]).expanduser().read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror or type(error).__name__ if isinstance(error, OSError) else "it is no UTF-8 text"
            raise UsageError(
                f"the task's file {words[0][1:]} cannot be read: {why}", hint="@FILE takes the task from a text file"
            ) from error
    else:
        text = " ".join(words)
    if not text.strip():
        raise UsageError("the task is empty")
    return text.encode("utf-8", "replace").decode()


def run_session(
    given: Common,
    text: str | None,
    *,
    model: str | None,
    base_url: str | None = None,
    discovery: str = "meta",
    pins: tuple[str, ...] = (),
    system: str | None = None,
    limits: Limits | None = None,
    rehearse: bool = False,
    yes: bool = False,
    confirm: tuple[str, ...] = (),
    record: bool = True,
    by_meaning: bool = True,
    by_usage: bool = True,
    resumed: Trace | None = None,
    backend: Backend | None = None,
    stdin_is_task: bool = False,
) -> None:
    """Open a session and run one task, or a conversation when ``text`` is None; ends the command by its outcome."""
    if model != GUIDED and backend is None:
        from tooldisco_cli.agent.warmup import begin_importing

        begin_importing()
    from tooldisco_cli.agent.anthropic_backend import DEFAULT_MODEL, AnthropicBackend
    from tooldisco_cli.agent.opening import Opening, system_prompt
    from tooldisco_cli.agent.session import Limits as SessionLimits
    from tooldisco_cli.render.asking import terminal_approver
    from tooldisco_cli.render.person import answer_question, can_ask
    from tooldisco_cli.search.live import LiveCatalog
    from tooldisco_cli.settings import load_settings

    settings = load_settings()
    live = LiveCatalog(given.tools_dirs, settings=settings)
    catalog = live.catalog
    given.warn_about(catalog)
    here = can_ask() and not stdin_is_task and not given.output.as_json
    chosen = model or settings.model or DEFAULT_MODEL
    if backend is None:
        if chosen == GUIDED:
            backend = _guided(live, here=here)
        else:
            backend = AnthropicBackend(base_url=base_url or settings.base_url)
    confirmed = {_named(catalog, name, "--confirm") for name in confirm}
    pins = tuple(_named(catalog, name, "--pin") for name in pins)
    read_only_names = {entry.name for entry in catalog if not entry.tool.annotations.may_destroy} if yes else set()
    opening = Opening(
        catalog=catalog,
        index=live.index,
        live=live,
        settings=settings,
        environment=dict(os.environ),
        folder=Path.cwd(),
        backend=backend,
        model=chosen,
        limits=limits or SessionLimits(),
        discovery=discovery,  # type: ignore[arg-type]  # checked by the option's type
        pins=pins,
        system=system_prompt(system),
        rehearse=rehearse,
        assume_yes=confirmed | read_only_names if confirmed else yes,
        approver=terminal_approver(session=True) if here else None,
        asker=answer_question if here else None,
        resumed=resumed,
        record=record,
        by_meaning=by_meaning,
        by_usage=by_usage,
    )
    _run(given, opening, text, offers_guided=here and model is None)


def _named(catalog: Catalog, name: str, option: str) -> str:
    try:
        return catalog.get(name).name
    except UnknownTool as error:
        hint = error.hint or "tooldisco search WORDS finds tools by what they do; tooldisco tools list names all"
        raise UnknownTool(f"{option}: {error.message}", hint=hint, details=error.details) from error


def _guided(live: LiveCatalog, *, here: bool) -> Backend:
    from tooldisco_cli.agent.guided import GuidedBackend
    from tooldisco_cli.render.person import TerminalPerson

    if not here:
        raise UsageError("the guided mode needs a person at a terminal")
    return GuidedBackend(lambda: live.catalog, TerminalPerson())


def _run(given: Common, opening: Opening, text: str | None, *, offers_guided: bool) -> None:
    from tooldisco_cli.agent.anthropic_backend import AnthropicBackend
    from tooldisco_cli.agent.opening import open_session
    from tooldisco_cli.cli.running import run_until_interrupted
    from tooldisco_cli.render.conversation import converse, run_task
    from tooldisco_cli.render.failure import show_failure
    from tooldisco_cli.render.session import session_view

    if isinstance(opening.backend, AnthropicBackend):
        # Before anything is recorded or shown: without credentials there is no session.
        try:
            run_until_interrupted(opening.backend.check())
        except ModelUnavailable as missing:
            if not offers_guided:
                raise
            show_failure(missing, as_json=False)
            if not _goes_on_guided(given, opening, text):
                raise typer.Exit(missing.exit_code) from missing
            return
    session = open_session(opening)
    view = session_view(given.output)
    view(session.started())
    if text is None:
        raise typer.Exit(run_until_interrupted(converse(session, view, given.output)))
    ended = run_until_interrupted(run_task(session, text, view))
    error = ended.error or {}
    refused = error.get("code") == ModelUnavailable.code and "credentials" in str(error.get("message"))
    if offers_guided and refused and _goes_on_guided(given, opening, text):
        return
    if ended.stop not in {"end_turn", "stop_sequence"}:
        raise typer.Exit(int(error.get("exit_code", 4)))


def _goes_on_guided(given: Common, opening: Opening, text: str | None) -> bool:
    """Offer the guided mode in place of a model; return whether it was taken, and then is done."""
    from dataclasses import replace

    from tooldisco_cli.cli.running import run_until_interrupted
    from tooldisco_cli.render.person import confirm_guided

    if not run_until_interrupted(confirm_guided()):
        return False
    assert opening.live is not None
    backend = _guided(opening.live, here=True)
    _run(given, replace(opening, backend=backend, model=GUIDED), text, offers_guided=False)
    return True
