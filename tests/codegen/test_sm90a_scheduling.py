"""How many SMs a product asks for: as few as finish in the same number of waves, where nearly all of them do."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kernels.codegen.sm90a import emit_stage
from kernels.dsl.ir import Stage
from tests.codegen.sm90a_stages import F16, F32, product, tensor, transposed

A, B = tensor("x", F16, (256, 192)), transposed(tensor("w", F16, (384, 192)))
STUBS = """
#include <cstdint>
template <int... Extents> struct Shape {};
template <int I, int M, int... Rest> constexpr int64_t size(Shape<M, Rest...>) {
  if constexpr (I == 0) { return M; } else { return size<I - 1>(Shape<Rest...>{}); }
}
template <int... Extents> constexpr int64_t size(Shape<Extents...>) { return (Extents * ... * 1); }
template <class T> constexpr T ceil_div(T a, T b) { return (a + b - 1) / b; }
using Tile = Shape<128, 256, 64>;
using Cluster = Shape<2, 1, 1>;
"""


def source(stage: Stage) -> str:
    return emit_stage(stage, None).unit.source


def asked(stage: Stage) -> str:
    return next(line.strip() for line in source(stage).splitlines() if "hardware.sm_count =" in line)


@pytest.mark.parametrize(
    ("knobs", "expected"),
    [
        ({}, "in_step(m, n, 1, multiprocessors(hardware.device_id))"),
        ({"cluster": [2, 1]}, "in_step(m, n, 1, multiprocessors(hardware.device_id))"),
        ({"schedule": "pingpong"}, "in_step(m, n, 1, multiprocessors(hardware.device_id))"),
        # Stream-K shares its last wave out; of clusters of four CUTLASS leaves some SMs out by itself.
        ({"schedule": "streamk"}, "multiprocessors(hardware.device_id)"),
        ({"cluster": [2, 2]}, "multiprocessors(hardware.device_id)"),
    ],
)
def test_which_products_choose_their_sms(knobs: dict[str, Any], expected: str) -> None:
    assert asked(product(A, B, **knobs)) == f"hardware.sm_count = {expected};"


def test_rows_and_columns_are_those_that_cutlass_has() -> None:
    turned = product(tensor("x", F32, (256, 192)), tensor("w", F32, (192, 384)), tile=[128, 128, 32])
    assert "in_step(n, m, 1, " in asked(turned)
    batched = product(tensor("x", F16, (3, 256, 192)), transposed(tensor("w", F16, (3, 384, 192))))
    assert "in_step(m, n, batch, " in asked(batched)


@pytest.fixture(scope="module")
def in_step(tmp_path_factory: pytest.TempPathFactory) -> Any:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("there is no g++ on PATH")
    text = source(product(A, B, cluster=[2, 1]))
    function = text[text.index("inline int in_step(") :]
    function = function[: function.index("\n}\n") + 3]
    folder: Path = tmp_path_factory.mktemp("in-step")
    called = 'extern "C" int call(int64_t m, int64_t n, int64_t l, int s) { return in_step(m, n, l, s); }'
    (folder / "in_step.cpp").write_text(f"{STUBS}{function}{called}\n", "utf-8")
    command = [compiler, "-std=c++17", "-shared", "-fPIC", "in_step.cpp", "-o", "in_step.so"]
    subprocess.run(command, cwd=folder, check=True)
    found = ctypes.CDLL(str(folder / "in_step.so")).call
    found.argtypes = [ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int]
    return found


@pytest.mark.parametrize(
    ("problem", "sms", "expected"),
    [
        # 256 clusters of 66 at once are four waves, and so are they of 64.
        ((4096, 4096, 1), 132, 128),
        ((4096, 4096, 1), 114, 104),
        # One wave takes what there is; a wave and a bit would leave half of the card idle.
        ((1024, 1024, 1), 132, 132),
        ((256 * 70, 256, 1), 132, 132),
        ((4096, 1024, 4), 132, 128),
        # Two waves, of whose second a sixteenth would be missing.
        ((256 * 124, 256, 1), 132, 124),
        ((1, 1, 1), 1, 1),
    ],
)
def test_as_few_as_need_no_wave_more(in_step: Any, problem: tuple[int, int, int], sms: int, expected: int) -> None:
    assert in_step(*problem, sms) == expected
