"""Servers that tests of several folders share; each is started once, when the first test asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from services import mariadb_server, postgres_server

# How long an example takes says more about the machine's other work than about the code.
settings.register_profile("tooldisco", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tooldisco")


@pytest.fixture(scope="session")
def mariadb() -> Iterator[dict[str, str]]:
    """Give the variables of a running MariaDB with an empty database ``shop``."""
    with mariadb_server() as variables:
        yield variables


@pytest.fixture(scope="session")
def postgres() -> Iterator[dict[str, str]]:
    """Give the variables of a running PostgreSQL with an empty database ``shop``."""
    with postgres_server() as variables:
        yield variables
