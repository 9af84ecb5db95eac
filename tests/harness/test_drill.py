"""The fault drill: each thing that can go wrong, alone and among good candidates, in one worker with warm servers.

Each bad candidate ends in its own outcome, every good one passes, and nothing is left running.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from kernels.harness import evaluate, folders, isolation, warm
from kernels.harness.evaluation import Evaluation, EvaluationRequest, Limits, Outcome
from kernels.harness.warm import WARM_VARIABLE
from kernels.locks import locks_folder
from tests.harness.conftest import MakeRequest
from tests.harness.processes import JUDGES, SUBJECTS, cold, forked, left_running, server, wait_for

MIB = 2**20
SHORT = Limits(seconds=1.0)
USUAL = Limits(seconds=20.0)


@dataclass(frozen=True)
class Fault:
    """``symbol`` is the candidate's body; ``act`` is done while it runs."""

    symbol: str
    outcome: Outcome
    said: str
    limits: Limits = USUAL
    act: Callable[[], None] | None = None


def kill_subject() -> None:
    """Of the two subjects, the one that holds the shared object open."""

    def candidate() -> psutil.Process | None:
        return next((process for process in forked(SUBJECTS) if "objects.so" in " ".join(held(process.pid))), None)

    found = wait_for(candidate)
    assert found is not None
    found.kill()


def held(pid: int) -> list[str]:
    """What the descriptors of a process lead to."""
    with contextlib.suppress(OSError):
        return [str(path.readlink()) for path in Path(f"/proc/{pid}/fd").iterdir()]
    return []


def kill_judge() -> None:
    wait_for(lambda: forked(SUBJECTS))
    forked(JUDGES)[0].kill()


def kill_server(role: str) -> Callable[[], None]:
    def act() -> None:
        wait_for(lambda: forked(SUBJECTS))
        found = server(role)
        assert found is not None
        found.kill()

    return act


def leave_stale_locks() -> None:
    """What a killed holder leaves: files, whose locks the kernel has let go of."""
    for name in ("machine.lock", "machine.turnstile"):
        (locks_folder() / name).write_text("4194303\n")
        os.utime(locks_folder() / name, (0, 0))


FAULTS = {
    "good": Fault("bias_relu", Outcome.PASSED, ""),
    "endless kernel": Fault("endless", Outcome.TIMEOUT, "longer than 1 s", SHORT),
    "segfault": Fault("segfault", Outcome.CRASH, "SIGSEGV"),
    "late segfault": Fault("late_segfault", Outcome.CRASH, "SIGSEGV"),
    "abort": Fault("aborts", Outcome.CRASH, "SIGABRT"),
    "os._exit": Fault("exits", Outcome.CRASH, "exit status 0"),
    "error code": Fault("error_code", Outcome.LAUNCH_ERROR, "42"),
    "200 children": Fault("fork_bomb", Outcome.CRASH, "processes"),
    "100 GB of memory": Fault("takes_100_gb", Outcome.OUT_OF_MEMORY, "bad_alloc"),
    "10 GB of output": Fault("prints_10_gb", Outcome.CRASH, "printed more than"),
    "10 GB on disk": Fault("fills_disk", Outcome.LAUNCH_ERROR, "", Limits(seconds=20.0, disk_bytes=32 * MIB)),
    "children that stay": Fault("forks", Outcome.INCORRECT, "processes"),
    "SIGKILL of the child": Fault("slow", Outcome.CRASH, "SIGKILL", act=kill_subject),
    "SIGKILL of the supervisor": Fault("slow", Outcome.NOT_MEASURED, "SIGKILL from outside", act=kill_judge),
    "SIGKILL of the judges' server": Fault("slow", Outcome.PASSED, "", act=kill_server(JUDGES)),
    "SIGKILL of the subjects' server": Fault("slow", Outcome.PASSED, "", act=kill_server(SUBJECTS)),
    "stale locks": Fault("bias_relu", Outcome.PASSED, "", act=leave_stale_locks),
}


def drill(fault: Fault, request: EvaluationRequest) -> Evaluation:
    """One evaluation with the fault; what its action raised is raised here."""
    raised: list[Exception] = []

    def act() -> None:
        try:
            if fault.act is not None:
                fault.act()
        except Exception as error:  # noqa: BLE001 -- raised again below, where the test sees it
            raised.append(error)

    acting = threading.Thread(target=act)
    acting.start()
    if fault.act is leave_stale_locks:
        acting.join()
    evaluation = evaluate(request)
    acting.join()
    if raised:
        raise raised[0]
    return evaluation


def check(name: str, make_request: MakeRequest) -> Evaluation:
    fault = FAULTS[name]
    evaluation = drill(fault, make_request(fault.symbol, limits=fault.limits))
    assert evaluation.outcome is fault.outcome, (name, evaluation.detail)
    failed = [check.name for check in evaluation.checks if check.failed]
    assert fault.said in f"{evaluation.detail} {failed}", name
    return evaluation


def nothing_is_left() -> None:
    assert left_running() == []
    assert list(Path(os.environ["TMPDIR"]).glob(f"{folders.PREFIX}*")) == []


@pytest.fixture(autouse=True)
def own_temp_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that folders of other evaluations on this machine are not counted."""
    folder = tmp_path / "temp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_alone_ends_in_its_own_outcome(make_request: MakeRequest, name: str) -> None:
    check(name, make_request)
    nothing_is_left()


def test_a_batch_of_20_with_every_fault_in_it(make_request: MakeRequest) -> None:
    bad = [name for name in FAULTS if name not in ("good", "late segfault", "stale locks")]
    batch = [name for pair in zip(bad, ["good"] * len(bad), strict=True) for name in pair][:20]
    assert len(batch) == 20
    for name in batch:
        check(name, make_request)
    nothing_is_left()


def test_good_candidates_pass_beside_bad_ones_at_the_same_time(make_request: MakeRequest) -> None:
    names = ["endless kernel", "good", "200 children", "good"]
    ended: dict[int, Evaluation] = {}

    def run(position: int) -> None:
        fault = FAULTS[names[position]]
        ended[position] = evaluate(make_request(fault.symbol, limits=fault.limits))

    threads = [threading.Thread(target=run, args=(position,)) for position in range(len(names))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [ended[i].outcome for i in range(len(names))] == [FAULTS[name].outcome for name in names]
    nothing_is_left()


HARD = (
    "good",
    "late segfault",
    "os._exit",
    "200 children",
    "100 GB of memory",
    "children that stay",
    "10 GB on disk",
)


@pytest.mark.parametrize("method", [isolation.UNSHARE, isolation.PROCESS])
def test_other_ways_to_hold_a_child_end_it_as_well(
    make_request: MakeRequest, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    if method == isolation.UNSHARE and isolation.probe() == isolation.PROCESS:
        pytest.skip("unshare does not work here")
    monkeypatch.setattr(isolation, "probe", lambda: method)
    for name in HARD:
        evaluation = check(name, make_request)
        assert evaluation.isolation is not None
        assert evaluation.isolation.method == method
        assert evaluation.isolation.network is (method == isolation.PROCESS)
        if name == "good":
            assert evaluation.isolation.warm is True
    nothing_is_left()


def test_without_servers_every_process_is_started_from_nothing(
    make_request: MakeRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(WARM_VARIABLE, "0")
    for name in ("good", "segfault"):
        evaluation = check(name, make_request)
        assert evaluation.isolation is not None
        assert evaluation.isolation.warm is False
    nothing_is_left()
    assert cold() == []


def test_a_server_that_cannot_make_its_sandbox_is_done_without(
    make_request: MakeRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where user namespaces are switched off: here the server is told to keep what does not exist."""
    monkeypatch.setattr(isolation, "sandbox", lambda method: {"masked": [], "kept": ["/tmp/not/there"]})
    warm.close()
    try:
        for _ in range(2):
            evaluation = evaluate(make_request())
            assert evaluation.outcome is Outcome.PASSED, evaluation.detail
            assert evaluation.isolation is not None
            assert evaluation.isolation.warm is False
    finally:
        warm.close()
    assert left_running() == []


def test_a_server_is_kept_until_its_code_or_its_cores_change(
    make_request: MakeRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluate(make_request())
    first = [server(role) for role in (JUDGES, SUBJECTS)]
    evaluate(make_request())
    assert [server(role) for role in (JUDGES, SUBJECTS)] == first
    monkeypatch.setattr(warm, "_code", lambda: (1, 1))
    assert evaluate(make_request()).outcome is Outcome.PASSED
    second = [server(role) for role in (JUDGES, SUBJECTS)]
    assert not set(first) & set(second)
    warm.close()
    assert [server(role) for role in (JUDGES, SUBJECTS)] == [None, None]


def test_folders_of_killed_workers_are_swept_and_those_in_use_are_not(tmp_path: Path) -> None:
    temp = Path(os.environ["TMPDIR"])
    stale = temp / f"{folders.PREFIX}stale"
    (stale / "inside").mkdir(parents=True)
    other = temp / "something-else"
    other.mkdir()
    with folders.evaluation_folder() as used:
        assert folders.sweep() == 0
        assert folders.sweep(now=time.time() + 3600) == 1
        assert used.is_dir()
    assert sorted(temp.iterdir()) == [other]
