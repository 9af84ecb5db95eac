"""The whole way from a request to a record, with a stand-in for the profiler: outcomes, what is asked, what is kept."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernels.harness import isolation
from kernels.harness.evaluation import ModuleCandidate, PlanCandidate
from kernels.profiling import ncu, profile, profiler, report
from kernels.profiling.metrics import all_names, metric_of
from kernels.profiling.profiler import no_figures
from kernels.profiling.record import FULL, ImpossibleProfile, Profile, ProfileOutcome, ProfileRequest, Reason
from kernels.records import from_json, to_json
from tests.harness.programs import PROBLEM, SIGNATURE, one_launch
from tests.profiling.fake_ncu import SCRIPT
from tests.profiling.tables import COPY, GEMM, LIBRARY, table


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the stand-in; the target runs on the host, where it can run."""
    folder = tmp_path / "nsight"
    folder.mkdir()
    program = folder / "ncu"
    program.write_text(SCRIPT.replace("{python}", sys.executable))
    program.chmod(0o755)
    monkeypatch.setenv(ncu.PATH_VARIABLE, str(program))
    monkeypatch.setenv("MUCUTLASS_LOCKS", str(tmp_path / "locks"))
    monkeypatch.setattr(report, "module_installed", lambda: False)
    return folder


@pytest.fixture
def request_(tool: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProfileRequest:
    """A plan whose object adds a bias; asked of a card, and run on the host."""
    made = profiler._target_form

    def on_host(request: ProfileRequest, cancelled: Callable[[], bool] | None) -> dict[str, object]:
        return {**made(request, cancelled), "device": "host"}

    monkeypatch.setattr(profiler, "_target_form", on_host)
    return ProfileRequest(
        problem_path="", size="default", signature=SIGNATURE, candidate=_candidate(tmp_path), device="cuda",
        isolation=isolation.PROCESS, seconds=60.0,
    )  # fmt: skip


def _candidate(tmp_path: Path) -> PlanCandidate:
    source, built = tmp_path / "unit.cpp", tmp_path / "unit.so"
    source.write_text(
        "#include <cstdint>\n"
        f'const char* kernel = "\\0{GEMM}";\n'
        'extern "C" int bias_relu(const float* x, const float* b, float* y, int64_t m, int64_t n, void*, void*) {'
        "for (int64_t i = 0; i < m * n; i++) { float v = x[i] + b[i % n]; y[i] = v > 0 ? v : 0; } return 0; }\n"
    )
    subprocess.run(["g++", "-shared", "-fPIC", "-o", str(built), str(source)], check=True)
    return PlanCandidate(one_launch("bias_relu"), {"bias_relu": str(built)})


def test_a_measured_call_is_a_record_with_its_method(request_: ProfileRequest, tool: Path, tmp_path: Path) -> None:
    (tool / "real").touch()
    (tool / "table.csv").write_text(table(GEMM, COPY, LIBRARY))
    kept = tmp_path / "kept.ncu-rep"
    found = profile(replace(request_, report=str(kept)))
    assert found.outcome is ProfileOutcome.MEASURED, found.detail
    assert [kernel.own for kernel in found.kernels] == [True, True, False]
    assert [kernel.origin for kernel in found.kernels] == ["symbol", "name", "name"]
    assert found.own_share == pytest.approx((190_528 + 51_200) / (190_528 + 51_200 + 8_000))
    assert found.method is not None
    assert found.method.tool == "Nsight Compute 2025.3.1.0"
    assert (found.method.clock_control, found.method.cache_control) == ("none", "all")
    assert not found.method.cut
    assert found.method.isolation is not None
    assert found.method.isolation.method == isolation.PROCESS
    assert found.report_bytes == kept.stat().st_size
    assert from_json(to_json(found), Profile) == found


def test_the_best_sandbox_here_lets_the_profiler_write_its_report(request_: ProfileRequest, tool: Path) -> None:
    (tool / "real").touch()
    (tool / "table.csv").write_text(table(COPY))
    found = profile(replace(request_, isolation=None))
    assert found.outcome is ProfileOutcome.MEASURED, found.detail
    assert found.method is not None
    assert found.method.isolation is not None
    assert found.method.isolation.method == isolation.probe()


def test_what_is_asked_of_the_profiler(request_: ProfileRequest, tool: Path) -> None:
    (tool / "table.csv").write_text(table(GEMM))
    profile(replace(request_, metric_set=FULL))
    collect = (tool / "log.txt").read_text().splitlines()[1].split()
    assert collect[collect.index("--clock-control") + 1] == "none"
    assert collect[collect.index("--profile-from-start") + 1] == "off"
    assert collect[collect.index("--set") + 1] == "full"
    assert set(collect[collect.index("--metrics") + 1].split(",")) == set(all_names())


def test_a_call_with_more_launches_than_the_limit_says_so(request_: ProfileRequest, tool: Path) -> None:
    (tool / "table.csv").write_text(table(GEMM, COPY))
    for limit, cut in ((1, True), (2, False)):
        found = profile(replace(request_, launch_limit=limit))
        assert found.method is not None
        assert (found.method.cut, len(found.kernels)) == (cut, limit)


def test_a_metric_that_this_version_refuses_is_left_out(request_: ProfileRequest, tool: Path) -> None:
    name = metric_of("occupancy.limit_barriers")
    (tool / "refused.txt").write_text(name)
    (tool / "table.csv").write_text(table(GEMM))
    found = profile(request_)
    assert found.outcome is ProfileOutcome.MEASURED
    assert name in found.kernels[0].missing


@pytest.mark.parametrize(
    ("says", "reason", "words"),
    [
        ("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission", Reason.NO_PERMISSION, "would be right"),
        ("==ERROR== LibraryNotLoaded", Reason.LIBRARY_NOT_LOADED, "container"),
        ("==ERROR== Profiling is not supported on device 0.", Reason.CARD_UNSUPPORTED, "device 0"),
        ("==ERROR== Profiling failed because a driver resource was unavailable.", Reason.COUNTERS_BUSY, "dcgmi"),
    ],
)
def test_a_machine_that_gives_no_counters(
    request_: ProfileRequest, tool: Path, says: str, reason: Reason, words: str
) -> None:
    (tool / "says.txt").write_text(says)
    found = profile(request_)
    assert (found.outcome, found.reason) == (ProfileOutcome.UNAVAILABLE, reason)
    assert words in found.detail
    assert found.kernels == ()


def test_a_candidate_that_raises_fails_with_its_own_words(
    request_: ProfileRequest, tool: Path, tmp_path: Path
) -> None:
    (tool / "real").touch()
    missing = PlanCandidate(one_launch("bias_relu"), {"bias_relu": str(tmp_path / "gone.so")})
    found = profile(replace(request_, candidate=missing))
    assert (found.outcome, found.reason) == (ProfileOutcome.FAILED, Reason.TARGET_FAILED)
    assert "gone.so" in found.detail


def test_a_call_without_a_kernel(request_: ProfileRequest, tool: Path) -> None:
    (tool / "says.txt").write_text("==WARNING== No kernels were profiled.")
    found = profile(request_)
    assert (found.outcome, found.reason) == (ProfileOutcome.FAILED, Reason.NO_KERNEL)


def test_a_report_that_nobody_can_read(request_: ProfileRequest, tool: Path) -> None:
    (tool / "table.csv").write_text("no table at all")
    found = profile(request_)
    assert (found.outcome, found.reason) == (ProfileOutcome.FAILED, Reason.PROFILER_FAILED)


def test_a_profiler_that_hangs_is_stopped(request_: ProfileRequest, tool: Path) -> None:
    (tool / "hang").touch()
    found = profile(replace(request_, seconds=1.0))
    assert (found.outcome, found.reason) == (ProfileOutcome.FAILED, Reason.TIMEOUT)


def test_a_cancelled_profile_says_so(request_: ProfileRequest, tool: Path) -> None:
    (tool / "hang").touch()
    asked = iter([False] * 3 + [True] * 1000)
    found = profile(request_, cancelled=lambda: next(asked))
    assert (found.outcome, found.reason) == (ProfileOutcome.FAILED, Reason.CANCELLED)


def test_a_cpu_has_no_profile(request_: ProfileRequest) -> None:
    found = profile(replace(request_, device="host"))
    assert (found.outcome, found.reason) == (ProfileOutcome.UNAVAILABLE, Reason.HOST)
    assert "would be right" in found.detail


def test_without_ncu_there_is_no_profile(request_: ProfileRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ncu.PATH_VARIABLE, "/nonexistent/ncu")
    assert profile(request_).reason is Reason.NO_PROFILER


def test_a_report_too_large_is_not_kept(request_: ProfileRequest, tool: Path, tmp_path: Path) -> None:
    (tool / "table.csv").write_text(table(GEMM))
    kept = tmp_path / "kept.ncu-rep"
    found = profile(replace(request_, report=str(kept), report_limit_bytes=100))
    assert not kept.exists()
    assert found.report_bytes is None


def test_records_that_contradict_themselves_cannot_be_made() -> None:
    measured = ProfileOutcome.MEASURED
    with pytest.raises(ImpossibleProfile):
        Profile(measured, None, "", (), None, None, 0.0)
    with pytest.raises(ImpossibleProfile):
        Profile(ProfileOutcome.UNAVAILABLE, Reason.TIMEOUT, "", (), None, None, 0.0)
    with pytest.raises(ImpossibleProfile):
        Profile(ProfileOutcome.FAILED, None, "", (), None, None, 0.0)
    assert no_figures(Reason.TIMEOUT, "late").outcome is ProfileOutcome.FAILED
    assert no_figures(Reason.HOST, "cpu").outcome is ProfileOutcome.UNAVAILABLE


MODULE = """
import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.zeros(width))

    def forward(self, x):
        return torch.relu(x + self.bias)
"""


def test_a_module_is_profiled_with_the_problems_own_arguments(
    request_: ProfileRequest, tool: Path, tmp_path: Path
) -> None:
    (tool / "real").touch()
    (tool / "table.csv").write_text(table(LIBRARY))
    problem = tmp_path / "problem.py"
    problem.write_text(PROBLEM)
    asked = replace(request_, problem_path=str(problem), candidate=ModuleCandidate(MODULE))
    found = profile(asked)
    assert found.outcome is ProfileOutcome.MEASURED, found.detail
    assert found.own_share == 0.0
    bad = profile(replace(asked, candidate=ModuleCandidate("class ModelNew: pass")))
    assert bad.reason is Reason.TARGET_FAILED
    assert "ModelNew" in bad.detail


def test_a_problem_without_arguments_says_whose_fault_it_is(request_: ProfileRequest, tmp_path: Path) -> None:
    problem = tmp_path / "problem.py"
    problem.write_text("def get_init_inputs():\n    raise RuntimeError('no width today')\n")
    found = profile(replace(request_, problem_path=str(problem), candidate=ModuleCandidate(MODULE)))
    assert found.reason is Reason.TARGET_FAILED
    assert "no width today" in found.detail


def test_a_link_in_the_report_s_place_is_not_followed(
    request_: ProfileRequest, tool: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret, kept = tmp_path / "secret", tmp_path / "kept.ncu-rep"
    secret.write_text(table(GEMM))
    profiled = profiler._profiled

    def planted(run: Any, *rest: Any) -> Any:
        result = profiled(run, *rest)
        run.report.unlink(missing_ok=True)
        run.report.symlink_to(secret)
        (run.folder / "target.json").symlink_to(secret)
        return result

    monkeypatch.setattr(profiler, "_profiled", planted)
    found = profile(replace(request_, report=str(kept)))
    assert found.outcome is ProfileOutcome.FAILED
    assert not kept.exists()
    assert not kept.is_symlink()


@pytest.mark.parametrize("answer", ["[1, 2]", "{", '{"error": 7}', '{"error": "x", "detail": ["a"]}', '"text"'])
def test_no_answer_of_a_candidate_s_process_makes_it_fail(
    request_: ProfileRequest, tool: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    profiled = profiler._profiled

    def planted(run: Any, *rest: Any) -> Any:
        (run.folder / "target.json").write_text(answer)
        return profiled(run, *rest)

    monkeypatch.setattr(profiler, "_profiled", planted)
    assert profile(request_).outcome is ProfileOutcome.FAILED
