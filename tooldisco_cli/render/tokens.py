"""The view of what tools cost in tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tooldisco_cli.render.streams import Output, print_json
from tooldisco_cli.render.terminal import print_columns
from tooldisco_cli.render.untrusted import visible

if TYPE_CHECKING:
    from tooldisco_cli.agent.tokens import TokenCosts

SCHEMA = "tooldisco.tokens/1"


def show_tokens(costs: TokenCosts, output: Output) -> None:
    """Print both ways and their ratio."""
    share = costs.with_discovery / costs.all_definitions if costs.all_definitions else 0.0
    if output.as_json:
        body = {
            "estimated": costs.estimated,
            "tools": costs.tools,
            "all_definitions": costs.all_definitions,
            "meta_definitions": costs.meta_definitions,
            "searches": [{"query": query, "tokens": count} for query, count in costs.searches],
            "with_discovery": costs.with_discovery,
        }
        print_json(SCHEMA, body)
        return
    rows = [
        [f"{costs.all_definitions:,}".rjust(10), f"all {costs.tools:,} definitions up front, in every request"],
        [f"{costs.meta_definitions:,}".rjust(10), "the meta tools, in every request"],
        *[[f"{count:,}".rjust(10), f"a search: {visible(query)}"] for query, count in costs.searches],
        [f"{costs.with_discovery:,}".rjust(10), f"the meta tools and these searches: {share:.0%} of all definitions"],
    ]
    print_columns(rows)
    output.note(
        "estimated from the text; with ANTHROPIC_API_KEY the service counts" if costs.estimated else "counted"
    )
