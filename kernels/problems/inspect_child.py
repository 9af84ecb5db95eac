"""The child that looks at problems: imports torch once, then forks a process for each problem.

``python -m kernels.problems.inspect_child FOLDER [WORKERS]`` reads ``FOLDER/tasks.json`` (path, size, limits of each
problem) and writes ``FOLDER/N.json`` for the N-th: an Answer. A problem's code only ever runs in a forked process of
its own, so that one that crashes, hangs or alters torch takes nothing from the next; what it prints is no answer.
With several workers, each is a fork that takes the next problem nobody has begun and forks again for it.
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
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from kernels import records
from kernels.problems.errors import ProblemRunError
from kernels.problems.inspection import Inspection
from kernels.problems.sample import Budget, Sample

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_POLL_S = 0.005
_MEMORY_LOOK_S = 0.1
"""Looking at a family's memory reads every process of the machine."""


@dataclass(frozen=True, slots=True)
class Task:
    """One problem to look at, and its own limits: wall-clock seconds, resident and mapped bytes.

    With a budget it is run for a sample, without one it is only traced.
    """

    path: str
    size: str
    seconds: float
    memory_bytes: int | None
    address_space_bytes: int | None
    budget: Budget | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a task: an inspection or a sample, or how it ended.

    ``ending`` is "inspected", "sampled", "raised", "unsupported", "timeout", "out_of_memory" or "crashed"; ``detail``
    is the last line raised, the reason, or how the process ended; ``line`` is a line of the problem file, 0 where none.
    """

    ending: str
    inspection: Inspection | None = None
    detail: str = ""
    line: int = 0
    during: str = ""
    sample: Sample | None = None


def main(folder: Path, workers: int = 1) -> int:
    """Answer all tasks of a folder, as many at a time as there are workers."""
    import torch

    torch.set_num_threads(1)
    _warm_up()
    _remember_operations()
    tasks = records.loads((folder / "tasks.json").read_bytes(), list[Task])
    # Forks then share these pages instead of copying them at the first collection.
    gc.collect()
    gc.freeze()
    if workers == 1:
        _work(folder, tasks)
    else:
        _share(folder, tasks, workers)
    return 0


def _work(folder: Path, tasks: list[Task]) -> None:
    """Answer, in order, every task that nobody has begun."""
    # What a problem leaves behind becomes this process's child, and is ended with it.
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for number, task in enumerate(tasks):
        if _claim(folder, number):
            _put(_one(task, folder / f"{number}.made"), folder / f"{number}.json")


def _claim(folder: Path, number: int) -> bool:
    """Write this process's number into the task's mark; False where another has begun it."""
    with suppress(FileExistsError), (folder / f"{number}.begun").open("x") as mark:
        mark.write(str(os.getpid()))
        return True
    return False


def _share(folder: Path, tasks: list[Task], workers: int) -> None:
    """Fork workers and wait for them. One that is brought down has its task answered, and another takes its place."""
    running = {_worker(folder, tasks) for _ in range(min(workers, len(tasks)))}
    while running:
        pid, status = os.wait()
        if pid not in running:
            continue
        running.remove(pid)
        if status == 0:
            continue
        for number in range(len(tasks)):
            mark, answer = folder / f"{number}.begun", folder / f"{number}.json"
            if mark.exists() and mark.read_text() == str(pid) and not answer.exists():
                _put(Answer("crashed", detail=_how(status)), answer)
        running.add(_worker(folder, tasks))


def _worker(folder: Path, tasks: list[Task]) -> int:
    pid = os.fork()
    if pid:
        return pid
    _die_with_parent()
    status = 1
    try:
        _work(folder, tasks)
        status = 0
    finally:
        os._exit(status)


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _warm_up() -> None:
    """Export something small: the first export in a process imports for two seconds, and every fork shares that."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    from kernels.problems import trace

    with FakeTensorMode(), torch.no_grad():
        program = torch.export.export(torch.nn.Linear(2, 2), (torch.zeros(2, 2),), strict=False)
        program.run_decompositions(dict(trace.decompositions()))


def _remember_operations() -> None:
    """Spare each export what it does anew for every program: half of the time that a small problem takes.

    It lists the dispatcher's operations, twice, sorts the table of decompositions, and overrides what stays whole for
    each of a dozen kinds of device; here tensors are on the CPU, without memory. A torch that does this otherwise is
    left as it is.
    """
    import torch
    from torch._export import utils
    from torch.export import exported_program

    from kernels.problems import trace

    if hasattr(utils, "_materialize_cpp_cia_ops"):
        utils._materialize_cpp_cia_ops = lambda: None
    keys = torch._C.DispatchKey
    kept = {keys.CPU, keys.Meta, keys.AutogradCPU, keys.AutogradMeta}
    for name in ("_BACKEND_KEYS_TO_OVERRIDE", "_AUTOGRAD_ALIAS_BACKEND_KEYS_TO_OVERRIDE"):
        if hasattr(exported_program, name):
            setattr(exported_program, name, [key for key in getattr(exported_program, name) if key in kept])
    split = getattr(exported_program, "_split_decomp_table_to_cia_and_python_decomp", None)
    if split is not None:
        exported_program._split_decomp_table_to_cia_and_python_decomp = _remembered(split, trace.decompositions())


def _remembered(split: Callable[[dict[Any, Any]], Any], table: dict[Any, Any]) -> Callable[[dict[Any, Any]], Any]:
    """``split`` with its answer for our own table at hand; another table is split as ever."""
    parts = split(dict(table))

    def answer(asked: dict[Any, Any]) -> Any:
        return tuple(dict(part) for part in parts) if asked.keys() == table.keys() else split(asked)

    return answer


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
    now = time.monotonic()
    deadline, next_look = now + task.seconds, now + _MEMORY_LOOK_S
    process = psutil.Process(pid)
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return None, status
        now, verdict = time.monotonic(), None
        if now > deadline:
            verdict = "timeout"
        elif task.memory_bytes is not None and now > next_look:
            next_look = now + _MEMORY_LOOK_S
            if _resident(process) > task.memory_bytes:
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
    with suppress(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
        _end_children()


def _end_children() -> None:
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
    _die_with_parent()
    # A problem is short: what it leaves behind goes with its process.
    gc.disable()
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
    from kernels.problems import take_sample, trace

    try:
        if task.budget is not None:
            return Answer("sampled", sample=take_sample.take(Path(task.path), task.size, task.budget))
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


def _arguments() -> tuple[Path, int]:
    if not 2 <= len(sys.argv) <= 3:
        print("usage: python -m kernels.problems.inspect_child FOLDER [WORKERS]", file=sys.stderr)
        raise SystemExit(2)
    return Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) == 3 else 1


if __name__ == "__main__":
    raise SystemExit(main(*_arguments()))
