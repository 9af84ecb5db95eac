"""Rows with real records, made by plain functions: people, problems, runs, attempts, workers, jobs.

Times are seconds. Figures are made up from a seed and plausible; nothing here is ever shown by the product itself.
"""

from __future__ import annotations

import math
import random
from dataclasses import replace
from datetime import timedelta

from django.contrib.auth.models import User
from django.utils import timezone

from agent.steps import Started
from kernels.codegen.emission import Emission, LineLink, Plan, Unit
from kernels.dtypes import DType
from kernels.harness.correctness import Errors, IncorrectReason, RoundErrors, Tile
from kernels.harness.evaluation import EAGER, Check, Evaluation, Isolation, Machine, Outcome, StageShare, Timing
from kernels.models import Build, Kernel, Problem, ProblemSize
from kernels.models import Evaluation as EvaluationRow
from kernels.problems.inspection import Graph, Inspection, Node, Signature, TensorSpec
from kernels.records import to_json
from kernels.targets import Policy, Target
from kernels.toolchain.report import BuildOutcome, BuildReport, Resources, UnitReport
from runs.holding import held_of
from runs.models import Attempt, Event, Job, Run, Trajectory, Worker
from runs.states import AttemptState, JobState, RunState, TrajectoryState
from sol.bounds.record import Bounds
from sol.bounds.record import Device as DeviceRecord
from sol.models import Bound, Device

MACHINE = "Xeon Platinum 8481C, 2 cores"
SOURCE = """import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.gemm = nn.Linear(features, features)

    def forward(self, x):
        return torch.relu(self.gemm(x))


def get_inputs():
    return [torch.rand(512, 512)]


def get_init_inputs():
    return [512]
"""
PROGRAM = """program gemm_bias_relu(x: f32[M, K], gemm.weight: f32[N, K],
                       gemm.bias: f32[N]) -> f32[M, N]
  y = gemm(x, gemm.weight.T)
        .acc(f32).tile({m}, {n}, {k})
      >> bias(gemm.bias) >> relu()
  return y"""
CPP = """// y = gemm(x, gemm.weight.T) >> bias(gemm.bias) >> relu()
#include "mu/gemm.h"

namespace {{

constexpr int kTileM = {m};  // .tile({m}, {n}, {k})
constexpr int kTileN = {n};
constexpr int kTileK = {k};

struct Tail {{
  const float* bias;
  inline float operator()(float value, std::int64_t column) const {{
    value += bias[column];                   // >> bias(gemm.bias)
    return value > 0.0f ? value : 0.0f;      // >> relu()
  }}
}};

}}  // namespace

extern "C" int {symbol}(const void* x, const void* weight, const void* bias, void* y,
                        std::int64_t M, std::int64_t N, std::int64_t K, void* workspace, void* stream) {{
  mu::Gemm<float, float, kTileM, kTileN, kTileK> gemm(workspace);
  return gemm.run(x, weight, y, M, N, K, Tail{{static_cast<const float*>(bias)}});
}}
"""
NAMES = (
    ("Gemm", "gemm", "compute"),
    ("Gemm_Bias_ReLU", "gemm", "compute"),
    ("Gemm_Bias_GELU_Residual", "gemm", "compute"),
    ("Batched_Gemm", "bmm", "compute"),
    ("MLP_Two_Layers", "gemm", "compute"),
    ("Softmax_Rows", "softmax", "memory"),
    ("LayerNorm_Rows", "norm", "memory"),
    ("RMSNorm_Rows", "norm", "memory"),
    ("Row_Sum", "reduce", "memory"),
    ("Column_Mean", "reduce", "memory"),
    ("Conv2d_Bias_ReLU", "conv", "compute"),
    ("Conv2d_Depthwise", "conv", "memory"),
    ("GELU", "map", "memory"),
    ("Scale_Add_Clamp", "map", "memory"),
    ("Attention_Scores_Masked_Softmax_Dropout_Free", "gemm", "compute"),
    ("Gemm_LogSumExp", "gemm", "compute"),
)
FAILURES = (
    (Outcome.INCORRECT, "the largest error is 0.31 of the reference in tile [64, 128]"),
    (
        Outcome.REFUSED,
        "4:19: tile-size: .tile(96, 4096, 512) needs 6.4 MiB of cache, 2 MiB exist; a smaller K or N tile\n"
        "5:10: unknown-link: there is no link 'bais'; links are bias, relu, gelu, add, mul",
    ),
    (Outcome.BUILD_ERROR, "the compiler refused the code"),
    (Outcome.CRASH, "the child process died of signal 11 in stage y"),
    (Outcome.TIMEOUT, "no answer within 60 s"),
)


def person(name: str, *, staff: bool = False) -> User:
    """A member with the password "secret-pass"."""
    return User.objects.create_user(name, password="secret-pass", is_staff=staff)


def device() -> Device:
    """The CPU of this gallery with its measured peaks."""
    record = DeviceRecord(
        MACHINE, "cpu", {"f32": 2.4e11}, {"f32": 2.4e11}, 2.1e10, 9.0e10, 2**21, "measured", "2026-01-02T10:00:00Z",
        {"cores": "2", "compiler": "g++ 14.2"},
    )  # fmt: skip
    found, _ = Device.objects.get_or_create(
        name=MACHINE, elsewhere="", defaults={"kind": "cpu", "record": to_json(record)}
    )
    return found


def _inspection(size: str, extent: int) -> Inspection:
    x = TensorSpec("x", DType.F32, (extent, extent))
    weight = TensorSpec("gemm.weight", DType.F32, (extent, extent))
    y = TensorSpec("y", DType.F32, (extent, extent))
    node = Node("linear", "aten.linear.default", ({"ref": "x"}, {"ref": "gemm.weight"}), {}, (y,))
    return Inspection(size, Signature((x,), (weight,), (y,), {}), Graph((node,), ({"ref": "linear"},), {}), None)


def bounds(sol_s: float, bound_class: str, policy: Policy = Policy.STRICT) -> Bounds:
    """A bound with its arithmetic."""
    other = sol_s * 0.4
    compute, memory = (sol_s, other) if bound_class == "compute" else (other, sol_s)
    flops, moved = round(compute * 2.4e11), round(memory * 2.1e10)
    lines = (
        f"matrix work {flops} FLOP / 240 GFLOP/s = {compute * 1e3:.4g} ms",
        f"compulsory bytes {moved} B / 21.0 GB/s = {memory * 1e3:.4g} ms",
    )
    return Bounds(
        MACHINE, policy, compute, memory, sol_s, sol_s * 0.85, bound_class, flops, moved,  # type: ignore[arg-type]
        flops / moved, 11.4, (), lines,
    )  # fmt: skip


def problem(
    number: int, name: str = "", *, kind: str = "gemm", bound_class: str = "compute", bounded: bool = True
) -> Problem:
    """One of our own problems, inspected at both sizes and bounded on this CPU."""
    default = NAMES[(number - 1) % len(NAMES)]
    if not name:
        name, kind, bound_class = default
    row = Problem.objects.create(
        slug=f"own/{number}", collection="own", number=number, name=name, file_name=f"{number}_{name}.py",
        summary="a linear layer and what follows it", source=SOURCE, digest=f"{number:064}", sizes=["cpu", "gpu"],
    )  # fmt: skip
    if bounded:
        sol_s = 0.0004 * (1 + number * 0.7)
        for size, extent in (("cpu", 512), ("gpu", 8192)):
            ProblemSize.objects.create(
                problem=row, size=size, digest=row.digest, record=to_json(_inspection(size, extent)), kind=kind,
                flops=2 * extent**3, bytes=12 * extent**2,
            )  # fmt: skip
        for policy in Policy:
            record = bounds(sol_s, bound_class, policy)
            Bound.objects.create(
                problem=row, size="cpu", device=device(), policy=policy, steering_s=sol_s, floor_s=sol_s * 0.85,
                bound_class=bound_class, record=to_json(record),
            )  # fmt: skip
    return row


def broken_problem(number: int) -> Problem:
    """A problem whose file does not even parse."""
    row = problem(number, "Broken_File", bounded=False)
    ProblemSize.objects.create(
        problem=row, size="cpu", digest=row.digest, error="problem-does-not-parse",
        detail="own/99 line 7: invalid syntax; a Python file that defines Model, get_inputs and get_init_inputs",
    )  # fmt: skip
    return row


def run(owner: User, title: str = "", **fields: object) -> Run:
    """A run row; started 20 minutes ago unless said otherwise."""
    values: dict[str, object] = {
        "target": Target.HOST, "policy": Policy.STRICT, "controller": "tree", "proposer": "search", "attempts": 12,
        "epsilon": 0.25, "patience": 6, "tolerance": "strict", "state": RunState.RUNNING,
        "started": timezone.now() - timedelta(minutes=20), **fields,
    }  # fmt: skip
    return Run.objects.create(owner=owner, title=title or "Own problems, host", **values)


def trajectory(of: Run, on: Problem, **fields: object) -> Trajectory:
    """A run's work on a problem, prepared: bound and seed program are known."""
    bound = Bound.objects.filter(problem=on, size="cpu", policy=of.policy).first()
    values: dict[str, object] = {"state": TrajectoryState.RUNNING, **fields}
    if bound is not None and values["state"] != TrajectoryState.QUEUED:
        values = {
            "sol_s": bound.steering_s, "floor_s": bound.floor_s, "bound_class": bound.bound_class,
            "bounds": bound.record, "device": MACHINE, **values,
        }  # fmt: skip
    row = Trajectory.objects.create(run=of, problem=on, size="cpu", **values)
    if bound is not None and row.sol_s is not None:
        started = Started(
            on.slug, _inspection("cpu", 512).signature, Target.HOST, Policy(of.policy),
            PROGRAM.format(m=64, n=128, k=256), bound.steering_s, bound.floor_s, "compute", 2,
        )  # fmt: skip
        Event.objects.create(trajectory=row, sequence=1, kind="started", record=to_json(started))
    return row


def _tiles(number: int) -> dict[str, int]:
    return {"m": (64, 96, 128, 192)[number % 4], "n": (128, 256, 512)[number % 3], "k": 64 + 32 * number}


def kernel(number: int, salt: str = "") -> Kernel:
    """A program; ``salt`` makes it differ from others of the same number."""
    text = PROGRAM.format(**_tiles(number))
    return Kernel.objects.of_source("mu", f"{text}\n# {salt}" if salt else text)


def emission(number: int, symbol: str, target: Target = Target.HOST) -> Emission:
    """Generated code with its line links."""
    links = ((1, 3), (6, 4), (7, 4), (8, 4), (13, 5), (14, 5), (21, 3))
    unit = Unit(
        symbol, "cuda" if target.is_cuda else "c++", CPP.format(symbol=symbol, **_tiles(number)),
        tuple(LineLink(cpp, mu) for cpp, mu in links), ("y",),
    )  # fmt: skip
    return Emission(target, (unit,), Plan((), ("x",), ("gemm.weight",), (), ("y",)))


def build(
    of: Attempt, outcome: BuildOutcome = BuildOutcome.BUILT, target: Target = Target.HOST, log: str = ""
) -> Build:
    """A build of an attempt's program."""
    symbol = f"mu_{of.kernel.short}_y"
    resources = (Resources(symbol, 168, 0, 0, 0, 224_256),) if target.is_cuda else ()
    built = outcome is BuildOutcome.BUILT
    unit = UnitReport(
        symbol, outcome, symbol if built else None, 38_912 if built else None,
        "nvcc 13.0.88" if target.is_cuda else "g++ 14.2.0", "c++ -O3 -march=native -fopenmp -shared", 4.31, False, log,
        ("unused variable 'workspace'",) if built else (), resources,
    )  # fmt: skip
    libraries = {"cutlass": "4.2.0"} if target.is_cuda else {}
    return Build.objects.create(
        kernel=of.kernel, problem=of.trajectory.problem, size="cpu", target=target, policy=of.trajectory.run.policy,
        outcome=outcome, seconds=4.31, emission=to_json(emission(of.number, symbol, target)),
        report=to_json(BuildReport(target, (unit,), 4.31, libraries)),
    )  # fmt: skip


def timing(subject: str, median_s: float, count: int = 30, seed: int = 0) -> Timing:
    """Samples around a median, with a tail."""
    draw = random.Random(seed)
    samples = sorted(median_s * (1 + abs(draw.gauss(0, 0.02)) - 0.012) for _ in range(count))
    return Timing(
        subject, median_s, samples[count // 4], samples[3 * count // 4], samples[0], count, tuple(samples),
        "wall clock of one call, inputs rotated, caches cold",
    )  # fmt: skip


def rounds(wrong: bool) -> tuple[RoundErrors, ...]:
    """A plain round, one with a skipped tile where the attempt is wrong, and one that was not done."""
    tile = Tile(0, (512, 512), (), (64, 128), (128, 192), 3e-7)
    right = Errors(2.1e-6, 4e-6, 1.1e-6, 1.3e-5, 1.0, 1.0, 1.0, 0, 0, tile)
    skipped = replace(right, relative=0.31, matched=0.984, tile=replace(tile, error=1.0))
    return (
        RoundErrors("round 1", "fresh values", right, right),
        RoundErrors("round 2", "fresh values, new storage", skipped if wrong else right, right),
        RoundErrors("strided inputs", "", None, None, "does not apply: a launch is handed dense inputs by its ABI"),
    )


def evaluation(outcome: Outcome, detail: str, time_s: float | None, eager_s: float) -> Evaluation:
    """The record of one evaluation."""
    wrong = outcome is Outcome.INCORRECT
    checks = (
        Check("relative error, worst of 3 rounds", 0.31 if wrong else 2.1e-6, 1.1e-5, not wrong,
              "tile [64, 128] of round 2" if wrong else ""),
        Check("elements matched", 1.0, 1.0, True),
        Check("repeat runs identical", 3.0, 3.0, True, "bit by bit"),
        Check("worst tile", 1.0 if wrong else 3e-7, None, True, "rows 64–127, columns 128–191 of output 0"),
        Check("strided inputs", None, None, False, "does not apply: a launch is handed dense inputs by its ABI",
              done=False),
    ) if outcome in (Outcome.PASSED, Outcome.INCORRECT) else ()  # fmt: skip
    stages = (StageShare("y", (time_s or 1) * 0.93, False), StageShare("softmax", (time_s or 1) * 0.04, True))
    return Evaluation(
        outcome, detail, checks, timing("candidate", time_s) if time_s else None,
        (timing(EAGER, eager_s, seed=1),) if time_s else (), None, stages if time_s else (),
        Machine("cpu", MACHINE, {"cores": "2", "torch": "2.13.0"}),
        Isolation("unshare", False, 8 * 2**30, "no bubblewrap on this machine"), 6.2,
        reason=IncorrectReason.VALUES if wrong else None, rounds=rounds(wrong) if checks else (),
    )  # fmt: skip


def attempt(
    on: Trajectory,
    number: int,
    outcome: Outcome | None = Outcome.PASSED,
    time_s: float | None = None,
    *,
    detail: str = "",
    state: str = AttemptState.DONE,
    parent: Attempt | None = None,
    eager_s: float = 0.011,
    change: str = "",
    hypothesis: str = "",
    salt: str = "",
    seconds_ago: float = 0,
) -> Attempt:
    """One attempt with its records, and the trajectory's best moved as the engine would."""
    one = Attempt.objects.create(
        trajectory=on, number=number, parent=parent, kernel=kernel(number, salt or on.problem.slug), state=state,
        change=change or ("tile({m}, {n}, {k})".format(**_tiles(number)) if parent else ""),
        hypothesis=hypothesis or ("a taller tile keeps more of x in the second-level cache" if parent else ""),
        outcome=outcome or "", detail=detail, time_s=time_s, eager_s=eager_s if time_s else None,
        held=held_of(time_s, on.floor_s, None),
        finished=timezone.now() - timedelta(seconds=seconds_ago) if outcome else None,
    )  # fmt: skip
    if outcome in (Outcome.PASSED, Outcome.INCORRECT, Outcome.CRASH, Outcome.TIMEOUT):
        one.build = build(one)
        record = evaluation(outcome, detail, time_s, eager_s)
        one.reason = record.reason or ""
        one.evaluation = EvaluationRow.objects.create(
            kernel=one.kernel, build=one.build, problem=on.problem, size="cpu", target="host", machine=MACHINE,
            outcome=outcome, median_s=time_s, eager_s=eager_s if time_s else None, record=to_json(record),
        )  # fmt: skip
    elif outcome is Outcome.BUILD_ERROR:
        one.build = build(
            one, BuildOutcome.FAILED, log="y.cc:21:3: error: no member named 'run' in 'mu::Gemm<float>'"
        )
    if time_s is not None:
        on.eager_s = eager_s
    if one.counted_s is not None and time_s is not None:
        one.change_of_best = time_s / on.best_s - 1 if on.best_s is not None else None
        if on.best_s is None or time_s < on.best_s:
            one.new_best, on.best, on.best_s = True, one, time_s
    one.save()
    on.attempts_done += outcome is not None
    on.save()
    return one


def search(on: Trajectory, count: int, reach: float, *, seed: int = 0, records: bool = True) -> None:
    """``count`` attempts that come down to ``reach`` times SOL, some of them failing on the way."""
    draw = random.Random(seed)
    sol_s = on.sol_s or 1e-3
    eager_s = sol_s * draw.uniform(2.5, 14)
    best: Attempt | None = None
    for number in range(1, count + 1):
        ago = (count - number) * 40 + seed
        if number > 1 and draw.random() < 0.3:
            outcome, detail = draw.choice(FAILURES)
            attempt(on, number, outcome, detail=detail, parent=best, seconds_ago=ago, eager_s=eager_s)
            continue
        done = number / count
        ratio = math.exp(math.log(6 * reach) * (1 - done) + math.log(reach) * done) * draw.uniform(0.96, 1.12)
        one = attempt(on, number, Outcome.PASSED, sol_s * ratio, parent=best, seconds_ago=ago, eager_s=eager_s)
        if one.new_best:
            best = one


def worker(name: str, queue: str, job: Job | None = None, seconds_ago: float = 1) -> Worker:
    """A worker that answered ``seconds_ago``."""
    now = timezone.now()
    return Worker.objects.create(
        name=name, queue=queue, process_id=4242, facts={"cores": 2, "torch": "2.13.0"}, job=job,
        started=now - timedelta(hours=2), heartbeat=now - timedelta(seconds=seconds_ago),
    )  # fmt: skip


def job(on: Trajectory, kind: str, queue: str, one: Attempt | None = None, state: str = JobState.QUEUED) -> Job:
    """A job of a trajectory."""
    claimed = timezone.now() - timedelta(seconds=11) if state != JobState.QUEUED else None
    return Job.objects.create(
        kind=kind, queue=queue, run=on.run, trajectory=on, attempt=one, state=state, claimed=claimed,
        finished=timezone.now() if state == JobState.DONE else None,
    )  # fmt: skip


def problems(count: int) -> list[Problem]:
    """The first ``count`` problems, made where they are missing."""
    known = {p.number: p for p in Problem.objects.all()}
    return [known.get(n) or problem(n) for n in range(1, count + 1)]
