"""The lessons' pages: what is listed, what people may change, that nothing is lost and nothing is markup."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from runs.models import Lesson, LessonUse, Trajectory
from tests.web import gallery, histories
from tests.web.reading import html, links, text_of


@pytest.fixture
def on(alice: User) -> Trajectory:
    return gallery.near_sol(alice).trajectories.get()


@pytest.fixture
def many(on: Trajectory) -> list[Lesson]:
    return [
        histories.lesson(on, "Tile by the cache"),
        histories.lesson(
            on, "Fuse the tail", kind="softmax", bottleneck="memory", gain=2.25, change="fuse a into b"
        ),
        histories.lesson(on, "A model said so", source="summary", gain=None, change=""),
        histories.lesson(on, "For the card", target="sm_90a", retired="2026-01-02T10:00:00Z"),
    ]


def test_no_lessons_yet_says_where_they_come_from(as_alice: Client) -> None:
    text = text_of(as_alice.get("/lessons/"))
    assert "No lessons yet" in text
    assert "when work on a problem ends" in text


def test_lessons_are_listed_with_where_they_came_from(as_alice: Client, on: Trajectory, many: list[Lesson]) -> None:
    LessonUse.objects.create(lesson=many[0], trajectory=on)
    response = as_alice.get("/lessons/")
    text = text_of(response)
    assert "4 of 4" in text
    assert f"Tile by the cache r-{on.run_id} {on.problem.slug} #1 measured" in text
    assert "gemm compute bound, host 1.50× 1 in use" in text
    assert "– a model’s words: nothing was measured for it" in text
    assert {
        f"/runs/{on.run_id}/",
        f"/problems/{on.problem.slug}/",
        f"/runs/{on.run_id}/{on.problem.slug}/1/",
    } <= set(links(html(response)))


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("q=tile", 1),
        ("state=retired", 1),
        ("state=in_use", 3),
        ("state=in_use&state=retired", 4),
        ("kind=softmax", 1),
        ("target=host&bottleneck=compute", 2),
        ("source=summary", 1),
        ("kind=softmax&q=tile", 0),
        ("run=1000000", 0),
        ("run=%F0%9F%92%A9&state=nonsense", 4),
    ],
)
def test_filters_live_in_the_address(as_alice: Client, many: list[Lesson], query: str, count: int) -> None:
    assert f"{count} of 4" in text_of(as_alice.get(f"/lessons/?{query}"))


def test_a_run_links_to_what_it_taught(as_alice: Client, on: Trajectory, many: list[Lesson]) -> None:
    address = f"/lessons/?run={on.run_id}"
    assert address in links(html(as_alice.get(f"/runs/{on.run_id}/")))
    assert "4 of 4 run r-" in text_of(as_alice.get(address))


def test_a_filter_that_finds_nothing_says_so(as_alice: Client, many: list[Lesson]) -> None:
    text = text_of(as_alice.get("/lessons/?q=zebra&kind=gemm&state=retired"))
    assert "No lesson has text or problem has “zebra”, and state retired, and operation gemm" in text


def test_the_list_takes_a_fixed_number_of_queries(
    as_alice: Client, on: Trajectory, django_assert_max_num_queries: object
) -> None:
    for number in range(3):
        histories.lesson(on, f"Lesson {number}")
        with django_assert_max_num_queries(18):  # type: ignore[operator]
            as_alice.get("/lessons/")


def test_the_owner_may_edit_and_the_original_is_kept(as_alice: Client, many: list[Lesson]) -> None:
    one = many[0]
    response = as_alice.post(f"/lessons/{one.pk}/edit/", {"text": "Tile by the\nsecond-level cache"}, follow=True)
    text = text_of(response)
    assert "Tile by the second-level cache" in text
    assert "written Tile by the cache" in text
    assert "alice edited Tile by the second-level cache" in text
    one.refresh_from_db()
    assert (one.text, one.original) == ("Tile by the second-level cache", "Tile by the cache")


def test_what_was_typed_comes_back_where_it_is_too_long(as_alice: Client, many: list[Lesson]) -> None:
    response = as_alice.post(f"/lessons/{many[0].pk}/edit/", {"text": "y" * 500})
    assert response.status_code == 422
    assert "the text has 500 characters; 1 to 400 would be right" in text_of(response)
    assert "y" * 500 in html(response)
    assert Lesson.objects.get(pk=many[0].pk).text == "Tile by the cache"


def test_a_lesson_is_retired_and_restored(as_alice: Client, many: list[Lesson]) -> None:
    one = many[0]
    text = text_of(as_alice.post(f"/lessons/{one.pk}/retire/", follow=True))
    assert "Retired: no trajectory is given it from now on." in text
    assert "alice retired as before" in text
    assert Lesson.objects.get(pk=one.pk).retired is not None
    assert "alice restored" in text_of(as_alice.post(f"/lessons/{one.pk}/restore/", follow=True))
    assert Lesson.objects.get(pk=one.pk).retired is None


def test_a_member_may_look_but_not_change(as_bob: Client, many: list[Lesson]) -> None:
    one = many[0]
    page = html(as_bob.get(f"/lessons/{one.pk}/"))
    assert "Keep these words" not in page
    assert "Retire" not in page
    for action in ("edit", "retire", "restore"):
        refused = as_bob.post(f"/lessons/{one.pk}/{action}/", {"text": "mine"})
        assert refused.status_code == 403
        assert "whose owner and admins may change it" in text_of(refused)
    one.refresh_from_db()
    assert (one.text, one.retired) == ("Tile by the cache", None)


def test_staff_may_change_and_an_outsider_reaches_nothing(
    as_maya: Client, outsider: Client, many: list[Lesson]
) -> None:
    one = many[0]
    assert outsider.get("/lessons/").status_code == 302
    assert outsider.post(f"/lessons/{one.pk}/retire/").status_code == 302
    assert Lesson.objects.get(pk=one.pk).retired is None
    assert as_maya.post(f"/lessons/{one.pk}/retire/").status_code == 302
    assert Lesson.objects.get(pk=one.pk).retired is not None


def test_changing_takes_a_post_and_a_lesson_that_is_there(as_alice: Client, many: list[Lesson]) -> None:
    assert as_alice.get(f"/lessons/{many[0].pk}/retire/").status_code == 405
    assert as_alice.get("/lessons/999999/").status_code == 404


def test_a_lesson_whose_run_is_gone_is_staffs(as_alice: Client, as_maya: Client, many: list[Lesson]) -> None:
    one = many[0]
    Lesson.objects.filter(pk=one.pk).update(trajectory=None, attempt=None)
    assert as_alice.get(f"/lessons/{one.pk}/").status_code == 200
    assert "learned by a run that is gone; admins may change it" in text_of(
        as_alice.post(f"/lessons/{one.pk}/retire/")
    )
    assert as_maya.post(f"/lessons/{one.pk}/retire/").status_code == 302


def test_text_that_tries_to_be_markup_is_text(as_alice: Client, on: Trajectory) -> None:
    one = histories.lesson(on, gallery.HOSTILE, change=gallery.HOSTILE, kind=gallery.HOSTILE[:40])
    as_alice.post(f"/lessons/{one.pk}/edit/", {"text": f"{gallery.HOSTILE} again"})
    for address in ("/lessons/", f"/lessons/{one.pk}/", "/lessons/?q=%3Cscript%3E"):
        page = html(as_alice.get(address))
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert "&lt;script&gt;alert(1)" in page
