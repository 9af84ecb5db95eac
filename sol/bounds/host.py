"""This machine's own peaks: a small C++ program, compiled for this CPU and run as a child, says what it can do.

It measures ceilings, not kernels: multiply-adds from registers, copies far beyond the caches and inside the second
level. About five seconds. Nothing is estimated: what could not be measured is absent.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import psutil

from kernels import childprocess
from kernels.childprocess import ChildLimits, ChildResult, Ending
from sol.bounds.errors import HostPeaksUnavailable
from sol.bounds.record import Device

_SOURCE = Path(__file__).with_name("host_peaks.cpp")
_COMPILER = "g++"
_FLAGS = ("-O3", "-march=native", "-fopenmp", "-std=c++17")
_COMPILE_LIMITS = ChildLimits(seconds=120, memory_bytes=2 * 2**30)
_GIB = 2**30
_INSTALL = "install g++ (Debian: apt-get install g++) and try again"
_SHOWN_FLAGS = ("avx2", "fma", "avx512f", "avx512_bf16", "avx512_fp16", "amx_bf16", "asimd", "sve")
_NUMBER = re.compile(r"^([a-z0-9_]+) ([0-9.e+]+)$")


@dataclass(frozen=True, slots=True)
class Effort:
    """How much to spend: seconds for each peak, and the most bytes for the copy's two buffers together."""

    seconds_each: float
    buffer_bytes: int


THOROUGH = Effort(seconds_each=0.25, buffer_bytes=_GIB)
QUICK = Effort(seconds_each=0.01, buffer_bytes=64 * 2**20)
"""Thorough: what is stored and steers. Quick: rates of the right size in a fraction of a second."""


@dataclass(frozen=True, slots=True)
class Processor:
    """What the system says of its CPU. Cache sizes in bytes, None where the system does not say."""

    model: str
    cores: int
    flags: tuple[str, ...]
    l2_bytes: int | None
    last_level_bytes: int | None


def measure_host(*, cancelled: Callable[[], bool] | None = None, effort: Effort = THOROUGH) -> Device:
    """Compile, run, read. Raises HostPeaksUnavailable where there is no compiler, it fails, or it was cancelled.

    ``matrix_flops`` holds what multiplies fastest by type (f32 and f64: multiply-adds; bf16: AMX tiles where the
    CPU has them), ``vector_flops`` the multiply-add rates. ``copy_bytes_s`` is the faster of copying and reading.
    ``cache_bytes`` is the last level's size, ``cache_bytes_s`` the second level's rate, which is more than the last
    level gives: together they never understate.
    """
    processor = read_processor()
    version = _compiler_version(cancelled)
    half_of_buffers = min(effort.buffer_bytes, psutil.virtual_memory().available // 8) // 2
    arguments = [str(half_of_buffers), str(processor.l2_bytes or 2**20), f"{effort.seconds_each:g}"]
    with tempfile.TemporaryDirectory(prefix="host-peaks-") as folder:
        program = Path(folder) / "host_peaks"
        _check(
            _run(
                [_COMPILER, *_FLAGS, "-o", str(program), str(_SOURCE)],
                _COMPILE_LIMITS,
                cancelled,
                {"TMPDIR": folder},
            ),
            "the compiler failed",
        )
        limits = ChildLimits(seconds=120, memory_bytes=2 * effort.buffer_bytes + _GIB)
        result = _run([str(program), *arguments], limits, cancelled)
    _check(result, "the measuring program failed")
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return device_of(parse_peaks(result.stdout), processor, version, now)


def parse_peaks(text: str) -> dict[str, float]:
    """``name value`` lines to numbers. Raises HostPeaksUnavailable for another line or a missing peak."""
    peaks: dict[str, float] = {}
    for line in text.splitlines():
        match = _NUMBER.match(line)
        if match is None:
            reason = f"the measuring program printed {line!r}"
            raise HostPeaksUnavailable(reason=reason, remedy="a line is a name and a number")
        peaks[match[1]] = float(match[2])
    needed = ("f32_flops", "f64_flops", "copy_bytes_s", "read_bytes_s", "cache_copy_bytes_s", "cache_read_bytes_s")
    missing = [name for name in needed if peaks.get(name, 0.0) <= 0]
    if missing:
        raise HostPeaksUnavailable(
            reason=f"no value for {', '.join(missing)}", remedy="run it again on a quiet machine"
        )
    return peaks


def device_of(peaks: dict[str, float], processor: Processor, compiler: str, measured_at: str) -> Device:
    """The record of what was measured."""
    rates = {name: peaks[f"{name}_flops"] for name in ("f32", "f64", "f16", "bf16") if f"{name}_flops" in peaks}
    facts = {
        "cores": str(processor.cores),
        "threads": f"{peaks.get('threads', 0):g}",
        "flags": " ".join(flag for flag in _SHOWN_FLAGS if flag in processor.flags),
        "compiler": compiler,
        "compiler_flags": " ".join(_FLAGS),
        "vector_bytes": f"{peaks.get('vector_bytes', 0):g}",
        "copy_buffers_bytes": f"{peaks.get('buffer_bytes', 0):.0f}",
        "read_bytes_s": f"{peaks['read_bytes_s']:.6g}",
        "cache_copy_bytes_s": f"{peaks['cache_copy_bytes_s']:.6g}",
        "cache_read_bytes_s": f"{peaks['cache_read_bytes_s']:.6g}",
    }
    if processor.l2_bytes is not None:
        facts["l2_bytes"] = str(processor.l2_bytes)
    if processor.last_level_bytes is not None:
        facts["last_level_bytes"] = str(processor.last_level_bytes)
    return Device(
        name=name_of(processor),
        kind="cpu",
        matrix_flops=rates,
        vector_flops={name: rate for name, rate in rates.items() if name != "bf16"},
        copy_bytes_s=max(peaks["copy_bytes_s"], peaks["read_bytes_s"]),
        cache_bytes_s=max(peaks["cache_copy_bytes_s"], peaks["cache_read_bytes_s"]),
        cache_bytes=processor.last_level_bytes or processor.l2_bytes,
        source="measured",
        measured_at=measured_at,
        facts=facts,
    )


def name_of(processor: Processor) -> str:
    """The name under which this machine's peaks are kept."""
    return f"{processor.model}, {processor.cores} cores"


def host_name() -> str:
    """The name of the machine that this runs on, without measuring it."""
    return name_of(read_processor())


def read_processor() -> Processor:
    """From /proc/cpuinfo and the cache folders of /sys; what the system does not say stays unknown."""
    text = _text(Path("/proc/cpuinfo"))
    sizes = cache_sizes(Path("/sys/devices/system/cpu/cpu0/cache"))
    model, flags = parse_cpuinfo(text)
    return Processor(
        model=model,
        cores=psutil.cpu_count() or 1,
        flags=flags,
        l2_bytes=sizes.get(2),
        last_level_bytes=sizes[max(sizes)] if sizes else None,
    )


def parse_cpuinfo(text: str) -> tuple[str, tuple[str, ...]]:
    """Model name and flags of the first processor of a /proc/cpuinfo.

    Virtual machines may name a brand alone, which several generations bear: then family and model tell them apart.
    """
    fields: dict[str, str] = {}
    for line in text.splitlines():
        name, _, value = line.partition(":")
        fields.setdefault(name.strip(), value.strip())
    model = fields.get("model name") or fields.get("Hardware") or "unknown processor"
    family, number = fields.get("cpu family"), fields.get("model")
    if family and number and not re.search(r"\d", model):
        model += f", family {family} model {number}"
    return model, tuple((fields.get("flags") or fields.get("Features") or "").split())


def cache_sizes(folder: Path) -> dict[int, int]:
    """Bytes of each level's data or unified cache as /sys tells them: ``{1: 49152, 2: 2097152, 3: …}``."""
    sizes: dict[int, int] = {}
    for index in sorted(folder.glob("index*")):
        level, kind, size = (_text(index / name).strip() for name in ("level", "type", "size"))
        if level.isdigit() and kind != "Instruction" and re.fullmatch(r"\d+[KM]?", size):
            sizes[int(level)] = int(size.rstrip("KM")) * {"K": 2**10, "M": 2**20}.get(size[-1], 1)
    return sizes


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _compiler_version(cancelled: Callable[[], bool] | None) -> str:
    result = _run([_COMPILER, "--version"], ChildLimits(seconds=10), cancelled)
    _check(result, "the compiler does not start")
    return result.stdout.splitlines()[0] if result.stdout else _COMPILER


def _run(
    argv: list[str],
    limits: ChildLimits,
    cancelled: Callable[[], bool] | None,
    extra: dict[str, str] | None = None,
) -> ChildResult:
    try:
        return childprocess.run(
            argv, limits=limits, environment=childprocess.clean_environment(extra), cancelled=cancelled
        )
    except FileNotFoundError:
        raise HostPeaksUnavailable(reason=f"{argv[0]} is not installed", remedy=_INSTALL) from None


def _check(result: ChildResult, what: str) -> None:
    if result.ending is Ending.EXITED and result.code == 0:
        return
    if result.ending is Ending.CANCELLED:
        raise HostPeaksUnavailable(reason="the measurement was cancelled", remedy="start it again")
    said = result.stderr.strip().splitlines()
    detail = f": {said[-1]}" if said else ""
    raise HostPeaksUnavailable(
        reason=f"{what} ({result.ending.value} {result.code}){detail}", remedy="the compiler's last line says why"
    )
