"""Who may run what: settings first, then a person. It fails closed: whatever goes wrong here, nothing runs."""

from __future__ import annotations

from collections.abc import Callable, Collection

from tooldisco_cli.catalog.snapshot import Entry, normalised_name
from tooldisco_cli.catalog.tool import Tool
from tooldisco_cli.errors import Refused, TooldiscoError, Untrusted
from tooldisco_cli.execution.protocol import ApprovalRequest, Approver, JsonObject
from tooldisco_cli.settings import Policy

AssumeYes = bool | Collection[str]
"""True allows every tool that is not destructive; names allow exactly these tools, destructive or not."""


def refuse_outright(entry: Entry, policy: Policy) -> None:
    """Refuse what can never run, whoever approves: an untrusted tool (Untrusted), one of ``deny_tools`` (Refused).

    A denied name holds for all versions and spellings of the tool, and for its aliases; ``name@version`` for one.
    """
    if entry.trusted is not True:
        raise Untrusted(
            f"{entry.reference} comes from a project's own tools.d that nobody approved, or it changed since",
            hint="look at it with: tooldisco tools show; then approve it with: tooldisco trust",
            details={"tool": entry.reference, "path": entry.source.path},
        )
    tool = entry.tool
    denied = {normalised_name(name) for name in policy.deny_tools}
    exact = {*policy.deny_tools} & {tool.name, f"{tool.name}@{tool.version}", entry.reference}
    if exact or denied & {normalised_name(name) for name in (tool.name, *tool.aliases)}:
        raise Refused(f"{entry.reference} is denied by the policy", hint="deny_tools in config.toml names it")


def allowed_by_policy(tool: Tool, policy: Policy) -> bool:
    """Whether settings let a tool run without asking. A destructive one only by its name, or ``name@version``."""
    if tool.name in policy.allow_tools or f"{tool.name}@{tool.version}" in policy.allow_tools:
        return True
    if tool.annotations.may_destroy:
        return False
    if tool.category in policy.allow_categories:
        return True
    has = {"idempotent": tool.annotations.idempotent, "closed_world": not tool.annotations.open_world}
    wanted = policy.allow_annotations
    return bool(wanted) and all(has.get(name, False) for name in wanted)


def remembrance(entry: Entry) -> str:
    """Return what stands for exactly this declaration of a tool in the approvals of a session."""
    return f"{entry.tool.name}@{entry.tool.version}#{entry.digest}"


def needs_no_person(entry: Entry, policy: Policy, assume_yes: AssumeYes, remembered: Collection[str]) -> bool:
    """Whether a tool runs without asking: it changes nothing, or policy, ``assume_yes`` or a session allows it.

    ``remembered`` holds the :func:`remembrance` of tools that a person allowed for the session.
    """
    tool = entry.tool
    if tool.annotations.read_only and not tool.annotations.may_destroy:
        return True
    if allowed_by_policy(tool, policy) or remembrance(entry) in remembered:
        return True
    if isinstance(assume_yes, bool):
        return assume_yes and not tool.annotations.may_destroy
    names = {assume_yes} if isinstance(assume_yes, str) else set(assume_yes)
    return bool(names & {tool.name, entry.reference, f"{tool.name}@{tool.version}"})


async def approve(
    entry: Entry,
    arguments: JsonObject,
    preview: Callable[[], JsonObject],
    *,
    policy: Policy,
    approver: Approver | None,
    assume_yes: AssumeYes = False,
    remembered: set[str] | None = None,
) -> None:
    """Return when the tool may run now; a decision for the session is added to ``remembered``.

    ``preview`` is made only for a person. Raises Untrusted or Refused, saying what would allow it.
    """
    refuse_outright(entry, policy)
    kept = set[str]() if remembered is None else remembered
    if needs_no_person(entry, policy, assume_yes, kept):
        return
    if approver is None:
        raise _nobody_to_ask(entry, assume_yes)
    request = ApprovalRequest(
        reference=entry.reference,
        preview=preview(),
        destructive=entry.tool.annotations.may_destroy,
        open_world=entry.tool.annotations.open_world,
        arguments=arguments,
    )
    try:
        decision = await approver(request)
    except TooldiscoError:
        raise
    except Exception as trouble:
        raise Refused(
            f"{entry.reference} was not run: asking for approval failed: {type(trouble).__name__}: {trouble}"
        ) from trouble
    if decision == "session":
        kept.add(remembrance(entry))
    elif decision != "once":
        raise Refused(f"{entry.reference} was not approved", details={"tool": entry.reference})


def _nobody_to_ask(entry: Entry, assume_yes: AssumeYes) -> Refused:
    name = entry.tool.name
    details = {"tool": entry.reference, "destructive": entry.tool.annotations.may_destroy}
    if entry.tool.annotations.may_destroy:
        also = "--yes does not cover it: it" if assume_yes is True else "it"
        return Refused(
            f"{entry.reference} was not run: {also} may delete or overwrite, and nobody can be asked here",
            hint=f"confirm it by name with --confirm {name}, or add it to policy.allow_tools in config.toml",
            details=details,
        )
    return Refused(
        f"{entry.reference} was not run: it needs approval, and nobody can be asked here",
        hint=f'allow it with --yes, or by policy.allow_tools = ["{name}"], allow_categories or allow_annotations '
        "in config.toml",
        details=details,
    )
