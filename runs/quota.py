"""How much of a request's files is read: no more than the page takes, however long the upload is."""

from __future__ import annotations

from typing import Any

from django.core.files.uploadhandler import FileUploadHandler, SkipFile
from django.http import HttpRequest


class Quota(FileUploadHandler):
    """Passes on ``most_bytes`` of all files together; beyond that ``request.over_quota`` is set, and a page says so."""

    def __init__(self, request: HttpRequest, most_bytes: int) -> None:
        super().__init__(request)
        self._left = most_bytes

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        """Pass on what comes, as long as there is room."""
        self._left -= len(raw_data)
        if self._left < 0:
            request: Any = self.request
            request.over_quota = True
            raise SkipFile
        return raw_data

    def file_complete(self, file_size: int) -> None:
        """The next handler keeps the file."""
        del file_size
