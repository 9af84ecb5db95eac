"""The worker's side of a profile: run the target under Nsight Compute in the sandbox, and read what came of it.

Whatever a candidate or the profiler does, ``profile`` returns a record; its reasons are typed. It holds the card's
lock alone meanwhile, since other work on the card would be counted too. No torch here.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernels import childprocess
from kernels.childprocess import ChildLimits, ChildResult, Ending
from kernels.errors import UserError
from kernels.harness import isolation
from kernels.harness.activity import symbols_of
from kernels.harness.evaluation import PlanCandidate
from kernels.locks import LockCancelled, machine_lock
from kernels.profiling import errors, ncu, report, target
from kernels.profiling.metrics import all_names
from kernels.profiling.raw import RawKernel
from kernels.profiling.reading import kernel_profile
from kernels.profiling.record import Method, Profile, ProfileOutcome, ProfileRequest, Reason
from kernels.records import to_json

LOCK = "cuda-0"
"""The lock that an evaluation of the same card takes for its timing."""
_LOCK_PATIENCE_S = 900.0
_LONGEST_ANSWER, _LONGEST_WORDS, _LONGEST_NAME = 100_000, 2000, 200
_HELD = "; the sandbox that candidates run in ({method}) holds no capability, so the first of the two it must be"
_NO_CARD = ("No CUDA GPUs are available", "no NVIDIA driver", "not compiled with CUDA", "CUDA driver")


class _NoFigures(Exception):
    """Why there is no record of kernels: a reason and the words for it."""

    def __init__(self, reason: Reason, error: UserError) -> None:
        super().__init__(str(error))
        self.reason = reason


@dataclass(frozen=True, slots=True)
class _Run:
    """One run under the profiler: the tool, the sandbox's method, and the folder that the sandbox may write to."""

    request: ProfileRequest
    tool: ncu.Tool
    method: str
    folder: Path

    @property
    def report(self) -> Path:
        """Where the profiler writes."""
        return self.folder / "profile.ncu-rep"


def profile(request: ProfileRequest, *, cancelled: Callable[[], bool] | None = None) -> Profile:
    """Profile one warm call of a candidate; gives the finished record.

    Never raises for what a candidate or the profiler does. ``cancelled`` is asked about ten times a second.
    """
    began = time.monotonic()
    try:
        with _run(request, cancelled) as run:
            kernels, read_by = _collect(run, cancelled)
            made = _measured(run, kernels, read_by)
    except _NoFigures as none:
        made = no_figures(none.reason, str(none))
    return _with_wall(made, time.monotonic() - began)


def no_figures(reason: Reason, detail: str) -> Profile:
    """The record of a profile that was not taken."""
    outcome = ProfileOutcome.UNAVAILABLE if reason.is_of_machine else ProfileOutcome.FAILED
    return Profile(outcome, reason, detail, (), None, None, 0.0)


def _with_wall(made: Profile, wall_s: float) -> Profile:
    return Profile(made.outcome, made.reason, made.detail, made.kernels, made.method, made.report_bytes, wall_s)


@contextmanager
def _run(request: ProfileRequest, cancelled: Callable[[], bool] | None) -> Iterator[_Run]:
    if request.device != "cuda":
        raise _NoFigures(Reason.HOST, errors.ProfileNeedsCard())
    tool = ncu.find()
    if tool is None:
        raise _NoFigures(Reason.NO_PROFILER, errors.ProfilerMissing())
    with tempfile.TemporaryDirectory(prefix="mucutlass-profile-") as name:
        folder = Path(name)
        (folder / target.REQUEST).write_text(json.dumps(_target_form(request, cancelled)), "utf-8")
        yield _Run(request, tool, request.isolation or isolation.probe(), folder)


def _target_form(request: ProfileRequest, cancelled: Callable[[], bool] | None) -> dict[str, Any]:
    """What the profiled process is told."""
    subject = to_json(request.candidate)
    if isinstance(request.candidate, PlanCandidate):
        subject["artifacts"] = {s: str(Path(p).absolute()) for s, p in request.candidate.artifacts.items()}
    else:
        subject |= _arguments(request, cancelled)
        subject["constants"] = {str(position): value for position, value in request.signature.constants.items()}
    return {"signature": to_json(request.signature), "subject": subject, "device": request.device}


def _arguments(request: ProfileRequest, cancelled: Callable[[], bool] | None) -> dict[str, Any]:
    """What a module is constructed with: the problem's own code says so, in a child without a card."""
    result = childprocess.run_python(
        "kernels.profiling.arguments",
        [str(Path(request.problem_path).absolute()), request.size],
        limits=ChildLimits(seconds=60.0, memory_bytes=8 * 2**30),
        environment={"CUDA_VISIBLE_DEVICES": ""},
        cancelled=cancelled,
    )
    lines = result.stdout.splitlines()
    if result.ending is Ending.CANCELLED:
        raise _NoFigures(Reason.CANCELLED, errors.ProfileCancelled())
    if result.ending is not Ending.EXITED or result.code != 0 or not lines:
        said = f"the problem gave no arguments for it: {result.stderr.strip()[-300:]}"
        raise _NoFigures(Reason.TARGET_FAILED, errors.ProfiledCallFailed(said=said))
    found: dict[str, Any] = json.loads(lines[-1])
    return found


def _collect(run: _Run, cancelled: Callable[[], bool] | None) -> tuple[list[RawKernel], str]:
    """The launches of the profiled call. A metric that this version refuses is left out, once."""
    names = all_names()
    result = _profiled(run, names, cancelled)
    refused = ncu.refused_names(result.stdout + "\n" + result.stderr, names)
    if refused and not _is_plain_file(run.report):
        result = _profiled(run, [name for name in names if name not in refused], cancelled)
    if _is_plain_file(run.report):
        kernels, read_by = report.read(run.tool, run.report, run.folder)
        if kernels:
            return kernels, read_by
    raise _why_none(run, result)


def _profiled(run: _Run, names: Sequence[str], cancelled: Callable[[], bool] | None) -> ChildResult:
    """The profiler with the target below it, both in the sandbox, alone on the card."""
    request = run.request
    python = [sys.executable, "-m", "kernels.profiling.target", str(run.folder)]
    # One more than is wanted tells whether there are more.
    launches = request.launch_limit + 1
    command = ncu.collect(
        run.tool, python, run.report, metric_set=request.metric_set, names=names, launches=launches
    )
    argv = isolation.wrap(
        command,
        method=run.method,
        readable=_readable(run),
        hidden=(Path(request.problem_path),) if request.problem_path else (),
        device=request.device,
        workshop=run.folder,
    )
    limits = ChildLimits(
        seconds=request.seconds, memory_bytes=request.memory_bytes, file_bytes=request.report_limit_bytes
    )
    environment = childprocess.python_environment(ncu.environment(run.folder))
    try:
        with machine_lock(True, cancelled=cancelled, patience_s=_LOCK_PATIENCE_S, name=LOCK):
            return childprocess.run(
                argv, limits=limits, environment=environment, directory=run.folder, cancelled=cancelled
            )
    except LockCancelled as waited:
        stopped = cancelled is not None and cancelled()
        raise _NoFigures(Reason.CANCELLED if stopped else Reason.TIMEOUT, waited) from None


def _readable(run: _Run) -> tuple[Path, ...]:
    """What the sandbox must show although its folder may be hidden: the profiler and the shared objects."""
    return (Path(run.tool.path).resolve().parent, *(path for path in _objects(run.request) if path.exists()))


def _objects(request: ProfileRequest) -> tuple[Path, ...]:
    """The shared objects that a plan launches; a module brings its own when it runs."""
    candidate = request.candidate
    return tuple(map(Path, candidate.artifacts.values())) if isinstance(candidate, PlanCandidate) else ()


def _answer(run: _Run) -> dict[str, str] | None:
    """What the target left; None where it did not come to its end."""
    path = run.folder / target.ANSWER
    if not _is_plain_file(path):
        return None
    try:
        with path.open("rb") as file:
            found = json.loads(file.read(_LONGEST_ANSWER))
    except (OSError, ValueError, RecursionError):
        return None
    # The candidate could write there too, so nothing is taken for granted.
    return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else None


def _is_plain_file(path: Path) -> bool:
    """Whether it is a file itself: a link that a candidate left in its folder could lead anywhere."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _why_none(run: _Run, result: ChildResult) -> _NoFigures:
    """What it means that there is no launch to read. What the machine lacks comes before what the candidate did."""
    output = result.stdout + "\n" + result.stderr
    answer = _answer(run) or {}
    held = _HELD.format(method=run.method) if run.method == isolation.BUBBLEWRAP else ""
    complaint = ncu.complaint(output, held)
    if result.ending is Ending.CANCELLED:
        return _NoFigures(Reason.CANCELLED, errors.ProfileCancelled())
    if complaint is not None:
        return _NoFigures(*complaint)
    told = answer.get("detail", "")[:_LONGEST_WORDS]
    if "error" in answer and any(words in told for words in _NO_CARD):
        return _NoFigures(Reason.NO_CARD, errors.NoCardForProfile(said=told))
    if "error" in answer:
        return _NoFigures(Reason.TARGET_FAILED, errors.ProfiledCallFailed(said=told))
    if result.ending is Ending.TIMEOUT:
        return _NoFigures(Reason.TIMEOUT, errors.ProfileTimedOut(seconds=run.request.seconds))
    if "No kernels were profiled" in output:
        return _NoFigures(Reason.NO_KERNEL, errors.NoKernelProfiled())
    if result.ending is not Ending.EXITED:
        return _NoFigures(
            Reason.TARGET_FAILED, errors.ProfiledCallFailed(said=f"it ended with {result.ending.value}")
        )
    return _NoFigures(Reason.PROFILER_FAILED, errors.ProfilerFailed(code=result.code, said=ncu.said(output)))


def _measured(run: _Run, kernels: list[RawKernel], read_by: str) -> Profile:
    request = run.request
    brought = filter(_is_plain_file, (run.folder / target.OBJECTS).glob("*.so"))
    built = filter(Path.exists, _objects(request))
    symbols = symbols_of([*built, *brought], {kernel.name for kernel in kernels})
    method = Method(
        tool=run.tool.name,
        metric_set=request.metric_set,
        clock_control=ncu.CLOCK_CONTROL,
        cache_control=ncu.CACHE_CONTROL,
        replay_mode=ncu.REPLAY_MODE,
        warmup_calls=target.WARMUP_CALLS,
        launch_limit=request.launch_limit,
        cut=len(kernels) > request.launch_limit,
        read_by=read_by,
        card=(_answer(run) or {}).get("card", "")[:_LONGEST_NAME],
        capability=kernels[0].capability,
        isolation=isolation.describe(run.method, request.memory_bytes),
    )
    return Profile(
        outcome=ProfileOutcome.MEASURED,
        reason=None,
        detail="",
        kernels=tuple(kernel_profile(one, symbols) for one in kernels[: request.launch_limit]),
        method=method,
        report_bytes=_keep(run.report, request),
        wall_s=0.0,
    )


def _keep(report_file: Path, request: ProfileRequest) -> int | None:
    """Copy the report to where it is wanted; its bytes, None where it is wanted nowhere or is too large to keep."""
    size = report_file.lstat().st_size
    if request.report is None or size > request.report_limit_bytes:
        return None
    wanted = Path(request.report)
    part = wanted.with_name(f".{wanted.name}.part")
    with (
        part.open("wb") as copy,
        os.fdopen(os.open(report_file, os.O_RDONLY | os.O_NOFOLLOW), "rb") as report_bytes,
    ):
        shutil.copyfileobj(report_bytes, copy)
    part.replace(wanted)
    return size
