"""What a tool still lacks on this machine, and how to provide it; nothing is imported or run to find out."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from typing import Literal

from tooldisco_cli.catalog.snapshot import Entry
from tooldisco_cli.catalog.tool import McpServer
from tooldisco_cli.errors import NotReady
from tooldisco_cli.execution.linting import environment_names

_DISTRIBUTIONS = {
    "PIL": "pillow",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python",
    "dateutil": "python-dateutil",
    "docx": "python-docx",
    "fitz": "pymupdf",
    "pptx": "python-pptx",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
"""Packages whose name on PyPI differs from the module's."""
_PACKAGES = {
    "convert": "imagemagick",
    "dot": "graphviz",
    "espeak-ng": "espeak-ng",
    "exiftool": "libimage-exiftool-perl",
    "ffmpeg": "ffmpeg",
    "ffprobe": "ffmpeg",
    "gs": "ghostscript",
    "magick": "imagemagick",
    "mysql": "default-mysql-client",
    "node": "nodejs",
    "npm": "npm",
    "npx": "npm",
    "pdfinfo": "poppler-utils",
    "pdftoppm": "poppler-utils",
    "pdftotext": "poppler-utils",
    "psql": "postgresql-client",
    "rg": "ripgrep",
    "soffice": "libreoffice",
    "tesseract": "tesseract-ocr",
    "uvx": "uv",
    "zbarimg": "zbar-tools",
}
"""Debian's package of a program, where its name differs or the program is a usual one."""
_BREW = {"tesseract-ocr": "tesseract", "poppler-utils": "poppler", "postgresql-client": "libpq", "nodejs": "node"}
_BREW |= {"npm": "node", "default-mysql-client": "mysql-client", "libimage-exiftool-perl": "exiftool"}
_BREW |= {"zbar-tools": "zbar"}
_NOT_IN_DEBIAN = frozenset({"uv"})


@dataclass(frozen=True, slots=True)
class Missing:
    """One thing that is missing; ``remedy`` is a command to run, or what to do in words."""

    kind: Literal["env", "program", "python", "server"]
    name: str
    remedy: str


def missing(
    entry: Entry,
    environment: Mapping[str, str],
    *,
    servers: Mapping[str, McpServer] | None = None,
    found: dict[str, bool] | None = None,
) -> tuple[Missing, ...]:
    """Return what must be provided before the tool can run; nothing when it is ready.

    ``servers`` are the MCP servers of the settings (``catalog.servers``). A variable that is set but empty counts
    as missing where ``requires`` lists it. Who asks for many tools at once passes the same ``found`` for each, so
    that a program or module that several need is looked for once.
    """
    return tuple(dict.fromkeys(_missing(entry, environment, servers or {}, {} if found is None else found)))


def not_ready(reference: str, lacking: tuple[Missing, ...]) -> NotReady:
    """Return the error that says what a tool lacks; ``details["missing"]`` has kind, name and remedy of each."""
    words = {
        "env": "the variable",
        "program": "the program",
        "python": "the Python module",
        "server": "the MCP server",
    }
    names = ", ".join(f"{words[item.kind]} {item.name}" for item in lacking)
    return NotReady(
        f"{reference} is not ready: {names} {'is' if len(lacking) == 1 else 'are'} missing",
        hint="; ".join(dict.fromkeys(item.remedy for item in lacking)),
        details={"missing": [asdict(item) for item in lacking]},
    )


def _missing(
    entry: Entry, environment: Mapping[str, str], servers: Mapping[str, McpServer], found: dict[str, bool]
) -> Iterator[Missing]:
    tool = entry.tool
    server = None
    if tool.mcp is not None:
        server = entry.server or servers.get(tool.mcp.server)
        if server is None:
            remedy = f"declare [mcp_servers.{tool.mcp.server}] in the manifest or in config.toml"
            yield Missing("server", tool.mcp.server, remedy)
    required = set(tool.requires.env)
    for name in dict.fromkeys((*tool.requires.env, *environment_names(tool, server))):
        value = environment.get(name)
        if value is None or (not value and name in required):
            yield Missing("env", name, f"set {name}=..." if os.name == "nt" else f"export {name}=...")
    commands = (tool.command.argv if tool.command else (), server.command if server else ())
    started = [argv[0] for argv in commands if argv and isinstance(argv[0], str) and "{" not in argv[0]]
    search = environment.get("PATH", os.defpath)
    for program in (*tool.requires.programs, *started):
        key = f"program {program}"
        if key not in found:
            found[key] = _on_path(program, search)
        if not found[key]:
            yield Missing("program", program, install_program(program))
    modules = [*tool.requires.python]
    if tool.mcp is not None and not _found_module("mcp", found):
        yield Missing("python", "mcp", "pip install 'tooldisco-cli[mcp]'")
    for module in modules:
        if not _found_module(module, found):
            yield Missing("python", module, install_module(module, tool.requires.extra))
    if tool.python is not None and entry.function is None:
        module = tool.python.function.partition(":")[0]
        if module not in modules and not _found_module(module, found):
            yield Missing("python", module, install_module(module, tool.requires.extra))


def _found_module(module: str, found: dict[str, bool]) -> bool:
    key = f"module {module}"
    if key not in found:
        found[key] = _importable(module)
    return found[key]


def _on_path(program: str, search: str) -> bool:
    if os.path.dirname(program):  # noqa: PTH120  # pathlib drops a leading ./, which decides what is meant here
        return not os.path.isabs(program) or os.access(program, os.X_OK)  # noqa: PTH117  # as above
    return shutil.which(program, path=search) is not None


def _importable(module: str) -> bool:
    """Whether a module can be found, without importing even its parent packages."""
    if module in sys.modules:
        return sys.modules[module] is not None
    first, *rest = module.split(".")
    try:
        spec = find_spec(first)
        name, places = first, _places(spec)
        for step in rest:
            name = f"{name}.{step}"
            try:
                spec = PathFinder.find_spec(name, places)
                places = _places(spec)
            except KeyError:  # a namespace package inside a package that is not imported: only folders
                places = [folder for place in places if os.path.isdir(folder := os.path.join(place, step))]  # noqa: PTH112, PTH118  # entries of sys.path are texts
    except (ImportError, ValueError, AttributeError):
        return False
    return spec is not None


def _places(spec: ModuleSpec | None) -> list[str]:
    return [] if spec is None else list(spec.submodule_search_locations or ())


def install_module(module: str, extra: str = "") -> str:
    """Return the command that installs a module, by the extra of this package when the tool names one."""
    if extra:
        return f"pip install 'tooldisco-cli[{extra}]'"
    first = module.partition(".")[0]
    if first == "tooldisco_cli":
        return f"pip install --force-reinstall tooldisco-cli  # this installation lacks {module}"
    return f"pip install {_DISTRIBUTIONS.get(first, first)}"


@lru_cache(maxsize=256)
def install_program(program: str) -> str:
    """Return the command that installs a program by its usual package, or what to do in words."""
    package = _PACKAGES.get(program)
    if package is None:
        return f"install {program} and put it on PATH"
    if sys.platform == "darwin":
        return f"brew install {_BREW.get(package, package)}"
    if package in _NOT_IN_DEBIAN:
        return f"pip install {package}"
    if sys.platform == "linux" and shutil.which("apt-get"):
        return f"sudo apt-get install {package}"
    return f"install {package}, which has {program}"
