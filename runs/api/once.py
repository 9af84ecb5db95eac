"""Posts that may come twice: with the same ``Idempotency-Key`` the second gets the first one's answer.

The key's row and what the post does are one transaction: of two at once the second waits and is given the answer of
the first; a post that failed leaves no key behind. Keys are forgotten after a week.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja.responses import NinjaJSONEncoder
from pydantic import BaseModel

from runs.errors import KeyReused, RequestNotValid
from runs.models import PostedOnce

HEADER = "Idempotency-Key"
_MOST = 100
_KEPT = timedelta(days=7)


def once(request: HttpRequest, user: User, status: int, work: Callable[[], BaseModel]) -> HttpResponse:
    """What ``work`` answers, or what it answered when this key came first. Raises KeyReused and what ``work`` does."""
    key = request.headers.get(HEADER, "")
    if not key:
        return _response(_plain(work()), status)
    if len(key) > _MOST or not key.isprintable():
        words = f"header {HEADER}: at most {_MOST} printable characters"
        raise RequestNotValid(count=1, verb="is", first=words)
    digest = hashlib.sha256(f"{request.method} {request.path}\n".encode() + request.body).hexdigest()
    with transaction.atomic():
        PostedOnce.objects.filter(user=user, created__lt=timezone.now() - _KEPT).delete()
        row, made = PostedOnce.objects.get_or_create(user=user, key=key, defaults={"request": digest})
        if not made and row.request != digest:
            raise KeyReused(key=key)
        if made:
            row.answer, row.status = _plain(work()), status
            row.save(update_fields=["answer", "status"])
    response = _response(row.answer, row.status)
    if not made:
        response["Idempotent-Replayed"] = "true"
    return response


def _plain(form: BaseModel) -> Any:
    """The answer as a read of the same thing has it: times are written alike, to the millisecond."""
    return json.loads(json.dumps(form.model_dump(), cls=NinjaJSONEncoder))


def _response(form: object, status: int) -> HttpResponse:
    return HttpResponse(json.dumps(form, ensure_ascii=False), status=status, content_type="application/json")
