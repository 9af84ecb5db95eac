"""The list of problems and a problem's page."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from sol.models import Bound, Device
from tests.web import gallery
from tests.web.reading import html, links, text_of, words


@pytest.fixture
def many(db: None) -> None:
    gallery.problems(8)
    gallery.broken_problem(99)
    gallery.problem(50, "Not_Looked_At", bounded=False)


def test_every_problem_is_listed_with_its_bound(as_alice: Client, many: None) -> None:
    text = text_of(as_alice.get("/problems/"))
    assert "own/1 Gemm gemm compute 0.680" in text
    assert "– not measured yet: a run measures it" in text
    assert f"strict policy on {gallery.MACHINE}" in text


def test_a_failed_inspection_is_said_in_words(as_alice: Client, many: None) -> None:
    text = text_of(as_alice.get("/problems/"))
    assert "problem-does-not-parse: own/99 line 7: invalid syntax" in text
    assert "– inspection failed" in text
    assert "– not inspected yet" in text


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("q=gemm", 4),
        ("q=own/6", 1),
        ("kind=softmax&kind=norm", 3),
        ("bound=memory", 3),
        ("status=failed", 1),
        ("status=waiting", 1),
        ("kind=gemm&q=bias", 2),
        ("collection=elsewhere", 0),
    ],
)
def test_filters_live_in_the_address(as_alice: Client, many: None, query: str, count: int) -> None:
    text = text_of(as_alice.get(f"/problems/?{query}"))
    assert f"{count} of 10" in text


def test_counts_beside_filters_follow_the_other_filters(as_alice: Client, many: None) -> None:
    text = text_of(as_alice.get("/problems/?bound=memory"))
    assert "norm 2" in text
    assert "gemm 0" in text
    assert "compute 5" in text


def test_a_filter_that_finds_nothing_says_the_filter(as_alice: Client, many: None) -> None:
    text = text_of(as_alice.get("/problems/?q=zebra&bound=memory"))
    assert "No problem has name or id has “zebra”, and bound by memory" in text


def test_eager_of_the_latest_evaluation_gives_the_headroom(as_alice: Client, alice: User, many: None) -> None:
    trajectory = gallery.trajectory(gallery.run(alice), gallery.problems(1)[0])
    gallery.attempt(trajectory, 1, time_s=0.001, eager_s=0.0068)
    assert "10.0×" in text_of(as_alice.get("/problems/"))


def test_eager_at_the_bound_leaves_no_headroom(as_alice: Client, alice: User, many: None) -> None:
    trajectory = gallery.trajectory(gallery.run(alice), gallery.problems(1)[0])
    gallery.attempt(trajectory, 1, time_s=0.001, eager_s=0.0005)
    assert "at the bound" in text_of(as_alice.get("/problems/"))


def test_no_problems_says_how_to_get_some(as_alice: Client) -> None:
    text = text_of(as_alice.get("/problems/"))
    assert "No problems yet" in text
    assert "import_problems" in text


def test_a_problem_shows_source_signature_bounds_and_graph(as_alice: Client, many: None) -> None:
    source = html(as_alice.get("/problems/own/2/"))
    text = words(source)
    assert '<span class="k">class</span> <span class="y">Model</span>' in source
    assert "input x f32[512, 512]" in text
    assert "parameter gemm.weight f32[8192, 8192]" in text
    assert "aten.linear.default" in text
    assert "matrix work" in text
    assert "Nobody has tried it yet." in text


def test_bounds_on_several_machines_are_told_apart(as_alice: Client, many: None) -> None:
    one = text_of(as_alice.get("/problems/own/1/"))
    assert "0.578 ms on" not in one
    mine = list(Bound.objects.filter(problem__slug="own/1"))
    for name, place in (("A faraway card", "first"), (gallery.MACHINE, "first"), (gallery.MACHINE, "second")):
        other = Device.objects.create(name=name, kind="cpu", record=mine[0].device.record, elsewhere=place)
        Bound.objects.bulk_create(_times(bound, 3 if place == "second" else 2, other) for bound in mine)
    text = text_of(as_alice.get("/problems/own/1/"))
    here, far, alike = (f"0.578 ms on {gallery.MACHINE}", "1.16 ms on A faraway card, elsewhere",
                        f"1.73 ms on {gallery.MACHINE}, elsewhere")  # fmt: skip
    assert text.index(here) < text.index(far), "what was measured here comes first"
    assert text.index(here) < text.index(alike)
    assert f"1.16 ms on {gallery.MACHINE}" not in text, "of archives' machines of one name the last is shown"


def _times(bound: Bound, factor: float, device: Device) -> Bound:
    """The bound on another machine."""
    return Bound(
        problem=bound.problem, size=bound.size, device=device, policy=bound.policy, bound_class=bound.bound_class,
        steering_s=bound.steering_s * factor, floor_s=bound.floor_s * factor, record=bound.record,
    )  # fmt: skip


def test_attempts_across_runs_come_fastest_first(as_alice: Client, alice: User, bob: User, many: None) -> None:
    on = gallery.problems(1)[0]
    slow, fast = (gallery.trajectory(gallery.run(owner), on) for owner in (alice, bob))
    gallery.attempt(slow, 1, time_s=0.004)
    gallery.attempt(fast, 1, time_s=0.002)
    source = html(as_alice.get("/problems/own/1/"))
    order = [link for link in links(source) if link.endswith("/own/1/1/")]
    assert order == [f"/runs/{fast.run_id}/own/1/1/", f"/runs/{slow.run_id}/own/1/1/"]
    assert "across 2 runs" in words(source)


def test_a_broken_problem_s_page_says_what_would_be_right(as_alice: Client, many: None) -> None:
    text = text_of(as_alice.get("/problems/own/99/"))
    assert "problem-does-not-parse : own/99 line 7: invalid syntax; a Python file that defines Model" in text


def test_the_list_takes_a_fixed_number_of_queries(
    as_alice: Client, many: None, django_assert_num_queries: object
) -> None:
    with django_assert_num_queries(7):  # type: ignore[operator]
        as_alice.get("/problems/")
    gallery.problems(16)
    with django_assert_num_queries(7):  # type: ignore[operator]
        as_alice.get("/problems/")


def test_a_problem_page_takes_few_queries(as_alice: Client, many: None, django_assert_num_queries: object) -> None:
    with django_assert_num_queries(7):  # type: ignore[operator]
        as_alice.get("/problems/own/2/")
