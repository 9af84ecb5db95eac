"""Reading a ``.ncu-rep``: by NVIDIA's ``ncu_report`` module where it is installed, else by ``ncu --import``.

The module opens a report where there is no Nsight Compute at all (a web host without a card). Either way the same
RawKernels come out. A report was written where a candidate could write too, so it is parsed in a child process.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

from kernels.childprocess import ChildLimits, Ending, clean_environment, run, run_python
from kernels.profiling import ncu, raw
from kernels.profiling.raw import RawKernel
from kernels.records import from_json, to_json

_LIMITS = ChildLimits(seconds=60.0, output_bytes=64 * 2**20)
MODULE, TOOL = "ncu_report", "ncu --import"


def module_installed() -> bool:
    """Whether NVIDIA's module is there; whether it loads shows only where it is used."""
    return importlib.util.find_spec("ncu_report") is not None


def by_module(reader: Any, report: Path) -> list[RawKernel]:
    """All launches in a report. Raises RuntimeError or OSError where the module cannot open it."""
    context = reader.load_report(str(report))
    found = []
    for one in range(context.num_ranges()):
        part = context.range_by_idx(one)
        found += [_raw(reader, part.action_by_idx(index)) for index in range(part.num_actions())]
    return found


def _raw(reader: Any, action: Any) -> RawKernel:
    values: dict[str, float] = {}
    for name in action.metric_names():
        value = action.metric_by_name(name).value()
        if isinstance(value, int | float) and not isinstance(value, bool):
            number = raw.number(str(value))
            if number is not None:
                values[name] = number * raw.factor(action.metric_by_name(name).unit() or "")
    grid = tuple(int(values.get(f"launch__grid_dim_{axis}", 0)) for axis in "xyz")
    block = tuple(int(values.get(f"launch__block_dim_{axis}", 0)) for axis in "xyz")
    major, minor = (values.get(f"device__attribute_compute_capability_{part}") for part in ("major", "minor"))
    return RawKernel(
        name=action.name(reader.IAction.NameBase_MANGLED),
        grid=grid if all(grid) else (),
        block=block if all(block) else (),
        capability="" if major is None or minor is None else f"{major:.0f}.{minor:.0f}",
        values=values,
    )


def by_tool(tool: ncu.Tool, report: Path, folder: Path) -> list[RawKernel]:
    """All launches in a report, as the program prints them."""
    result = run(ncu.show(tool, report), limits=_LIMITS, environment=clean_environment(ncu.environment(folder)))
    return raw.parse(result.stdout)


def read(tool: ncu.Tool | None, report: Path, folder: Path) -> tuple[list[RawKernel], str]:
    """All launches in a report, and by what they were read; none where neither way gives any."""
    if module_installed():
        result = run_python("kernels.profiling.report", [str(report)], limits=_LIMITS, directory=folder)
        if result.ending is Ending.EXITED and result.code == 0 and not result.truncated:
            kernels = [from_json(form, RawKernel) for form in json.loads(result.stdout)]
            if kernels:
                return kernels, MODULE
    return (by_tool(tool, report, folder) if tool is not None else []), TOOL


def main(arguments: list[str]) -> None:
    """``report FILE``: the launches in it as one JSON list."""
    reader = importlib.import_module("ncu_report")
    sys.stdout.write(json.dumps(to_json(by_module(reader, Path(arguments[0])))))


if __name__ == "__main__":
    main(sys.argv[1:])
