"""Tables as files: a response that is written to, or one that is sent line by line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from django.http import HttpResponse, StreamingHttpResponse

_TYPE = "text/csv; charset=utf-8"


class Writable(Protocol):
    """All that ``csv`` asks of a file."""

    def write(self, text: str, /) -> object: ...


def csv_file(name: str) -> HttpResponse:
    """An empty file ``name.csv`` to write to."""
    return HttpResponse(content_type=_TYPE, headers=_headers(name))


def csv_stream(name: str, lines: Iterable[str]) -> StreamingHttpResponse:
    """A file ``name.csv``, written while it is sent."""
    return StreamingHttpResponse(lines, content_type=_TYPE, headers=_headers(name))


def _headers(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}.csv"'}
