"""Importing the package is cheap, and its public names are there."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tooldisco_cli.catalog

HEAVY = ("pydantic", "jsonschema", "tomli", "tomli_w", "packaging", "difflib", "platformdirs")


@pytest.mark.parametrize(
    "statement",
    ["import tooldisco_cli.catalog", "import tooldisco_cli.catalog.snapshot", "import tooldisco_cli.settings"],
)
def test_imports_nothing_heavy(statement: str) -> None:
    script = f"{statement}; import sys; print(*(name for name in {HEAVY} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_loading_a_catalog_does_not_import_jsonschema() -> None:
    script = "import tooldisco_cli.catalog as c, sys; c.load_catalog(); print('jsonschema' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]


@pytest.mark.parametrize("name", tooldisco_cli.catalog.__all__)
def test_has_its_public_names(name: str) -> None:
    assert getattr(tooldisco_cli.catalog, name).__name__ == name


def test_has_no_others() -> None:
    with pytest.raises(AttributeError):
        tooldisco_cli.catalog.nothing  # noqa: B018 - the access itself is tested
