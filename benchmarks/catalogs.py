"""Make catalogs of any size for the benchmarks, from the shared evaluation data and by variation.

    python benchmarks/catalogs.py --tools 10000 --files 10000 --to /tmp/catalog-10k

Real tools come first, in the order of the data sets; when they run out, each further one is a variation of a real
one: another team's prefix in its name and a sentence of another tool in its description, so that names are unique and
term statistics stay like those of real catalogs. The same call writes the same bytes. Without the data sets, the
shipped tools are what is varied.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

SETS = ("docker_mcp", "acebench_zh", "sealtools_dev", "bfcl_zhtw_zhq_enc")
TEAMS = ("billing", "crm", "logistics", "hr", "search", "infra", "growth", "risk", "data", "mobile")
DEFAULT_DATA = Path(__file__).resolve().parents[1].parent / "shared" / "eval"


def real_tools(data: Path) -> list[dict[str, Any]]:
    """Return every tool of the evaluation sets, or without the sets every tool that is shipped."""
    if not (data / SETS[0] / "catalog.jsonl").is_file():
        return shipped_tools()
    return [
        json.loads(line)
        for name in SETS
        for line in (data / name / "catalog.jsonl").read_text("utf-8").splitlines()
        if line.strip()
    ]


def shipped_tools() -> list[dict[str, Any]]:
    """Return the tools that tooldisco ships, in the shape of the sets' catalogs."""
    from tooldisco_cli import paths
    from tooldisco_cli.catalog.layers import load_layer
    from tooldisco_cli.catalog.tool import Layer

    declarations = load_layer(Layer("shipped", str(paths.shipped_tools()))).declarations()
    return [
        {
            "name": declared.tool.name,
            "description": declared.tool.description,
            "category": declared.tool.category,
            "tags": list(declared.tool.tags),
            "input_schema": declared.tool.input_schema,
        }
        for declared in declarations
    ]


def without_null(value: Any) -> Any:
    """Return a JSON value without nulls, which TOML cannot say."""
    if isinstance(value, dict):
        return {key: without_null(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_null(item) for item in value if item is not None]
    return value


def variations(tools: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the real tools, then variations of them without end, each with a unique name that fits the format."""
    chance = random.Random(20261201)
    seen: set[str] = set()
    for number in count():
        tool = tools[number % len(tools)]
        name = re.sub(r"[^a-zA-Z0-9_-]+", "_", tool["name"])[:44]
        description = tool["description"]
        if number >= len(tools):
            name = f"{TEAMS[number % len(TEAMS)]}_{name}"
            description += " " + chance.choice(tools)["description"]
        if name in seen:
            name = f"{name}_{number}"
        seen.add(name)
        yield {**tool, "name": name, "description": description}


def write(tools: list[dict[str, Any]], total: int, files: int, folder: Path) -> None:
    """Write ``total`` tools into ``files`` manifests below ``folder``, as evenly as possible."""
    import tomli_w

    folder.mkdir(parents=True, exist_ok=True)
    source = variations(tools)
    for number in range(files):
        share = total // files + (1 if number < total % files else 0)
        declared = []
        for _ in range(share):
            tool = next(source)
            schema = without_null(tool["input_schema"])
            entry: dict[str, Any] = {"name": tool["name"], "description": tool["description"]}
            entry["category"] = re.sub(r"[^\w/ -]+", "_", str(tool.get("category") or "utility"))
            entry["tags"] = [str(tag) for tag in tool.get("tags") or () if tag]
            entry["input_schema"] = {"type": "object", **schema}
            entry["command"] = {"argv": ["true"]}
            declared.append(entry)
        manifest = tomli_w.dumps({"manifest": 1, "tool": declared}, multiline_strings=True)
        (folder / f"tools-{number:06d}.toml").write_text(manifest, "utf-8")


def main() -> None:
    """Read the command line and write one catalog."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=int, required=True)
    parser.add_argument("--files", type=int, required=True)
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA)
    options = parser.parse_args()
    write(real_tools(options.data), options.tools, options.files, options.to)


if __name__ == "__main__":
    main()
