"""Every execution is counted once, whoever else writes, and no disk can make a run fail."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tooldisco_cli.errors import TooldiscoError
from tooldisco_cli.usage import log as log_module
from tooldisco_cli.usage.log import UsageLog


@pytest.fixture
def log(tmp_path: Path) -> UsageLog:
    return UsageLog(tmp_path / "state" / "usage.sqlite")


def test_counts_outcomes_and_last_use(log):
    before = time.time()
    assert log.record("send_sms", "1.0", "", 0.5) == ""
    log.record("send_sms", "1.0", "timed_out", 1.5, "session-1")
    log.record("read_excel", "2.0", "", 1.0)
    summary = log.of("send_sms")
    assert (summary.count, summary.failed, summary.mean_seconds, summary.last_code) == (2, 1, 1.0, "timed_out")
    assert before <= summary.last_used <= time.time()
    assert [item.tool for item in log.popular()] == ["send_sms", "read_excel"]
    assert [item.tool for item in log.failing()] == ["send_sms"]
    assert (log.of("send_sms").ok, log.of("read_excel").ok) == (1, 1)
    assert log.of("never") is None


def test_nothing_of_arguments_or_results_is_stored(log):
    """What a row can hold is what `record` takes; this names it, so that nobody adds more by accident."""
    log.record("send_sms", "1.0", "", 0.5, "session-1")
    with sqlite3.connect(log.path) as database:
        columns = [row[1] for row in database.execute("PRAGMA table_info(execution)")]
    database.close()
    assert columns == ["id", "time", "tool", "version", "code", "seconds", "session"]


def test_sqlite_is_loaded_only_when_used():
    code = "import sys, tooldisco_cli.usage.log as log; log.UsageLog(); sys.exit('sqlite3' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_file_that_another_process_holds_is_waited_for_and_then_given_up(log, monkeypatch):
    log.record("t", "1.0", "", 1.0)
    monkeypatch.setattr(log_module, "_WAIT_SECONDS", 0.2)
    holder = sqlite3.connect(log.path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    assert "locked" in log.record("t", "1.0", "", 1.0)
    assert log.of("t").count == 1
    holder.close()
    assert log.record("t", "1.0", "", 1.0) == ""


@pytest.mark.skipif(os.name != "posix", reason="permissions as POSIX has them")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_counts_are_read_from_a_folder_that_may_not_be_written():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "state"
        log = UsageLog(folder / "usage.sqlite")
        log.record("t", "1.0", "", 1.0)
        Path(name).chmod(0o755)
        folder.chmod(0o555)
        child = os.fork()
        if child == 0:  # root may write anything, so the child is nobody in particular
            done = 1
            try:
                if os.geteuid() == 0:
                    os.setgroups([])
                    os.setuid(65534)
                warning = log.record("t", "1.0", "", 1.0)
                done = 0 if "could not be counted" in warning and log.of("t").count == 1 else 2
            finally:
                os._exit(done)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        folder.chmod(0o755)


def test_since_leaves_out_what_is_older(log):
    log.record("a", "1.0", "", 1.0)
    assert log.summaries(since=time.time() + 1) == {}
    assert list(log.summaries(since=time.time() - 60)) == ["a"]


def test_fifty_processes_at_once_lose_no_count(log):
    code = (
        "import sys; from pathlib import Path; from tooldisco_cli.usage.log import UsageLog\n"
        "log = UsageLog(Path(sys.argv[1]))\n"
        "sys.exit(any([log.record('t', '1.0', '', 0.1) for _ in range(4)]))"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, str(log.path)]) for _ in range(50)]
    assert [writer.wait(timeout=300) for writer in writers] == [0] * 50
    assert log.of("t").count == 200


def test_a_writer_that_is_killed_leaves_whole_counts(log):
    code = (
        "import sys; from pathlib import Path; from tooldisco_cli.usage.log import UsageLog\n"
        "log = UsageLog(Path(sys.argv[1]))\n"
        "while True: log.record('t', '1.0', '', 0.1)"
    )
    writer = subprocess.Popen([sys.executable, "-c", code, str(log.path)])
    while log.of("t") is None:
        time.sleep(0.01)
    writer.kill()
    writer.wait()
    count = log.of("t").count
    log.record("t", "1.0", "", 0.1)
    assert log.of("t").count == count + 1


def test_old_rows_are_added_up_by_day_and_no_count_is_lost(log, monkeypatch):
    monkeypatch.setattr(log_module, "KEPT_ROWS", 10)
    monkeypatch.setattr(log_module, "_CHECK_EVERY", 7)
    for number in range(60):
        log.record("t", "1.0", "tool_failed" if number % 3 == 0 else "", 1.0)
    with sqlite3.connect(log.path) as database:
        assert database.execute("SELECT COUNT(*) FROM execution").fetchone()[0] <= 17
    database.close()
    summary = log.of("t")
    assert (summary.count, summary.failed, summary.mean_seconds) == (60, 20, 1.0)


def test_a_disk_that_cannot_be_written_is_one_warning(tmp_path):
    (tmp_path / "file").write_text("")
    warning = UsageLog(tmp_path / "file" / "usage.sqlite").record("t", "1.0", "", 1.0)
    assert "could not be counted" in warning
    assert UsageLog(tmp_path / "file" / "usage.sqlite").summaries() == {}


def test_a_file_that_is_no_database_is_one_warning_and_a_clear_error_when_read(log):
    log.path.parent.mkdir()
    log.path.write_bytes(b"not a database" * 100)
    assert "could not be counted" in log.record("t", "1.0", "", 1.0)
    with pytest.raises(TooldiscoError, match="usage cannot be read"):
        log.summaries()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_warning():
    assert "could not be counted" in UsageLog(Path("/dev/full")).record("t", "1.0", "", 1.0)
