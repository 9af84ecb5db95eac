"""A small client of the HTTP API on the standard library. It follows no redirect, so the token goes nowhere else."""

from __future__ import annotations

import json
import time
import uuid
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

from mucutlass_web.cli.errors import ApiRefused, ApiUnreachable, ApiUrlWrong

_TRIES = 3
_TIMEOUT_S = 60.0
_MOST_BYTES = 32 * 2**20


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


@dataclass(frozen=True)
class ApiClient:
    """``url`` is where the web runs, as http://127.0.0.1:8000; ``token`` an API token."""

    url: str
    token: str

    def __post_init__(self) -> None:
        """Raises ApiUrlWrong."""
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ApiUrlWrong(url=self.url)

    def get(self, path: str, **query: Any) -> Any:
        """What a route answers: parsed JSON, or text. Raises ApiRefused and ApiUnreachable."""
        asked = {name: value for name, value in query.items() if value is not None}
        return self._ask("GET", f"{path}?{urlencode(asked)}" if asked else path, None)

    def post(self, path: str, form: dict[str, Any]) -> Any:
        """Post once, however often it has to be sent: it carries an idempotency key of its own."""
        return self._ask("POST", path, form)

    def _ask(self, method: str, path: str, form: dict[str, Any] | None) -> Any:
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/json, text/plain"}
        body = None
        if form is not None:
            headers |= {"Content-Type": "application/json", "Idempotency-Key": uuid.uuid4().hex}
            body = json.dumps(form).encode()
        address = f"{self.url.rstrip('/')}/api/v1{path}"
        opener = build_opener(_NoRedirect())
        for tried in range(1, _TRIES + 1):
            try:
                return _read(opener, Request(address, data=body, headers=headers, method=method))
            except HTTPError as error:
                raise _refused(error) from None
            except (URLError, OSError, HTTPException) as error:
                if tried == _TRIES:
                    raise ApiUnreachable(url=self.url, why=getattr(error, "reason", None) or error) from None
                time.sleep(0.5 * tried)
        raise ApiUnreachable(url=self.url, why="no answer")


def slug_path(slug: str) -> str:
    """A problem's slug as a part of an address."""
    return quote(slug, safe="/")


def _read(opener: OpenerDirector, request: Request) -> Any:
    with opener.open(request, timeout=_TIMEOUT_S) as answer:
        text = answer.read(_MOST_BYTES).decode("utf-8")
        is_json = "json" in answer.headers.get("Content-Type", "")
    return json.loads(text) if is_json else text


def _refused(error: HTTPError) -> ApiRefused:
    """The answer's own name and words, where it is one of the API's problem documents."""
    with error:
        text = error.read(_MOST_BYTES).decode("utf-8", "replace")
    try:
        form = json.loads(text)
        return ApiRefused(name=form["name"], words=form["detail"])
    except (ValueError, KeyError, TypeError):
        return ApiRefused(
            name=f"status {error.code}", words="the answer is none of the API's; is the address right?"
        )
