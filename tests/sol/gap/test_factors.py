"""Each factor worked out by hand, and what is unknown where its record is missing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernels.codegen.emission import TorchCall
from kernels.dtypes import DType
from sol.bounds.record import PipeTime
from sol.gap.clock import Clock
from sol.gap.idle import Idle, unevenness
from sol.gap.inside import Inside
from sol.gap.launches import Launches
from sol.gap.record import Factor, FactorName, ImpossibleGap
from sol.gap.traffic import Traffic, handed_on
from tests.sol.gap.cases import (
    CARD,
    HOST,
    NO_COUNTERS,
    activity,
    bounds,
    clocks,
    emission,
    evidence,
    kernel,
    launch,
    profile,
    stages,
    value,
)

MEMORY_BOUND = bounds(4e-4, 1e-3)


class TestClock:
    def test_a_clock_a_fifth_lower_is_a_factor_of_five_quarters(self) -> None:
        found = Clock().factor(evidence(2e-3, conditions=clocks(1440, 1440)))
        assert found.value == pytest.approx(1800 / 1440)
        assert found.words == "multiprocessor clock 1,440 MHz under load; the bound's rates are for 1,800 MHz"
        assert found.seen_in == "clock readings"

    def test_the_middle_of_the_readings_counts_and_both_ends_are_said(self) -> None:
        found = Clock().factor(evidence(2e-3, conditions=clocks(1400, 1600)))
        assert found.value == pytest.approx(1.2)
        assert "1,400 – 1,600 MHz" in found.words

    def test_a_higher_clock_than_the_bound_takes_for_granted_is_below_one(self) -> None:
        found = Clock().factor(evidence(2e-3, conditions=clocks(2000, 2000)))
        assert found.value == pytest.approx(0.9)

    def test_measured_rates_go_by_the_clock_they_were_measured_at(self) -> None:
        device = replace(CARD, source="measured", facts={"clock_ghz": "1.5"})
        assert Clock().factor(evidence(2e-3, device=device, conditions=clocks(1500, 1500))).value == 1.0

    def test_vector_rates_of_a_measured_card_are_its_specification_s(self) -> None:
        device = replace(CARD, source="measured", facts={"clock_ghz": "1.5", "card": "h100-sxm"})
        of = bounds(pipes=(PipeTime("vector", DType.F32, 10**9, 6e13, "f32"),))
        found = Clock().factor(evidence(2e-3, device=device, of=of, conditions=clocks(1830, 1830)))
        assert found.value == pytest.approx(1.0)

    def test_a_memory_bound_does_not_go_by_it(self) -> None:
        found = Clock().factor(evidence(2e-3, of=MEMORY_BOUND, conditions=clocks(900, 900)))
        assert found.value is None
        assert "memory sets the bound" in found.words

    def test_what_was_not_read_is_not_known(self) -> None:
        assert Clock().factor(evidence(2e-3)).value is None
        assert "not at hand" in Clock().factor(evidence(2e-3, device=None)).words

    def test_a_host_s_peaks_have_no_clock(self) -> None:
        found = Clock().factor(evidence(2e-3, device=HOST, conditions=clocks(3000, 3000, "cpu_clock")))
        assert found.value is None
        assert "not recorded" in found.words


class TestLaunches:
    def test_time_between_and_around_kernels(self) -> None:
        found = Launches().factor(evidence(2e-3, activity=activity(1.6e-3, 1.9e-3)))
        assert found.value == pytest.approx(2.0 / 1.6)
        assert found.words == "1.6 ms of 2 ms in 2 kernels; 300 µs between them"

    def test_fills_are_named_and_the_plan_s_stages_stand_beside(self) -> None:
        plan = emission((value("x", 2), value("y", 2)), (launch("y", ("x",), ("y",)),))
        found = Launches().factor(evidence(2e-3, activity=activity(1e-3, 1e-3, 3, 1), emission=plan))
        assert "in 3 kernels and 1 copies or fills for 1 stage of the plan" in found.words

    def test_kernels_side_by_side_fill_no_more_than_their_span(self) -> None:
        assert Launches().factor(evidence(2e-3, activity=activity(3e-3, 1e-3))).value == pytest.approx(2.0)

    def test_a_record_of_slower_calls_tells_nothing(self) -> None:
        assert Launches().factor(evidence(2e-3, activity=activity(2.5e-3, 2.5e-3))).value is None
        assert Launches().factor(evidence(2e-3, activity=activity(2.1e-3, 2.1e-3))).value == 1.0

    def test_without_a_record_the_reason_is_passed_on(self) -> None:
        found = Launches().factor(evidence(2e-3, missing={"activity": "CUPTI is busy"}))
        assert (found.value, found.words) == (None, "CUPTI is busy")

    def test_on_a_host_stages_stand_against_the_fastest_call(self) -> None:
        one = evidence(2e-3, device=HOST, stages=stages(a=1e-3, b=6e-4))
        assert Launches().factor(one).value == pytest.approx(1.25)
        quicker = replace(one, timing=replace(one.timing, minimum_s=1.5e-3))
        assert Launches().factor(quicker).value == 1.0

    def test_stages_that_took_longer_apart_tell_nothing(self) -> None:
        assert Launches().factor(evidence(2e-3, device=HOST, stages=stages(a=3e-3))).value is None
        assert Launches().factor(evidence(2e-3, device=HOST)).value is None


class TestIdle:
    @pytest.mark.parametrize(
        ("blocks", "expected"), [(50, 2.0), (100, 1.0), (101, 200 / 101), (150, 4 / 3), (1000, 1.0)]
    )
    def test_blocks_over_multiprocessors(self, blocks: int, expected: float) -> None:
        assert unevenness(blocks, 100) == pytest.approx(expected)
        assert Idle().factor(evidence(2e-3, profile=profile(kernel(1e-3, blocks)))).value == pytest.approx(expected)

    def test_kernels_weigh_by_their_time(self) -> None:
        # Half of the time at half of the card: 1 / (1/2 · 1 + 1/2 · 1/2).
        found = Idle().factor(evidence(2e-3, profile=profile(kernel(1e-3, 100, waves=0.5), kernel(1e-3, 50))))
        assert found.value == pytest.approx(4 / 3)
        assert found.words == "100 blocks on 100 multiprocessors in the longest kernel, 0.5 waves at its occupancy"

    def test_without_a_whole_profile_it_is_not_known(self) -> None:
        for one, why in (
            (None, "no profile"),
            (NO_COUNTERS, "counters need rights"),
            (profile(kernel(1, 1), cut=True), "cut"),
        ):
            found = Idle().factor(evidence(2e-3, profile=one))
            assert found.value is None
            assert why in found.words

    def test_threads_on_a_host(self) -> None:
        plan = emission(
            (value("x", 2), value("h", 2), value("y", 2)),
            (launch("h", ("x",), ("h",), threads=2), launch("y", ("h",), ("y",))),
        )
        one = evidence(2e-3, device=HOST, emission=plan, stages=stages(h=1e-3, y=1e-3))
        # h on 2 of 4 cores, y on all: 2 / (0.5 + 1).
        assert Idle().factor(one).value == pytest.approx(4 / 3)
        assert Idle().factor(replace(one, bounds=MEMORY_BOUND)).value is None

    def test_threads_left_to_the_run_are_not_known(self) -> None:
        plan = emission((value("x", 2), value("y", 2)), (launch("y", ("x",), ("y",)),))
        assert Idle().factor(evidence(2e-3, device=HOST, emission=plan, stages=stages(y=1e-3))).value is None


class TestTraffic:
    def test_twice_the_bytes_are_a_factor_of_two_where_memory_sets_the_bound(self) -> None:
        seen = profile(kernel(1e-3, 100, read=3e9, written=1e9))
        found = Traffic().factor(evidence(3e-3, of=MEMORY_BOUND, profile=seen))
        assert found.value == pytest.approx(2.0)
        assert found.words == "4 GB to and from memory; the bound has 2 GB"

    def test_bytes_behind_arithmetic_cost_nothing(self) -> None:
        # 1.6 GB at 2 TB/s are 0.8 ms, behind 1 ms of arithmetic; 4 GB are 2 ms.
        hidden = Traffic().factor(evidence(3e-3, profile=profile(kernel(1e-3, 100, read=1.6e9, written=0.0))))
        assert hidden.value == 1.0
        assert "800 µs behind 1 ms of arithmetic" in hidden.words
        shown = Traffic().factor(evidence(3e-3, profile=profile(kernel(1e-3, 100, read=4e9, written=0.0))))
        assert shown.value == pytest.approx(2.0)

    def test_less_than_the_minimum_is_no_gain(self) -> None:
        seen = profile(kernel(1e-3, 100, read=1e9, written=0.0))
        assert Traffic().factor(evidence(3e-3, of=MEMORY_BOUND, profile=seen)).value == 1.0

    def test_flushed_caches_are_said(self) -> None:
        two = (kernel(1e-3, 100, read=1e9, written=1e9), kernel(1e-3, 100, read=1e9, written=1e9))
        found = Traffic().factor(evidence(3e-3, of=MEMORY_BOUND, profile=profile(*two, cache_control="all")))
        assert "caches flushed between kernels" in found.words

    def test_what_stages_hand_on_is_written_and_read(self) -> None:
        # h: 1000² f32 = 4 MB written and read; the input, the weight and the output are free.
        values = (value("x", 1000, 1000), value("w", 1000, 1000), value("h", 1000, 1000), value("y", 1000, 1000))
        plan = emission(values, (launch("h", ("x", "w"), ("h",)), launch("y", ("h",), ("y",))))
        assert handed_on(plan.plan) == [(4_000_000, 8_000_000)]
        # On the host: 1 ms at 10 GB/s, and 8 MB at the cache's 100 GB/s since 4 MB fit.
        found = Traffic().factor(evidence(5e-3, device=HOST, of=bounds(5e-4, 1e-3), emission=plan))
        assert found.value == pytest.approx(1 + 8e6 / 1e11 / 1e-3)
        assert "8 MB between the plan's stages, 8 MB of them at the cache's rate" in found.words

    def test_what_fits_no_cache_goes_at_memory_s_rate(self) -> None:
        plan = emission(
            (value("x", 2000, 1000), value("h", 2000, 1000), value("y", 2)),
            (launch("h", ("x",), ("h",)), launch("y", ("h",), ("y",))),
        )
        found = Traffic().factor(evidence(5e-3, device=HOST, of=bounds(5e-4, 1e-3), emission=plan))
        assert found.value == pytest.approx(1 + 16e6 / 1e10 / 1e-3)

    def test_an_input_read_twice_is_extra_once(self) -> None:
        values = (value("x", 10), value("a", 10), value("y", 10))
        steps = (
            launch("a", ("x",), ("a",)),
            TorchCall("y", "torch.add", ({"value": "x"}, {"value": "a"}), {}, ("y",), False),
        )
        assert sorted(handed_on(emission(values, steps).plan)) == [(40, 40), (40, 80)]

    def test_parts_of_one_input_are_no_second_reading(self) -> None:
        values = (value("x", 10), value("x.0", 5, storage="x"), value("x.1", 5, storage="x"), value("y", 5))
        plan = emission(values, (launch("y", ("x.0", "x.1"), ("y",)),))
        assert handed_on(plan.plan) == []

    def test_a_broadcast_is_held_once_and_what_was_prepared_is_free(self) -> None:
        values = (value("x", 4, 10, broken=True), value("p", 10), value("y", 10), value("z", 10))
        plan = emission(
            values,
            (
                launch("p", ("x",), ("p",), once=True),
                launch("y", ("p", "x"), ("y",)),
                launch("z", ("y", "p"), ("z",)),
            ),
        )
        assert sorted(handed_on(plan.plan)) == [(40, 40), (40, 80)]

    def test_nothing_is_said_of_a_hand_written_stage(self) -> None:
        plan = emission((value("x", 2), value("y", 2)), (launch("y", ("x",), ("y",)),), hand_written=True)
        found = Traffic().factor(evidence(2e-3, device=HOST, emission=plan))
        assert found.value is None
        assert "hand-written" in found.words


class TestInside:
    def test_half_of_the_roof_is_a_factor_of_two(self) -> None:
        found = Inside().factor(evidence(3e-3, profile=profile(kernel(2e-3, 100, compute=50.0))))
        assert found.value == pytest.approx(2.0)
        assert found.words == "50 % of the compute peak at the clock it ran at"

    def test_idle_units_are_not_counted_twice(self) -> None:
        # 40 % of the roof with half of the card idle: 80 % where there was work.
        found = Inside().factor(evidence(3e-3, profile=profile(kernel(2e-3, 50, compute=40.0))))
        assert found.value == pytest.approx(1.25)

    def test_kernels_weigh_by_their_time_and_the_longest_is_told(self) -> None:
        seen = profile(kernel(3e-3, 100, dram=80.0), kernel(1e-3, 100, dram=40.0))
        found = Inside().factor(evidence(5e-3, of=MEMORY_BOUND, profile=seen))
        assert found.value == pytest.approx(1 / 0.7)
        assert found.words.endswith("80 % in the longest kernel, which has 75 % of the time")

    def test_arithmetic_that_waits_for_bytes_is_not_counted_twice(self) -> None:
        # 4 GB make a bound of 2 ms, twice the bound: of a quarter of the roof, a half is left.
        found = Inside().factor(
            evidence(5e-3, profile=profile(kernel(4e-3, 100, compute=25.0, read=4e9, written=0.0)))
        )
        assert found.value == pytest.approx(2.0)

    def test_a_host_has_no_counters(self) -> None:
        found = Inside().factor(evidence(2e-3, device=HOST, stages=stages(a=3e-3, b=1e-3)))
        assert found.value is None
        assert found.words.endswith("the longest stage, a, has 75 % of the stages' time")

    def test_a_profile_without_the_share_says_nothing(self) -> None:
        assert Inside().factor(evidence(3e-3, profile=profile(kernel(2e-3, 100)))).value is None


def test_a_factor_has_words_and_is_no_zero() -> None:
    with pytest.raises(ImpossibleGap):
        Factor(FactorName.CLOCK, 0.0, "words")
    with pytest.raises(ImpossibleGap):
        Factor(FactorName.CLOCK, None, "")
