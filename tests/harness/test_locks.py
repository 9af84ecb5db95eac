from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kernels.childprocess import python_environment
from kernels.locks import LockCancelled, locks_environment, locks_folder, machine_lock

HOLD = """
import sys
from kernels.locks import machine_lock
with machine_lock(sys.argv[1] == "alone"):
    print("held", flush=True)
    sys.stdin.read()
"""


def holder(how: str) -> subprocess.Popen[str]:
    """A process that holds the lock until its standard input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, how],
        env=python_environment(locks_environment()), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def test_the_folder_is_the_one_that_the_environment_names(tmp_path: Path) -> None:
    assert locks_folder() == tmp_path / "locks"


def test_sharers_share_and_one_alone_waits_for_them() -> None:
    process = holder("shared")
    try:
        with machine_lock(False, patience_s=5) as waited:
            assert waited < 5
        with pytest.raises(LockCancelled, match="still held"), machine_lock(True, patience_s=0.05):
            pass
    finally:
        end(process)


def test_a_killed_holder_frees_the_lock() -> None:
    process = holder("alone")
    with pytest.raises(LockCancelled), machine_lock(False, patience_s=0.05):
        pass
    process.send_signal(signal.SIGKILL)
    process.communicate()
    with machine_lock(True, patience_s=5) as waited:
        assert waited < 5


def test_waiting_can_be_cancelled() -> None:
    process = holder("alone")
    try:
        with pytest.raises(LockCancelled, match="cancelled"), machine_lock(False, cancelled=lambda: True):
            pass
    finally:
        end(process)


def test_one_that_waits_alone_goes_before_sharers_that_come_later() -> None:
    process = holder("shared")
    order: list[str] = []

    def take(how: str) -> None:
        with machine_lock(how == "alone", patience_s=20):
            order.append(how)

    alone = threading.Thread(target=take, args=("alone",))
    alone.start()
    turnstile = locks_folder() / "machine.turnstile"
    while alone.is_alive() and not _is_held(turnstile):
        pass
    later = threading.Thread(target=take, args=("shared",))
    later.start()
    assert order == []
    end(process)
    alone.join(20)
    later.join(20)
    assert order == ["alone", "shared"]


def _is_held(path: Path) -> bool:
    import fcntl

    if not path.exists():
        return False
    with path.open("r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_locks_of_other_names_do_not_meet() -> None:
    with machine_lock(True), machine_lock(True, name="cuda-0", patience_s=1) as waited:
        assert waited < 1
