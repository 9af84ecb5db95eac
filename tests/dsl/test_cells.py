"""Every operation in every element type on every target: legal cells check and emit, the others are refused with a
mend that names the nearest legal choice."""

from __future__ import annotations

import pytest

from kernels.codegen import emit
from kernels.dsl import CheckedProgram, ProgramErrors, check, parse
from kernels.dsl.ops import OPS, TYPES, kernel_op
from kernels.dsl.simd import AVX512
from kernels.dtypes import FP8, DType
from kernels.targets import Policy, Target
from tests.dsl import cells

KERNELS = sorted({op for table in TYPES.values() for op in table})
LEGAL = [(target, op, dtype) for target, table in TYPES.items() for op, types in table.items() for dtype in types]
ILLEGAL = [
    (target, op, dtype)
    for target, table in TYPES.items()
    for op in KERNELS
    for dtype in DType
    if dtype not in table.get(op, ())
]


def checked(target: Target, op: str, dtype: DType) -> CheckedProgram:
    """The cell's sample; results have its type, or FP32 where products of 8-bit floats and maps of truth values go."""
    eight_bits = op in ("gemm", "bmm") and dtype in FP8 and target is not Target.HOST
    out = DType.F32 if eight_bits or (op == "map" and dtype is DType.BOOL) else dtype
    cell = cells.cell(op, dtype, out)
    return check(parse(cell.text), cell.signature, target, Policy.HALF, AVX512)


def name(value: object) -> str:
    return str(value)


def test_every_operation_with_a_kernel_has_a_sample() -> None:
    assert set(KERNELS) <= set(cells.OPS)
    assert {kernel_op(op) for op in OPS} - {"torch", "view"} == set(KERNELS)


@pytest.mark.parametrize(("target", "op", "dtype"), LEGAL, ids=name)
def test_a_legal_cell_checks_and_emits(target: Target, op: str, dtype: DType) -> None:
    program = checked(target, op, dtype)
    assert [stage.op for stage in program.stages] == [op]
    emission = emit(program)
    assert len(emission.units) == len(emission.plan.steps) == 1
    assert emission.units[0].symbol in emission.units[0].source


@pytest.mark.parametrize(("target", "op", "dtype"), ILLEGAL, ids=name)
def test_an_illegal_cell_is_refused_with_the_nearest_legal_choice(target: Target, op: str, dtype: DType) -> None:
    with pytest.raises(ProgramErrors) as caught:
        checked(target, op, dtype)
    rules = [error.rule for error in caught.value.errors]
    assert "target" in rules
    error = next(error for error in caught.value.errors if error.rule == "target")
    assert error.found == dtype
    legal = TYPES[target].get(op)
    if legal is None:
        assert "torch stage" in error.mend
    else:
        assert all(each in error.mend for each in legal)


@pytest.mark.parametrize("policy", Policy)
@pytest.mark.parametrize(
    ("target", "op"), [(target, op) for target, table in TYPES.items() for op in table], ids=name
)
def test_f32_has_code_under_every_policy(target: Target, op: str, policy: Policy) -> None:
    cell = cells.cell(op, DType.F32, DType.F32)
    assert emit(check(parse(cell.text), cell.signature, target, policy, AVX512)).units
