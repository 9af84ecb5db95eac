"""The API put together: routes, who may ask, and the OpenAPI document with the answers that every route can give."""

from __future__ import annotations

import functools
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, URLResolver, path
from ninja import NinjaAPI, Router
from ninja.openapi.schema import OpenAPISchema

from runs.api import control_routes, grid_routes, problem_routes, run_routes, trajectory_routes
from runs.api.answers import MEDIA_TYPE, JsonObject, add_handlers, problem
from runs.api.auth import ApiRequest, Bearer, Session
from runs.api.once import HEADER
from runs.api.schemas import Me
from runs.errors import MethodNotThere, NothingHere
from runs.roles import role_of

_WORDS = (
    "What an agent outside needs, and a script that launches runs: read problems and bounds, start a run or a grid of "
    "runs, post candidates, wait for what they come to. "
    "Times are seconds, sizes bytes; null is 'not measured' or 'not known'. Errors are problem documents (RFC 9457)."
)
_EVERY = {401: "No token that holds", 404: "Nothing there", 422: "Something in the request is wrong",
          429: "Too many requests"}  # fmt: skip
_WRITES = {400: "The body is no JSON object", 403: "Not allowed", 409: "Not as things stand",
           413: "The body is too large"}  # fmt: skip
_PROBLEM: dict[str, Any] = {
    "title": "Problem",
    "type": "object",
    "description": "What was wrong, and what would be right. ``name`` is the error's stable name.",
    "required": ["type", "title", "status", "name", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "name": {"type": "string"},
        "detail": {"type": "string"},
        "fields": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["where", "words"],
                "properties": {"where": {"type": "string"}, "words": {"type": "string"}},
            },
        },
    },
}
_KEY: dict[str, Any] = {
    "in": "header",
    "name": HEADER,
    "required": False,
    "schema": {"type": "string", "maxLength": 100},
    "description": "The same post with the same key again gets the first one's answer.",
}


class Api(NinjaAPI):
    """NinjaAPI whose document names the errors too."""

    def get_openapi_schema(self, **options: Any) -> OpenAPISchema:
        """The document, with every route's problem answers."""
        document = super().get_openapi_schema(**options)
        document["components"].setdefault("schemas", {})["Problem"] = _PROBLEM
        content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
        for methods in document["paths"].values():
            for method, operation in methods.items():
                codes = _EVERY | (_WRITES if method == "post" else {})
                for code, words in codes.items():
                    operation["responses"].setdefault(code, {"description": words, "content": content})
                if 201 in operation["responses"]:
                    operation["parameters"].append(_KEY)
                operation["responses"] = {str(k): v for k, v in sorted(operation["responses"].items())}
        return document

    def get_openapi_operation_id(self, operation: Any) -> str:
        """The route's function by name: names are unique, and clients make methods of them."""
        return str(operation.view_func.__name__)


me = Router(tags=["account"])


@me.get("/me", response=Me, summary="Who asks")
def read_me(request: ApiRequest) -> Me:
    """Whose token this is and what it may do."""
    caller = request.auth
    return Me(user=caller.user.get_username(), role=role_of(caller.user), token=caller.token, scope=caller.scope)


def _make() -> Api:
    api = Api(
        title="μCUTLASS",
        version="1",
        description=_WORDS,
        auth=[Bearer(), Session()],
        parser=JsonObject(),
        docs_url=None,
        openapi_url=None,
        urls_namespace="api",
    )
    routes = (problem_routes, run_routes, grid_routes, control_routes, trajectory_routes)
    for router in (me, *(module.router for module in routes)):
        api.add_router("", router)
    add_handlers(api)
    return api


api = _make()


@login_not_required
def nothing(request: HttpRequest, rest: str) -> HttpResponse:
    """An address of the API at which there is nothing."""
    return problem(NothingHere(what=f"route {request.path}"))


def _by_its_methods(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """The view, whose refusal of a method is a problem document as every other."""

    @functools.wraps(view)
    def asked(request: HttpRequest, *parts: Any, **named: Any) -> HttpResponse:
        answer = view(request, *parts, **named)
        if answer.status_code != HTTPStatus.METHOD_NOT_ALLOWED:
            return answer
        allowed = ", ".join(sorted(method.strip() for method in answer["Allow"].split(",")))
        said = problem(MethodNotThere(path=request.path, method=request.method, allowed=allowed))
        said["Allow"] = allowed
        return said

    return asked


def _urls() -> list[URLPattern | URLResolver]:
    patterns, _, _ = api.urls
    for pattern in patterns:
        # Routes know their callers themselves, and an agent is not sent to a sign-in page.
        if isinstance(pattern, URLPattern):
            pattern.callback = login_not_required(_by_its_methods(pattern.callback))
    return [*patterns, path("<path:rest>", nothing)]


urlpatterns = _urls()
