from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kernels.childprocess import python_environment
from kernels.toolchain.cache import Cache, Entry
from tests.toolchain.units import compilation

KEY = "ab" * 32


def _stored(cache: Cache, content: bytes = b"object", key: str = KEY) -> Entry:
    with cache.workshop(key) as folder:
        file = folder / "y.so"
        file.write_bytes(content)
        return cache.put(key, file, "g++ 12", compilation("said"))


def _start(root: Path, tally: Path, seconds: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.toolchain.builder", str(root), str(tally), str(seconds)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=python_environment(), start_new_session=True
    )


def _wait_for(path: Path) -> None:
    deadline = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < deadline, f"{path.name} did not appear"
        time.sleep(0.02)


def test_what_is_put_is_got(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    assert cache.get(KEY) is None
    entry = _stored(cache)
    assert cache.get(KEY) == entry
    assert entry.bytes == 6
    assert entry.compilation.log == "said"
    assert cache.path(KEY).read_bytes() == b"object"


def test_nothing_is_left_in_the_workshop(tmp_path: Path) -> None:
    _stored(Cache(tmp_path))
    assert list((tmp_path / "work").iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"obj", b"object and more", b"OBJECT"])
def test_an_object_that_does_not_match_its_report_is_no_entry(tmp_path: Path, content: bytes) -> None:
    cache = Cache(tmp_path)
    _stored(cache)
    cache.path(KEY).write_bytes(content)
    assert cache.get(KEY) is None
    _stored(cache)
    assert cache.get(KEY) is not None


@pytest.mark.parametrize("report", [b"", b"{", b"{}", b'{"bytes": 6}', b"[]", b'"text"', b"\xff"])
def test_a_report_that_cannot_be_read_is_no_entry(tmp_path: Path, report: bytes) -> None:
    cache = Cache(tmp_path)
    _stored(cache)
    cache.path(KEY).with_suffix(".json").write_bytes(report)
    assert cache.get(KEY) is None


def test_a_report_of_another_version_is_no_entry(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    _stored(cache)
    file = cache.path(KEY).with_suffix(".json")
    file.write_text(json.dumps({**json.loads(file.read_text()), "new": 1}))
    assert cache.get(KEY) is None


def test_an_object_without_a_report_is_no_entry(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    _stored(cache)
    cache.path(KEY).with_suffix(".json").unlink()
    assert cache.get(KEY) is None


def test_a_full_disk_stores_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(tmp_path)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        _stored(cache)
    assert cache.get(KEY) is None
    assert not cache.path(KEY).exists()
    assert list((tmp_path / "work").iterdir()) == []


def test_turns_are_taken_one_at_a_time(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    with cache.turn(KEY, 1) as first, cache.turn(KEY, 0.05) as second, cache.turn("cd" * 32, 1) as other:
        assert (first, second, other) == (True, False, True)
    with cache.turn(KEY, 1) as again:
        assert again


def test_waiting_for_a_turn_ends_when_cancelled(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    with cache.turn(KEY, 1), cache.turn(KEY, 3600, lambda: True) as second:
        assert not second


def test_eight_processes_build_once(tmp_path: Path) -> None:
    tally = tmp_path / "tally"
    children = [_start(tmp_path / "cache", tally, 0.5) for _ in range(8)]
    said = sorted(child.communicate(timeout=120)[0].strip() for child in children)
    assert said == ["built False"] + ["built True"] * 7
    assert len(tally.read_text().splitlines()) == 1


def test_a_killed_builder_stalls_nobody_and_leaves_nothing(tmp_path: Path) -> None:
    root, tally = tmp_path / "cache", tmp_path / "tally"
    killed = _start(root, tally, 600)
    _wait_for(tally)
    assert len(list((root / "work").iterdir())) == 1
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    after = _start(root, tally, 0)
    assert after.communicate(timeout=60)[0].strip() == "built False"
    assert list((root / "work").iterdir()) == []


def test_a_living_builders_folder_is_not_cleared_away(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    with cache.workshop(KEY) as first, cache.workshop(KEY) as second:
        assert first.exists()
        assert first != second
