"""The run page with 250 problems and 40 attempts on each: it stays light, and so does what it polls."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from runs.models import Run, Trajectory
from tests.web import control_rows
from tests.web.reading import html

PAGE_BYTES = 400 * 1024
LIVE_BYTES = 40 * 1024


@pytest.fixture(autouse=True)
def _fresh(settings: object) -> None:
    settings.LIVE_FRESH_S = 0  # type: ignore[attr-defined]


@pytest.fixture
def run(alice: User) -> Run:
    return control_rows.large(alice)


def test_the_page_is_light(as_alice: Client, run: Run, django_assert_max_num_queries: object) -> None:
    with django_assert_max_num_queries(14):  # type: ignore[operator]
        page = html(as_alice.get(f"/runs/{run.pk}/"))
    assert len(page.encode()) <= PAGE_BYTES
    assert page.count('<tr role="row" id="t-') == 50
    assert "probs rows dense" in page
    rest = {found for number in range(2, 6) for found in keys(html(as_alice.get(f"/runs/{run.pk}/?page={number}")))}
    assert len(rest | keys(page)) == 250, "every problem is on one of its pages"


def test_what_it_polls_is_lighter(as_alice: Client, run: Run) -> None:
    page = html(as_alice.get(f"/runs/{run.pk}/"))
    found = re.search(r'hx-get="([^"]+)" hx-trigger="every 2s"', page)
    assert found is not None
    address = found[1].replace("&amp;", "&")
    assert as_alice.get(address).status_code == 204
    Trajectory.objects.filter(pk=int(min(keys(page)))).update(best_s=4.1e-4, eager_s=3.9e-3)
    live = as_alice.get(address).content
    assert len(live) <= LIVE_BYTES
    assert live.count(b'<tr role="row"') == 1


def keys(page: str) -> set[str]:
    """Keys of the problems whose rows a page has."""
    return set(re.findall(r'<tr role="row" id="t-(\d+)"', page))


def test_its_chart_is_light(as_alice: Client, run: Run) -> None:
    body = as_alice.get(f"/runs/{run.pk}/chart.json").content
    assert len(body) <= PAGE_BYTES
