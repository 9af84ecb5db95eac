"""The worker's side of an evaluation: start the supervisor, wait, and say what it means when that process dies.

No torch here, and nothing of a candidate or a problem: whatever they do, ``evaluate`` returns a record.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from kernels import childprocess
from kernels.childprocess import ChildLimits, ChildResult, Ending
from kernels.harness import folders, isolation, warm
from kernels.harness.baseline_subjects import PREPARE_SECONDS
from kernels.harness.baselines import SLOW
from kernels.harness.evaluation import Evaluation, EvaluationRequest, Outcome, PlanCandidate
from kernels.harness.forked import Forked
from kernels.locks import locks_environment
from kernels.records import dumps, from_json

_LOCK_PATIENCE_S = 2 * 900.0
_SETUP_S = 60.0


def evaluate(request: EvaluationRequest, *, cancelled: Callable[[], bool] | None = None) -> Evaluation:
    """Check and time one candidate beside torch eager, in processes of its own; gives the finished record.

    Never raises for what a candidate or a problem does. ``cancelled`` is asked about ten times a second; the
    record then says "not measured". Paths in the request may be relative to the current folder.
    """
    began = time.monotonic()
    folders.sweep()
    evaluation, lost = _attempt(request, cancelled)
    if lost and not (cancelled is not None and cancelled()):
        # A fork server was ended from outside, which says nothing of the candidate.
        evaluation, _ = _attempt(request, cancelled)
    return replace(evaluation, wall_s=time.monotonic() - began)


def _attempt(request: EvaluationRequest, cancelled: Callable[[], bool] | None) -> tuple[Evaluation, bool]:
    """The record, and whether a process of the harness, not of the candidate, was ended from outside."""
    with (
        folders.evaluation_folder() as folder,
        _memory_file("request", dumps(_absolute(request)).encode()) as request_fd,
        _memory_file("report", b"") as report_fd,
    ):
        judge = _Judge(request, folder, (request_fd, report_fd))
        result = judge.run(cancelled)
        step, evaluation, lost = _read_report(report_fd)
    if evaluation is None or result.ending is Ending.CANCELLED:
        evaluation = _without_result(request, result, step)
    return evaluation, lost or judge.lost


class _Judge:
    """The supervisor's process: forked from a server where there is one, started from nothing else."""

    def __init__(self, request: EvaluationRequest, folder: Path, descriptors: tuple[int, int]) -> None:
        self.method = isolation.probe()
        self.device = request.device
        self.limits = _limits(request)
        self.folder = folder
        self.descriptors = descriptors
        self.lost = False

    def run(self, cancelled: Callable[[], bool] | None) -> ChildResult:
        """See it through to its end."""
        environment = {**locks_environment(), "TMPDIR": str(self.folder)}
        servers = warm.servers(self.method, self.device)
        if servers.judges is not None:
            message = {
                "method": self.method, "environment": environment, "folder": str(self.folder), "disk_bytes": None,
            }  # fmt: skip
            subjects = [] if servers.subjects is None else [servers.subjects.socket.fileno()]
            process = Forked(servers.judges.socket, message, [*self.descriptors, *subjects])
            result = childprocess.watch(process, process.end, limits=self.limits, cancelled=cancelled)
            self.lost = process.lost and result.ending is Ending.SIGNALLED
            if process.started or result.ending is Ending.CANCELLED:
                return result
        module = [sys.executable, "-m", "kernels.harness.supervisor"]
        return childprocess.run(
            [*module, *map(str, self.descriptors), self.method],
            limits=self.limits,
            environment=childprocess.python_environment(environment),
            directory=self.folder,
            cancelled=cancelled,
            pass_fds=self.descriptors,
        )


def _absolute(request: EvaluationRequest) -> EvaluationRequest:
    """The supervisor has a working folder of its own, so every path must be whole."""
    candidate = request.candidate
    if isinstance(candidate, PlanCandidate):
        artifacts = {symbol: str(Path(path).absolute()) for symbol, path in candidate.artifacts.items()}
        candidate = replace(candidate, artifacts=artifacts)
    return replace(request, problem_path=str(Path(request.problem_path).absolute()), candidate=candidate)


def _limits(request: EvaluationRequest) -> ChildLimits:
    """A net under the supervisor's own limits: the problem's time, the children's, and the waiting for the lock.

    On the host each process caps its own address space, so memory is polled only where a card forbids that.
    """
    preparing_s = PREPARE_SECONDS * sum(kind in SLOW for kind in request.baselines)
    return ChildLimits(
        seconds=(2 + len(request.baselines)) * request.limits.seconds + preparing_s + _SETUP_S + _LOCK_PATIENCE_S,
        memory_bytes=None if request.device == "host" else 4 * request.limits.memory_bytes,
        output_bytes=request.limits.output_bytes,
    )


@contextmanager
def _memory_file(name: str, content: bytes) -> Iterator[int]:
    """A file that has no name anywhere and is seen only by who inherits the descriptor."""
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC)
    try:
        os.write(descriptor, content)
        yield descriptor
    finally:
        os.close(descriptor)


def _read_report(descriptor: int) -> tuple[str, Evaluation | None, bool]:
    """The problem step that was going on at the end ("" where none), the evaluation, whether a subject was lost."""
    step = ""
    size = os.fstat(descriptor).st_size
    for line in os.pread(descriptor, size, 0).splitlines():
        try:
            entry: dict[str, Any] = json.loads(line)
        except ValueError:
            continue
        if "evaluation" in entry:
            return step, from_json(entry["evaluation"], Evaluation), bool(entry.get("lost"))
        step = str(entry.get("step", ""))
    return step, None, False


def _without_result(request: EvaluationRequest, result: ChildResult, step: str) -> Evaluation:
    outcome, detail = _meaning(request, result, step)
    return Evaluation(
        outcome=outcome,
        detail=detail,
        checks=(),
        candidate=None,
        baselines=(),
        once_s=None,
        stages=(),
        machine=None,
        isolation=None,
        wall_s=result.seconds,
    )


def _meaning(request: EvaluationRequest, result: ChildResult, step: str) -> tuple[Outcome, str]:
    """What it means that the supervisor ended without a record."""
    said = _last_words(result)
    whose = f"the problem's own code ({step})" if step else "the supervisor"
    if result.ending is Ending.CANCELLED:
        return Outcome.NOT_MEASURED, "cancelled"
    if result.ending is Ending.TIMEOUT or (result.ending is Ending.SIGNALLED and result.code == signal.SIGALRM):
        return Outcome.TIMEOUT, f"{whose} took longer than {request.limits.seconds:g} s and was stopped{said}"
    if result.ending is Ending.OUT_OF_MEMORY or "bad_alloc" in said:
        return Outcome.OUT_OF_MEMORY, f"{whose} took too much memory and was stopped{said}"
    if result.ending is Ending.SIGNALLED:
        name = signal.Signals(result.code).name
        if result.code == signal.SIGKILL or not step:
            return Outcome.NOT_MEASURED, f"the supervisor was ended by {name} from outside{said}"
        return Outcome.PROBLEM_ERROR, f"{whose} crashed with {name}{said}"
    if step:
        return Outcome.PROBLEM_ERROR, f"{whose} ended its process with exit status {result.code}{said}"
    return Outcome.NOT_MEASURED, f"the supervisor failed with exit status {result.code}{said}"


def _last_words(result: ChildResult) -> str:
    text = result.stderr.strip()
    return f"; its last output: {text[-2000:]}" if text else ""
