"""The child that looks at problems: imports torch once, then forks a process for each problem.

``python -m kernels.problems.inspect_child FOLDER`` reads ``FOLDER/tasks.json`` (path, size, limits of each problem) and
writes ``FOLDER/N.json`` for the N-th: an Answer. A problem's code only ever runs in a forked process of its own, so
that one that crashes, hangs or alters torch takes nothing from the next; what it prints is no answer.
"""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import signal
import sys
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from kernels import records
from kernels.problems.errors import ProblemRunError
from kernels.problems.inspection import Inspection

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Task:
    """One problem to look at, and its own limits: wall-clock seconds, resident and mapped bytes."""

    path: str
    size: str
    seconds: float
    memory_bytes: int | None
    address_space_bytes: int | None


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a task: an inspection, or how it ended.

    ``ending`` is "inspected", "raised", "unsupported", "timeout", "out_of_memory" or "crashed"; ``detail`` is the
    last line raised, the reason, or how the process ended; ``line`` is a line of the problem file, 0 where none.
    """

    ending: str
    inspection: Inspection | None = None
    detail: str = ""
    line: int = 0
    during: str = ""


def main(folder: Path) -> int:
    """Answer all tasks of a folder in order."""
    import torch

    from kernels.problems import trace  # noqa: F401 - every fork shares what is imported here

    torch.set_num_threads(1)
    # What a problem leaves behind becomes this process's child, and is ended with it.
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    _warm_up()
    tasks = records.loads((folder / "tasks.json").read_bytes(), list[Task])
    # Forks then share these pages instead of copying them at the first collection.
    gc.collect()
    gc.freeze()
    for number, task in enumerate(tasks):
        (folder / f"{number}.begun").touch()
        answer = _one(task, folder / f"{number}.made")
        _put(answer, folder / f"{number}.json")
    return 0


def _warm_up() -> None:
    """Export something small: the first export in a process imports for two seconds."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode(), torch.no_grad():
        program = torch.export.export(torch.nn.Linear(2, 2), (torch.zeros(2, 2),), strict=False)
        program.run_decompositions(torch.export.default_decompositions())


def _put(answer: Answer, path: Path) -> None:
    """Whole or not at all: the reader looks while this writes."""
    unfinished = path.with_suffix(".part")
    unfinished.write_text(records.dumps(answer), encoding="utf-8")
    unfinished.rename(path)


def _one(task: Task, made: Path) -> Answer:
    """Fork, wait within the limits, and read what the fork made."""
    pid = os.fork()
    if pid == 0:
        _run_and_exit(task, made)
    verdict, status = _wait(pid, task)
    _end_what_is_left()
    if verdict is not None:
        return Answer(verdict)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0 and made.exists():
        with suppress(Exception):
            return records.loads(made.read_bytes(), Answer)
    return Answer("crashed", detail=_how(status))


def _wait(pid: int, task: Task) -> tuple[str | None, int]:
    """The limit that was broken (None where none was) and the wait status."""
    deadline = time.monotonic() + task.seconds
    process = psutil.Process(pid)
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return None, status
        verdict = None
        if time.monotonic() > deadline:
            verdict = "timeout"
        elif task.memory_bytes is not None and _resident(process) > task.memory_bytes:
            verdict = "out_of_memory"
        if verdict is not None:
            _kill(process)
            _, status = os.waitpid(pid, 0)
            return verdict, status
        time.sleep(_POLL_S)


def _family(process: psutil.Process) -> list[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        return [process, *process.children(recursive=True)]
    return []


def _resident(process: psutil.Process) -> int:
    total = 0
    for member in _family(process):
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            total += int(member.memory_info().rss)
    return total


def _kill(process: psutil.Process) -> None:
    for member in _family(process):
        with suppress(psutil.NoSuchProcess):
            member.kill()


def _end_what_is_left() -> None:
    for member in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            member.kill()
    with suppress(ChildProcessError):
        while os.waitpid(-1, 0)[0]:
            pass


def _how(status: int) -> str:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        with suppress(ValueError):
            return f"signal {number} ({signal.Signals(number).name})"
        return f"signal {number}"
    return f"exit status {os.WEXITSTATUS(status)}"


def _run_and_exit(task: Task, made: Path) -> None:
    """In the fork: look at the problem, leave the answer, and end without any handler of the problem's own."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if task.address_space_bytes is not None:
        resource.setrlimit(resource.RLIMIT_AS, (task.address_space_bytes, task.address_space_bytes))
    sys.argv = [task.path]
    answer = _answer(task)
    try:
        _put(answer, made)
    except MemoryError:
        os._exit(1)
    os._exit(0)


def _answer(task: Task) -> Answer:
    from kernels.problems import trace

    try:
        return Answer("inspected", inspection=trace.look(Path(task.path), task.size))
    except ProblemRunError as error:
        return Answer("unsupported", detail=str(error.fields.get("reason", error)))
    except MemoryError:
        return Answer("out_of_memory")
    except BaseException as error:  # noqa: BLE001 - SystemExit from a problem is an answer like any other
        if "can't allocate memory" in str(error):
            return Answer("out_of_memory")
        return _raised(error, task.path)


def _raised(error: BaseException, path: str) -> Answer:
    """The last line of the traceback, and the innermost place in the problem's own file."""
    last = "".join(traceback.format_exception_only(error)).strip().splitlines()
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    during = "the module"
    if frames:
        during = next((frame.name for frame in frames if frame.name != "<module>"), "the module")
    elif isinstance(error, SystemExit):
        during = "the problem"
    return Answer(
        "raised",
        detail=(last[-1] if last else type(error).__name__)[:500],
        line=(frames[-1].lineno or 0) if frames else 0,
        during=_phrase(during),
    )


def _phrase(name: str) -> str:
    return name if name in {"the module", "the problem"} else f"{name}()"


def _arguments() -> Any:
    if len(sys.argv) != 2:
        print("usage: python -m kernels.problems.inspect_child FOLDER", file=sys.stderr)
        raise SystemExit(2)
    return Path(sys.argv[1])


if __name__ == "__main__":
    raise SystemExit(main(_arguments()))
