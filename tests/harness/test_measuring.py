"""Whole evaluations beside several baselines, and what becomes of a baseline that fails."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kernels.harness import arena, evaluate, timing
from kernels.harness.baseline_subjects import Baselines, free_bytes
from kernels.harness.baselines import BaselineKind
from kernels.harness.evaluation import EAGER, Limits, Outcome
from kernels.harness.failures import SubjectFailed
from kernels.harness.verification import make_case
from tests.harness.conftest import MakeRequest
from tests.harness.local import local
from tests.harness.programs import SIGNATURE

TF32, COMPILE, BEST = (kind.full_name for kind in (BaselineKind.TF32, BaselineKind.COMPILE, BaselineKind.BEST))


def test_each_baseline_is_measured_compared_and_named_and_an_absent_one_has_its_reason(
    make_request: MakeRequest,
) -> None:
    kinds = (BaselineKind.EAGER, BaselineKind.TF32, BaselineKind.BEST)
    evaluation = evaluate(make_request("bias_relu", baselines=kinds))
    assert evaluation.outcome is Outcome.PASSED, evaluation.detail
    assert [t.subject for t in evaluation.baselines] == [EAGER, BEST]
    assert all(t.agrees for t in evaluation.baselines)
    assert evaluation.baseline(BEST).settings.startswith("defaults; fastest of 1")  # type: ignore[union-attr]
    assert "CPU" in evaluation.absent[TF32]
    assert evaluation.speedup(BEST) is not None
    assert evaluation.speedup(TF32) is None
    assert "alternate with those of 2 other subjects" in evaluation.candidate.method  # type: ignore[union-attr]


def test_what_a_cpu_does_not_tell_is_none_with_a_reason(make_request: MakeRequest) -> None:
    evaluation = evaluate(make_request("bias_relu", baselines=(), energy=True))
    own = evaluation.candidate
    assert own is not None, evaluation.detail
    assert evaluation.baselines == ()
    assert own.activity is None
    assert own.missing["activity"] == "a CPU keeps no record of kernels"
    assert (own.energy_j is None) == ("energy" in own.missing)
    assert own.conditions is not None
    assert own.conditions.readings >= 1
    assert evaluation.conditions is not None
    assert evaluation.conditions.load is not None
    names = [check.name for check in evaluation.checks]
    assert "steady over time" in names
    assert "outputs after timing" in names
    assert "kernel activity" not in names, "that check is about a card"


def test_energy_is_not_measured_unless_it_is_asked_for(make_request: MakeRequest) -> None:
    own = evaluate(make_request("bias_relu", baselines=())).candidate
    assert own is not None
    assert own.missing["energy"] == "not asked for"


class Broken:
    """A subject that fails at its first timed block."""

    def __init__(self, real: Any, name: str) -> None:
        self._real, self.name = real, name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def ask(self, message: dict[str, Any]) -> Any:
        if message["do"] == "block":
            raise SubjectFailed(Outcome.CRASH, f"{self.name} was ended by SIGSEGV")
        return self._real.ask(message)


def _phase(here: SimpleNamespace, timed: list[timing.Timed], **more: Any) -> timing.TimingPhase:
    plan = timing.Plan(12, 2, here.request.tolerance, Limits(seconds=20.0))
    return timing.TimingPhase(plan, timed, lambda: make_case(here.reference), **more)


def test_a_baseline_that_crashes_is_lost_and_the_candidate_is_timed_all_the_same(make_request: MakeRequest) -> None:
    request = make_request("bias_relu")
    with local(request) as here:
        here.request = request
        broken = timing.Timed(Broken(here.subject, EAGER), False, 1e-4)  # type: ignore[arg-type]
        own = timing.Timed(here.subject, True, 1e-4)
        phase = _phase(here, [broken, own])
        phase.run()
    assert phase.lost == {EAGER: f"{EAGER} was ended by SIGSEGV"}
    assert len(own.samples) == 12
    assert phase.outputs_check().passed


def test_a_candidate_that_crashes_in_timing_ends_it(make_request: MakeRequest) -> None:
    request = make_request("bias_relu")
    with local(request) as here:
        here.request = request
        own = timing.Timed(Broken(here.subject, "the candidate"), True, 1e-4)  # type: ignore[arg-type]
        with pytest.raises(SubjectFailed, match="SIGSEGV"):
            _phase(here, [own]).run()


def test_a_candidate_that_breaks_after_its_timed_calls_is_found(
    make_request: MakeRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = make_request("breaks_later")
    with local(request) as here:
        here.request = request
        own = timing.Timed(here.subject, True, 1e-4)
        phase = _phase(here, [own])
        phase.run()
        assert phase.outputs_check().passed
        assert timing.after_check(phase.one_more(here.subject), request.tolerance).passed
        monkeypatch.setenv("BROKEN", "1")
        check = timing.after_check(phase.one_more(here.subject), request.tolerance)
    assert not check.passed
    assert "after timing is wrong" in check.note


def test_readings_stand_around_each_block(make_request: MakeRequest) -> None:
    seen: list[str] = []
    watcher = SimpleNamespace(before=lambda: seen.append("before"), after=lambda name: seen.append(name))
    request = make_request("bias_relu")
    with local(request) as here:
        here.request = request
        here.subject.name = "candidate"
        own = timing.Timed(here.subject, True, 1e-4)
        _phase(here, [own], watcher=watcher).run()
    assert seen == ["before", "candidate"] * len(own.gaps)


@pytest.mark.parametrize(
    ("samples", "seen"), [([2.0] * 4 + [1.5] * 4 + [1.0] * 4, 0.5), ([1.0] * 12, 1.0), ([1.0, 2.0, 3.0], None)]
)
def test_the_trend_is_recorded_and_never_fails(samples: list[float], seen: float | None) -> None:
    one = timing.Timed(None, True, 1.0)  # type: ignore[arg-type]
    one.samples = samples
    check = timing.trend_check(one)
    assert check.passed
    assert check.seen == seen


class FakeSubject:
    """A process that is never started."""

    def __init__(self, name: str, limits: Limits, fails: str) -> None:
        self.name, self.limits, self.fails, self.closed = name, limits, fails, False
        self.arena = SimpleNamespace(inputs=[[]])
        self.seen = str

    def wait_ready(self) -> None:
        if self.fails == "load":
            raise SubjectFailed(Outcome.OUT_OF_MEMORY, f"{self.name} ran out of memory")

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        return self.hear(message["do"])

    def hear(self, what: str) -> dict[str, Any]:
        if self.fails == what:
            raise SubjectFailed(Outcome.TIMEOUT, f"{self.name} took longer than 200 s and was stopped")
        return {"settings": "some", "seconds": 2.0} if what == "prepare" else {}

    def close(self) -> None:
        self.closed = True


def _baselines(
    make_request: MakeRequest, kinds: tuple[BaselineKind, ...], failing: str = "", at: str = "load"
) -> tuple[Baselines, list[Any]]:
    started: list[Any] = []

    def start(name: str, limits: Limits) -> Any:
        started.append(FakeSubject(name, limits, at if name == failing else ""))
        return started[-1]

    request = make_request("bias_relu", baselines=kinds)
    return Baselines(request, arena.lay_out(SIGNATURE), start, lambda *_, **__: None), started


REFERENCE: Any = SimpleNamespace(inputs=list)


def test_the_first_starts_at_once_and_the_others_as_far_as_memory_goes(make_request: MakeRequest) -> None:
    kinds = (BaselineKind.EAGER, BaselineKind.COMPILE, BaselineKind.BEST)
    found, started = _baselines(make_request, kinds)
    found.start_first()
    assert [subject.name for subject in started] == [EAGER]
    found.start_others(lambda _: 0)
    assert found.waiting == [BaselineKind.COMPILE, BaselineKind.BEST]
    found.start_others(lambda _: 2**40)
    assert found.waiting == []
    assert [subject.name for subject in started] == [EAGER, COMPILE, BEST]
    assert started[1].limits.seconds == started[0].limits.seconds + 180.0, "compiling has its own time"
    found.load(REFERENCE)
    assert [baseline.settings for baseline in found.live] == ["", "some (ready in 2.0 s)", "some (ready in 2.0 s)"]


def test_those_that_wait_come_one_after_another(make_request: MakeRequest) -> None:
    found, started = _baselines(make_request, (BaselineKind.EAGER, BaselineKind.COMPILE, BaselineKind.BEST))
    found.start_first()
    found.load(REFERENCE)
    names = []
    while found.waiting:
        found.close()
        one = found.next_one(REFERENCE)
        assert one is not None
        assert len(found.live) == 1
        names.append(one.kind)
    assert names == [BaselineKind.COMPILE, BaselineKind.BEST]
    assert started[0].closed


def test_a_baseline_that_cannot_be_loaded_is_absent_with_its_reason(make_request: MakeRequest) -> None:
    found, started = _baselines(make_request, (BaselineKind.EAGER, BaselineKind.BEST), failing=BEST)
    found.start_first()
    found.start_others(lambda _: 2**40)
    found.load(REFERENCE)
    assert [baseline.kind for baseline in found.live] == [BaselineKind.EAGER]
    assert found.absent == {BEST: f"{BEST} ran out of memory"}
    assert started[1].closed


def test_baselines_may_load_while_the_candidate_is_looked_at(make_request: MakeRequest) -> None:
    told: list[str] = []
    found, started = _baselines(make_request, (BaselineKind.EAGER, BaselineKind.BEST), failing=BEST)
    found._load = lambda subject, *_, **__: told.append(subject.name)
    found.start_first()
    found.start_others(lambda _: 2**40)
    found.load_aside(REFERENCE)
    assert told == [EAGER]
    assert found.live == [], "nobody has waited for it yet"
    assert found.absent == {BEST: f"{BEST} ran out of memory"}
    assert started[1].closed
    found.load(REFERENCE)
    assert told == [EAGER], "it is told once"
    assert [baseline.kind for baseline in found.live] == [BaselineKind.EAGER]


def test_one_that_compiles_for_too_long_is_absent_with_its_reason(make_request: MakeRequest) -> None:
    found, started = _baselines(make_request, (BaselineKind.EAGER, BaselineKind.COMPILE), COMPILE, at="prepare")
    found.start_first()
    found.start_others(lambda _: 2**40)
    found.load(REFERENCE)
    assert [baseline.kind for baseline in found.live] == [BaselineKind.EAGER]
    assert found.absent == {COMPILE: f"{COMPILE} took longer than 200 s and was stopped"}
    assert started[1].closed


@pytest.mark.parametrize(("device", "copies"), [("host", True), ("cuda", False)])
def test_on_a_cpu_a_baselines_outputs_are_copied_away_as_the_candidates_are(
    make_request: MakeRequest, device: str, copies: bool
) -> None:
    said: list[dict[str, Any]] = []
    request = make_request("bias_relu", baselines=(BaselineKind.EAGER,), device=device)
    found = Baselines(
        request,
        arena.lay_out(SIGNATURE),
        lambda name, limits: FakeSubject(name, limits, ""),  # type: ignore[arg-type,return-value]
        lambda *_, **options: said.append(options),
    )
    found.start_first()
    found.load(REFERENCE)
    assert said == [{"copies_outputs": copies}]


def test_free_memory_is_some_of_this_machines() -> None:
    total = int(Path("/proc/meminfo").read_text().split()[1]) * 1024
    assert 0 < free_bytes("host") <= total
