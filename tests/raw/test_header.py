"""``problem.h`` and the skeletons: names, types and constants, and that compilers take them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kernels.candidates import emission_of
from kernels.dtypes import DType
from kernels.languages import Language
from kernels.problems.inspection import Signature, TensorSpec
from kernels.raw import problem_header, skeleton
from kernels.raw.emission import dense_strides
from kernels.raw.names import identifiers
from kernels.targets import Policy, Target
from kernels.toolchain import Cache, available, build
from kernels.toolchain.report import BuildOutcome

ODD = Signature(
    inputs=(
        TensorSpec("x", DType.F32, (4, 8)),
        TensorSpec("class", DType.I64, (4,)),
        TensorSpec("inputs", DType.BOOL, ()),
        TensorSpec("an.odd//name\\\n*/", DType.F16, (0, 3)),
    ),
    parameters=(
        TensorSpec("layers.0.weight", DType.BF16, (8, 8)),
        TensorSpec("layers_0_weight", DType.F8E4M3, (8,)),
        TensorSpec("x", DType.F64, (1,)),
    ),
    outputs=(TensorSpec("output0", DType.F32, (4, 8)), TensorSpec("output1", DType.U8, (2,))),
    constants={1: 3, 2: 0.5, 5: "mean", 6: None, 7: True, 8: [1, 2], 9: float("inf")},
)


def test_names_become_identifiers_no_two_alike() -> None:
    names = ["x", "x", "0.weight", "layers.0.weight", "class", "stream", "", "été", "a..b", "x_2"]
    assert identifiers(names) == [
        "x", "x_2", "t0_weight", "layers_0_weight", "class_", "stream_", "tensor", "t", "a_b", "x_2_2",
    ]  # fmt: skip


def test_a_tensor_has_its_type_its_extents_and_its_place() -> None:
    text = problem_header(ODD, Language.CPP)
    block = text[text.index("struct x {") : text.index("struct class_")]
    for part in ("using type = float;", "index = 0;", "rank = 2;", "d0 = 4;", "d1 = 8;", "size = 32;"):
        assert part in block
    assert "inline constexpr int input_count = 7;" in text
    assert "struct x_2 {\n  using type = double;\n  static constexpr int index = 6;" in text
    assert "static type* of(void* const* outputs)" in text[text.index("struct output0") :]


def test_arguments_that_are_no_tensors_are_constants_where_c_has_a_literal() -> None:
    text = problem_header(ODD, Language.CPP)
    assert "inline constexpr ::std::int64_t argument_1 = 3;" in text
    assert "inline constexpr double argument_2 = 0.5;" in text
    assert 'inline constexpr const char* argument_5 = "mean";' in text
    assert "inline constexpr bool argument_7 = true;" in text
    assert "// argument 6 of forward: None" in text
    assert "// argument 9 of forward: inf" in text


def test_half_types_are_bits_on_the_host_and_the_cards_own_in_cuda() -> None:
    host, card = problem_header(ODD, Language.CPP), problem_header(ODD, Language.CU)
    assert "bf16[8, 8], as its bits\nstruct layers_0_weight {\n  using type = ::std::uint16_t;" in host
    assert "#include <cuda" not in host
    assert "bf16[8, 8]\nstruct layers_0_weight {\n  using type = __nv_bfloat16;" in card
    for header in ("cuda_bf16.h", "cuda_fp16.h", "cuda_fp8.h"):
        assert f"#include <{header}>" in card


@pytest.mark.parametrize(
    ("shape", "strides"), [((), ()), ((3,), (1,)), ((2, 3, 4), (12, 4, 1)), ((2, 0, 4), (4, 4, 1))]
)
def test_strides_are_torchs(shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    assert dense_strides(shape) == strides


def test_the_skeleton_and_every_odd_name_compile_without_a_warning(tmp_path: Path) -> None:
    emission = emission_of(skeleton(ODD, Language.CPP), Language.CPP, ODD, Target.HOST, Policy.STRICT)
    report = build(emission, cache=Cache(tmp_path / "cache"))
    assert (report.outcome, report.units[0].warnings) == (BuildOutcome.BUILT, ()), report.units[0].log


def test_each_element_has_as_many_bytes_in_c_as_in_torch(tmp_path: Path) -> None:
    signature = Signature(
        tuple(TensorSpec(f"t_{dtype}", dtype, (1,)) for dtype in DType), (), (TensorSpec("y", DType.F32, (1,)),), {}
    )
    lines = [f"static_assert(sizeof(problem::t_{dtype}::type) == {dtype.bytes});" for dtype in DType]
    (tmp_path / "problem.h").write_text(problem_header(signature, Language.CPP))
    (tmp_path / "sizes.cpp").write_text("\n".join(['#include "problem.h"', *lines]))
    subprocess.run(["g++", "-std=c++20", "-c", "sizes.cpp", "-o", "sizes.o"], cwd=tmp_path, check=True)


@pytest.mark.nvcc
@pytest.mark.skipif(available(Target.SM90A) is None, reason="there is no nvcc")
def test_nvcc_takes_the_skeleton(tmp_path: Path) -> None:
    emission = emission_of(skeleton(ODD, Language.CU), Language.CU, ODD, Target.SM90A, Policy.STRICT)
    report = build(emission, cache=Cache(tmp_path / "cache"))
    assert report.outcome is BuildOutcome.BUILT, report.units[0].log
    assert any("fill_with_zero" in kernel.kernel for kernel in report.units[0].resources)
