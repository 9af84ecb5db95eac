"""The profile in a browser: another launch in place, nothing said on the console, and what axe finds."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import User

from kernels.targets import Target
from tests.browsing import CHROMIUM, NO_CHROMIUM
from tests.profiling.tables import COPY, GEMM, LIBRARY
from tests.web import gallery
from tests.web.test_in_browser import owner, visit
from tests.web.test_profile import address, keep, measured

__all__ = ["owner"]

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM),
]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_profile_is_readable_by_everybody_at_every_width(
    chromium: Any, live_server: Any, owner: User, settings: Any, tmp_path: Any, scheme: str
) -> None:
    settings.PROFILE_DIR = tmp_path / "profiles"
    found = gallery.near_sol(owner).trajectories.get().best
    assert found is not None
    found.trajectory.run.target = Target.SM90A
    found.trajectory.run.save()
    keep(found, measured(GEMM, COPY, LIBRARY), b"report")
    tab = visit(chromium, live_server, owner, scheme)
    page = tab.go(address(found))
    page.locator("#profile .launches a").nth(1).click()
    page.wait_for_selector("#profile .findings >> text=Limited by memory")
    assert page.locator("#profile tr[aria-current]").inner_text().startswith("2")
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        violations = Axe().run(page, context="#profile").response["violations"]
        assert not [(violation["id"], violation["nodes"]) for violation in violations]
    assert tab.said == []
