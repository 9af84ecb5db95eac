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
    "hinge": problem(
        "return torch.clamp(1 - x * y, min=0).mean()",
        arguments="x, y",
        inputs="torch.randn(32, 64), torch.randn(64)",
    ),
    "loss_read_twice": problem(
        "e = x - y\nreturn e.abs().sum(-1), e", arguments="x, y", inputs="torch.randn(6, 8), torch.randn(6, 8)"
    ),
    "attention_mask": cube(
        "return (x * 0.5 + self.mask).softmax(-1)", "self.mask = nn.Parameter(torch.randn(5, 8))"
    ),
    "norm_of_sum": problem(
        "return F.layer_norm(x + y, (8,))", arguments="x, y", inputs="torch.randn(6, 8), torch.randn(6, 8)"
    ),
    "sums_of_rows_and_columns": problem(
        "return (x + y).mean(0)", arguments="x, y", inputs="torch.randn(6, 1), torch.randn(1, 8)"
    ),
    "loss_turned": problem(
        "return (x.t() - y).abs().mean()", arguments="x, y", inputs="torch.randn(6, 8), torch.randn(8, 6)"
    ),
    "long_prime": problem("return x.sum(-1)", inputs="torch.randn(2, 65537)"),
    "long_softmax": problem("return x.softmax(-1)", inputs="torch.randn(2, 65538)"),
    "long_rows": problem("return x.mean(-1)", inputs="torch.randn(64, 65537)"),
    "halves": cube("return x.half().softmax(-1).sum(-1)"),
    "norms_two": cube("return x.norm(dim=(0, 1)), torch.norm(x)"),
    "places": cube("return x.argmax(1), x.argmin(-1, keepdim=True), x.argmax()"),
    "spread": cube("return x.var(1), x.std((0, 2), keepdim=True), x.var(-1, unbiased=False), x.std()"),
    "softmax_channels": cube("return x.log_softmax(1) + 1"),
    "absolute": cube("return x / x.abs().mean(1, keepdim=True)"),
    "batch_norm": cube("return torch.relu(self.norm(x))", "self.norm = nn.BatchNorm1d(5)"),
    "batch_norm_table": problem(
        "return self.norm(x)", init="self.norm = nn.BatchNorm1d(6)", inputs="torch.randn(9, 6)"
    ),
    "batch_norm_running": cube("return torch.relu(self.norm(x))", "self.norm = nn.BatchNorm1d(5).eval()"),
    "group_norm": problem(
        "return self.norm(x)", init="self.norm = nn.GroupNorm(3, 6)", inputs="torch.randn(2, 6, 4, 5)"
    ),
    "instance_norm": problem(
        "return self.norm(x) * 2", init="self.norm = nn.InstanceNorm2d(6)", inputs="torch.randn(2, 6, 4, 5)"
    ),
    "instance_norm_affine": problem(
        "return self.norm(x)",
        init="self.norm = nn.InstanceNorm2d(6, affine=True)",
        inputs="torch.randn(2, 6, 4, 5)",
    ),
    "divergence": problem(
        "return F.kl_div(torch.log(x), y, reduction='batchmean')",
        arguments="x, y",
        inputs="torch.rand(4, 8).softmax(-1), torch.rand(4, 8).softmax(-1)",
    ),
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
    "l2": ["y1 = reduce(x, norm2, keepdim=true)", "y2 = map(x / y1)"],
    "l1": ["y1 = reduce(x, norm1)"],
    "centred": ["y1 = reduce(x, mean, keepdim=true)", "y2 = map(x - y1)"],
    "long_loss": ["y1 = reduce(x - y, sumsq, dims=2) >> scale(6.510416666666667e-06)", "return y1"],
    "long": ["y1 = reduce(x, sum, dims=3)", "y2 = reduce(x, mean, dims=2, keepdim=true)"],
    "middle": ["y1 = reduce(x, sum, dim=1)", "y2 = softmax(x, dim=0)"],
    "layer_norm_two": ["y1 = layer_norm(x, norm.weight, norm.bias, dims=2, eps=1e-05) >> add(1)"],
    "rms_middle": ["y1 = rms_norm(x, dim=1, eps=0.1)"],
    "norms_two": ["y1 = reduce(x, norm2, dim=(0, 1))", "y2 = reduce(x, norm2, dims=3)"],
    "places": ["y1 = reduce(x, argmax, dim=1)", "y2 = reduce(x, argmin, keepdim=true)"],
    "spread": ["y1 = reduce(x, var, dim=1)", "y2 = reduce(x, std, dim=(0, 2), keepdim=true)"],
    "softmax_channels": ["y1 = log_softmax(x, dim=1) >> add(1)"],
    "absolute": ["y1 = reduce(x, norm1, dim=1, keepdim=true) >> scale(0.2)", "y2 = map(x / y1)"],
    "batch_norm": ["y1 = batch_norm(x, norm.weight, norm.bias, eps=1e-05) >> relu()"],
    "group_norm": ["y1 = group_norm(x, 3, norm.weight, norm.bias, eps=1e-05)"],
    "instance_norm": ["y1 = instance_norm(x, eps=1e-05) >> scale(2)"],
    "long_rows": ["y1 = reduce(x, mean)"],
    "hinge": ["y1 = reduce(max(1 - x * y, 0), mean, dims=2)", "return y1"],
    "loss_read_twice": ["y1 = map(x - y)", "y2 = reduce(y1, norm1)"],
    "attention_mask": ["y1 = softmax(x * 0.5 + mask)"],
    "norm_of_sum": ["y1 = layer_norm(x + y, eps=1e-05)"],
    "sums_of_rows_and_columns": ["y1 = map(x + y)", "y2 = reduce(y1, mean, dim=0)"],
}
"""The first lines of a program's body."""

LIBRARY = {"max_both", "larger", "wide_sum", "integers"}
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
    elementwise = name == "batch_norm_running"
    assert elementwise or any(stage.op in ("reduce", "softmax", "norm") for stage in checked.stages)


@pytest.mark.parametrize("name", sorted(LIBRARY - {"larger"}))
def test_what_has_no_row_stage_stays_with_the_library(cases: dict[str, Case], name: str) -> None:
    assert translated(cases, name).library


def test_batch_norm_by_running_statistics_is_elementwise(cases: dict[str, Case]) -> None:
    translation = translated(cases, "batch_norm_running")
    assert translation.library == ()
    assert "batch_norm(" not in translation.program
    assert "relu()" in translation.program


def test_parts_that_something_else_reads_are_no_rms_norm(cases: dict[str, Case]) -> None:
    assert "rms_norm(" not in translated(cases, "rms_read_twice").program.partition("\n")[2]


def test_a_product_hands_its_result_to_the_row_stage(cases: dict[str, Case]) -> None:
    body = translated(cases, "after_linear").program.splitlines()[1:]
    assert [line.split(" = ")[-1].split("(")[0] for line in body[:2]] == ["gemm", "softmax"]


def test_every_card_gets_the_same_row_stages(cases: dict[str, Case]) -> None:
    assert translated(cases, "softmax", Target.SM80) == translated(cases, "softmax", Target.SM90A)
