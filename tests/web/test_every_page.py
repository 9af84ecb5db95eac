"""Every page, light and dark, wide and narrow: axe finds nothing, nothing runs over the edge, the console is silent."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import User

from runs.models import Person
from runs.roles import Role
from tests.browsing import CHROMIUM, NO_CHROMIUM
from tests.web.address_book import NO_PAGE, World, names
from tests.web.test_in_browser import owner, visit

__all__ = ["owner"]

SHOTS = os.environ.get("MUCUTLASS_SHOTS")
"""A folder in which every page is kept as a picture, for people to look at: then in both themes at both widths."""

LOOKS = [("light", 1280), ("dark", 390), *([("dark", 1280), ("light", 390)] if SHOTS else [])]
"""Without pictures each page is looked at in one of two ways, in turn."""


@pytest.mark.django_db
def test_every_page_is_in_the_book() -> None:
    world = World(User.objects.create_user("alice"))
    listed = {name.partition(".")[0] for name in world.pages()}
    own = {"sign-in", "audit", "transcript-call", "lesson", "feedback-tool"}  # their own tests look at these
    assert names() - NO_PAGE - own == listed


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)
@pytest.mark.parametrize(("scheme", "width"), LOOKS)
def test_nothing_is_wrong_with_any(chromium: Any, live_server: Any, owner: User, scheme: str, width: int) -> None:
    Person.objects.create(user=owner, role=Role.ADMIN)
    tab = visit(chromium, live_server, owner, scheme, bypass_csp=True)  # axe itself is an inline script
    tab.page.set_viewport_size({"width": width, "height": 900})
    wrong: list[str] = []
    pages = list(World(owner).pages().items())
    for name, address in pages if SHOTS else pages[LOOKS.index((scheme, width)) :: 2]:
        page = tab.go(address)
        page.wait_for_load_state("networkidle")
        if SHOTS:
            page.screenshot(path=Path(SHOTS) / f"{name}-{scheme}-{width}.png", full_page=True)
        found = Axe().run(page).response["violations"]
        wrong += [
            f"{name}: {one['id']} ({one['impact']}) at {one['nodes'][0]['html'][:160]}"
            for one in found
            if one["impact"] in ("serious", "critical")
        ]
        over = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        wrong += [f"{name}: {over} px over the edge"] if over > 0 else []
        wrong += [f"{name}: {said}" for said in tab.said]
        tab.said.clear()
    tab.page.context.close()
    assert not wrong, "\n".join(wrong)
