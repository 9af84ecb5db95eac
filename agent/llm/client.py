"""One request over HTTP by the ``openai`` SDK: bounded in time and size, stoppable, each failure a class of its own.

No retries here (``agent/llm/trying.py``) and nothing about what the answer means (``agent/llm/asking.py``).
"""

from __future__ import annotations

import math
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agent.llm.errors import (
    AnswerTooLarge,
    CallError,
    CallStopped,
    ModelBrokeOff,
    ModelBusy,
    ModelContextExceeded,
    ModelCreditSpent,
    ModelFailedOddly,
    ModelHung,
    ModelKeyRefused,
    ModelNotServed,
    ModelRequestRefused,
    ModelServerFailed,
    ModelUnreachable,
)
from agent.llm.keys import Key
from agent.llm.spec import ModelSpec

if TYPE_CHECKING:
    import httpx2

_CONNECT_S = 10.0
_LOOK_EVERY_S = 0.1
_WORDS = 500
"""So many characters of what a server says about an error are kept."""
_BUSY = (408, 409, 425, 429)
_NO_CREDIT = ("insufficient_quota", "billing", "credit")


def send(spec: ModelSpec, key: Key, body: dict[str, Any], stop: Callable[[], bool]) -> bytes:
    """The answer's bytes, as the server sent them with HTTP 200.

    Waits ``spec.timeout_s`` at most and asks ``stop`` meanwhile. Raises a CallError, whose words hold no key.
    """
    done: list[bytes | CallError] = []
    deadline = time.monotonic() + spec.timeout_s
    # A thread, since a blocked read cannot be told to stop; one that nobody waits for ends by its own time limits.
    thread = threading.Thread(
        target=lambda: done.append(_result(spec, key, body, deadline)), name=f"model {spec.name}", daemon=True
    )
    thread.start()
    while thread.is_alive():
        thread.join(_LOOK_EVERY_S)
        if done:
            break
        if stop():
            raise CallStopped(model=spec.name)
        if time.monotonic() > deadline + _LOOK_EVERY_S:
            raise ModelHung(model=spec.name, seconds=spec.timeout_s)
    result = done[0] if done else ModelFailedOddly(model=spec.name, problem="nothing at all")
    if isinstance(result, CallError):
        raise result
    return result


def _result(spec: ModelSpec, key: Key, body: dict[str, Any], deadline: float) -> bytes | CallError:
    """What came of it. Whatever the SDK raises ends here: its text may quote headers."""
    import httpx2
    import openai

    try:
        return _send(spec, key, body, deadline)
    except CallError as error:
        return error
    except openai.APITimeoutError:
        return ModelHung(model=spec.name, seconds=spec.timeout_s)
    except openai.APIConnectionError as error:
        cause = error.__cause__ or error
        kind = ModelUnreachable if isinstance(cause, httpx2.ConnectError | httpx2.ProxyError) else ModelBrokeOff
        return kind(model=spec.name, problem=key.scrub(f"{spec.host}: {cause}")[:_WORDS])
    except openai.APIStatusError as error:
        return _of_status(spec, key, error.status_code, error.response.headers, error.body)
    except Exception as error:  # noqa: BLE001 - a call that fails in a new way is one failed call
        return ModelFailedOddly(model=spec.name, problem=type(error).__name__)


def _send(spec: ModelSpec, key: Key, body: dict[str, Any], deadline: float) -> bytes:
    import httpx2
    import openai

    left = max(0.1, deadline - time.monotonic())
    timeout = httpx2.Timeout(left, connect=min(_CONNECT_S, left))
    transport = _bounded(httpx2.HTTPTransport(proxy=_proxy(spec.base_url)), spec, deadline)
    with httpx2.Client(transport=transport, timeout=timeout, follow_redirects=False) as http:
        client = openai.OpenAI(
            api_key=key.reveal(), base_url=spec.base_url, timeout=timeout, max_retries=0, http_client=http
        )
        # Of the environment only what is configured is sent.
        client.organization = client.project = None
        headers = {"Accept-Encoding": "identity"}
        known = {"model": body["model"], "messages": body["messages"]}
        rest = {name: value for name, value in body.items() if name not in known}
        raw = client.chat.completions.with_raw_response.create(**known, extra_body=rest, extra_headers=headers)
        return bytes(raw.http_response.content)


def _proxy(address: str) -> str | None:
    """The proxy that the environment names for an address: a transport of our own does not look for it."""
    parts = urlsplit(address)
    if not parts.hostname or urllib.request.proxy_bypass(parts.hostname):
        return None
    proxies = urllib.request.getproxies()
    return proxies.get(parts.scheme) or proxies.get("all")


def _bounded(inner: httpx2.BaseTransport, spec: ModelSpec, deadline: float) -> httpx2.BaseTransport:
    """``inner`` with every body cut off at ``spec.answer_bytes`` and at the deadline, errors' bodies included."""
    import httpx2

    class Body(httpx2.SyncByteStream):
        def __init__(self, stream: Any) -> None:
            self._stream = stream

        def __iter__(self) -> Iterator[bytes]:
            size = 0
            for chunk in self._stream:
                size += len(chunk)
                if size > spec.answer_bytes:
                    raise AnswerTooLarge(model=spec.name, limit=spec.answer_bytes)
                if time.monotonic() > deadline:
                    raise ModelHung(model=spec.name, seconds=spec.timeout_s)
                yield chunk

        def close(self) -> None:
            self._stream.close()

    class Bounded(httpx2.BaseTransport):
        def handle_request(self, request: httpx2.Request) -> httpx2.Response:
            response = inner.handle_request(request)
            # A compressed body could unfold without bound behind the count; none was asked for.
            response.headers.pop("content-encoding", None)
            response.stream = Body(response.stream)
            return response

        def close(self) -> None:
            inner.close()

    return Bounded()


def _of_status(spec: ModelSpec, key: Key, status: int, headers: Any, body: Any) -> CallError:
    words = key.scrub(_message(body))[:_WORDS] or "it says nothing more"
    if status in (401, 403):
        return ModelKeyRefused(model=spec.name, status=status)
    if status == 402 or (status == 429 and any(mark in _code(body) for mark in _NO_CREDIT)):
        return ModelCreditSpent(model=spec.name, status=status)
    if status in _BUSY:
        return ModelBusy(model=spec.name, status=status, problem=words, retry_after=_retry_after(headers))
    if status >= 500:
        return ModelServerFailed(model=spec.name, status=status, problem=words, retry_after=_retry_after(headers))
    if status == 404:
        return ModelNotServed(model=spec.name, problem=words)
    if status == 413 or (status == 400 and "context" in f"{_code(body)} {words.lower()}"):
        return ModelContextExceeded(model=spec.name, status=status, problem=words)
    return ModelRequestRefused(model=spec.name, status=status, problem=words)


def _message(body: Any) -> str:
    if isinstance(body, dict):
        inner = body.get("message") or body.get("error") or body.get("detail") or ""
        body = inner.get("message", "") if isinstance(inner, dict) else inner
    text = body if isinstance(body, str) else ""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _code(body: Any) -> str:
    return f"{body.get('code')} {body.get('type')}".lower() if isinstance(body, dict) else ""


def _retry_after(headers: Any) -> float | None:
    """Seconds that the server asks to wait, from ``retry-after-ms`` or ``Retry-After``; None where it does not."""
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        text = headers.get(name)
        seconds = _seconds(text) if text else None
        if seconds is not None:
            return max(0.0, seconds * unit)
    return None


def _seconds(text: str) -> float | None:
    """From now on, of a number or of an HTTP date; None for anything else."""
    try:
        number = float(text)
        return number if math.isfinite(number) else None
    except ValueError:
        pass
    try:
        return parsedate_to_datetime(text).timestamp() - time.time()
    except (TypeError, ValueError):
        return None
