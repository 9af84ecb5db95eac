"""The JSON form of an evaluation: no key is ever missing, and docs/evaluation.md names every one of them."""

from __future__ import annotations

import dataclasses
import re
import types
import typing
from pathlib import Path
from typing import Any

import pytest

from kernels.evaluation_form import (
    Asked,
    CandidateForm,
    Ended,
    EvaluationForm,
    ProblemForm,
    evaluation_form,
    source_digest,
)
from kernels.harness.baselines import BaselineKind
from kernels.harness.correctness import Errors, IncorrectReason, RoundErrors, Tile
from kernels.harness.evaluation import Check, Evaluation, Outcome, Timing
from kernels.languages import Language
from kernels.profiling.record import Profile
from kernels.records import from_json, to_json
from kernels.targets import Policy, Target
from kernels.toolchain.report import BuildOutcome, BuildReport, UnitReport

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "evaluation.md"
EAGER, COMPILE = BaselineKind.EAGER.full_name, BaselineKind.COMPILE.full_name
ASKED = Asked(
    candidate=CandidateForm("k.mu", Language.MU, source_digest("text")),
    problem=ProblemForm("p.py", "cpu"),
    policy=Policy.STRICT,
    device="host",
    target=Target.HOST,
    baselines=(BaselineKind.EAGER, BaselineKind.COMPILE),
)


def timing(subject: str, median_s: float) -> Timing:
    return Timing(subject, median_s, median_s, median_s, median_s, 1, (median_s,), "a clock")


def tile(error: float) -> Tile:
    return Tile(0, (128, 128), (), (0, 64), (64, 128), error)


def round_(name: str, worst: Tile | None) -> RoundErrors:
    return RoundErrors(name, "fresh values", Errors(0, 0, 0, 0, 1.0, 1.0, 1.0, 0, 0, worst), None)


def evaluation(outcome: Outcome, **more: Any) -> Evaluation:
    blank: dict[str, Any] = {
        "detail": "",
        "checks": (),
        "candidate": None,
        "baselines": (),
        "once_s": None,
        "stages": (),
        "machine": None,
        "isolation": None,
        "wall_s": 2.0,
    }
    return Evaluation(outcome=outcome, **{**blank, **more})


RIGHT, WRONG = Check("matched share", 1.0, 1.0, True), Check("matched share", 0.5, 1.0, False)
PASSED = evaluation(
    Outcome.PASSED,
    checks=(RIGHT,),
    candidate=timing("candidate", 0.5),
    baselines=(timing(EAGER, 1.0),),
    absent={COMPILE: "no compiler"},
    rounds=(round_("round 1", tile(0.1)), round_("round 2", tile(0.3)), round_("round 3", None)),
    spent_s={"problem": 0.5, "candidate": 0.25},
)
INCORRECT = evaluation(Outcome.INCORRECT, checks=(WRONG,), reason=IncorrectReason.VALUES)
UNIT = UnitReport("s", BuildOutcome.BUILT, "key", 1, "g++ 12", None, 0.1, True, "", (), ())
BUILT = BuildReport(Target.HOST, (UNIT, dataclasses.replace(UNIT, cache_hit=False)), 0.2, {})
ENDED = [
    Ended(Outcome.PASSED, "", PASSED, BUILT),
    Ended(Outcome.INCORRECT, "off", INCORRECT, BUILT),
    Ended(Outcome.CRASH, "SIGSEGV", evaluation(Outcome.CRASH)),
    Ended(Outcome.REFUSED, "2:1: unknown-name: no"),
    Ended(Outcome.BUILD_ERROR, "error", report=BUILT),
    Ended(Outcome.PROBLEM_ERROR, "raised"),
]


def made(ended: Ended) -> EvaluationForm:
    return evaluation_form(ASKED, ended, 3.0, {"torch": None})


def records_in(kind: Any) -> set[type]:
    """The record types that a type's annotation holds, at any depth of containers."""
    if dataclasses.is_dataclass(kind):
        return {typing.cast("type", kind)}
    return {found for part in typing.get_args(kind) for found in records_in(part)}


def all_records(kind: type, seen: set[type]) -> set[type]:
    """A record type and all that it is made of."""
    if kind not in seen:
        seen.add(kind)
        for hint in typing.get_type_hints(kind).values():
            for found in records_in(hint):
                all_records(found, seen)
    return seen


def whole(kind: Any, form: Any) -> None:
    """Every key of every record in a form is there, and no other."""
    if isinstance(kind, types.UnionType):
        assert form is None or any(fits(part, form) for part in typing.get_args(kind) if part is not types.NoneType)
    elif dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        names = [field.name for field in dataclasses.fields(kind)]
        assert set(form) == set(names)
        for name in names:
            whole(hints[name], form[name])
    elif typing.get_origin(kind) is tuple and isinstance(form, list):
        for part in form:
            whole(typing.get_args(kind)[0], part)
    elif typing.get_origin(kind) is dict:
        for value in form.values():
            whole(typing.get_args(kind)[1], value)


def fits(kind: Any, form: Any) -> bool:
    try:
        whole(kind, form)
    except AssertionError:
        return False
    return True


@pytest.mark.parametrize("ended", ENDED, ids=lambda ended: ended.outcome.value)
def test_no_key_is_missing_whatever_the_outcome(ended: Ended) -> None:
    form = to_json(made(ended))
    whole(EvaluationForm, form)
    assert from_json(form, EvaluationForm) == made(ended)
    assert set(form["speedup"]) == set(form["timing"]["baselines"]) == {EAGER, COMPILE}


def test_a_form_lacks_a_key_where_one_is_taken_away() -> None:
    """The test above would pass on a walk that looks at nothing."""
    form = to_json(made(ENDED[0]))
    del form["correctness"]["rounds"][0]["errors"]["tile"]["error"]
    assert not fits(EvaluationForm, form)


def test_a_speedup_is_a_baselines_time_over_the_candidates_and_null_where_there_is_none() -> None:
    passed, refused = made(ENDED[0]), made(ENDED[3])
    assert passed.speedup == {EAGER: 2.0, COMPILE: None}
    assert passed.timing.absent == {COMPILE: "no compiler"}
    assert refused.speedup == {EAGER: None, COMPILE: None}


def test_correctness_is_settled_by_passed_and_incorrect_alone() -> None:
    settled = {ended.outcome: made(ended).correctness.passed for ended in ENDED}
    assert settled.pop(Outcome.PASSED) is True
    assert settled.pop(Outcome.INCORRECT) is False
    assert set(settled.values()) == {None}


def test_the_worst_tile_is_the_worst_of_all_rounds() -> None:
    assert made(ENDED[0]).correctness.worst_tile == tile(0.3)
    assert made(ENDED[1]).correctness.worst_tile is None


def test_a_build_is_cached_where_every_unit_was() -> None:
    def cached(report: BuildReport) -> bool | None:
        build = made(Ended(Outcome.BUILD_ERROR, "", report=report)).build
        assert build is not None
        return build.cached

    assert cached(BUILT) is False
    assert cached(dataclasses.replace(BUILT, units=(UNIT,))) is True
    assert cached(dataclasses.replace(BUILT, units=())) is None


def test_the_document_names_every_field() -> None:
    """Fields of the profile's record are described where profiles are."""
    records = all_records(EvaluationForm, set()) - (all_records(Profile, set()) - {Profile})
    fields = {field.name for kind in records if kind is not Profile for field in dataclasses.fields(kind)}
    text = re.sub(r"^```.*?^```", "", DOCUMENT.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    named = set(re.findall(r"`([^`\s]+)`", text))
    assert len(fields) > 60
    assert not fields - named
