"""Texts of problems, candidates and people reach pages as text, never as markup; no page has inline script or style."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.web import gallery
from tests.web.reading import html


@pytest.fixture
def pages(as_alice: Client, alice: User) -> dict[str, str]:
    run = gallery.hostile(alice)
    gallery.mid_flight(alice)
    addresses = (
        "/runs/", f"/runs/{run.pk}/", f"/runs/{run.pk}/attempts/", f"/runs/{run.pk}/numbers/",
        f"/runs/{run.pk}/live/?after=x", f"/runs/{run.pk}/own/77/1/", f"/runs/{run.pk}/own/77/2/",
        f"/runs/{run.pk}/own/77/3/", "/problems/", "/problems/own/77/", "/runs/new/",
        f"/runs/new/?clone={run.pk}", "/search/?q=<script>alert(1)</script>", "/fleet/",
        "/problems/?q=<script>alert(1)</script>", "/runs/?owner=<script>alert(1)</script>",
    )  # fmt: skip
    return {address: html(as_alice.get(address)) for address in addresses}


def test_no_page_lets_markup_through(pages: dict[str, str]) -> None:
    for address, source in pages.items():
        assert "<script>alert" not in source, address
        assert "<img src=x" not in source, address


def test_the_text_itself_is_shown(pages: dict[str, str]) -> None:
    shown = [address for address, source in pages.items() if "&lt;script&gt;alert(1)" in source]
    assert {"/runs/", "/problems/", "/problems/own/77/", "/runs/new/"} <= set(shown)


def test_pages_have_no_inline_style_and_no_inline_script(pages: dict[str, str]) -> None:
    for address, source in pages.items():
        assert not re.search(r"<[^>]+\sstyle=", source), address
        assert not re.search(r"<script(?![^>]*\bsrc=)", source), address
        assert not re.search(r"<[^>]+\son[a-z]+=\"", source), address


def test_the_content_policy_is_sent(as_alice: Client) -> None:
    assert "script-src 'self'" in as_alice.get("/runs/").headers["Content-Security-Policy"]


def test_the_chart_s_json_is_not_html(as_alice: Client, alice: User) -> None:
    run = gallery.hostile(alice)
    response = as_alice.get(f"/runs/{run.pk}/chart.json?problem=own/77")
    assert response.headers["Content-Type"] == "application/json"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
