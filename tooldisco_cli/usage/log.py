"""Counts executions in SQLite, in the state folder. No argument and no result is ever stored.

Many processes may write at once: each count is one short transaction that waits for its turn. The newest executions
are rows of their own; older ones are added up by day, and days beyond a year and a bit are dropped, so the file stays
small. Recording never fails an execution: what went wrong is returned, for one warning.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tooldisco_cli import paths
from tooldisco_cli.errors import TooldiscoError

if TYPE_CHECKING:
    import sqlite3

KEPT_ROWS = 10_000
"""So many of the newest executions are kept as rows of their own."""
KEPT_DAYS = 400

_WAIT_SECONDS = 10.0
"""How long a count waits for other writers; each of them needs a millisecond or so."""
_CHECK_EVERY = 500
_SCHEMA = """
CREATE TABLE IF NOT EXISTS execution (
    id INTEGER PRIMARY KEY, time REAL NOT NULL, tool TEXT NOT NULL, version TEXT NOT NULL,
    code TEXT NOT NULL, seconds REAL NOT NULL, session TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS execution_tool ON execution (tool, time);
CREATE TABLE IF NOT EXISTS day (
    day INTEGER NOT NULL, tool TEXT NOT NULL, version TEXT NOT NULL, code TEXT NOT NULL,
    count INTEGER NOT NULL, seconds REAL NOT NULL, last REAL NOT NULL,
    PRIMARY KEY (day, tool, version, code)) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageSummary:
    """What is known of one tool's executions; times are seconds since the epoch."""

    tool: str
    count: int
    failed: int
    last_used: float
    mean_seconds: float
    last_code: str = ""
    """Code of the newest failure, empty when there was none."""

    @property
    def ok(self) -> int:
        """How many executions succeeded."""
        return self.count - self.failed


class UsageLog:
    """The file of counts; opened for each operation, so that nothing is held between them."""

    def __init__(
        self,
        path: Path | None = None,
        *,
        environment: Mapping[str, str] | None = None,
        wait_seconds: float = _WAIT_SECONDS,
    ) -> None:
        self.path = path or paths.state_folder(environment) / "usage.sqlite"
        self._wait_seconds = wait_seconds

    def record(self, tool: str, version: str, code: str, seconds: float, session: str = "") -> str:
        """Count one execution; ``code`` is empty for success, else the error's code. Return a warning or ``""``."""
        import sqlite3

        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._opened() as database:
                cursor = database.execute(
                    "INSERT INTO execution (time, tool, version, code, seconds, session) VALUES (?, ?, ?, ?, ?, ?)",
                    (time.time(), tool, version, code, seconds, session),
                )
                if (cursor.lastrowid or 0) % _CHECK_EVERY == 0:
                    _fold(database)
        except (sqlite3.Error, OSError) as error:
            return f"usage could not be counted: {error}"
        return ""

    def summaries(self, *, since: float = 0.0) -> dict[str, UsageSummary]:
        """Return what is known of each tool since a time, by name; nothing where there is no file.

        Raises TooldiscoError for a file that cannot be read.
        """
        import sqlite3

        if not self.path.exists():
            return {}
        query = """
            SELECT tool, SUM(count), SUM(CASE code WHEN '' THEN 0 ELSE count END), MAX(last), SUM(seconds)
            FROM (SELECT tool, code, 1 AS count, time AS last, seconds FROM execution WHERE time >= :since
                  UNION ALL
                  SELECT tool, code, count, last, seconds FROM day WHERE last >= :since)
            GROUP BY tool ORDER BY tool
        """
        failures = "SELECT tool, code, MAX(time) FROM execution WHERE code <> '' AND time >= :since GROUP BY tool"
        try:
            with self._opened(write=False) as database:
                if database.execute("PRAGMA user_version").fetchone()[0] == 0:
                    return {}  # some process is making the file at this moment
                codes = {tool: code for tool, code, _ in database.execute(failures, {"since": since})}
                rows = database.execute(query, {"since": since}).fetchall()
        except (sqlite3.Error, OSError) as error:
            raise TooldiscoError(
                f"{self.path}: usage cannot be read: {error}", hint="move the file away to begin counting anew"
            ) from error
        return {
            tool: UsageSummary(
                tool=tool,
                count=count,
                failed=failed,
                last_used=last,
                mean_seconds=seconds / count,
                last_code=codes.get(tool, ""),
            )
            for tool, count, failed, last, seconds in rows
        }

    def popular(self, *, limit: int = 20, since: float = 0.0) -> list[UsageSummary]:
        """Return the tools that were run most often since a time, most first."""
        found = self.summaries(since=since).values()
        return sorted(found, key=lambda item: (-item.count, item.tool))[:limit]

    def failing(self, *, limit: int = 20, since: float = 0.0) -> list[UsageSummary]:
        """Return the tools that failed since a time, the largest share of failures first."""
        found = [item for item in self.summaries(since=since).values() if item.failed]
        return sorted(found, key=lambda item: (-item.failed / item.count, -item.failed, item.tool))[:limit]

    def of(self, tool: str) -> UsageSummary | None:
        """Return what is known of one tool, or None when it never ran."""
        return self.summaries().get(tool)

    @contextmanager
    def _opened(self, *, write: bool = True) -> Iterator[sqlite3.Connection]:
        """Open the file for one transaction; one that writes is taken at once, so that waiting for others works."""
        import sqlite3

        database = sqlite3.connect(self.path, timeout=self._wait_seconds, isolation_level=None)
        try:
            if write:
                # In WAL mode a killed process loses nothing by this; only a power failure may take the last counts.
                database.execute("PRAGMA synchronous = NORMAL")
                if database.execute("PRAGMA user_version").fetchone()[0] == 0:
                    _create(database)
            elif not os.access(self.path.parent, os.W_OK):
                # Even to read it, SQLite makes files beside a WAL file; where it cannot, nobody else writes either.
                database.close()
                database = sqlite3.connect(f"{self.path.absolute().as_uri()}?immutable=1", uri=True)
            database.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            try:
                yield database
            except BaseException:
                database.execute("ROLLBACK")
                raise
            database.execute("COMMIT")
        finally:
            database.close()


def _create(database: sqlite3.Connection) -> None:
    """Make the tables; several processes may try at once, and the change to WAL does not wait by itself."""
    import sqlite3

    deadline = time.monotonic() + _WAIT_SECONDS
    while True:
        try:
            database.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
    database.execute("BEGIN IMMEDIATE")
    try:
        for statement in _SCHEMA.split(";"):
            database.execute(statement)
        database.execute("PRAGMA user_version = 1")
    except BaseException:
        database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


def _fold(database: sqlite3.Connection) -> None:
    """Add up all but the newest executions by day, and forget the oldest days."""
    newest = database.execute("SELECT MAX(id) FROM execution").fetchone()[0] or 0
    border = newest - KEPT_ROWS
    database.execute(
        """
        INSERT INTO day (day, tool, version, code, count, seconds, last)
        SELECT CAST(time / 86400 AS INTEGER), tool, version, code, COUNT(*), SUM(seconds), MAX(time)
        FROM execution WHERE id <= ? GROUP BY 1, 2, 3, 4
        ON CONFLICT (day, tool, version, code) DO UPDATE SET count = count + excluded.count,
            seconds = seconds + excluded.seconds, last = MAX(last, excluded.last)
        """,
        (border,),
    )
    database.execute("DELETE FROM execution WHERE id <= ?", (border,))
    database.execute("DELETE FROM day WHERE day < ?", (int(time.time() // 86400) - KEPT_DAYS,))
