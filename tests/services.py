"""Real servers for tests, started from Debian's packages on a free port, as a user that is not root.

Where a program is missing the test is skipped with the package to install; under ``CI=true`` that is a failure.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

PACKAGES = {
    "mariadbd": "mariadb-server",
    "initdb": "postgresql",
    "ffmpeg": "ffmpeg",
    "ffprobe": "ffmpeg",
    "espeak-ng": "espeak-ng",
    "tesseract": "tesseract-ocr",
    "rg": "ripgrep",
}


def program(name: str) -> str:
    """Return the path of a program, or skip (fail under ``CI=true``) with the package that has it."""
    folders = [os.environ.get("PATH", ""), "/usr/sbin", *map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin")))]
    found = shutil.which(name, path=os.pathsep.join(folders))
    if found:
        return os.path.realpath(found)
    reason = f"{name} is not installed (Debian package {PACKAGES.get(name, name)})"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def free_port() -> int:
    """Return a port of 127.0.0.1 that nothing uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _user(wanted: str) -> str | None:
    if os.geteuid() != 0:
        return None
    import pwd

    known = {entry.pw_name for entry in pwd.getpwall()}
    return wanted if wanted in known else "nobody"


@contextmanager
def _folder(user: str | None) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="tooldisco-db-", ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        if user:
            shutil.chown(folder, user)
        yield folder


@contextmanager
def _running(command: list[str], user: str | None, folder: Path, ready: Callable[[], bool]) -> Iterator[None]:
    log = folder / "server.log"
    with log.open("wb") as output:
        server = subprocess.Popen(command, stdout=output, stderr=output, user=user, cwd=folder)
    try:
        deadline = time.monotonic() + 60
        while not ready():
            if server.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{command[0]} did not start:\n{log.read_text(errors='replace')[-3000:]}")
            time.sleep(0.05)
        yield
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


@contextmanager
def mariadb_server() -> Iterator[dict[str, str]]:
    """Start MariaDB with an empty database ``shop``; yields the variables that the MySQL tools read."""
    import pymysql

    server = program("mariadbd")
    installer = shutil.which("mariadb-install-db") or "mariadb-install-db"
    user, port = _user("mysql"), free_port()
    with _folder(user) as folder:
        subprocess.run(
            [installer, "--no-defaults", f"--datadir={folder}/data", "--auth-root-authentication-method=normal",
             "--skip-test-db"],
            check=True, capture_output=True, user=user, cwd=folder,
        )  # fmt: skip
        command = [
            server, "--no-defaults", f"--datadir={folder}/data", f"--socket={folder}/s", f"--port={port}",
            "--bind-address=127.0.0.1", f"--pid-file={folder}/pid", "--skip-name-resolve",
            "--innodb-flush-log-at-trx-commit=0",
        ]  # fmt: skip

        def ready() -> bool:
            try:
                pymysql.connect(host="127.0.0.1", port=port, user="root", connect_timeout=2).close()
            except pymysql.err.OperationalError:
                return False
            return True

        with _running(command, user, folder, ready):
            connection = pymysql.connect(host="127.0.0.1", port=port, user="root", autocommit=True)
            with connection.cursor() as cursor:
                cursor.execute("CREATE DATABASE shop CHARACTER SET utf8mb4")
                cursor.execute("CREATE USER agent@'%' IDENTIFIED BY 'agent-password'")
                cursor.execute("GRANT ALL ON *.* TO agent@'%' WITH GRANT OPTION")
            connection.close()
            yield {
                "MYSQL_HOST": "127.0.0.1",
                "MYSQL_PORT": str(port),
                "MYSQL_USER": "agent",
                "MYSQL_PASSWORD": "agent-password",
                "MYSQL_DATABASE": "shop",
            }


@contextmanager
def postgres_server() -> Iterator[dict[str, str]]:
    """Start PostgreSQL with an empty database ``shop``; yields the variable that its tools read."""
    import psycopg

    initdb = Path(program("initdb"))
    user, port = _user("postgres"), free_port()
    with _folder(user) as folder:
        password = folder / "password"
        password.write_text("agent-password")
        if user:
            shutil.chown(password, user)
        subprocess.run(
            [str(initdb), "-D", f"{folder}/data", "-U", "agent", "-A", "scram-sha-256", f"--pwfile={password}",
             "-E", "UTF8", "--no-sync", "--locale=C.UTF-8"],
            check=True, capture_output=True, user=user, cwd=folder,
        )  # fmt: skip
        command = [
            str(initdb.with_name("postgres")), "-D", f"{folder}/data", "-p", str(port), "-k", str(folder),
            "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off",
        ]  # fmt: skip
        dsn = f"postgresql://agent:agent-password@127.0.0.1:{port}"

        def ready() -> bool:
            try:
                psycopg.connect(f"{dsn}/postgres", connect_timeout=2).close()
            except psycopg.OperationalError:
                return False
            return True

        with _running(command, user, folder, ready):
            with psycopg.connect(f"{dsn}/postgres", autocommit=True) as connection:
                connection.execute("CREATE DATABASE shop")
            yield {"POSTGRES_DSN": f"{dsn}/shop"}
