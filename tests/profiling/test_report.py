"""Reading a report by NVIDIA's module, played here: the launches come out as from the printed table."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kernels.childprocess import ChildResult, Ending
from kernels.profiling import ncu, report
from kernels.profiling.raw import RawKernel
from kernels.profiling.reading import kernel_profile
from kernels.records import from_json

VALUES: dict[str, tuple[Any, str]] = {
    "gpu__time_duration.sum": (51_200, "ns"),
    "dram__bytes_read.sum": (67_108_864.0, "byte"),
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": (12.5, "%"),
    "launch__grid_dim_x": (132, ""),
    "launch__grid_dim_y": (2, ""),
    "launch__grid_dim_z": (1, ""),
    "device__attribute_compute_capability_major": (9, ""),
    "device__attribute_compute_capability_minor": (0, ""),
    "device__attribute_display_name": ("NVIDIA X", ""),
    "smsp__inst_executed.sum": (float("nan"), "inst"),
    "launch__uses_cdp": (False, ""),
}


class Metric:
    def __init__(self, value: Any, unit: str) -> None:
        self._value, self._unit = value, unit

    def value(self) -> Any:
        return self._value

    def unit(self) -> str:
        return self._unit


class Action:
    NameBase_MANGLED = 2

    def name(self, base: int) -> str:
        assert base == self.NameBase_MANGLED
        return "_ZN2mu4copyEPKfPfl"

    def metric_names(self) -> Iterator[str]:
        return iter(VALUES)

    def metric_by_name(self, name: str) -> Metric:
        return Metric(*VALUES[name])


class Range:
    def num_actions(self) -> int:
        return 2

    def action_by_idx(self, index: int) -> Action:
        return Action()


class Context:
    def num_ranges(self) -> int:
        return 1

    def range_by_idx(self, index: int) -> Range:
        return Range()


@pytest.fixture
def reader() -> ModuleType:
    made = ModuleType("ncu_report")
    made.IAction = Action  # type: ignore[attr-defined]
    made.load_report = lambda path: Context()  # type: ignore[attr-defined]
    return made


def test_every_launch_comes_with_numbers_in_base_units(reader: ModuleType) -> None:
    first, second = report.by_module(reader, Path("x.ncu-rep"))
    assert first == second
    assert (first.name, first.grid, first.block, first.capability) == ("_ZN2mu4copyEPKfPfl", (132, 2, 1), (), "9.0")
    assert first.values["gpu__time_duration.sum"] == pytest.approx(51.2e-6)
    found = kernel_profile(first, frozenset())
    assert found.memory.dram_read_bytes == 67_108_864
    assert found.schedule.instructions is None


def test_the_child_prints_the_launches_as_json(
    reader: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ncu_report", reader)
    report.main(["x.ncu-rep"])
    printed = [from_json(form, RawKernel) for form in json.loads(capsys.readouterr().out)]
    assert printed == report.by_module(reader, Path("x.ncu-rep"))


def test_a_module_that_cannot_open_it_leaves_it_to_the_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch = RawKernel("k", (1, 1, 1), (32, 1, 1), "9.0")
    monkeypatch.setattr(report, "module_installed", lambda: True)
    monkeypatch.setattr(
        report, "run_python", lambda *_, **__: ChildResult(Ending.SIGNALLED, 11, "", "", 0.1, False)
    )
    monkeypatch.setattr(report, "by_tool", lambda *_: [launch])
    assert report.read(ncu.Tool("ncu", "2025.3"), tmp_path / "x", tmp_path) == ([launch], report.TOOL)
    assert report.read(None, tmp_path / "x", tmp_path) == ([], report.TOOL)


def test_the_module_comes_first_where_it_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = json.dumps([{"name": "k", "grid": [1], "block": [32], "capability": "9.0", "values": {"a__b": 2.0}}])
    monkeypatch.setattr(report, "module_installed", lambda: True)
    monkeypatch.setattr(report, "run_python", lambda *_, **__: ChildResult(Ending.EXITED, 0, said, "", 0.1, False))
    kernels, by = report.read(None, tmp_path / "x", tmp_path)
    assert by == report.MODULE
    assert kernels == [RawKernel("k", (1,), (32,), "9.0", {"a__b": 2.0})]
