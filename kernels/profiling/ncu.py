"""Nsight Compute's command line: where it is, how it is asked, and what its complaints mean. It starts nothing itself
but ``ncu --version``.

Clocks are left as they are (``--clock-control none``: nothing here may change a card's state), caches are flushed
before each replay so that passes agree, and only the call between cudaProfilerStart and -Stop is profiled.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernels.childprocess import ChildLimits, Ending, run
from kernels.errors import UserError
from kernels.profiling import errors
from kernels.profiling.record import FULL, Reason

PATH_VARIABLE = "MUCUTLASS_NCU"
CLOCK_CONTROL, CACHE_CONTROL, REPLAY_MODE = "none", "all", "kernel"
_ASK = ChildLimits(seconds=30.0)
_SAID = 600


@dataclass(frozen=True, slots=True)
class Tool:
    """The program and its version, as ``2025.3.1.0``."""

    path: str
    version: str

    @property
    def name(self) -> str:
        """What a record says it was measured with."""
        return f"Nsight Compute {self.version}"


def find() -> Tool | None:
    """``$MUCUTLASS_NCU``, else ``ncu`` of the PATH or of the CUDA toolkit; None where none answers."""
    named = os.environ.get(PATH_VARIABLE)
    path = (
        named or shutil.which("ncu") or shutil.which("ncu", path="/usr/local/cuda/bin:/opt/nvidia/nsight-compute")
    )
    if not path:
        return None
    try:
        result = run([path, "--version"], limits=_ASK)
    except OSError:
        return None
    found = re.search(r"Version\s+([\d.]+\d)", result.stdout)
    if result.ending is not Ending.EXITED or result.code != 0 or found is None:
        return None
    return Tool(path, found[1])


def collect(
    tool: Tool, target: Sequence[str], report: Path, *, metric_set: str, names: Sequence[str], launches: int
) -> list[str]:
    """The command that profiles ``target`` and writes ``report``."""
    everything = ["--set", "full"] if metric_set == FULL else []
    return [
        tool.path, "--target-processes", "all", "--profile-from-start", "off", "--replay-mode", REPLAY_MODE,
        "--clock-control", CLOCK_CONTROL, "--cache-control", CACHE_CONTROL, "--launch-count", str(launches),
        *everything, "--metrics", ",".join(names), "--force-overwrite", "--export", str(report), *target,
    ]  # fmt: skip


def show(tool: Tool, report: Path) -> list[str]:
    """The command that prints ``report`` as a table of base units, kernels by their mangled names."""
    return [
        tool.path, "--import", str(report), "--csv", "--page", "raw", "--print-units", "base",
        "--print-kernel-base", "mangled",
    ]  # fmt: skip


def environment(folder: Path) -> dict[str, str]:
    """What the profiler needs beside a clean environment: a home it may write to, and no copy of its sections there."""
    return {
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "LC_ALL": "C.UTF-8",
        "NV_COMPUTE_PROFILER_DISABLE_STOCK_FILE_DEPLOYMENT": "1",
        # The sandbox has no network, not even a loopback device that is up.
        "NV_COMPUTE_PROFILER_LOCAL_CONNECTION_OVERRIDE": "uds",
    }


_COMPLAINTS: tuple[tuple[str, Reason, type[UserError]], ...] = (
    (r"ERR_NVGPUCTRPERM", Reason.NO_PERMISSION, errors.CountersNotPermitted),
    (r"LibraryNotLoaded|Failed to load (the )?\S*(cuda|nvperf|nvidia)", Reason.LIBRARY_NOT_LOADED,
     errors.ProfilerLibraryMissing),
    (r"Profiling is not supported on|not supported on this (device|chip|GPU)", Reason.CARD_UNSUPPORTED,
     errors.CardNotProfilable),
    (r"driver resource was unavailable|HARDWARE_BUSY|Already under profiling", Reason.COUNTERS_BUSY,
     errors.CountersBusy),
    (r"[Dd]river is not compatible with Nsight Compute|libcuda\.so.*(not found|cannot open)",
     Reason.LIBRARY_NOT_LOADED, errors.ProfilerLibraryMissing),
)  # fmt: skip


def complaint(output: str, held: str = "") -> tuple[Reason, UserError] | None:
    """What the profiler says stands in its way on this machine, whatever the candidate; None where it says nothing.

    ``held`` is what the sandbox adds to the story where the counters are not permitted.
    """
    for pattern, reason, kind in _COMPLAINTS:
        if re.search(pattern, output):
            return reason, kind(said=said(output), held=held)
    return None


def said(output: str) -> str:
    """The profiler's own errors in one line; the last lines of the output where it names none."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    named = [line.removeprefix("==ERROR==").strip() for line in lines if line.startswith("==ERROR==")]
    return " ".join(named or lines[-3:])[:_SAID] or "it said nothing"


def refused_names(output: str, names: Sequence[str]) -> set[str]:
    """Metrics that an error names: a version that does not know one collects nothing until it is left out."""
    text = "\n".join(line for line in output.splitlines() if line.startswith("==ERROR=="))
    words = set(re.findall(r"[\w.]+", text))
    return words & set(names)
