"""Asking the API as an agent does, and checking every answer against the document."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from django.test import Client
from jsonschema import Draft202012Validator

BASE = "/api/v1"


@cache
def document() -> dict[str, Any]:
    """The OpenAPI document as it is served."""
    from runs.api.service import api

    form: dict[str, Any] = json.loads(json.dumps(api.get_openapi_schema(path_prefix="api/v1/")))
    return form


def operation(method: str, path: str) -> tuple[str, dict[str, Any]]:
    """The documented route that an address belongs to: the one with the most literal parts."""
    found = []
    for template, methods in document()["paths"].items():
        literal = _matches(template, path)
        if literal is not None and method in methods:
            found.append((literal, template))
    assert found, f"{method} {path} is not documented"
    template = max(found)[1]
    return template, document()["paths"][template][method]


def _matches(template: str, path: str) -> int | None:
    """How many parts match literally; None where it is another route. A slug has one slash."""
    wanted = template.replace("{slug}", "{slug}/{slug2}").split("/")
    given = path.split("/")
    if len(wanted) != len(given):
        return None
    if any(part != other for part, other in zip(wanted, given, strict=True) if not part.startswith("{")):
        return None
    return sum(not part.startswith("{") for part in wanted)


class Asker:
    """Requests with a token. Every answer must be one that the document names, in the form it says."""

    def __init__(self, token: str | None, client: Client | None = None) -> None:
        self.client = client or Client()
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.used: set[tuple[str, str]] = set()

    def get(self, path: str, **query: Any) -> Any:
        return self._checked("get", path, self.client.get(BASE + path, query, headers=self.headers))

    def post(self, path: str, form: Any = None, *, key: str | None = None, **headers: str) -> Any:
        body = form if isinstance(form, bytes) else json.dumps({} if form is None else form)
        sent = {**self.headers, **({"Idempotency-Key": key} if key else {}), **headers}
        answer = self.client.post(BASE + path, body, content_type="application/json", headers=sent)
        return self._checked("post", path, answer)

    def _checked(self, method: str, path: str, answer: Any) -> Any:
        template, told = operation(method, BASE + path)
        self.used.add((method, template))
        status = str(answer.status_code)
        assert status in told["responses"], f"{method} {path} answered {status}: {answer.content[:300]!r}"
        content = told["responses"][status].get("content", {})
        kind = answer.headers["Content-Type"].split(";")[0]
        assert kind in content, f"{method} {path} {status} is {kind}"
        if kind.endswith("json"):
            schema = {**content[kind]["schema"], "components": document()["components"]}
            Draft202012Validator(schema).validate(answer.json())
        return answer


def name_of(answer: Any) -> str:
    """The stable name of the error that was answered."""
    return str(answer.json()["name"])
