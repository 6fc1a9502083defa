"""A small server that speaks the Messages API as the SDK expects it: streaming, errors, dropped connections.

A script is a list of steps; each request to ``/v1/messages`` takes the next one, and the last one repeats:

    say("text"), use("id", "name", {...})            blocks of an answer; several make one answer
    Step(content=[...], stop_reason="max_tokens")     an answer that ends otherwise
    Step(status=429, error=("rate_limit_error", "slow down"), headers={"retry-after": "0"})
    Step(content=[...], breaks_after=5, breaks="drop" | "error_event")     a stream that breaks midway
    a function of the request's body that returns one of these
"""

from __future__ import annotations

import contextlib
import itertools
import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Step:
    """What one request is answered with."""

    content: Sequence[Json] = ()
    stop_reason: str = ""
    usage: Json = field(default_factory=dict)
    delay: float = 0.0
    """Seconds between the events of a stream."""
    status: int = 200
    error: tuple[str, str] = ("", "")
    headers: dict[str, str] = field(default_factory=dict)
    breaks_after: int | None = None
    """Events after which the stream breaks."""
    breaks: str = "drop"


def say(text: str) -> Json:
    """Return a text block."""
    return {"type": "text", "text": text}


def use(id_: str, name: str, given: Any) -> Json:
    """Return a call of a tool."""
    return {"type": "tool_use", "id": id_, "name": name, "input": given}


def run(id_: str, tool: str, given: Any) -> Json:
    """Return a call of a catalog's tool through the meta tool."""
    return use(id_, "execute_dynamic_tool", {"tool_name": tool, "tool_input": given})


def search(id_: str, query: str) -> Json:
    """Return a search."""
    return use(id_, "search_tools", {"query": query})


Script = Sequence[Step | Sequence[Json] | Callable[[Json], Any]]


class MessagesApi(ThreadingHTTPServer):
    """The server; ``requests`` keeps path, headers and body of each request."""

    daemon_threads = True

    def __init__(self, script: Script, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.script = list(script)
        self.requests: list[Json] = []
        self.disconnects = 0
        self._lock = threading.Lock()
        self._position = 0
        self._ids = itertools.count(1)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def bodies(self) -> list[Json]:
        """The bodies of all requests for messages."""
        return [request["body"] for request in self.requests if request["path"] == "/v1/messages"]

    def next_id(self) -> str:
        """Return an id that was not given yet."""
        return f"fake{next(self._ids):06d}"

    def next_step(self, body: Json) -> Step:
        """Return the step that answers the next request."""
        with self._lock:
            step = self.script[min(self._position, len(self.script) - 1)]
            self._position += 1
        if callable(step):
            step = step(body)
        return step if isinstance(step, Step) else Step(content=list(step))

    def __enter__(self) -> MessagesApi:
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: MessagesApi

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def _json(self, status: int, body: Json, headers: dict[str, str] | None = None) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        shown = {"content-type": "application/json", "content-length": str(len(data)), "request-id": "req_fake"}
        for name, value in (shown | (headers or {})).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def _error(self, status: int, kind: str, message: str, headers: dict[str, str] | None = None) -> None:
        self._json(status, {"type": "error", "error": {"type": kind, "message": message}}, headers)

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        body = json.loads(raw or b"{}")
        path = self.path.partition("?")[0]
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.requests.append({"path": path, "headers": headers, "body": body})
        if path == "/v1/messages/count_tokens":
            return self._json(200, {"input_tokens": max(1, len(raw) // 4)})
        if path != "/v1/messages":
            return self._error(404, "not_found_error", path)
        missing = [key for key in ("model", "max_tokens", "messages") if key not in body]
        if missing:
            return self._error(400, "invalid_request_error", f"{missing[0]}: Field required")
        fault = _history_fault(body["messages"])
        if fault:
            return self._error(400, "invalid_request_error", fault)
        step = self.server.next_step(body)
        if step.status != 200:
            return self._error(step.status, *step.error, headers=step.headers)
        calls = any(block["type"] == "tool_use" for block in step.content)
        message = {
            "id": f"msg_{self.server.next_id()}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": list(step.content),
            "stop_reason": step.stop_reason or ("tool_use" if calls else "end_turn"),
            "stop_sequence": None,
            "usage": {
                "input_tokens": max(1, len(raw) // 4),
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "output_tokens": max(1, len(json.dumps(list(step.content))) // 4),
                **step.usage,
            },
        }
        return self._stream(message, step)

    def _stream(self, message: Json, step: Step) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        try:
            for number, data in enumerate(_events(message)):
                if number == step.breaks_after:
                    if step.breaks == "drop":
                        self.connection.shutdown(socket.SHUT_RDWR)
                        self.close_connection = True
                        return
                    self._event({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
                    break
                self._event(data)
                time.sleep(step.delay)
            self._chunk(b"")
        except (BrokenPipeError, ConnectionResetError):
            self.server.disconnects += 1
            self.close_connection = True

    def _event(self, data: Json) -> None:
        self._chunk(f"event: {data['type']}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode())

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()


def _history_fault(messages: Sequence[Json]) -> str:
    """Return what the real service would refuse: a tool_use that is not answered at once, or an empty text."""
    for message, following in itertools.pairwise([*messages, None]):
        if message is None or isinstance(message["content"], str):
            continue
        uses = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
        answered = []
        if following is not None and not isinstance(following["content"], str):
            answered = [block["tool_use_id"] for block in following["content"] if block["type"] == "tool_result"]
        if message["role"] == "assistant" and uses and uses != answered[: len(uses)]:
            return f"tool_use ids were found without tool_result blocks immediately after: {uses}"
        if any(block["type"] == "text" and not block["text"] for block in message["content"]):
            return "text content blocks must be non-empty"
        if not message["content"]:
            return "messages must have non-empty content"
    return ""


def _events(message: Json) -> Iterator[Json]:
    """Yield the events of an answer in the wire order of the real service."""
    start = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    yield {"type": "message_start", "message": start}
    for index, block in enumerate(message["content"]):
        head, deltas = _block_events(block)
        yield {"type": "content_block_start", "index": index, "content_block": head}
        if index == 0:
            yield {"type": "ping"}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": message["stop_reason"], "stop_sequence": message["stop_sequence"]},
        "usage": {"output_tokens": message["usage"]["output_tokens"]},
    }
    yield {"type": "message_stop"}


def _block_events(block: Json) -> tuple[Json, list[Json]]:
    kind = block["type"]
    if kind == "text":
        return {"type": "text", "text": ""}, [{"type": "text_delta", "text": part} for part in _parts(block["text"])]
    if kind == "thinking":
        deltas = [{"type": "thinking_delta", "thinking": part} for part in _parts(block["thinking"])]
        signature = {"type": "signature_delta", "signature": block["signature"]}
        return {"type": "thinking", "thinking": "", "signature": ""}, [*deltas, signature]
    if kind == "tool_use":
        text = json.dumps(block["input"], ensure_ascii=False)
        deltas = [{"type": "input_json_delta", "partial_json": part} for part in ("", *_parts(text))]
        return {"type": "tool_use", "id": block["id"], "name": block["name"], "input": {}}, deltas
    return block, []


def _parts(text: str, size: int = 12) -> list[str]:
    return [text[i : i + size] for i in range(0, len(text), size)]


def main() -> None:
    """Serve a short scripted session on a port until interrupted: ``python tests/messages_api.py 8787``."""
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8787

    def answer(body: Json) -> list[Json]:
        turns = sum(message["role"] == "assistant" for message in body["messages"]) % 3
        script = [
            [say("Let me look for a tool."), search(f"a{len(body['messages'])}", "calculate 计算")],
            [run(f"b{len(body['messages'])}", "calculate", {"expression": "6 * 7"})],
            [say("The answer is **42**. (This model is a script.)")],
        ]
        return script[turns]

    with MessagesApi([answer], port) as server:
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main()
