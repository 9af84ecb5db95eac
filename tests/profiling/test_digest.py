"""The words under a profile: each rule where it must speak, where it must not, and never from a missing figure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernels.profiling import raw
from kernels.profiling.digest import STALL_WORDS, Line, digest
from kernels.profiling.metrics import STALLS, all_names
from kernels.profiling.reading import kernel_profile
from kernels.profiling.record import (
    KernelProfile,
    Memory,
    Method,
    Occupancy,
    Profile,
    ProfileOutcome,
    Reason,
    Speed,
)
from tests.profiling.tables import COPY, GEMM, LIBRARY, table

METHOD = Method(
    "Nsight Compute 2025.3.1", "fixed", "none", "all", "kernel", 3, 48, False, "ncu --import", "a card", "9.0", None
)
BLANK = kernel_profile(raw.RawKernel("k", (1,), (32,), "9.0"), frozenset())


def profile_of(*kernels: KernelProfile) -> Profile:
    return Profile(ProfileOutcome.MEASURED, None, "", kernels, METHOD, None, 7.0)


def lines_of(*names: str) -> dict[str, Line]:
    kernels = [kernel_profile(one, frozenset()) for one in raw.parse(table(*names))]
    return {line.rule: line for line in digest(profile_of(*kernels)) if line.kernel == 0}


def test_a_gemm_is_told_by_its_pipe_and_what_its_warps_wait_for() -> None:
    lines = lines_of(GEMM)
    assert lines["class"].words == "Limited by compute: compute 87\u202f% of its peak, memory 38\u202f%"
    assert lines["tensor-pipe"].words == "Tensor pipe busy in 85\u202f% of the active cycles"
    assert lines["stall"].words.startswith("Stalled on gmma for 45\u202f% of a warp's time")
    assert "registers and shared memory" in lines["occupancy"].words
    assert "1.94 waves: in the last one 94\u202f% of the card has work" in lines["waves"].words
    assert not {"local-memory", "bank-conflicts", "coalescing", "divergence", "memory-part"} & set(lines)


def test_a_copy_is_told_by_the_memory_it_moves() -> None:
    lines = lines_of(COPY)
    assert lines["class"].words.startswith("Limited by memory")
    assert "DRAM is the busiest" in lines["memory-part"].words
    assert "67.1\u202fMB read and 67.1\u202fMB written" in lines["memory-part"].words
    assert "8 of 32 bytes of a sector, 16 sectors a request" in lines["coalescing"].words
    assert "25\u202f% of the shared memory's wavefronts" in lines["bank-conflicts"].words
    assert "1.05\u202fMB loaded and 524\u202fkB stored" in lines["local-memory"].words
    assert "20 of 32 threads" in lines["divergence"].words
    assert "fills 60\u202f% of the card" in lines["waves"].words
    assert "uneven or too few" in lines["occupancy"].words


def test_neither_busy_is_latency() -> None:
    assert lines_of(LIBRARY)["class"].words.startswith("Limited by latency")


def test_without_figures_nothing_is_said() -> None:
    assert digest(profile_of(BLANK)) == ()
    assert digest(Profile(ProfileOutcome.FAILED, Reason.NO_KERNEL, "no", (), None, None, 0.0)) == ()


@pytest.mark.parametrize(
    "kernel",
    [
        replace(BLANK, speed=Speed(compute_pct=90.0)),
        replace(BLANK, occupancy=Occupancy(achieved_pct=10.0)),
        replace(BLANK, memory=Memory(bank_conflicts=100.0)),
        replace(BLANK, memory=Memory(load_bytes_per_sector=4.0)),
    ],
)
def test_half_of_what_a_rule_needs_is_not_enough(kernel: KernelProfile) -> None:
    assert digest(profile_of(kernel)) == ()


def test_one_direction_of_spills_is_not_given_out_as_both() -> None:
    (line,) = digest(profile_of(replace(BLANK, memory=Memory(local_load_bytes=2048.0))))
    assert line.words.endswith("2.05\u202fkB loaded")


def test_each_line_names_metrics_of_the_fixed_set() -> None:
    every = [line for name in (GEMM, COPY, LIBRARY) for line in lines_of(name).values()]
    assert every
    assert all(line.metrics and set(line.metrics) <= set(all_names()) for line in every)


def test_the_longest_kernels_come_first_and_the_rest_are_left_out() -> None:
    kernels = [kernel_profile(one, frozenset()) for one in raw.parse(table(LIBRARY, COPY, GEMM, LIBRARY))]
    order = [line.kernel for line in digest(profile_of(*kernels), most_kernels=2)]
    assert list(dict.fromkeys(order)) == [2, 1]


def test_every_stall_has_words() -> None:
    assert set(STALL_WORDS) == set(STALLS)
