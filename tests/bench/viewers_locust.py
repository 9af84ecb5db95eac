"""One viewer of a live run, for locust: opens the page once and then polls as its script does, every two seconds."""

from __future__ import annotations

import html
import itertools
import os
import random
import re
import time

from locust import HttpUser, constant, task

_SESSIONS = itertools.cycle(os.environ["VIEWERS_SESSIONS"].split(","))
EVERY_S = 2.0
_POLL = re.compile(r'id="poll"[^>]*hx-get="([^"]+)"')


class Viewer(HttpUser):  # type: ignore[misc]
    """Signed in with a session of its own. As on the page, the two seconds begin when an answer has come."""

    wait_time = constant(EVERY_S)

    def on_start(self) -> None:
        """Open the run's page at a moment of one's own: locust starts its users in crowds, once a second."""
        time.sleep(random.uniform(0, EVERY_S))
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
