"""A candidate's builds as files to download: for whoever may look, of what was built, and nothing else."""

from __future__ import annotations

import ast

import pytest
from django.contrib.auth.models import User
from django.test import Client

from kernels.toolchain.report import BuildOutcome
from runs.models import Attempt
from tests.web import gallery
from tests.web.reading import html, links, part


@pytest.fixture
def best(alice: User) -> Attempt:
    """An attempt of a host run that was also compiled for sm_90a."""
    found = gallery.near_sol(alice).trajectories.get().best
    assert found is not None
    return found


def address(attempt: Attempt, more: str = "") -> str:
    t = attempt.trajectory
    return f"/runs/{t.run_id}/{t.problem.slug}/{attempt.number}/{more}"


def test_each_build_is_offered_as_a_file_in_kernelbenchs_form(as_alice: Client, best: Attempt) -> None:
    page = html(as_alice.get(address(best)))
    for section, target in (("build", "host"), ("sm_90a", "sm_90a")):
        link = address(best, f"export/{target}/")
        assert link in links(part(page, section, "section"))
        response = as_alice.get(link)
        assert response.status_code == 200
        assert response["Content-Type"] == "text/x-python; charset=utf-8"
        assert response["Content-Disposition"] == f'attachment; filename="{best.kernel}-{target}-model_new.py"'
        text = response.content.decode()
        classes = {node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)}
        assert "ModelNew" in classes
        assert best.trajectory.problem.source in text
        assert f"for {target}: KernelBench's ModelNew" in text


def test_who_may_look_may_download_and_nobody_else(client: Client, as_bob: Client, best: Attempt) -> None:
    link = address(best, "export/host/")
    assert as_bob.get(link).status_code == 200
    response = client.get(link)
    assert response.status_code == 302
    assert "sign" in response["Location"]


def test_what_was_not_built_is_not_there(as_alice: Client, best: Attempt) -> None:
    for target in ("sm_80", "x", "py"):
        assert as_alice.get(address(best, f"export/{target}/")).status_code == 404
    build = best.build
    assert build is not None
    build.outcome = BuildOutcome.FAILED
    build.save()
    assert as_alice.get(address(best, "export/host/")).status_code == 404
    assert address(best, "export/host/") not in links(html(as_alice.get(address(best))))
