"""The search tries earlier what gained on other problems of the same kind, with memory on."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from agent.history import State
from agent.proposers.moves import all_moves
from agent.proposers.moves.move import Scene, family_of, stageless
from agent.proposers.normal import checked
from agent.proposers.ranking import by_return
from agent.proposers.search import Search
from agent.steps import Answered, Ask, Event, LessonNote, Recalled, Started, Submitted, TrajectorySettings
from kernels.dsl import parse
from kernels.dsl.simd import AVX2
from tests.agent import synthetic
from tests.agent.driving import passed, settings, started

BEGIN = started(seed_program=synthetic.SEED, operation="gemm")
ASK = Ask(1, "expand", 1, 3)


def lesson(change: str, gain: float, kind: str = "gemm") -> LessonNote:
    return LessonNote(1, "own/1", kind, "compute", f"{change} helped", change, gain)


def order(begin: Started, chosen: TrajectorySettings) -> list[str]:
    """The changes in the order in which the search would try them."""
    state = State.of(chosen, (begin,))
    scene = Scene(begin, checked(begin, parse(begin.seed_program)), AVX2)
    moves = list(all_moves(scene))
    share = {stage.name: 1 / 3 for stage in scene.checked.stages}
    return [move.change for move in by_return(moves, share, scene, state, None, Random(1))]


def place(changes: list[str], family: str) -> int:
    return next(index for index, change in enumerate(changes) if family_of(change) == family)


def test_what_gained_on_the_same_kind_comes_earlier() -> None:
    before = order(BEGIN, settings())
    late = family_of(before[-1])
    after = order(replace(BEGIN, lessons=(lesson(stageless(before[-1]), 4.0),)), settings())
    assert place(after, late) < place(before, late)
    assert sorted(after) == sorted(before)


def test_a_small_gain_helps_too_and_never_harms() -> None:
    before = order(BEGIN, settings())
    for change in before:
        after = order(replace(BEGIN, lessons=(lesson(stageless(change), 1.06),)), settings())
        assert place(after, family_of(change)) <= place(before, family_of(change))


def test_a_lesson_of_another_kind_changes_nothing() -> None:
    before = order(BEGIN, settings())
    assert order(replace(BEGIN, lessons=(lesson("tile(8, 8, 8)", 4.0, "softmax"),)), settings()) == before


def test_with_memory_off_nothing_changes() -> None:
    taught, off = replace(BEGIN, lessons=(lesson("micro(4, 16)", 9.0),)), settings(memory=False)
    assert order(taught, off) == order(BEGIN, off)
    assert Search().answer(off, (taught,), ASK) == Search().answer(off, (BEGIN,), ASK)


def test_words_of_a_model_are_no_measured_lesson() -> None:
    words = replace(lesson("", 0.0), gain=None, text="tile(0, 0) and ,(")
    assert order(replace(BEGIN, lessons=(words,)), settings()) == order(BEGIN, settings())


def test_a_change_in_strange_words_is_no_trouble() -> None:
    strange = replace(BEGIN, lessons=(lesson("tile(, ,0)", 2.0), lesson("\x00", 2.0), lesson("micro(", 2.0)))
    assert len(order(strange, settings())) == len(order(BEGIN, settings()))


def test_what_is_recalled_later_takes_the_place_of_the_first_lessons() -> None:
    first, later = lesson("tile(8, 8, 8)", 2.0), lesson("fuse a into b", 3.0)
    history: tuple[Event, ...] = (
        replace(BEGIN, lessons=(first,)),
        Submitted(1, Search().answer(settings(), (BEGIN,), ASK).candidates[0]),
        passed(1, 1e-3),
        Recalled((later,)),
    )
    assert State.of(settings(), history).started.lessons == (later,)
    assert isinstance(Search().answer(settings(), history, ASK), Answered)


def test_a_change_without_its_stage() -> None:
    assert stageless("y.tile(96, 512, 256)") == "tile(96, 512, 256)"
    assert stageless("fuse y into h") == "fuse y into h"
    assert family_of("tile(96, 512, 256)") == family_of("y.tile(96, 512, 256)") == "tile"
