"""Nothing runs that somebody did not allow; whatever goes wrong here, nothing runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooldisco_cli.catalog.snapshot import Entry
from tooldisco_cli.catalog.tool import Annotations, Layer, Source, Tool
from tooldisco_cli.errors import Refused, Untrusted
from tooldisco_cli.execution.approval import approve
from tooldisco_cli.execution.protocol import ApprovalRequest
from tooldisco_cli.settings import Policy

READ_ONLY = Annotations(read_only=True)
WRITES = Annotations(destructive=False)
DESTROYS = Annotations(destructive=True)
UNKNOWN = Annotations()

Approve = Callable[[ApprovalRequest], Awaitable[Any]]


def entry(annotations: Annotations, *, trusted: bool = True, **tool: Any) -> Entry:
    declared = Tool(name="send_sms", annotations=annotations, category="communication", **tool)
    return Entry(tool=declared, source=Source(Layer("code", ""), "", 0), digest="d", trusted=trusted)


def says(decision: Any) -> Approve:
    async def approver(request: ApprovalRequest) -> Any:
        return decision

    return approver


def runs(
    asked: Entry,
    *,
    policy: Policy | None = None,
    approver: Any = None,
    assume_yes: Any = False,
    remembered: set[str] | None = None,
) -> bool:
    try:
        asyncio.run(
            approve(
                asked,
                {"phone": "+86"},
                lambda: {"argv": ["x"]},
                policy=policy or Policy(),
                approver=approver,
                assume_yes=assume_yes,
                remembered=remembered,
            )
        )
    except Refused as error:
        assert error.exit_code == 5
        return False
    return True


def test_what_only_reads_runs_at_once() -> None:
    assert runs(entry(READ_ONLY))
    assert not runs(entry(Annotations(read_only=True, destructive=True)))


@pytest.mark.parametrize("annotations", [WRITES, DESTROYS, UNKNOWN])
def test_everything_else_asks_and_is_refused_where_nobody_can_be_asked(annotations: Annotations) -> None:
    assert not runs(entry(annotations))
    assert runs(entry(annotations), approver=says("once"))
    assert not runs(entry(annotations), approver=says("no"))


@pytest.mark.parametrize("decision", [None, True, "", "yes", "ONCE", 1, object()])
def test_only_the_words_that_allow_do(decision: Any) -> None:
    assert not runs(entry(WRITES), approver=says(decision))


@pytest.mark.parametrize("trouble", [RuntimeError("x"), EOFError(), OSError("terminal gone"), ValueError("\0")])
def test_an_approver_that_fails_allows_nothing(trouble: Exception) -> None:
    async def approver(request: ApprovalRequest) -> Any:
        raise trouble

    assert not runs(entry(WRITES), approver=approver)


def test_the_request_says_what_would_happen() -> None:
    seen: list[ApprovalRequest] = []

    async def approver(request: ApprovalRequest) -> Any:
        seen.append(request)
        return "once"

    assert runs(entry(DESTROYS), approver=approver)
    [request] = seen
    assert (request.reference, request.destructive, request.open_world) == ("send_sms", True, True)
    assert (request.preview, request.arguments) == ({"argv": ["x"]}, {"phone": "+86"})


def test_yes_covers_what_does_not_destroy() -> None:
    assert runs(entry(WRITES), assume_yes=True)
    assert not runs(entry(DESTROYS), assume_yes=True)
    assert not runs(entry(UNKNOWN), assume_yes=True)


def test_a_name_covers_exactly_that_tool() -> None:
    assert runs(entry(DESTROYS), assume_yes={"send_sms"})
    assert runs(entry(DESTROYS), assume_yes={"send_sms@1.0"})
    assert not runs(entry(DESTROYS), assume_yes={"send_sms@2.0"})
    for other in ({"send"}, "send_sms_all", "", set(), ["sms"]):
        assert not runs(entry(DESTROYS), assume_yes=other)


@pytest.mark.parametrize(
    ("policy", "allows_writing", "allows_destroying"),
    [
        (Policy(allow_tools=("send_sms",)), True, True),
        (Policy(allow_tools=("send_sms@1.0",)), True, True),
        (Policy(allow_tools=("send_*", "sms")), False, False),
        (Policy(allow_categories=("communication",)), True, False),
        (Policy(allow_categories=("data",)), False, False),
        (Policy(allow_annotations=("idempotent",)), True, False),
        (Policy(allow_annotations=("idempotent", "closed_world")), False, False),
        (Policy(allow_annotations=("no_such",)), False, False),
        (Policy(), False, False),
    ],
)
def test_a_policy_allows_what_it_names(policy: Policy, allows_writing: bool, allows_destroying: bool) -> None:
    assert runs(entry(Annotations(destructive=False, idempotent=True)), policy=policy) is allows_writing
    assert runs(entry(Annotations(destructive=True, idempotent=True)), policy=policy) is allows_destroying


@pytest.mark.parametrize("name", ["send_sms", "sendSMS", "send-sms", "twilio:send", "send_sms@1.0"])
def test_what_is_denied_never_runs(name: str) -> None:
    policy = Policy(deny_tools=(name,), allow_tools=("send_sms",), allow_categories=("communication",))
    for kind in (READ_ONLY, WRITES, DESTROYS):
        denied = entry(kind, aliases=("twilio:send",))
        assert not runs(denied, policy=policy, approver=says("once"), assume_yes={"send_sms"})


def test_what_is_not_trusted_never_runs() -> None:
    untrusted = entry(READ_ONLY, trusted=False)
    with pytest.raises(Untrusted, match="nobody approved"):
        asyncio.run(
            approve(
                untrusted,
                {},
                dict,
                policy=Policy(allow_tools=("send_sms",)),
                approver=says("once"),
                assume_yes={"send_sms"},
            )
        )


def test_a_session_remembers_exactly_what_was_approved() -> None:
    remembered: set[str] = set()
    assert runs(entry(DESTROYS), approver=says("session"), remembered=remembered)
    assert runs(entry(DESTROYS), remembered=remembered)
    changed = Entry(tool=entry(DESTROYS).tool, source=Source(Layer("code", ""), "", 0), digest="other")
    assert not runs(changed, remembered=remembered)
    assert not runs(entry(DESTROYS, version="2.0"), remembered=remembered)


def test_once_is_not_remembered() -> None:
    remembered: set[str] = set()
    assert runs(entry(WRITES), approver=says("once"), remembered=remembered)
    assert not runs(entry(WRITES), remembered=remembered)


@pytest.mark.parametrize(("annotations", "way"), [(WRITES, "--yes"), (DESTROYS, "--confirm send_sms")])
def test_a_refusal_says_what_would_allow_it(annotations: Annotations, way: str) -> None:
    with pytest.raises(Refused) as raised:
        asyncio.run(approve(entry(annotations), {}, dict, policy=Policy(), approver=None))
    assert way in raised.value.hint
    assert "policy.allow_tools" in raised.value.hint


@given(
    st.builds(
        Policy,
        allow_tools=st.lists(st.sampled_from(["send_sms", "other"])).map(tuple),
        allow_categories=st.lists(st.sampled_from(["communication", "data"])).map(tuple),
        allow_annotations=st.lists(st.sampled_from(["idempotent", "closed_world", "x"])).map(tuple),
    ),
    st.booleans(),
)
def test_what_destroys_runs_only_by_its_name(policy: Policy, yes: bool) -> None:
    destroys = entry(Annotations(destructive=True, idempotent=True, open_world=False))
    assert runs(destroys, policy=policy, assume_yes=yes) is ("send_sms" in policy.allow_tools)
