"""A child process that looks at problems, seen from outside: its folder of answers, its limits, and whom to blame.

Safe to call from the worker: no line of a problem runs here, torch is not imported, and whatever a problem does
(hang, crash, take memory, print) ends as one named error of one problem.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from kernels import childprocess, records
from kernels.childprocess import ChildLimits, ChildResult, Ending
from kernels.problems.errors import (
    InspectionCancelled,
    ProblemCrashed,
    ProblemFileError,
    ProblemHasNoSuchSize,
    ProblemOutOfMemory,
    ProblemRaised,
    ProblemRunError,
    ProblemTimedOut,
    ProblemUnsupported,
)
from kernels.problems.files import read_problem
from kernels.problems.inspect_child import Answer, Task
from kernels.problems.inspection import Inspection
from kernels.problems.sample import Budget, Sample

_STARTING_S = 60.0
"""What importing torch may take on a busy machine, beside the problems' own seconds."""

_NO_CARD = {"CUDA_VISIBLE_DEVICES": ""}
"""A problem is looked at without a card; CUDA, once touched, does not survive the fork."""

_OWN_BYTES = 2 * 2**30
"""Resident bytes of the process that forks, which the problems' own limit does not include."""

Found = Inspection | Sample | Exception
Settle = Callable[[int, Found], None]


def look_at(
    paths: Sequence[Path],
    sizes: Sequence[str],
    budgets: Sequence[Budget | None],
    limits: ChildLimits,
    settle: Settle,
    *,
    cancelled: Callable[[], bool] | None = None,
    workers: int = 1,
) -> None:
    """Trace (no budget) or run (within one) several problems with one import of torch; ``settle`` gets each answer.

    ``limits`` hold for each problem; ``workers`` is how many are looked at at a time.
    """
    waiting: list[int] = []
    for place, (path, wanted) in enumerate(zip(paths, sizes, strict=True)):
        refusal = _refusal(path, wanted)
        if refusal is None:
            waiting.append(place)
        else:
            settle(place, refusal)
    while waiting:
        tasks = [_task(paths[place], sizes[place], budgets[place], limits) for place in waiting]
        left = Batch(tasks, limits, workers).run(cancelled, partial(_settle_at, settle, tuple(waiting)))
        waiting = [waiting[item] for item in left]
        # Something brought the whole child down: one at a time, it is known which problem did.
        workers = 1


def _task(path: Path, size: str, budget: Budget | None, limits: ChildLimits) -> Task:
    where = str(path.absolute())
    return Task(where, size, limits.seconds, limits.memory_bytes, limits.address_space_bytes, budget)


def _settle_at(settle: Settle, places: tuple[int, ...], item: int, found: Found) -> None:
    """The batch's item is the caller's place."""
    settle(places[item], found)


def _refusal(path: Path, size: str) -> Exception | None:
    """Why a problem need not be run at all; None where it must be."""
    try:
        problem = read_problem(path)
    except ProblemFileError as error:
        return error
    if size not in problem.sizes:
        return ProblemHasNoSuchSize(path=path, size=size, sizes=", ".join(problem.sizes))
    return None


class Batch:
    """One child and its folder of answers."""

    def __init__(self, tasks: Sequence[Task], limits: ChildLimits, workers: int) -> None:
        self.tasks = list(tasks)
        self.limits = limits
        self.workers = workers
        self.open = list(range(len(self.tasks)))

    def _path(self, item: int) -> Path:
        return Path(self.tasks[item].path)

    def run(self, cancelled: Callable[[], bool] | None, settle: Settle) -> list[int]:
        """Settle tasks; which are left. None are, unless the child is itself brought down."""
        with tempfile.TemporaryDirectory(prefix="inspect-") as name:
            folder = Path(name)
            (folder / "tasks.json").write_text(records.dumps(self.tasks), encoding="utf-8")

            def look() -> bool:
                self._collect(folder, settle)
                return cancelled is not None and cancelled()

            result = childprocess.run_python(
                "kernels.problems.inspect_child",
                [name, str(self.workers)],
                environment=_NO_CARD,
                limits=self._outer_limits(),
                cancelled=look,
            )
            self._collect(folder, settle)
            if self.open:
                self._brought_down(result, folder, settle)
        return self.open

    def _outer_limits(self) -> ChildLimits:
        """The forking process's own, above what each problem may take: the last resort."""
        memory = self.limits.memory_bytes
        return replace(
            self.limits,
            seconds=_STARTING_S + sum(task.seconds + 1.0 for task in self.tasks),
            memory_bytes=None if memory is None else self.workers * (memory + _OWN_BYTES),
            address_space_bytes=None,
        )

    def _collect(self, folder: Path, settle: Settle) -> None:
        for item in list(self.open):
            path = folder / f"{item}.json"
            if path.exists():
                self.open.remove(item)
                settle(item, self._outcome(self._path(item), records.loads(path.read_bytes(), Answer)))
            elif self.workers == 1:
                return

    def _outcome(self, path: Path, answer: Answer) -> Found:
        found = answer.inspection or answer.sample
        if found is not None:
            return found
        if answer.ending == "timeout":
            return ProblemTimedOut(path=path, seconds=self.limits.seconds)
        if answer.ending == "out_of_memory":
            return ProblemOutOfMemory(path=path, limit=self.limits.memory_bytes or self.limits.address_space_bytes)
        if answer.ending == "raised":
            return ProblemRaised(path=path, line=answer.line, during=answer.during, message=answer.detail)
        if answer.ending == "unsupported":
            return ProblemUnsupported(path=path, reason=answer.detail)
        return ProblemCrashed(path=path, how=answer.detail)

    def _brought_down(self, result: ChildResult, folder: Path, settle: Settle) -> None:
        """The forking process itself ended: the task it was at has done it (all of them, where it was cancelled)."""
        if result.ending is Ending.CANCELLED:
            while self.open:
                item = self.open.pop(0)
                settle(item, InspectionCancelled(path=self._path(item)))
            return
        begun = [item for item in self.open if (folder / f"{item}.begun").exists()]
        if len(begun) > 1:
            return  # which of them did it is not known
        item = begun[0] if begun else self.open[0]
        self.open.remove(item)
        settle(item, self._blame(result, self._path(item)))

    def _blame(self, result: ChildResult, path: Path) -> ProblemRunError:
        if result.ending is Ending.TIMEOUT:
            return ProblemTimedOut(path=path, seconds=result.seconds)
        if result.ending is Ending.OUT_OF_MEMORY:
            return ProblemOutOfMemory(path=path, limit=self.limits.memory_bytes)
        kind = "signal" if result.ending is Ending.SIGNALLED else "exit status"
        last = result.stderr.strip().splitlines()
        return ProblemCrashed(path=path, how=f"{kind} {result.code}{': ' + last[-1] if last else ''}")
