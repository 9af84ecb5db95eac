"""What the gap is made of on a candidate's page, and a time below the floor wherever it is shown."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from runs.board import board
from runs.gap_pane import gap_pane
from runs.models import Attempt
from sol.gap.record import Factor, FactorName, Gap
from sol.gap.standing import Held
from tests.web import gallery
from tests.web.reading import html, part, words


@pytest.fixture
def best(alice: User) -> Attempt:
    found = gallery.near_sol(alice).trajectories.get().best
    assert found is not None
    return found


def address(one: Attempt) -> str:
    t = one.trajectory
    return f"/runs/{t.run_id}/{t.problem.slug}/{one.number}/"


@pytest.fixture
def held(best: Attempt) -> Attempt:
    """The best after somebody found the floor to lie above it."""
    best.trajectory.floor_s = best.time_s * 1.05  # type: ignore[operator]
    best.trajectory.save()
    best.trajectory.bounds = {**best.trajectory.bounds, "floor_s": best.trajectory.floor_s}  # type: ignore[dict-item]
    best.trajectory.save()
    best.held = Held.FLOOR.value
    best.save(update_fields=["held"])
    return best


def test_bars_begin_where_the_one_before_ends() -> None:
    pane = gap_pane(
        Gap.of(
            8.0,
            [
                Factor(FactorName.CLOCK, 0.5, "w", "s"),
                Factor(FactorName.LAUNCHES, 4.0, "w", "s"),
                Factor(FactorName.IDLE, None, "why"),
            ],
        )
    )
    assert pane is not None
    clock, launches, idle, rest = pane.rows
    # From 0.5× to 8× are four doublings; 1× lies at a quarter.
    assert (clock.start, clock.length, clock.back) == pytest.approx((0.0, 0.25, True))
    assert (launches.start, launches.length) == pytest.approx((0.0, 0.5))
    assert (idle.value, idle.length) == (None, 0.0)
    assert (rest.start, rest.length, rest.rest) == pytest.approx((0.5, 0.5, True))
    assert pane.label == "8.00× of SOL = clock under load 0.50× × outside of kernels 4.00× × not told apart 4.00×"
    assert gap_pane(None) is None


def test_the_page_tells_each_factor_with_what_it_rests_on(as_alice: Client, best: Attempt) -> None:
    source = html(as_alice.get(address(best)))
    table = words(part(source, "gap", "table"))
    assert "Outside of kernels" in table
    assert "the fastest timed call took" in table
    assert "the cores’ clock" in table or "the cores' clock was not read" in table
    assert "Not told apart" in table
    assert "SOL score" in table
    assert table.split("their product")[1].split("bound")[1].split()[0] == f"{best.gap:.2f}×"


def test_below_the_floor_the_page_claims_nothing(as_alice: Client, held: Attempt) -> None:
    source = html(as_alice.get(address(held)))
    text = words(source)
    assert 'id="gap"' not in source
    assert 'path class="flag"' in source
    assert "under review, not counted; it is in no best, mean or speedup of the run." in text
    assert "Over torch eager —" in text or "Over torch eager" in text
    assert "No honest kernel is expected to be faster" in text
    assert held.speedup is None


def test_below_the_floor_it_is_in_no_figure_of_the_run(held: Attempt) -> None:
    found = board(held.trajectory.run)
    row = found.rows[0]
    assert row.gap is None or row.gap > held.trajectory.floor_s / held.trajectory.sol_s  # type: ignore[operator]
    assert found.held >= 1
    assert found.passed + found.failed + found.held == found.ended
    over = [value for value in row.best_after if value is not None]
    assert all(value * row.trajectory.sol_s >= row.trajectory.floor_s for value in over)  # type: ignore[operator]


def test_below_the_floor_the_lists_say_so(as_alice: Client, held: Attempt) -> None:
    run = held.trajectory.run
    text = words(html(as_alice.get(f"/runs/{run.pk}/attempts/")))
    assert "below the floor" in text
    problem = words(html(as_alice.get(f"/problems/{held.trajectory.problem.slug}/")))
    assert f"#{held.number} " not in problem.split("Attempts that passed")[-1].split("New run")[0]
