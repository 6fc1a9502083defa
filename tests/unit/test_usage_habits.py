"""What earlier use is worth, and that it only ever orders what fits alike."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooldisco_cli.catalog.snapshot import Entry
from tooldisco_cli.catalog.tool import Annotations, Layer, Source, Tool
from tooldisco_cli.search.habits import Habits
from tooldisco_cli.search.index import SearchIndex
from tooldisco_cli.search.weights import DEFAULT
from tooldisco_cli.usage.habits import worth, worths
from tooldisco_cli.usage.log import UsageLog, UsageSummary

DAY = 86400.0
TEXTS = {
    "east_mail": "Send an email to a customer.",
    "north_mail": "Send an email to a customer.",
    "west_mail": "Send an email to a customer.",
    "mail_report": "Send an email to a customer, with a report on many other things such as stock and prices.",
    "weather": "Tell the weather of a city.",
}


def summary(count: int, failed: int = 0, days: float = 0.0) -> UsageSummary:
    return UsageSummary(tool="x", count=count, failed=failed, last_used=-days * DAY, mean_seconds=1.0)


@pytest.fixture(scope="module")
def index() -> SearchIndex:
    def entry(name: str, text: str) -> Entry:
        tool = Tool(name=name, description=text, annotations=Annotations(read_only=True), input_schema={})
        return Entry(tool=tool, source=Source(Layer("code", ""), "", 0), digest="")

    return SearchIndex.build(entry(name, text) for name, text in TEXTS.items())


def names(index: SearchIndex, query: str = "email to a customer", **options) -> list[str]:
    return [hit.name for hit in index.search(query, **options).hits]


class TestWorth:
    def test_more_lately_and_with_success_is_worth_more(self):
        assert worth(summary(50), 0) > worth(summary(5), 0) > worth(summary(1), 0) > 0
        assert worth(summary(10), 0) > worth(summary(10, failed=5), 0)
        assert worth(summary(10, days=30), 0) == pytest.approx(worth(summary(10), 0) / 2)

    def test_only_failures_are_worth_nothing(self):
        assert worth(summary(9, failed=9), 0) == 0.0

    @given(st.integers(1, 10**9), st.integers(0, 10**9), st.floats(-1e4, 1e6))
    def test_it_is_from_0_to_1(self, count, failed, days):
        assert 0.0 <= worth(summary(count, min(failed, count), days), 0) <= 1.0


class TestOrder:
    def test_without_use_ties_are_broken_by_name(self, index):
        assert names(index)[:3] == ["east_mail", "north_mail", "west_mail"]
        assert names(index.with_usage({}))[:3] == ["east_mail", "north_mail", "west_mail"]

    def test_among_equals_the_used_one_comes_first_even_from_beyond_the_limit(self, index):
        used = index.with_usage({"west_mail": 0.9, "north_mail": 0.2})
        assert names(used)[:3] == ["west_mail", "north_mail", "east_mail"]
        assert names(used, limit=1) == ["west_mail"]

    def test_words_decide_wherever_they_say_something(self, index):
        used = index.with_usage({"mail_report": 1.0, "weather": 1.0})
        assert names(used) == names(index)
        assert names(used, "weather") == ["weather"]

    def test_a_name_that_is_called_and_sentences_with_several_needs_are_left_alone(self, index):
        used = index.with_usage({"west_mail": 1.0})
        assert names(used, "east_mail")[0] == "east_mail"
        two = "Send an email to a customer. Tell the weather of a city."
        assert names(used, two) == names(index, two)

    def test_relevances_total_and_floor_stay_what_words_made_them(self, index):
        used = index.with_usage({"west_mail": 1.0, "mail_report": 1.0})
        plain, lifted = index.search("email to a customer"), used.search("email to a customer")
        assert [hit.relevance_score for hit in lifted.hits] == [hit.relevance_score for hit in plain.hits]
        assert (lifted.total, lifted.confident) == (plain.total, plain.confident)

    @given(st.dictionaries(st.sampled_from(list(TEXTS)), st.floats(0.0, 1.0)))
    def test_no_tool_passes_another_by_more_than_the_bound(self, index, used):
        query = "email report to a customer in a city"
        scores = {
            hit.name: sum(one.score for one in hit.contributions) for hit in index.search(query, explain=True).hits
        }
        after = names(index.with_usage(used), query)
        assert set(after) == set(scores)
        for place, name in enumerate(after):
            for later in after[place + 1 :]:
                assert scores[later] <= scores[name] * (1.0 + DEFAULT.usage) * (1.0 + 1e-6)

    def test_an_explanation_tells_what_use_added(self, index):
        hit = index.with_usage({"west_mail": 1.0}).search("email to a customer", explain=True).hits[0]
        (use,) = [one for one in hit.contributions if one.field == "usage"]
        rest = sum(one.score for one in hit.contributions) - use.score
        assert use.score == pytest.approx(DEFAULT.usage * rest, rel=0.05)
        assert not [one for one in index.search("email", explain=True).hits[0].contributions if one.field == "usage"]

    def test_names_that_the_index_does_not_have_are_left_out(self, index):
        assert names(index.with_usage({"gone": 1.0, "": 1.0, "west_mail": 0.5}))[0] == "west_mail"


class TestHabits:
    def environment(self, tmp_path: Path) -> dict[str, str]:
        return {"TOOLDISCO_HOME": str(tmp_path)}

    def test_they_are_read_from_the_log_and_again_later(self, index, tmp_path):
        log = UsageLog(environment=self.environment(tmp_path))
        habits = Habits(self.environment(tmp_path), again_seconds=0.0)
        assert habits.applied(index) is index
        log.record("west_mail", "1.0", "", 0.1)
        assert names(habits.applied(index))[0] == "west_mail"
        for _ in range(5):
            log.record("north_mail", "1.0", "", 0.1)
        assert names(habits.applied(index))[0] == "north_mail"

    def test_what_was_read_is_used_for_a_while(self, index, tmp_path):
        UsageLog(environment=self.environment(tmp_path)).record("west_mail", "1.0", "", 0.1)
        habits = Habits(self.environment(tmp_path), again_seconds=3600.0)
        assert habits.applied(index) is habits.applied(index)
        UsageLog(environment=self.environment(tmp_path)).path.unlink()
        assert names(habits.applied(index))[0] == "west_mail"

    def test_a_log_that_is_absent_damaged_or_held_by_somebody_is_no_failure(self, index, tmp_path):
        log = UsageLog(environment=self.environment(tmp_path), wait_seconds=0.05)
        assert worths(log) == {}
        log.record("west_mail", "1.0", "", 0.1)
        holder = sqlite3.connect(log.path, isolation_level=None)
        holder.execute("PRAGMA locking_mode = EXCLUSIVE")
        holder.execute("BEGIN EXCLUSIVE")
        holder.execute("DELETE FROM day")
        try:
            assert set(worths(log)) <= {"west_mail"}  # in WAL mode readers may go on beside a writer
        finally:
            holder.close()
        for path in log.path.parent.iterdir():
            path.write_bytes(b"no database" * 1000)
        assert worths(log) == {}
        assert Habits(self.environment(tmp_path)).applied(index) is index
