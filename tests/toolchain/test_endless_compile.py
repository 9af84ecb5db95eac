"""A compile without end among good ones: it alone times out, and no part of the compiler is left running."""

from __future__ import annotations

import os
import time
from pathlib import Path

import psutil
import pytest

from kernels.toolchain import gxx
from kernels.toolchain.report import BuildOutcome
from tests.toolchain.units import unit

ENDLESS = """
template <int N, long M> struct Tree {
  static const long value = Tree<N - 1, 2 * M>::value + Tree<N - 1, 2 * M + 1>::value;
};
template <long M> struct Tree<0, M> { static const long value = M; };
extern "C" long endless() { return Tree<60, 1>::value; }
"""
"""2⁶⁰ classes to make: not deep, so that no limit of the compiler's own ends it."""


def compilers() -> list[str]:
    """Names of compiler processes below this one; within five seconds they must end."""
    deadline = time.monotonic() + 5
    while True:
        below = psutil.Process(os.getpid()).children(recursive=True)
        found = [
            process.name() for process in below if process.is_running() and process.name() in ("g++", "cc1plus")
        ]
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.02)


def test_an_endless_compile_times_out_among_good_ones(tmp_path: Path) -> None:
    compiler = gxx.find()
    if compiler is None:
        pytest.skip("there is no g++ on PATH")
    outcomes = []
    for number in range(5):
        folder = tmp_path / str(number)
        folder.mkdir()
        bad = number % 2
        made = compiler.compile(unit(source=ENDLESS) if bad else unit(), folder / "y.so", 1.0 if bad else 60.0)
        outcomes.append(made.outcome)
        assert (folder / "y.so").exists() is not bool(bad)
    assert outcomes == [BuildOutcome.BUILT, BuildOutcome.TIMEOUT] * 2 + [BuildOutcome.BUILT]
    assert compilers() == []
