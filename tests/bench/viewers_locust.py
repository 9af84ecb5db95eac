"""One viewer of a live run, for locust: opens the page once and then polls as its script does, every two seconds."""

from __future__ import annotations

import html
import itertools
import os
import re

from locust import HttpUser, constant_pacing, task

_SESSIONS = itertools.cycle(os.environ["VIEWERS_SESSIONS"].split(","))
_POLL = re.compile(r'id="poll"[^>]*hx-get="([^"]+)"')


class Viewer(HttpUser):  # type: ignore[misc]
    """Signed in with a session of its own."""

    wait_time = constant_pacing(2)

    def on_start(self) -> None:
        """Open the run's page."""
        self.client.cookies.set("sessionid", next(_SESSIONS))
        answer = self.client.get(os.environ["VIEWERS_PAGE"], name="page")
        self.address = self._next(answer.text)

    @task  # type: ignore[untyped-decorator]
    def poll(self) -> None:
        """Ask what is new; a poll that brings something brings the next poll's address too."""
        if not self.address:
            return
        answer = self.client.get(self.address, name="poll", headers={"HX-Request": "true"})
        if answer.status_code == 200:
            self.address = self._next(answer.text)

    def _next(self, text: str) -> str:
        found = _POLL.search(text)
        return html.unescape(found[1]) if found else ""
