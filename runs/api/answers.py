"""Bodies in and errors out: JSON objects within a limit, and every error as a problem document (RFC 9457)."""

from __future__ import annotations

import json
import logging
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError
from ninja.parser import Parser

from kernels.errors import UserError
from runs import errors

logger = logging.getLogger(__name__)

BODY_BYTES = 2 * 2**20
"""Most bytes of a request; Django itself reads half a mebibyte more."""

_DRAINED_BYTES = 64 * 2**20

MEDIA_TYPE = "application/problem+json"
_STATUS: dict[type[UserError], int] = {
    errors.TokenMissing: 401,
    errors.TokenUnknown: 401,
    errors.TokenRevoked: 401,
    errors.TokenExpired: 401,
    errors.ScopeTooSmall: 403,
    errors.FormForged: 403,
    errors.NotYours: 403,
    errors.NothingHere: 404,
    errors.NoReportYet: 404,
    errors.MethodNotThere: 405,
    errors.NotOutside: 409,
    errors.TrajectoryOver: 409,
    errors.TrajectoryBusy: 409,
    errors.AttemptsSpent: 409,
    errors.AlreadyTried: 409,
    errors.RunOver: 409,
    errors.RunElsewhere: 409,
    errors.NothingToRetry: 409,
    errors.NothingChanged: 409,
    errors.BodyTooLarge: 413,
    errors.BodyNotJson: 400,
    errors.TooManyRequests: 429,
    errors.TooManyFailures: 429,
    errors.BrokeHere: 500,
}
"""What is not named here is wrong with the request's content: 422."""


class JsonObject(Parser):
    """Reads a body that is one JSON object of at most BODY_BYTES; NaN and infinities are no JSON."""

    def parse_body(self, request: HttpRequest) -> dict[str, Any]:
        """Raises BodyTooLarge and BodyNotJson."""
        if len(request.body) > BODY_BYTES:
            raise _too_large(request)
        try:
            read = json.loads(request.body.decode("utf-8"), parse_constant=_no_number)
        except RecursionError:
            raise errors.BodyNotJson(why="nested too deeply") from None
        except ValueError as error:
            raise errors.BodyNotJson(why=error) from None
        if not isinstance(read, dict):
            raise errors.BodyNotJson(why=f"a {type(read).__name__}")
        return read


def _too_large(request: HttpRequest) -> errors.BodyTooLarge:
    """The error, once the rest of the body was read away: a caller that still sends would never see the answer."""
    left = _DRAINED_BYTES
    while left > 0 and (piece := request.read(min(left, 2**16))):
        left -= len(piece)
    size = int(request.META.get("CONTENT_LENGTH") or 0)
    return errors.BodyTooLarge(size=f"{size:,} bytes", limit=f"{BODY_BYTES:,} bytes")


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number in JSON")


def problem(error: UserError, *, more: list[dict[str, str]] | None = None) -> HttpResponse:
    """An error as its problem document: the class's name and the words of its template."""
    status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 422)
    form: dict[str, Any] = {
        "type": f"urn:mucutlass:{error.slug()}",
        "title": (type(error).__doc__ or "").strip().splitlines()[0],
        "status": status,
        "name": error.slug(),
        "detail": str(error),
    }
    if more is not None:
        form["fields"] = more
    response = HttpResponse(json.dumps(form, ensure_ascii=False), status=status, content_type=MEDIA_TYPE)
    if status == 401:
        response["WWW-Authenticate"] = "Bearer"
    if "seconds" in error.fields and status == 429:
        response["Retry-After"] = str(error.fields["seconds"])
    return response


def not_valid(error: ValidationError) -> HttpResponse:
    """Every field that is wrong, by its place, in words."""
    fields = [{"where": _place(found["loc"]), "words": str(found["msg"])} for found in error.errors]
    first = f"{fields[0]['where']}: {fields[0]['words']}" if fields else "none named"
    verb = "is" if len(fields) == 1 else "are"
    said = errors.RequestNotValid(count=len(fields), verb=verb, first=first)
    return problem(said, more=fields)


def _place(where: Any) -> str:
    """``("body", "wanted", "language")`` is ``body.language``: the name of our parameter is nobody's business."""
    parts = [str(part) for part in where]
    return ".".join([parts[0], *parts[2:]] if parts[0] == "body" else parts)


def add_handlers(api: NinjaAPI) -> None:
    """Every way in which a route may fail."""

    @api.exception_handler(UserError)
    def user_error(request: HttpRequest, error: UserError) -> HttpResponse:
        return problem(error)

    @api.exception_handler(ValidationError)
    def validation(request: HttpRequest, error: ValidationError) -> HttpResponse:
        return not_valid(error)

    @api.exception_handler(AuthenticationError)
    def nobody(request: HttpRequest, error: AuthenticationError) -> HttpResponse:
        return problem(errors.TokenMissing())

    @api.exception_handler(HttpError)
    def body(request: HttpRequest, error: HttpError) -> HttpResponse:
        # Whatever the parser raises comes wrapped.
        said = error.__cause__
        return problem(said if isinstance(said, UserError) else errors.BodyNotJson(why=error.message))

    @api.exception_handler(Http404)
    def missing(request: HttpRequest, error: Http404) -> HttpResponse:
        return problem(errors.NothingHere(what=f"such thing at {request.path}"))

    @api.exception_handler(PermissionDenied)
    def denied(request: HttpRequest, error: PermissionDenied) -> HttpResponse:
        return problem(errors.NotYours(words=str(error)))

    @api.exception_handler(RequestDataTooBig)
    def too_big(request: HttpRequest, error: RequestDataTooBig) -> HttpResponse:
        return problem(_too_large(request))

    @api.exception_handler(Exception)
    def broke(request: HttpRequest, error: Exception) -> HttpResponse:
        logger.exception("%s %s", request.method, request.path, exc_info=error)
        return problem(errors.BrokeHere())
