"""What discovery costs: every definition up front against the meta tools and what searches return."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tooldisco_cli.agent.anthropic_backend import AnthropicBackend
from tooldisco_cli.agent.backend import Request
from tooldisco_cli.agent.discovery import runnable
from tooldisco_cli.catalog.definition import model_definition
from tooldisco_cli.catalog.snapshot import Catalog
from tooldisco_cli.meta.answering import MetaTools
from tooldisco_cli.meta.definitions import SEARCH
from tooldisco_cli.meta.wording import compact, estimated_tokens

JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenCosts:
    """Tokens, as the service counts them, or ``estimated`` from the number of characters."""

    estimated: bool
    tools: int
    all_definitions: int
    meta_definitions: int
    searches: tuple[tuple[str, int], ...]
    """Each query, and what its answer costs once."""

    @property
    def with_discovery(self) -> int:
        """The meta tools and all the searches' answers."""
        return self.meta_definitions + sum(cost for _, cost in self.searches)


async def token_costs(
    catalog: Catalog, meta: MetaTools, queries: Sequence[str], *, counter: AnthropicBackend | None, model: str
) -> TokenCosts:
    """Return what the definitions and some searches cost; counted by the service when ``counter`` is given.

    Raises ModelUnavailable when the service cannot count.
    """
    everything = [model_definition(entry) for entry in runnable(catalog)]
    own = meta.definitions()
    answers = []
    for query in queries:
        reply = await meta.answer(SEARCH, {"query": query})
        answers.append((query, "\n".join(getattr(block, "text", "") for block in reply.blocks)))
    if counter is None:
        return TokenCosts(
            estimated=True,
            tools=len(everything),
            all_definitions=estimated_tokens(compact(everything)),
            meta_definitions=estimated_tokens(compact(own)),
            searches=tuple((query, estimated_tokens(text)) for query, text in answers),
        )
    empty = await _counted(counter, model, [], "x")
    return TokenCosts(
        estimated=False,
        tools=len(everything),
        all_definitions=await _counted(counter, model, everything, "x") - empty,
        meta_definitions=await _counted(counter, model, own, "x") - empty,
        searches=tuple([(query, await _counted(counter, model, [], text) - empty) for query, text in answers]),
    )


async def _counted(counter: AnthropicBackend, model: str, tools: Sequence[JsonObject], text: str) -> int:
    message = {"role": "user", "content": [{"type": "text", "text": text or "x"}]}
    request = Request(
        model=model, max_tokens=1, system=[{"type": "text", "text": "x"}], tools=tools, messages=[message]
    )
    return await counter.count_tokens(request)
