"""Readings of the machine, and energy by counters, with cards and clocks made by hand."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kernels.harness import energy
from kernels.harness.conditions import Watch, busy_seconds
from kernels.harness.energy import PackageMeter
from kernels.harness.measures import Range
from kernels.harness.nvml import Card, NoFigure, throttle_words


class FakeNvml:
    """A card that NVML answers for. ``refused`` are functions that this card does not support."""

    NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU = 1, 2, 0

    class NVMLError(Exception):
        pass

    def __init__(self, refused: tuple[str, ...] = ()) -> None:
        self.refused = refused
        self.clocks = [1755, 1980, 1620]
        self.mask = 0x4
        self.pids = [os.getpid()]

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("nvml") and name in object.__getattribute__(self, "refused"):
            error = self.NVMLError("Not Supported")

            def refuse(*_: Any) -> Any:
                raise error

            return refuse
        return object.__getattribute__(self, name)

    def nvmlInit(self) -> None: ...

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:
        return uuid

    def nvmlDeviceGetClockInfo(self, _: str, which: int) -> int:
        return self.clocks.pop(0) if which == self.NVML_CLOCK_SM else 2619

    def nvmlDeviceGetTemperature(self, *_: Any) -> int:
        return 61

    def nvmlDeviceGetPowerUsage(self, _: str) -> int:
        return 412_500

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, _: str) -> int:
        return self.mask

    def nvmlDeviceGetComputeRunningProcesses(self, _: str) -> list[Any]:
        return [SimpleNamespace(pid=pid) for pid in self.pids]

    def nvmlDeviceGetTotalEnergyConsumption(self, _: str) -> int:
        return 5_000_000


def _watch(library: FakeNvml) -> Watch:
    return Watch(lambda: [os.getpid()], Card("GPU-1", library))


def test_a_cards_readings_become_ranges_a_subject_and_altogether() -> None:
    library = FakeNvml()
    watch = _watch(library)
    for subject in ("eager", "candidate", "candidate"):
        watch.before()
        watch.after(subject)
    own, every = watch.of("candidate"), watch.of()
    assert own.sm_clock == Range(1620.0, 1980.0)
    assert every.sm_clock == Range(1620.0, 1980.0)
    assert watch.of("eager").sm_clock == Range(1755.0, 1755.0)
    assert own.memory_clock == Range(2619.0, 2619.0)
    assert own.temperature == Range(61.0, 61.0)
    assert own.power == Range(412.5, 412.5)
    assert (own.readings, every.readings) == (2, 3)
    assert own.throttle == ("power cap",)
    assert "the card's clocks were held back: power cap" in own.cautions


def test_readings_lie_apart_and_the_work_between_them_goes_with_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, work = [0.0], [0.0]
    monkeypatch.setattr("kernels.harness.conditions.time.monotonic", lambda: clock[0])
    cores = len(os.sched_getaffinity(0))
    watch = Watch(lambda: [os.getpid()], apart_s=1.0)
    monkeypatch.setattr(watch, "_work", lambda: (clock[0], work[0], 0.0))
    for at in (0.0, 0.4, 0.8, 1.2):
        watch.before()
        clock[0], work[0] = at + 0.1, work[0] + 0.1 * cores
        watch.after("candidate")
    found = watch.of("candidate")
    assert found.readings == 2
    # Two blocks go by unread; the third reading's span begins with the first of them and holds the work of all three.
    assert found.others_share == pytest.approx((0.1 + 0.3) / (0.1 + 1.2))


def test_what_a_card_does_not_tell_is_missing_with_its_reason_and_the_rest_is_there() -> None:
    watch = _watch(FakeNvml(("nvmlDeviceGetPowerUsage", "nvmlDeviceGetCurrentClocksThrottleReasons")))
    watch.before()
    watch.after("candidate")
    found = watch.of("candidate")
    assert found.power is None
    assert found.throttle is None
    assert found.missing["power"] == found.missing["throttle"] == "NVML: Not Supported"
    assert found.temperature == Range(61.0, 61.0)


def test_idle_is_no_reason_for_caution() -> None:
    library = FakeNvml()
    library.mask = 0x1
    watch = _watch(library)
    watch.after("candidate")
    assert watch.of().throttle == ("idle",)
    assert not [words for words in watch.of().cautions if "clocks" in words]


def test_another_process_on_the_card_is_said() -> None:
    library = FakeNvml()
    library.pids = [os.getpid(), 1, 2]
    watch = _watch(library)
    watch.look_for_others()
    assert watch.of().others == 2
    assert "2 other compute processes on the card" in watch.of().cautions


@pytest.mark.parametrize("pids", [[], [999_999_999]])
def test_process_numbers_of_another_namespace_prove_nothing(pids: list[int]) -> None:
    library = FakeNvml()
    library.pids = pids
    watch = _watch(library)
    watch.look_for_others()
    assert watch.of().others is None
    assert "container" in watch.of().missing["others"]


def test_no_library_is_a_reason_for_every_figure_of_the_card() -> None:
    watch = Watch(list, None, "nvidia-ml-py is not installed")
    watch.before()
    watch.after("candidate")
    found = watch.of()
    assert found.sm_clock is None
    assert found.missing["sm_clock"] == "nvidia-ml-py is not installed"


def test_a_host_has_no_figures_of_a_card_and_misses_none() -> None:
    watch = Watch(lambda: [os.getpid()])
    watch.before()
    watch.after("candidate")
    found = watch.of()
    assert found.load is not None
    assert found.throttle is None
    assert "sm_clock" not in found.missing
    assert (found.cpu_clock is None) == ("cpu_clock" in found.missing)


def test_a_card_that_cannot_be_reached_is_told_by_nvmls_own_words() -> None:
    with pytest.raises(NoFigure, match="NVML: Not Supported"):
        Card("GPU-1", FakeNvml(("nvmlInit",)))


def test_every_bit_of_the_mask_has_its_word() -> None:
    assert throttle_words(0) == ()
    assert throttle_words(0x44) == ("power cap", "temperature (hardware)")
    assert throttle_words(0x10_0001) == ("idle", "unknown reason 0x100000")


def test_only_the_cores_in_use_count_and_waiting_is_no_work() -> None:
    stat = "cpu  9 9 9 9 9 9 9 0 0 0\ncpu0 100 0 50 7000 900 10 40 0 0 0\ncpu1 500 0 0 1 0 0 0 0 0 0\n"
    assert busy_seconds(stat, {0}) == 200 / os.sysconf("SC_CLK_TCK")
    with pytest.raises(NoFigure):
        busy_seconds("cpu0 0 0 0 0 0 0 0 0 0 0\n", {0})


def test_the_share_of_others_is_what_the_cores_did_without_us(monkeypatch: pytest.MonkeyPatch) -> None:
    cores = len(os.sched_getaffinity(0))
    watch = Watch(lambda: [os.getpid()])
    work = iter([(0.0, 10.0, 1.0), (2.0, 10.0 + 1.5 * cores, 1.0 + 0.5 * cores)])
    monkeypatch.setattr(watch, "_work", lambda: next(work))
    watch.before()
    watch.after("candidate")
    assert watch.of("candidate").others_share == pytest.approx(0.5)
    assert any("50 % of the cores' time" in words for words in watch.of("candidate").cautions)


def test_too_few_ticks_tell_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    watch = Watch(list)
    work = iter([(0.0, 0.0, 0.0), (0.001, 0.0, 0.0)])
    monkeypatch.setattr(watch, "_work", lambda: next(work))
    watch.before()
    watch.after("candidate")
    assert watch.of().others_share is None


class Clock:
    """A clock and a counter of energy that moves in steps: ``watts`` drawn, seen every ``step`` seconds."""

    name = "a counter"

    def __init__(self, watts: float, step: float, call_s: float) -> None:
        self.now, self.watts, self.step, self.call_s = 0.0, watts, step, call_s

    def __call__(self) -> float:
        return self.now

    def read(self) -> float:
        return self.watts * self.step * int(self.now / self.step + 1e-9)

    def repeat(self, count: int) -> None:
        self.now += count * self.call_s


@pytest.mark.parametrize(("step", "call_s"), [(0.02, 2e-4), (0.1, 3.3e-3), (0.02, 0.35), (0.001, 1e-5)])
def test_energy_of_a_call_is_within_a_step_in_twenty_of_the_truth(step: float, call_s: float) -> None:
    clock = Clock(350.0, step, call_s)
    found = energy.measure(clock, call_s, clock.repeat, clock)
    assert found.joules == pytest.approx(350.0 * call_s, rel=0.05)
    assert clock.now >= energy.MINIMUM_S
    assert "a counter over" in found.method


def test_a_counter_that_stands_still_gives_no_figure() -> None:
    clock = Clock(0.0, 0.1, 1e-3)
    with pytest.raises(NoFigure, match="did not move"):
        energy.measure(clock, 1e-3, clock.repeat, clock)


def test_a_counter_that_moves_too_rarely_gives_no_figure() -> None:
    clock = Clock(300.0, 1.0, 1e-3)
    with pytest.raises(NoFigure, match="10 are needed"):
        energy.measure(clock, 1e-3, clock.repeat, clock)


def _zone(root: Path, name: str, value: int) -> Callable[[int], object]:
    zone = root / name
    zone.mkdir()
    (zone / "max_energy_range_uj").write_text("1000000\n")
    (zone / "energy_uj").write_text(f"{value}\n")
    return lambda now: (zone / "energy_uj").write_text(f"{now}\n")


def test_package_counters_add_up_and_their_wrap_is_undone(tmp_path: Path) -> None:
    first = _zone(tmp_path, "intel-rapl:0", 900_000)
    _zone(tmp_path, "intel-rapl:1", 5)
    _zone(tmp_path, "intel-rapl:0:0", 7_000_000)
    meter = PackageMeter(tmp_path)
    before = meter.read()
    first(100_000)
    assert meter.read() - before == pytest.approx(0.2)


def test_no_package_counters_or_none_to_read_is_a_reason(tmp_path: Path) -> None:
    with pytest.raises(NoFigure, match="no RAPL"):
        PackageMeter(tmp_path / "nowhere")
    (tmp_path / "intel-rapl:0").mkdir()
    with pytest.raises(NoFigure, match="RAPL: "):
        PackageMeter(tmp_path).read()
