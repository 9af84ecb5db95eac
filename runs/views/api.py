"""The API for people: its document, and a page to read and try it."""

from __future__ import annotations

import json

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse

from runs.access import SignedInRequest
from runs.api.service import api

PREFIX = "/api/v1/"


@login_not_required
def openapi(request: HttpRequest) -> JsonResponse:
    """The OpenAPI document; it holds no secret, and tools read it without a token."""
    return JsonResponse(
        api.get_openapi_schema(path_prefix=PREFIX.lstrip("/")), json_dumps_params={"ensure_ascii": False}
    )


def api_page(request: SignedInRequest) -> HttpResponse:
    """The document as a page. What is tried there acts as the person who is signed in."""
    settings = {"url": reverse("api-openapi"), "deepLinking": False, "layout": "BaseLayout"}
    return render(request, "account/api.html", {"settings": json.dumps(settings)})
