"""Links that let somebody in do not stand in the log: Django writes the path of what it refuses."""

from __future__ import annotations

import logging
import re

_SECRET = re.compile(r"(/(?:join|enter)/)\s*\S+", re.IGNORECASE)


def without_secrets(text: str) -> str:
    """A text with what follows ``/join/`` and ``/enter/`` taken out."""
    return _SECRET.sub(r"\1…", text)


class QuietLinks(logging.Filter):
    """Lets every record through, its message without the secrets of links."""

    def filter(self, record: logging.LogRecord) -> bool:
        """The message is put together here, since the path is one of its arguments."""
        said = record.getMessage()
        quiet = without_secrets(said)
        if quiet != said:
            record.msg, record.args = quiet, ()
        return True
