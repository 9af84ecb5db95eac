"""What the run page polls: nothing new, something new, and the end."""

from __future__ import annotations

import re
from datetime import timedelta

from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from kernels.harness.evaluation import Outcome
from runs.models import Run, Worker
from runs.states import RunState, TrajectoryState
from tests.web import gallery
from tests.web.reading import html, part, words


def cursor(source: str) -> str:
    found = re.search(r"after=([0-9a-f]+)", source)
    assert found is not None
    return found[1]


def version(source: str) -> str:
    found = re.search(r'id="chart-note"[^>]* data-version="([0-9a-f]*)"', source)
    assert found is not None
    return found[1]


def poll(client: Client, run: Run, after: str) -> tuple[int, str]:
    response = client.get(f"/runs/{run.pk}/live/?after={after}")
    return response.status_code, html(response)


def test_nothing_new_is_answered_with_nothing(as_alice: Client, alice: User) -> None:
    run = gallery.mid_flight(alice)
    after = cursor(html(as_alice.get(f"/runs/{run.pk}/")))
    assert poll(as_alice, run, after) == (204, "")


def test_a_new_attempt_brings_its_row_alone(as_alice: Client, alice: User) -> None:
    run = gallery.mid_flight(alice)
    after = cursor(html(as_alice.get(f"/runs/{run.pk}/")))
    changed = run.trajectories.get(problem__slug="own/6")
    gallery.attempt(changed, 7, Outcome.PASSED, 0.0001, parent=changed.best)
    status, source = poll(as_alice, run, after)
    assert status == 200
    assert re.findall(r'<tr role="row" id="t-(\d+)"', source) == [str(changed.pk)]
    assert "own/6 #7" in words(part(source, "stream", "ol"))
    assert 'hx-swap-oob="true"' in part(source, "figures", "dl")
    assert cursor(source) != after


def test_the_chart_is_asked_for_anew_with_every_change(as_alice: Client, alice: User) -> None:
    """Its note bears the version of the data, by which the page knows that the chart has changed."""
    run = gallery.mid_flight(alice)
    page = html(as_alice.get(f"/runs/{run.pk}/"))
    changed = run.trajectories.get(problem__slug="own/6")
    gallery.attempt(changed, 7, Outcome.PASSED, 0.0001, parent=changed.best)
    _, source = poll(as_alice, run, cursor(page))
    assert version(page) == cursor(page)
    assert version(source) == cursor(source) != version(page)


def test_the_foot_names_the_machine_as_soon_as_it_is_known(as_alice: Client, alice: User) -> None:
    run = gallery.mid_flight(alice)
    machine = run.trajectories.exclude(device="").values_list("device", flat=True)[0]
    run.trajectories.update(device="")
    before = html(as_alice.get(f"/runs/{run.pk}/"))
    assert "medians" not in part(before, "measured", "span")
    run.trajectories.update(device=machine)
    _, source = poll(as_alice, run, cursor(before))
    assert f"Times are medians measured on {machine}." in part(source, "measured", "span")
    assert 'hx-swap-oob="true"' in part(source, "measured", "span")


def test_the_next_poll_after_a_change_finds_nothing_new(as_alice: Client, alice: User) -> None:
    run = gallery.mid_flight(alice)
    _, source = poll(as_alice, run, "")
    assert poll(as_alice, run, cursor(source))[0] == 204


def test_a_cursor_of_another_form_brings_everything(as_alice: Client, alice: User) -> None:
    run = gallery.mid_flight(alice)
    _, source = poll(as_alice, run, "zz<script>")
    assert source.count('<tr role="row"') == 8
    assert "<script>" not in source


def test_the_end_stops_the_polling(as_alice: Client, alice: User) -> None:
    run = gallery.mid_flight(alice)
    after = cursor(html(as_alice.get(f"/runs/{run.pk}/")))
    run.trajectories.filter(state="running").update(state=TrajectoryState.DONE, finish_reason="no_progress")
    Run.objects.filter(pk=run.pk).update(state=RunState.DONE, finished=timezone.now())
    status, source = poll(as_alice, run, after)
    assert status == 286
    assert "hx-get" not in part(source, "poll", "div")
    assert "Cancel run" not in source
    assert "Ended" in words(part(source, "now", "section"))


def test_a_worker_that_left_is_seen(as_alice: Client, alice: User) -> None:
    run = gallery.mid_flight(alice)
    after = cursor(html(as_alice.get(f"/runs/{run.pk}/")))
    Worker.objects.filter(queue="host").update(heartbeat=timezone.now() - timedelta(minutes=2))
    status, source = poll(as_alice, run, after)
    assert status == 200
    assert "Waiting: no host worker is online" in words(part(source, "now", "section"))
    assert "<tr role=" not in source


def test_polling_takes_few_queries(as_alice: Client, alice: User, django_assert_num_queries: object) -> None:
    run = gallery.mid_flight(alice)
    after = cursor(html(as_alice.get(f"/runs/{run.pk}/")))
    with django_assert_num_queries(7):  # type: ignore[operator]
        as_alice.get(f"/runs/{run.pk}/live/?after={after}")


def test_the_spoken_line_is_there_and_polite(as_alice: Client, alice: User) -> None:
    source = html(as_alice.get(f"/runs/{gallery.mid_flight(alice).pk}/"))
    said = part(source, "said", "p")
    assert 'aria-live="polite"' in said
    assert "2 of 8 problems ended" in words(said)
