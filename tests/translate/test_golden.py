"""The first programs of our own problems, word for word."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernels import records
from kernels.dsl import check, parse
from kernels.problems.inspection import Inspection
from kernels.targets import Policy, Target
from kernels.translate import translate

DATA = Path(__file__).parent.parent / "problems" / "data"
NAMES = sorted(path.stem for path in DATA.glob("*.json"))

BODIES = {
    "gemm": ["y1 = gemm(a, b)", "return y1"],
    "gemm_transposed_a": ["y1 = gemm(a.T, b)", "return y1"],
    "gemm_transposed_b": ["y1 = gemm(a, b.T)", "return y1"],
    "gemm_bias_relu": ["y1 = gemm(x, gemm.weight.T) >> bias(gemm.bias) >> relu()", "return y1"],
    "gemm_bias_gelu_tanh": [
        "y1 = gemm(x.reshape(768, 512), gemm.weight.T) >> bias(gemm.bias) >> gelu_tanh()",
        "return y1.reshape(4, 192, 1024)",
    ],
    "gemm_scale_clamp": [
        "y1 = gemm(x, gemm.weight.T) >> bias(gemm.bias) >> scale(1.5) >> clamp(-0.5, 1)",
        "return y1",
    ],
    "gemm_residual": [
        "y1 = gemm(x, gemm.weight.T) >> bias(gemm.bias) >> add(residual) >> relu()",
        "return y1",
    ],
    "gemm_silu_gate": [
        "y1 = gemm(x, value.weight.T)",
        "y2 = gemm(x, gate.weight.T) >> silu() >> mul(y1)",
        "return y2",
    ],
    "gemm_swish_sum": [
        "y1 = gemm(x, gemm.weight.T) >> bias(gemm.bias) >> silu() >> scale(2) >> add(0.25)",
        "return y1",
    ],
    "batched_scores": [
        "y1 = bmm(query.reshape(16, 256, 64), key.reshape(16, 256, 64).T) >> scale(0.125)",
        "return y1.reshape(2, 8, 256, 256)",
    ],
    "mlp": [
        "y1 = gemm(x, up.weight.T) >> bias(up.bias) >> relu()",
        "y2 = gemm(y1, down.weight.T) >> bias(down.bias)",
        "return y2",
    ],
    "matrix_vector": ["y1 = gemm(a, v.reshape(4096, 1))", "return y1.reshape(4096)"],
    "softmax": ["y1 = softmax(x)", "return y1"],
    "layer_norm": ["y1 = layer_norm(x, norm.weight, norm.bias, eps=1e-05)", "return y1"],
    "rms_norm": ["y1 = rms_norm(x, eps=1e-06) >> mul(scale)", "return y1"],
    "sum_rows": ["y1 = reduce(x, sum)", "return y1"],
    "log_sum_exp": ["y1 = reduce(x, logsumexp)", "return y1"],
    "elementwise_chain": [
        "y1 = map(tanh(x) * y + x * 0.5 - abs(y)) >> leaky_relu(0.1)",
        "return y1",
    ],
    "conv2d_bias_relu": [
        "y1 = conv2d(x, conv.weight, padding=1) >> bias(conv.bias) >> relu()",
        "return y1",
    ],
    "pointwise_conv": [
        "y1 = bmm(conv.weight.reshape(1, 128, 128).expand(4, 128, 128), x.reshape(4, 128, 1024))"
        " >> add(conv.bias.reshape(128, 1))",
        "return y1.reshape(4, 128, 32, 32)",
    ],
}


def stored(name: str) -> Inspection:
    return records.loads((DATA / f"{name}.json").read_text(), Inspection)


@pytest.mark.parametrize("name", sorted(BODIES))
def test_the_body_is_what_a_person_would_write(name: str) -> None:
    program = translate(name, stored(name), Target.HOST).program
    assert [line.strip() for line in program.splitlines()[1:]] == BODIES[name]


def test_the_head_names_inputs_by_position_and_parameters_by_state_dict_name() -> None:
    program = translate("02_gemm_bias_relu", stored("gemm_bias_relu"), Target.HOST).program
    assert program.splitlines()[0] == (
        "program gemm_bias_relu(x: f32[1024, 1024], gemm.weight: f32[1024, 1024], gemm.bias: f32[1024])"
        " -> f32[1024, 1024]"
    )


@pytest.mark.parametrize("target", [Target.HOST, Target.SM90A])
@pytest.mark.parametrize("name", NAMES)
def test_every_own_problem_translates_to_a_program_that_checks(name: str, target: Target) -> None:
    inspection = stored(name)
    policy = Policy.STRICT if target is Target.HOST else Policy.TF32
    translation = translate(name, inspection, target)
    checked = check(parse(translation.program), inspection.signature, target, policy)
    library = [stage.name for stage in checked.stages if stage.op == "torch"]
    assert list(translation.library) == library
    assert sorted([*translation.own, *library]) == sorted(stage.name for stage in checked.stages)


def test_rows_that_tma_cannot_read_are_multiplied_as_plain_f32_on_sm_90a_and_a_note_says_so() -> None:
    translation = translate("matrix_vector", stored("matrix_vector"), Target.SM90A)
    assert "gemm(a, v.reshape(4096, 1)).math(f32)" in translation.program
    assert "16 bytes" in translation.notes[0]
    assert "math" not in translate("matrix_vector", stored("matrix_vector"), Target.HOST).program


def test_sm_80_gets_the_stages_of_sm_90a() -> None:
    ours = translate("gemm_silu_gate", stored("gemm_silu_gate"), Target.SM80)
    assert ours == translate("gemm_silu_gate", stored("gemm_silu_gate"), Target.SM90A)
    assert ours.library == ()


def test_sm_80_reads_rows_of_any_length_on_the_tensor_cores() -> None:
    translation = translate("matrix_vector", stored("matrix_vector"), Target.SM80)
    assert "math" not in translation.program
    assert translation.notes == ()
