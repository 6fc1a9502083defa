"""What of a project's own tools somebody has approved, kept in the user's state folder.

An approval pins the SHA-256 of a declaration (a mask is one too) together with the declaration itself, so that a
change can be shown. The store fails closed: what cannot be read approves nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tooldisco_cli import paths
from tooldisco_cli.atomic import replacing
from tooldisco_cli.catalog.layers import LoadedLayer
from tooldisco_cli.catalog.manifest import Declaration
from tooldisco_cli.catalog.tool import JsonObject
from tooldisco_cli.errors import Untrusted

SCHEMA = "tooldisco.trust/1"
_LOCK_SECONDS = 10.0

Standing = Literal["new", "changed", "approved", "gone"]


@dataclass(frozen=True)
class Pin:
    """One approval: the digest of a declaration, and its canonical JSON."""

    digest: str
    content: str


@dataclass(frozen=True)
class Pins:
    """All approvals, by layer folder, then by ``name@version``. ``damage`` says why a store could not be read."""

    by_layer: Mapping[str, Mapping[str, Pin]] = field(default_factory=dict)
    damage: str = ""

    def of(self, layer_path: str) -> Mapping[str, Pin]:
        """Return the approvals for one layer folder, by ``name@version``."""
        return self.by_layer.get(os.path.realpath(layer_path), {})

    def knows(self, layer_path: str, declaration: Declaration) -> bool:
        """Whether this name and version was ever approved, in whatever form."""
        return reference(declaration) in self.of(layer_path)

    def approves(self, layer_path: str, declaration: Declaration) -> bool:
        """Whether exactly this declaration was approved."""
        pin = self.of(layer_path).get(reference(declaration))
        return pin is not None and pin.digest == declaration.digest


@dataclass(frozen=True)
class TrustItem:
    """How one tool of a project stands: ``changed`` is untrusted until approved again, ``gone`` is pinned only."""

    reference: str
    standing: Standing
    mask: bool = False
    declaration: Declaration | None = None
    pin: Pin | None = None


def reference(declaration: Declaration) -> str:
    """Return ``name@version``: what an approval is filed under."""
    return f"{declaration.tool.name}@{declaration.tool.version}"


def trust_file(environment: Mapping[str, str] | None = None) -> Path:
    """Return the path of the store."""
    return paths.state_folder(environment) / "trust.json"


def read_pins(path: Path | None = None, *, environment: Mapping[str, str] | None = None) -> Pins:
    """Return all approvals. A store that cannot be read approves nothing and says so in ``Pins.damage``."""
    path = trust_file(environment) if path is None else path
    try:
        return Pins(_parsed(path.read_bytes()))
    except FileNotFoundError:
        return Pins()
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        return Pins(
            damage=f"{path}: the record of approved tools cannot be read, so no project tool is trusted: {error}"
        )


def _parsed(data: bytes) -> dict[str, dict[str, Pin]]:
    document = json.loads(data)
    if document["schema"] != SCHEMA:
        raise ValueError(f"its format is {document['schema']!r}, not {SCHEMA!r}")
    layers: dict[str, dict[str, Pin]] = {}
    for folder, pinned in document["layers"].items():
        layers[folder] = {}
        for name, pin in pinned.items():
            content = pin["content"]
            if hashlib.sha256(content.encode()).hexdigest() != pin["digest"]:
                raise ValueError(f"the digest of {name} does not fit")
            layers[folder][name] = Pin(pin["digest"], content)
    return layers


def approve(
    loaded: LoadedLayer, names: Collection[str] | None = None, *, path: Path | None = None
) -> tuple[TrustItem, ...]:
    """Pin the declarations of a layer, all or those of ``names`` (a name, or ``name@version``); return what changed.

    What is pinned is what ``loaded`` holds, so what was shown is what is approved, whatever became of the files.
    Approving all also forgets approvals of tools that are gone. Raises Untrusted when a name is not there, or when
    the store is damaged or cannot be written.
    """
    with _changing(path) as pins:
        pinned = pins.setdefault(os.path.realpath(loaded.layer.path), {})
        items = [item for item in standings(loaded, pinned) if _chosen(item.reference, names)]
        _require_known(names, items)
        for item in items:
            if item.declaration is not None:
                pinned[item.reference] = Pin(item.declaration.digest, item.declaration.content)
            elif names is None:
                del pinned[item.reference]
        return tuple(item for item in items if item.standing != "approved")


def revoke(layer_path: str, names: Collection[str] | None = None, *, path: Path | None = None) -> tuple[str, ...]:
    """Forget approvals of a layer folder, all or those of ``names``; return the references that were forgotten."""
    with _changing(path) as pins:
        pinned = pins.setdefault(os.path.realpath(layer_path), {})
        chosen = tuple(name for name in pinned if _chosen(name, names))
        for name in chosen:
            del pinned[name]
        return chosen


def standings(loaded: LoadedLayer, pinned: Mapping[str, Pin]) -> tuple[TrustItem, ...]:
    """Return how every tool and mask of a layer stands against the approvals for it, by name."""
    items: dict[str, TrustItem] = {}
    for declaration in loaded.declarations():
        name = reference(declaration)
        pin = pinned.get(name)
        standing: Standing = "new"
        if pin is not None:
            standing = "approved" if pin.digest == declaration.digest else "changed"
        items[name] = TrustItem(name, standing, not declaration.tool.enabled, declaration, pin)
    for name, pin in pinned.items():
        if name not in items:
            items[name] = TrustItem(name, "gone", pin=pin)
    return tuple(items[name] for name in sorted(items))


def trust_status(loaded: LoadedLayer, *, path: Path | None = None) -> tuple[TrustItem, ...]:
    """Return how every tool and mask of a layer stands. Raises Untrusted when the store is damaged."""
    pins = read_pins(path)
    if pins.damage:
        raise _damaged(pins, path)
    return standings(loaded, pins.of(loaded.layer.path))


def trust_diff(item: TrustItem) -> str:
    """Return a unified diff from what was approved to what is declared now; empty when they are the same."""
    from difflib import unified_diff

    before = readable(item.pin.content).splitlines() if item.pin else []
    after = readable(item.declaration.content).splitlines() if item.declaration else []
    lines = unified_diff(before, after, "approved", "declared now", lineterm="")
    return "\n".join(lines)


def readable(content: str) -> str:
    """Return canonical JSON as TOML, the way people wrote it, or as indented JSON where TOML cannot hold it."""
    import tomli_w

    document = json.loads(content)
    shown = {"tool": document["tool"]} | ({"mcp_server": document["server"]} if document.get("server") else {})
    try:
        return tomli_w.dumps(shown, multiline_strings=True)
    except (TypeError, ValueError):
        return json.dumps(shown, indent=2, ensure_ascii=False)


def _chosen(name: str, names: Collection[str] | None) -> bool:
    return names is None or name in names or name.partition("@")[0] in names


def _require_known(names: Collection[str] | None, items: Iterable[TrustItem]) -> None:
    found = {text for item in items for text in (item.reference, item.reference.partition("@")[0])}
    missing = sorted(set(names or ()) - found)
    if missing:
        raise Untrusted(f"the project declares no tool {', '.join(missing)}", hint="see `tooldisco trust status`")


def _damaged(pins: Pins, path: Path | None) -> Untrusted:
    return Untrusted(pins.damage, hint=f"move {path or trust_file()} away, and approve the tools again")


@contextmanager
def _changing(path: Path | None) -> Iterator[dict[str, dict[str, Pin]]]:
    """Give the approvals to change, alone among all processes, and write them back whole."""
    path = trust_file() if path is None else path
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _lock(path.with_name(path.name + ".lock")):
            pins = read_pins(path)
            if pins.damage:
                raise _damaged(pins, path)
            by_layer = {folder: dict(pinned) for folder, pinned in pins.by_layer.items()}
            yield by_layer
            _write(path, by_layer)
    except OSError as error:
        raise Untrusted(f"{path}: approvals cannot be kept: {error.strerror or error}") from error


def _write(path: Path, by_layer: Mapping[str, Mapping[str, Pin]]) -> None:

    layers: dict[str, Any] = {
        folder: {name: {"digest": pin.digest, "content": pin.content} for name, pin in sorted(pinned.items())}
        for folder, pinned in sorted(by_layer.items())
        if pinned
    }
    document: JsonObject = {"schema": SCHEMA, "layers": layers}
    with replacing(path, durable=True) as file:
        file.write(json.dumps(document, ensure_ascii=False, indent=1).encode("utf-8"))


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    import time

    until = time.monotonic() + _LOCK_SECONDS
    with path.open("a+b") as file:
        while not _try_lock(file.fileno()):
            if time.monotonic() > until:
                raise Untrusted(f"{path} is held by another process", hint="try again")
            time.sleep(0.02)
        yield  # closing the file gives the lock back, also when this process dies


def _try_lock(descriptor: int) -> bool:
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]  # Windows only
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
