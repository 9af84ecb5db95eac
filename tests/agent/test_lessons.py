"""What a history teaches, and which lessons a problem is given."""

from __future__ import annotations

from dataclasses import replace

from agent.lessons import (
    MOST,
    MOST_CHARACTERS,
    MOST_OF_FAMILY,
    MOST_OF_ONE,
    MOST_TEXT,
    Known,
    drafts,
    lesson_texts,
    select,
)
from agent.steps import Answered, Ask, Asked, Candidate, Event, Measured, Submitted
from tests.agent.driving import failed, passed, settings, started


def tried(number: int, change: str, result: Measured, parent: int | None = 1, why: str = "Fits L2.") -> list[Event]:
    return [Submitted(number, Candidate(f"text {number}", parent, change, why)), result]


def known(number: int, text: str = "", **changes: object) -> Known:
    base = Known(number, "own/1", "gemm", "host", "compute", text or f"lesson {number}")
    return replace(base, **changes)  # type: ignore[arg-type]


HISTORY: tuple[Event, ...] = (
    started(),
    *tried(1, "translated program", passed(1, 12e-3), None),
    *tried(2, "y.tile(96, 512, 256)", passed(2, 8e-3)),
    *tried(3, "y.tile(8, 8, 8)", passed(3, 20e-3), 2),
    *tried(4, "y.stages(3)", failed(4), 2),
    *tried(5, "fuse z into y", passed(5, 4e-3), 2, ""),
    *tried(6, "y.order(m)", passed(6, 3.95e-3), 5),
)


def test_a_change_that_moved_the_best_is_a_lesson_with_what_it_gave() -> None:
    first, second = drafts(settings(), HISTORY)
    assert (first.change, first.attempt, first.about, first.gain) == ("fuse z into y", 5, (2, 5), 2.0)
    assert first.text == "fuse z into y: 2.00× faster, 8 to 4 ms."
    assert second.change == "tile(96, 512, 256)"
    assert second.text == "tile(96, 512, 256): 1.50× faster, 12 to 8 ms. Fits L2."
    assert {draft.source for draft in (first, second)} == {"history"}


def test_nothing_is_learned_from_a_flagged_attempt_nor_over_one() -> None:
    flagged = tuple(
        replace(event, flagged=True) if isinstance(event, Measured) and event.number == 2 else event
        for event in HISTORY
    )
    assert [draft.attempt for draft in drafts(settings(), flagged)] == []


def test_a_time_below_the_floor_teaches_once_a_person_lifted_it() -> None:
    below = passed(2, 1e-4, flagged=True)
    fast = (started(), *tried(1, "a", passed(1, 12e-3), None), *tried(2, "y.once(w)", below))
    assert drafts(settings(), fast) == ()
    assert [draft.attempt for draft in drafts(settings(), (*fast, replace(below, flagged=False)))] == [2]


def test_a_gain_that_a_busy_machine_made_is_none() -> None:
    busy = passed(1, 12e-3, baseline_s=20e-3)
    calm = [passed(number, 8e-3, baseline_s=10e-3) for number in (2, 3, 4)]
    events: list[Event] = [started(), *tried(1, "a", busy, None)]
    for result in calm:
        events += tried(result.number, "y.tile(8, 8, 8)", result)
    assert drafts(settings(), tuple(events)) == ()


def test_only_the_largest_gains_are_kept() -> None:
    events: list[Event] = [started(), *tried(1, "a", passed(1, 100e-3), None)]
    for number in range(2, 10):
        events += tried(number, f"y.tile({number}, 8, 8)", passed(number, 100e-3 / 1.2 ** (number - 1)), number - 1)
    assert len(drafts(settings(), tuple(events))) == MOST_OF_ONE


def summary(number: int, data: dict[str, object]) -> list[Event]:
    return [Asked(Ask(number, "advise", None, 0, phase="summarize")), Answered(number, (), data=data)]


def test_a_summary_is_a_lesson_about_the_attempts_since_the_last_one() -> None:
    history = (
        *HISTORY[:5],
        *summary(1, {"lessons": ["Fuse first."]}),
        *HISTORY[5:],
        *summary(2, {"lesson": " Then\ntile. "}),
    )
    words = [draft for draft in drafts(settings(), history) if draft.source == "summary"]
    assert [(draft.text, draft.about, draft.attempt, draft.gain) for draft in words] == [
        ("Fuse first.", (1, 2), 2, None),
        ("Then tile.", (3, 4, 5, 6), 6, None),
    ]


def test_a_summary_of_a_flagged_attempt_is_no_lesson() -> None:
    history = (started(), *tried(1, "a", passed(1, 5e-3, flagged=True), None), *summary(1, {"lessons": ["Cheat."]}))
    assert drafts(settings(), history) == ()


def test_a_lesson_beside_a_candidate_counts_and_says_what_it_is_about() -> None:
    beside = Answered(
        1, (Candidate("t", None, "", ""),), data={"lesson": "Launches cost.", "bottleneck": "latency"}
    )
    (*_, last) = drafts(settings(), (*HISTORY, Asked(Ask(1, "expand", 1, 1, phase="mantis")), beside))
    assert (last.text, last.bottleneck, last.about) == ("Launches cost.", "latency", (1, 2, 3, 4, 5, 6))
    strange = Answered(1, (), data={"lesson": "Kept.", "bottleneck": ["<b>"]})
    assert drafts(settings(), (*HISTORY, strange))[-1].bottleneck == ""


def test_whatever_a_model_wrote_is_read_without_an_error() -> None:
    assert lesson_texts(None) == []
    assert lesson_texts({"lessons": {"text": "no list"}}) == []
    assert lesson_texts({"lessons": [1, None, "", "  kept "]}) == ["kept"]
    long = drafts(settings(), (*HISTORY, *summary(1, {"lesson": "x " * 3000})))[-1]
    assert len(long.text) == MOST_TEXT


def test_what_fits_best_comes_first() -> None:
    kept = [
        known(1, kind="conv"),
        known(2, gain=1.2),
        known(3, gain=3.0),
        known(4, bottleneck="memory", gain=9.0),
        known(5, target="sm_90a", gain=9.0),
        known(6, kind="softmax", bottleneck="memory", gain=9.0),
    ]
    assert [each.id for each in select(kept, "gemm", "host", "compute")] == [3, 2, 4, 1]


def test_one_change_and_one_text_count_once() -> None:
    kept = [
        known(1, "tile(8): 1.5× faster", change="tile(8)", gain=1.5),
        known(2, "tile(8): 2× faster", change="tile(8)", gain=2.0),
        known(3, "Fuse  first"),
        known(4, "fuse first."),
    ]
    assert [each.id for each in select(kept, "gemm", "host", "compute")] == [2, 4]


def test_number_characters_and_family_are_limited() -> None:
    many = [known(number) for number in range(100)]
    assert len(select(many, "gemm", "host", "compute")) == MOST
    long = [known(number, f"{number} " + "x" * 390) for number in range(100)]
    assert sum(len(each.text) for each in select(long, "gemm", "host", "compute")) <= MOST_CHARACTERS
    tiles = [known(number, change=f"tile({number})") for number in range(10)]
    assert len(select(tiles, "gemm", "host", "compute")) == MOST_OF_FAMILY
