"""The validation part of the candidate page: standings, rounds, the worst tile, and the reason at the top."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from kernels.harness.correctness import Tile
from kernels.harness.evaluation import Outcome
from runs.models import Attempt
from runs.validation_panel import ValidationPanel, tile_map
from tests.web import gallery
from tests.web.reading import html, part, words
from tests.web.rows import evaluation


def source_of(client: Client, attempt: Attempt) -> str:
    t = attempt.trajectory
    response = client.get(f"/runs/{t.run_id}/{t.problem.slug}/{attempt.number}/")
    assert response.status_code == 200
    return html(response)


@pytest.fixture
def wrong(alice: User) -> Attempt:
    return Attempt.objects.filter(trajectory__run=gallery.none_passed(alice), outcome=Outcome.INCORRECT)[0]


@pytest.fixture
def best(alice: User) -> Attempt:
    found = gallery.near_sol(alice).trajectories.get().best
    assert found is not None
    return found


def test_the_reason_stands_at_the_top_and_over_the_checks(as_alice: Client, wrong: Attempt) -> None:
    source = source_of(as_alice, wrong)
    assert words(source).count("Incorrect: values are off.") == 2
    assert "Incorrect: values are off." in words(part(source, "validation", "section"))


def test_a_check_that_was_not_done_is_no_pass(as_alice: Client, best: Attempt) -> None:
    box = part(source_of(as_alice, best), "validation", "section")
    text = words(box)
    assert "strict: 3 hold, 1 recorded, 1 not done" in text
    row = next(row for row in box.split("<tr>") if "strided inputs" in row)
    assert "not done" in words(row)
    assert "holds" not in words(row)
    assert "a launch is handed dense inputs" in words(row)


def test_what_decides_nothing_is_called_recorded(as_alice: Client, best: Attempt) -> None:
    box = part(source_of(as_alice, best), "validation", "section")
    row = next(row for row in box.split("<tr>") if "worst tile" in row)
    assert "recorded" in words(row)


def test_each_round_has_its_errors_and_eagers(as_alice: Client, wrong: Attempt) -> None:
    text = words(part(source_of(as_alice, wrong), "rounds", "section"))
    assert "round 2 fresh values, new storage 98.4 % 0.310 2.1e−6" in text.replace("\u2009", " ")
    assert "strided inputs Not done: does not apply" in text


def test_the_worst_tile_is_named_and_drawn(as_alice: Client, wrong: Attempt) -> None:
    box = part(source_of(as_alice, wrong), "rounds", "section")
    assert "Worst tile: rows 64–127, columns 128–191 of output 0 of shape [512, 512], norm-wise error 1" in words(
        box
    )
    assert '<rect class="tile" x="24.0" y="12.0" width="12.0" height="12.0"/>' in box


def test_without_rounds_there_is_no_empty_table(as_alice: Client, alice: User) -> None:
    attempt = Attempt.objects.get(trajectory__run=gallery.none_passed(alice), outcome=Outcome.CRASH)
    assert "Rounds of correctness" not in source_of(as_alice, attempt)


def test_failed_checks_come_first() -> None:
    panel = ValidationPanel(evaluation(Outcome.INCORRECT, "wrong", None, 1e-3), "strict")
    assert [row.standing for row in panel.rows] == ["fails", "holds", "holds", "recorded", "not done"]
    assert panel.counts == "2 hold, 1 failed, 1 recorded, 1 not done"


@pytest.mark.parametrize(
    ("shape", "rows", "columns"),
    [((4096,), (0, 1), (4032, 4096)), ((8, 1_000_000), (0, 8), (0, 64)), ((100_000, 1), (99_968, 100_000), (0, 1))],
)
def test_a_tile_is_drawn_inside_its_output_however_thin(
    shape: tuple[int, ...], rows: tuple[int, int], columns: tuple[int, int]
) -> None:
    drawn = tile_map(Tile(0, shape, (), rows, columns, 1.0))
    assert 0 <= drawn.x <= drawn.x + drawn.w <= drawn.width
    assert 0 <= drawn.y <= drawn.y + drawn.h <= drawn.height
    assert min(drawn.w, drawn.h) >= 4
