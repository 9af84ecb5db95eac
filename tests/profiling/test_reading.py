"""From what the profiler prints to typed records: odd tables, units, missing metrics, names and origins."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.profiling import metrics, raw
from kernels.profiling.reading import kernel_profile
from kernels.profiling.record import KernelProfile
from kernels.records import from_json, to_json
from tests.profiling.tables import COPY, FIGURES, GEMM, LIBRARY, table


def test_every_launch_of_a_call_is_read_in_order() -> None:
    kernels = raw.parse(table(GEMM, COPY, LIBRARY, GEMM))
    assert [kernel.name for kernel in kernels] == [GEMM, COPY, LIBRARY, GEMM]
    assert kernels[0].grid == (132, 2, 1)
    assert kernels[0].block == (384, 1, 1)
    assert kernels[0].capability == "9.0"


def test_figures_come_in_seconds_bytes_and_hertz() -> None:
    found = kernel_profile(raw.parse(table(GEMM))[0], frozenset())
    assert found.duration_s == pytest.approx(190.528e-6)
    assert found.sm_clock_hz == pytest.approx(1.62e9)
    assert found.memory.dram_read_bytes == 100_663_296
    assert found.launch.shared_dynamic_bytes == 214_016
    assert found.speed.compute_pct == 86.8


def test_what_a_card_does_not_have_is_none_and_named() -> None:
    found = kernel_profile(raw.parse(table(GEMM))[0], frozenset())
    assert found.pipes.fp64_pct is None
    assert metrics.metric_of("pipes.fp64_pct") in found.missing
    assert metrics.stall_metric("sleeping") in found.missing
    assert metrics.metric_of("duration_s") not in found.missing
    given_ = {metrics.metric_of(place) for place in FIGURES[GEMM] if not place.startswith("stall:")}
    assert not given_ & set(found.missing)


def test_a_measured_zero_stays_zero() -> None:
    found = kernel_profile(raw.parse(table(GEMM))[0], frozenset())
    assert found.memory.local_load_bytes == 0.0
    assert found.memory.bank_conflicts is None


def test_stalls_are_sorted_and_shares_of_the_time_between_two_issues() -> None:
    found = kernel_profile(raw.parse(table(GEMM))[0], frozenset())
    assert [(stall.reason, stall.share) for stall in found.stalls] == [
        ("gmma", 0.45),
        ("barrier", 0.2),
        ("selected", 0.05),
    ]


def test_names_are_written_as_people_write_them_and_origins_follow_the_shared_rule() -> None:
    gemm, copy, library = (kernel_profile(one, frozenset({GEMM})) for one in raw.parse(table(GEMM, COPY, LIBRARY)))
    assert gemm.name.startswith("void cutlass::device_kernel<mu::Gemm>(")
    assert (gemm.own, gemm.origin) == (True, "symbol")
    assert (copy.own, copy.origin) == (True, "name")
    assert (library.own, library.origin) == (False, "name")


def test_an_unmangled_name_that_looks_like_a_type_stays_itself() -> None:
    assert kernel_profile(raw.RawKernel("i", (), (), ""), frozenset()).name == "i"


def test_a_record_survives_json() -> None:
    found = kernel_profile(raw.parse(table(COPY))[0], frozenset({COPY}))
    assert from_json(to_json(found), KernelProfile) == found


def test_every_place_of_the_catalogue_exists_once() -> None:
    places = [metric.place for metric in metrics.METRICS]
    assert len(places) == len(set(places))
    names = metrics.all_names()
    assert len(names) == len(set(names))
    found = kernel_profile(raw.RawKernel("k", (), (), "", dict.fromkeys(names, 1.0)), frozenset())
    assert found.missing == ()
    assert None not in to_json(found.memory).values()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,234,567.5", 1234567.5),
        ("0", 0.0),
        ("n/a", None),
        ("", None),
        ("nan", None),
        ("-inf", None),
        ("1e3", 1000.0),
    ],
)
def test_a_cell_is_a_number_or_nothing(text: str, value: float | None) -> None:
    assert raw.number(text) == value


@pytest.mark.parametrize(
    ("unit", "times"),
    [("ns", 1e-9), ("nsecond", 1e-9), ("usecond", 1e-6), ("second", 1.0), ("%", 1.0), ("", 1.0), ("Kbyte/block", 1e3),
     ("byte/second", 1.0), ("Gbyte/second", 1e9), ("cycle/nsecond", 1e9), ("cycle/ns", 1e9), ("Ghz", 1e9),
     ("register/thread", 1.0), ("sector/request", 1.0), ("inst", 1.0), ("msecond", 1e-3)],
)  # fmt: skip
def test_units_of_every_version_come_to_one_base(unit: str, times: float) -> None:
    assert raw.factor(unit) == pytest.approx(times)


@pytest.mark.parametrize("text", ["", "==ERROR== nothing\n", '"ID"', '"Section","Metric"\n"a","b"\n'])
def test_output_without_a_table_gives_no_kernel(text: str) -> None:
    assert raw.parse(text) == []


def test_a_name_over_several_lines_and_a_ragged_row_do_no_harm() -> None:
    broken = GEMM + "\n  <second line,\n with commas>"
    text = table(GEMM).replace(GEMM, broken) + '"7","ragged"\n'
    assert [kernel.name for kernel in raw.parse(text)] == [f"{GEMM} <second line, with commas>"]


@given(st.text(max_size=400))
def test_no_text_makes_the_parser_fail(text: str) -> None:
    assert isinstance(raw.parse('"ID","Kernel Name","a__b"\n' + text), list)
