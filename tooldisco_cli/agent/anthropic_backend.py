"""Claude, or whatever speaks the Messages API, through the official SDK."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

from tooldisco_cli.agent.backend import JsonObject, Piece, Request, StreamBroke, Turn
from tooldisco_cli.errors import ModelUnavailable
from tooldisco_cli.execution.masking import Masker, Secret

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

DEFAULT_MODEL = "claude-sonnet-5-5"

_HOW_TO = "set ANTHROPIC_API_KEY to a key, or ANTHROPIC_BASE_URL to a server of your own (any key will do there)"
_WITHOUT = "without one: tooldisco search, tools exec, and at a terminal run --model guided"
_NO_CREDENTIALS = "no credentials for the model service"

_CREDENTIALS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
_MOST_SAID = 500
"""Characters of what a service says that are shown and recorded."""


class AnthropicBackend:
    """One client of the SDK, opened at the first answer, so that importing it can happen meanwhile."""

    name = "anthropic"

    def __init__(self, *, base_url: str = "", environment: Mapping[str, str] | None = None) -> None:
        self._base_url = base_url
        self._environment = os.environ if environment is None else environment
        self._client: AsyncAnthropic | None = None

    async def close(self) -> None:
        """Close the client's connections."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def answer(self, request: Request) -> AsyncIterator[Piece | Turn]:
        """Stream one answer. See Backend."""
        client = await self._opened()
        import anthropic
        import httpx2

        began = False
        try:
            async with client.messages.stream(
                model=request.model,
                max_tokens=request.max_tokens,
                system=list(request.system),  # type: ignore[arg-type]  # plain dicts are what the types describe
                tools=list(request.tools),  # type: ignore[arg-type]
                messages=list(request.messages),  # type: ignore[arg-type]
            ) as stream:
                began = True
                async for event in stream:
                    piece = _piece(event)
                    if piece is not None:
                        yield piece
                message = await stream.get_final_message()
        except TypeError as error:
            if "authentication" in str(error):
                raise ModelUnavailable(_NO_CREDENTIALS, hint=f"{_HOW_TO}\n{_WITHOUT}") from error
            raise
        except anthropic.APIStatusError as error:
            if error.response.status_code < 400:
                # An error in the middle of a stream, which had begun with status 200.
                raise StreamBroke(self._safe(_said(error)) or "an error in the stream") from error
            raise _status_error(error, request.model, self._safe(_said(error))) from error
        except anthropic.APIConnectionError as error:
            if began:  # from 2.17 on the SDK wraps what breaks a stream, too
                raise StreamBroke(self._safe(_cause(error))) from error
            raise ModelUnavailable(
                f"the model service at {client.base_url} cannot be reached: {self._safe(_cause(error))}",
                hint="check the network, or ANTHROPIC_BASE_URL",
            ) from error
        except anthropic.APIError as error:
            raise StreamBroke(self._safe(str(getattr(error, "message", error)))) from error
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise StreamBroke(self._safe(str(error)) or type(error).__name__) from error
        except anthropic.AnthropicError as error:
            told = self._safe(str(error))
            raise ModelUnavailable(f"the model service cannot be used: {told}", hint=_HOW_TO) from error
        yield _turn(message)

    async def count_tokens(self, request: Request) -> int:
        """Return how many input tokens a request has, as the service counts. Raises ModelUnavailable."""
        client = await self._opened()
        import anthropic

        try:
            counted = await client.messages.count_tokens(
                model=request.model,
                system=list(request.system),  # type: ignore[arg-type]
                tools=list(request.tools),  # type: ignore[arg-type]
                messages=list(request.messages),  # type: ignore[arg-type]
            )
        except (anthropic.AnthropicError, TypeError) as error:
            raise ModelUnavailable(f"tokens cannot be counted: {self._safe(str(error))}", hint=_HOW_TO) from error
        return counted.input_tokens

    async def check(self) -> None:
        """Raise ModelUnavailable when there are no credentials at all; asks nobody."""
        if self.has_credentials():
            return
        client = await self._opened()
        # The SDK also takes them from profiles (requests are then signed one by one) and from headers of one's own.
        headers = {name.lower() for name, value in client.default_headers.items() if isinstance(value, str) and value}
        if client.custom_auth is None and not headers & {"authorization", "x-api-key"}:
            raise ModelUnavailable(_NO_CREDENTIALS, hint=f"{_HOW_TO}\n{_WITHOUT}")

    def has_credentials(self) -> bool:
        """Whether a key or token is set where the SDK looks for it first; costs no import."""
        return any(self._environment.get(name) for name in _CREDENTIALS)

    def _safe(self, text: str) -> str:
        """Return what a service or a library said without the credentials, which some of them repeat."""
        found = {name: self._environment.get(name) or os.environ.get(name, "") for name in _CREDENTIALS}
        return Masker(Secret(value.strip(), name) for name, value in found.items()).text(text)[:_MOST_SAID]

    async def _opened(self) -> AsyncAnthropic:
        if self._client is None:
            self._client = await asyncio.to_thread(_client, self._base_url)
        return self._client


def _client(base_url: str) -> AsyncAnthropic:
    from anthropic import AnthropicError, AsyncAnthropic

    try:
        return AsyncAnthropic(base_url=base_url or None)
    except (AnthropicError, ValueError, TypeError) as error:
        raise ModelUnavailable(f"the model service cannot be used: {error}", hint=_HOW_TO) from error


def _piece(event: Any) -> Piece | None:
    if event.type == "text":
        return Piece("text", event.text)
    if event.type == "thinking":
        return Piece("thinking", event.thinking)
    if event.type == "content_block_stop":
        block = event.content_block
        if block.type == "text":
            return Piece("text", block.text, ends=True)
        if block.type == "thinking":
            return Piece("thinking", block.thinking, ends=True)
    return None


def _turn(message: Any) -> Turn:
    content = [_sent_back(block) for block in message.content]
    counted = message.usage.model_dump()
    usage = {key: value for key, value in counted.items() if isinstance(value, int) and not isinstance(value, bool)}
    return Turn(content=content, stop_reason=message.stop_reason or "end_turn", usage=usage, model=message.model)


def _sent_back(block: Any) -> JsonObject:
    """Return a content block as the API wants it back: thinking and server tools unchanged, the rest plain."""
    if block.type == "tool_use":
        # Not dumped: an input that is no object would warn, and the nulls inside one would be lost.
        return {"type": "tool_use", "id": block.id, "name": block.name, "input": block.input}
    data: JsonObject = block.model_dump(mode="json", exclude_none=True)
    if data["type"] == "text":
        # The SDK's parsed outputs are its own, and the API refuses keys that it does not know.
        return {key: data[key] for key in ("type", "text", "citations") if key in data}
    return data


def _cause(error: BaseException) -> str:
    cause = error.__cause__ or error
    return str(cause) or type(cause).__name__


def _status_error(error: Any, model: str, said: str) -> ModelUnavailable:
    status = error.status_code
    told = {
        401: ("the model service refused the credentials", _HOW_TO),
        403: ("the credentials may not use this model or service", "check the key's workspace and permissions"),
        404: (f"the model {model!r} or the address does not exist", "choose another with --model; check --base-url"),
        413: ("the request is larger than the service takes", "begin a new session, or ask for less"),
        429: ("the model service limits how often it may be asked", "wait a little, then resume the session"),
        529: ("the model service is overloaded", "wait a little, then resume the session"),
    }
    what, hint = told.get(status, (f"the model service answered {status}", "see its message"))
    if status >= 500 and status not in told:
        hint = "the service has trouble of its own; try again later"
    return ModelUnavailable(
        f"{what}: {said}" if said else what,
        hint=hint,
        details={"status": status, "request_id": error.response.headers.get("request-id", "")},
    )


def _said(error: Any) -> str:
    body = error.body
    if isinstance(body, dict) and isinstance(body.get("error"), dict):
        return str(body["error"].get("message", ""))
    return str(getattr(error, "message", ""))
