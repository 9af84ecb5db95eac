"""What along rows becomes a row stage, what joins its tail, and that the programs compute what the problems do."""

from __future__ import annotations

import pytest

from kernels.dsl import check, parse
from kernels.targets import Policy, Target
from kernels.translate import Translation, translate
from tests.problems.sources import problem
from tests.translate.comparing import Case, assert_same, inspected

CUBE = "torch.randn(3, 5, 8)"
NORM = "self.norm = nn.LayerNorm(8)"


def cube(body: str, init: str = "pass") -> str:
    return problem(body, init=init, inputs=CUBE)


PROBLEMS = {
    "sum": cube("return x.sum(-1)"),
    "sum_all": cube("return x.sum()"),
    "sum_two": cube("return x.sum((-1, -2), keepdim=True)"),
    "mean": cube("return torch.relu(x.mean(2) * 3)"),
    "extremes": cube("return x.amax(-1) - x.amin(-1, keepdim=True).squeeze(-1)"),
    "max_value": cube("return x.max(-1)[0], x.min()"),
    "max_both": cube("v, i = x.max(-1)\nreturn v, i"),
    "larger": problem("return torch.max(x, y)", arguments="x, y", inputs=f"{CUBE}, {CUBE}"),
    "prod": cube("return x.prod(-1) + 1"),
    "log_sum_exp": cube("return torch.logsumexp(x, (1, 2))"),
    "middle": cube("return x.sum(1), x.softmax(0).sum(2)"),
    "wide_sum": cube("return x.sum(-1, dtype=torch.float64)"),
    "softmax": cube("return x.softmax(-1) * 2 + x"),
    "log_softmax": cube("return F.log_softmax(x, dim=2).neg()"),
    "softmax_turned": cube("return x.transpose(1, 2).softmax(-1)"),
    "softmax_shared": cube("y = x.softmax(-1)\nreturn y * 2, y.exp()"),
    "attention": problem(
        "return (q @ k.transpose(-1, -2) * 0.5).softmax(-1) @ k",
        arguments="q, k",
        inputs="torch.randn(2, 4, 8), torch.randn(2, 4, 8)",
    ),
    "layer_norm": cube("return F.gelu(self.norm(x))", NORM),
    "layer_norm_two": cube("return self.norm(x) + 1", "self.norm = nn.LayerNorm((5, 8))"),
    "layer_norm_plain": cube("return self.norm(x)", "self.norm = nn.LayerNorm(8, elementwise_affine=False)"),
    "layer_norm_no_bias": cube("return self.norm(x)", "self.norm = nn.LayerNorm(8, eps=0.01, bias=False)"),
    "rms_norm": cube("return self.norm(x)", "self.norm = nn.RMSNorm(8)"),
    "rms_written": cube(
        "return self.g * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5))",
        "self.g = nn.Parameter(torch.randn(8))",
    ),
    "rms_divided": cube("return x / torch.sqrt(torch.mean(x * x, dim=-1, keepdim=True) + 0.1)"),
    "rms_read_twice": cube("m = (x ** 2).mean(-1, keepdim=True)\nreturn x * torch.rsqrt(m + 1e-5), m"),
    "rms_middle": cube("return x / torch.sqrt(torch.mean(x ** 2, dim=1, keepdim=True) + 0.1)"),
    "squares": cube("return (x * x).sum(-1), x.square().mean(-1, keepdim=True)"),
    "l2": cube("return x / torch.norm(x, p=2, dim=-1, keepdim=True)"),
    "l1": cube("return torch.norm(x, p=1, dim=-1)"),
    "centred": cube("return x - x.mean(-1, keepdim=True)"),
    "after_linear": cube("return self.linear(x).softmax(-1)", "self.linear = nn.Linear(8, 16)"),
    "long": problem("return x.sum(), x.mean((1, 2), keepdim=True), x.amax()", inputs="torch.randn(2, 300, 512)"),
    "long_loss": problem(
        "return ((x - y) ** 2).mean()", arguments="x, y", inputs="torch.randn(600, 256), torch.randn(600, 256)"
    ),
    "long_prime": problem("return x.sum(-1)", inputs="torch.randn(2, 65537)"),
    "long_softmax": problem("return x.softmax(-1)", inputs="torch.randn(2, 65538)"),
    "long_rows": problem("return x.mean(-1)", inputs="torch.randn(64, 65537)"),
    "halves": cube("return x.half().softmax(-1).sum(-1)"),
    "integers": problem("return x.sum(-1), x.amax(-1)", inputs="torch.randint(0, 9, (4, 8))"),
    "single": problem("return x.sum(-1)", inputs="torch.randn(4, 1)"),
}

BODIES = {
    "sum": ["y1 = reduce(x, sum)"],
    "sum_all": ["y1 = reduce(x, sum, dims=3)"],
    "sum_two": ["y1 = reduce(x, sum, dims=2, keepdim=true)"],
    "mean": ["y1 = reduce(x, mean) >> scale(3) >> relu()"],
    "max_value": ["y1 = reduce(x, max)", "y2 = reduce(x, min, dims=3)"],
    "prod": ["y1 = reduce(x, prod) >> add(1)"],
    "log_sum_exp": ["y1 = reduce(x, logsumexp, dims=2)"],
    "softmax": ["y1 = softmax(x) >> scale(2) >> add(x)"],
    "log_softmax": ["y1 = log_softmax(x) >> neg()"],
    "softmax_turned": ["y1 = map(x.T)", "y2 = softmax(y1)"],
    "layer_norm": ["y1 = layer_norm(x, norm.weight, norm.bias, eps=1e-05) >> gelu()"],
    "layer_norm_plain": ["y1 = layer_norm(x, eps=1e-05)"],
    "layer_norm_no_bias": ["y1 = layer_norm(x, norm.weight, eps=0.01)"],
    "rms_norm": ["y1 = rms_norm(x, norm.weight, eps=1.1920928955078125e-07)"],
    "rms_written": ["y1 = rms_norm(x, eps=1e-05) >> mul(g)"],
    "rms_divided": ["y1 = rms_norm(x, eps=0.1)"],
    "squares": ["y1 = reduce(x, sumsq)", "y2 = reduce(x, sumsq, keepdim=true) >> scale(0.125)"],
    "l2": ["y1 = reduce(x, sumsq, keepdim=true) >> sqrt()", "y2 = map(x / y1)"],
    "centred": ["y1 = reduce(x, mean, keepdim=true)", "y2 = map(x - y1)"],
    "long_loss": ["y1 = map(x - y)", "y2 = reduce(y1.reshape(40, 3840), sumsq)"],
    "long_rows": ["y1 = reduce(x, mean)"],
}
"""The first lines of a program's body."""

LIBRARY = {"max_both", "larger", "middle", "wide_sum", "rms_middle", "l1", "long_prime", "long_softmax", "integers"}
"""Problems that keep a torch stage, or (for two tensors' larger elements) need no row stage."""


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Case]:
    return inspected(tmp_path_factory.mktemp("rows"), PROBLEMS)


def translated(cases: dict[str, Case], name: str, target: Target = Target.HOST) -> Translation:
    return translate(name, cases[name][2], target)


@pytest.mark.parametrize("name", sorted(PROBLEMS))
def test_the_program_computes_what_the_problem_does(cases: dict[str, Case], name: str) -> None:
    policy = Policy.HALF if name == "halves" else Policy.STRICT
    assert_same(cases[name], translated(cases, name).program, policy)


@pytest.mark.parametrize("name", sorted(BODIES))
def test_the_body_is_what_a_person_would_write(cases: dict[str, Case], name: str) -> None:
    lines = [line.strip() for line in translated(cases, name).program.splitlines()[1:]]
    assert lines[: len(BODIES[name])] == BODIES[name]


@pytest.mark.parametrize("name", sorted(set(PROBLEMS) - LIBRARY))
@pytest.mark.parametrize("target", [Target.HOST, Target.SM90A])
def test_work_along_rows_needs_no_library_and_checks(cases: dict[str, Case], name: str, target: Target) -> None:
    translation = translated(cases, name, target)
    assert translation.library == ()
    policy = Policy.HALF if name == "halves" else Policy.STRICT
    checked = check(parse(translation.program), cases[name][2].signature, target, policy)
    assert any(stage.op in ("reduce", "softmax", "norm") for stage in checked.stages)


@pytest.mark.parametrize("name", sorted(LIBRARY - {"larger", "middle"}))
def test_what_has_no_row_stage_stays_with_the_library(cases: dict[str, Case], name: str) -> None:
    assert translated(cases, name).library


def test_only_the_part_along_the_last_dimension_gets_a_row_stage(cases: dict[str, Case]) -> None:
    translation = translated(cases, "middle")
    assert len(translation.library) == 2
    assert "reduce(y" in translation.program


def test_a_norm_over_two_dimensions_works_on_longer_rows(cases: dict[str, Case]) -> None:
    program = translated(cases, "layer_norm_two").program
    assert "layer_norm(x.reshape(3, 40), norm.weight.reshape(40), norm.bias.reshape(40), eps=1e-05)" in program


def test_parts_that_something_else_reads_are_no_rms_norm(cases: dict[str, Case]) -> None:
    assert "rms_norm(" not in translated(cases, "rms_read_twice").program.partition("\n")[2]


def test_a_product_hands_its_result_to_the_row_stage(cases: dict[str, Case]) -> None:
    body = translated(cases, "after_linear").program.splitlines()[1:]
    assert [line.split(" = ")[-1].split("(")[0] for line in body[:2]] == ["gemm", "softmax"]


def test_few_long_rows_are_reduced_in_two_steps(cases: dict[str, Case]) -> None:
    program = translated(cases, "long").program
    assert "y1 = reduce(x.reshape(75, 4096), sum)" in program
    assert "y2 = reduce(y1, sum)" in program


def test_a_target_without_own_kernels_gets_none(cases: dict[str, Case]) -> None:
    assert translated(cases, "softmax", Target.SM80).own == ()
