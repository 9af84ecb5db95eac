"""Runs whose program is Python or C++: prepared, built and measured as in life, tried once and never searched on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from agent.steps import Started
from kernels.harness import evaluate
from kernels.harness.evaluation import Evaluation
from kernels.harness.problem_tolerance import tolerance_for
from kernels.languages import Language
from kernels.models import Kernel, Problem
from kernels.problems.module_text import module_text
from kernels.records import from_json
from kernels.targets import Policy, Target
from runs import launching
from runs.handlers import build as building
from runs.handlers import prepare as preparing
from runs.launching import LaunchOrder
from runs.models import Attempt, Event, Job, Run, Trajectory
from runs.states import JobKind, RunState
from tests.raw.sources import CPP, SOURCE
from tests.runs.worlds import Script, drain
from tests.web import rows

real_prepare, real_compile = preparing.prepare, building.compile_kernel


@pytest.fixture
def problem(script: Script, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Problem:
    """A problem of its own, with nothing scripted but this machine's peaks."""
    for name, real in {
        "prepare.prepare": real_prepare,
        "prepare.device_for": lambda target, lease: rows.device(),
        "build.compile_kernel": real_compile,
        "evaluate.evaluate": evaluate,
        "evaluate.tolerance_for": tolerance_for,
    }.items():
        monkeypatch.setattr(f"runs.handlers.{name}", real)
    monkeypatch.setenv("MUCUTLASS_LOCKS", str(tmp_path / "locks"))
    return Problem.objects.create(
        slug="own/1", collection="own", number=1, name="Bias_ReLU", file_name="1_bias_relu.py", source=SOURCE,
        digest="1" * 64, sizes=["default"],
    )  # fmt: skip


def launch(problem: Problem, source: str, language: Language, **fields: Any) -> Attempt:
    order = LaunchOrder(
        "mine", (problem.pk,), Target.HOST, Policy.STRICT, "flat", "search", 1, None, None, False, 0, "kernelbench"
    )
    order = replace(order, seed_program=source, seed_language=language, **fields)
    launching.launch(User.objects.create(username="alice"), order)
    drain()
    return Attempt.objects.get()


def test_a_python_program_is_measured_without_a_build(problem: Problem) -> None:
    attempt = launch(problem, module_text(SOURCE), Language.PY)
    assert (attempt.outcome, attempt.held) == ("passed", "flagged")
    assert attempt.detail.startswith("It is the reference again")
    assert (attempt.build, attempt.kernel.language) == (None, "py")
    assert attempt.time_s is not None
    assert attempt.eager_s is not None
    assert attempt.evaluation is not None
    evaluation = from_json(attempt.evaluation.record, Evaluation)
    assert [(stage.stage, stage.library) for stage in evaluation.stages] == [("forward", None)]
    started = from_json(Event.objects.get(kind="started").record, Started)
    assert (started.seed_given, started.seed_language) == (True, Language.PY)
    assert Run.objects.get().state == RunState.DONE


def test_a_c_program_is_built_and_measured_and_not_compiled_for_a_card(problem: Problem) -> None:
    attempt = launch(problem, CPP, Language.CPP)
    assert (attempt.outcome, attempt.detail) == ("passed", "")
    assert attempt.build is not None
    assert attempt.build.outcome == "built"
    assert not Job.objects.filter(kind=JobKind.CROSS_BUILD).exists()


def test_what_is_wrong_is_refused_with_its_place_or_by_the_compiler(problem: Problem) -> None:
    attempt = launch(problem, "class ModelNew(:\n", Language.PY)
    assert attempt.outcome == "refused"
    assert attempt.detail.startswith("1:")
    assert ": python-syntax: " in attempt.detail
    Run.objects.all().delete()
    User.objects.all().delete()
    attempt = launch(problem, CPP.replace("::of(inputs)", "::off(inputs)"), Language.CPP)
    assert (attempt.outcome, attempt.detail) == ("build_error", "the compiler refused the code")
    assert attempt.build is not None
    assert "mucutlass_launch.cpp:" in str(attempt.build.report)


def test_a_source_for_another_target_is_refused(problem: Problem) -> None:
    attempt = launch(problem, "// CUDA", Language.CU)
    assert attempt.outcome == "refused"
    assert "a .cu source does not run on host; a .cpp source" in attempt.detail


def test_a_search_over_it_ends_after_the_one_attempt(problem: Problem) -> None:
    attempt = launch(problem, CPP, Language.CPP, attempts=20)
    assert (attempt.number, attempt.outcome) == (1, "passed")
    trajectory = Trajectory.objects.get()
    assert trajectory.finish_reason == "space_exhausted"
    assert trajectory.words == "a program in C++ is measured as it was given: proposers change μCUTLASS alone"


def test_the_same_text_in_two_languages_is_two_kernels(problem: Problem) -> None:
    first = Kernel.objects.of_source(Language.CPP, "same")
    second = Kernel.objects.of_source(Language.CU, "same")
    assert first.digest != second.digest
    assert Kernel.objects.of_source(Language.CPP, "same") == first
