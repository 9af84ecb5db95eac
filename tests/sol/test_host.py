"""This machine's peaks: what is read from texts, and one short real measurement."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kernels.records import from_json, to_json
from sol.bounds import Device, HostPeaksUnavailable, host
from sol.bounds.host import Processor

PRINTED = """\
threads 2.000000e+00
vector_bytes 6.400000e+01
f32_flops 4.852559e+11
f64_flops 2.420770e+11
f16_flops 9.667978e+11
bf16_flops 7.530024e+12
cache_copy_bytes_s 2.117425e+11
cache_read_bytes_s 3.740031e+11
copy_bytes_s 4.176433e+10
read_bytes_s 3.202878e+10
buffer_bytes 1.073742e+09
"""
CPUINFO = """\
processor\t: 0
vendor_id\t: GenuineIntel
model name\t: Intel(R) Xeon(R) Processor
flags\t\t: fpu sse2 avx2 fma avx512f amx_bf16

processor\t: 1
model name\t: Another
"""
MACHINE = Processor("A processor", 2, ("avx2", "fma", "sse2"), 2**21, 2**25)


def test_the_printed_peaks_are_read() -> None:
    peaks = host.parse_peaks(PRINTED)
    assert peaks["f32_flops"] == 4.852559e11
    assert len(peaks) == 11


def test_a_device_is_made_of_them() -> None:
    device = host.device_of(host.parse_peaks(PRINTED), MACHINE, "g++ 12.2.0", "2026-01-01T00:00:00+00:00")
    assert device.name == "A processor, 2 cores"
    assert device.matrix_flops == {"f32": 4.852559e11, "f64": 2.42077e11, "f16": 9.667978e11, "bf16": 7.530024e12}
    assert "bf16" not in device.vector_flops
    assert device.copy_bytes_s == 4.176433e10
    assert device.cache_bytes_s == 3.740031e11
    assert device.cache_bytes == 2**25
    assert device.source == "measured"
    assert device.facts["flags"] == "avx2 fma"
    assert device.facts["compiler"] == "g++ 12.2.0"
    assert from_json(to_json(device), Device) == device


def test_a_type_that_was_not_measured_is_absent() -> None:
    lines = [line for line in PRINTED.splitlines() if not line.startswith(("bf16", "f16"))]
    device = host.device_of(host.parse_peaks("\n".join(lines)), MACHINE, "g++", "2026-01-01T00:00:00+00:00")
    assert set(device.matrix_flops) == {"f32", "f64"}


@pytest.mark.parametrize("line", ["f32_flops nan", "Segmentation fault", "f32_flops 1e9 extra"])
def test_a_line_that_is_no_peak_is_refused(line: str) -> None:
    with pytest.raises(HostPeaksUnavailable, match="printed"):
        host.parse_peaks(PRINTED + line)


def test_a_missing_peak_is_named() -> None:
    with pytest.raises(HostPeaksUnavailable, match="no value for copy_bytes_s"):
        host.parse_peaks(PRINTED.replace("\ncopy_bytes_s 4.176433e+10", ""))


def test_the_first_processor_names_the_machine() -> None:
    model, flags = host.parse_cpuinfo(CPUINFO)
    assert model == "Intel(R) Xeon(R) Processor"
    assert "amx_bf16" in flags


def test_a_brand_alone_is_told_apart_by_family_and_model() -> None:
    text = "cpu family\t: 26\nmodel\t\t: 2\nmodel name\t: {}\n"
    assert host.parse_cpuinfo(text.format("AMD EPYC"))[0] == "AMD EPYC, family 26 model 2"
    assert (
        host.parse_cpuinfo(text.format("AMD EPYC 9B14 96-Core Processor"))[0] == "AMD EPYC 9B14 96-Core Processor"
    )


def test_a_machine_that_says_nothing_is_an_unknown_processor() -> None:
    assert host.parse_cpuinfo("") == ("unknown processor", ())


def test_cache_sizes_are_those_of_data_by_level(tmp_path: Path) -> None:
    for index, (level, kind, size) in enumerate(
        [(1, "Data", "48K"), (1, "Instruction", "32K"), (2, "Unified", "2048K"), (3, "Unified", "30M")]
    ):
        folder = tmp_path / f"index{index}"
        folder.mkdir()
        for name, text in (("level", str(level)), ("type", kind), ("size", size)):
            (folder / name).write_text(f"{text}\n")
    assert host.cache_sizes(tmp_path) == {1: 48 * 1024, 2: 2**21, 3: 30 * 2**20}


def test_no_cache_folder_is_no_size(tmp_path: Path) -> None:
    assert host.cache_sizes(tmp_path / "none") == {}


def test_a_machine_without_a_compiler_gets_a_named_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(host, "_COMPILER", str(tmp_path / "no-compiler"))
    with pytest.raises(HostPeaksUnavailable, match=r"not installed; install g\+\+"):
        host.measure_host(effort=host.QUICK)


def test_a_failing_compiler_says_its_last_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo broken 1.0 && exit 0\necho no space left >&2\nexit 4\n'
    )
    broken.chmod(0o755)
    monkeypatch.setattr(host, "_COMPILER", str(broken))
    with pytest.raises(HostPeaksUnavailable, match=r"compiler failed .*4.*no space left"):
        host.measure_host(effort=host.QUICK)


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
def test_a_cancelled_measurement_ends_with_a_named_error() -> None:
    with pytest.raises(HostPeaksUnavailable, match="cancelled"):
        host.measure_host(effort=host.QUICK, cancelled=lambda: True)


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
def test_a_short_real_measurement_gives_plausible_peaks() -> None:
    device = host.measure_host(effort=host.QUICK)
    assert device.name == host.host_name()
    # A core of any machine this runs on does between one and a thousand GFLOP/s.
    assert 1e9 < device.matrix_flops["f32"] / int(device.facts["cores"]) < 1e12
    assert device.matrix_flops["f64"] > 0
    assert 1e8 < device.copy_bytes_s < 1e13
    assert device.cache_bytes_s is not None
    assert 1e8 < device.cache_bytes_s < 1e15
    assert device.measured_at is not None
    assert device.measured_at.endswith("+00:00")
    assert from_json(to_json(device), Device) == device
