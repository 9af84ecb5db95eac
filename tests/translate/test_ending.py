"""Which reductions end a product's stage, for which targets, and that the programs compute what the problems do."""

from __future__ import annotations

import pytest

from kernels.dsl import check, parse
from kernels.targets import Policy, Target
from kernels.translate import translate
from tests.problems.sources import problem
from tests.translate.comparing import Case, assert_same, inspected

TWO = "torch.randn(24, 16), torch.randn(16, 40)"
THREE = "torch.randn(3, 24, 16), torch.randn(3, 16, 40)"
LARGE = "torch.randn(512, 256), torch.randn(256, 1000)"
LINEAR = "self.linear = nn.Linear(16, 40)"


def product(body: str, inputs: str = TWO) -> str:
    return problem(body, arguments="x, y", inputs=inputs)


PROBLEMS = {
    "columns": product("return (x @ y).relu().sum(1)"),
    "rows_kept": product("return (x @ y + 1).mean(0, keepdim=True)"),
    "largest": product("return (x @ y).max(1)[0], y.sum()"),
    "batch": product("return torch.bmm(x, y).amin(1)", THREE),
    "squares": product("return (x @ y).square().sum(-1)"),
    "magnitudes": product("return (x @ y).abs().sum(0)"),
    "tail": product("return (x @ y).sum(1, keepdim=True) * 2 + x"),
    "sequence": problem("return self.linear(x).tanh().sum(-1)", init=LINEAR, inputs="torch.randn(2, 6, 16)"),
    "sequence_middle": problem("return self.linear(x).sum(1)", init=LINEAR, inputs="torch.randn(2, 6, 16)"),
    "both": product("return (x @ y).sum((0, 1))"),
    "spread": product("return (x @ y).var(1)"),
    "read_twice": product("z = x @ y\nreturn z.sum(1), z"),
    "one_column": problem(
        "return (x @ y).sum(1)", arguments="x, y", inputs="torch.randn(24, 16), torch.randn(16, 1)"
    ),
    "large": product("return (x @ y).relu().sum(1)", LARGE),
    "large_odd": product("return (x @ y).sum(1)", LARGE.replace("1000", "1001")),
}
LINKS = {
    "columns": "gemm(x, y) >> relu() >> reduce(sum, dim=1)",
    "rows_kept": "gemm(x, y) >> add(1) >> reduce(mean, dim=0, keepdim=true)",
    "largest": "gemm(x, y) >> reduce(max, dim=1)",
    "batch": "bmm(x, y) >> reduce(min, dim=1)",
    "squares": "gemm(x, y) >> square() >> reduce(sum, dim=1)",
    "magnitudes": "gemm(x, y) >> abs() >> reduce(sum, dim=0)",
    "tail": "gemm(x, y) >> reduce(sum, dim=1, keepdim=true)",
    "sequence": "bias(linear.bias) >> tanh() >> reduce(sum, dim=1)",
}
STAGES = ["sequence_middle", "both", "spread", "read_twice", "one_column"]


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Case]:
    return inspected(tmp_path_factory.mktemp("ending"), PROBLEMS)


def program(cases: dict[str, Case], name: str, target: Target = Target.HOST) -> str:
    return translate(name, cases[name][2], target).program


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_program_computes_what_the_problem_does(cases: dict[str, Case], name: str) -> None:
    assert_same(cases[name], program(cases, name), Policy.STRICT)


@pytest.mark.parametrize("name", LINKS)
def test_a_reduction_that_alone_reads_a_product_ends_its_chain(cases: dict[str, Case], name: str) -> None:
    assert LINKS[name] in program(cases, name)


@pytest.mark.parametrize("name", STAGES)
def test_any_other_reduction_is_a_stage(cases: dict[str, Case], name: str) -> None:
    text = program(cases, name)
    assert "= reduce(" in text
    assert ">> reduce(" not in text


@pytest.mark.parametrize("policy", list(Policy))
@pytest.mark.parametrize("name", ["columns", "large", "large_odd", "batch"])
def test_on_hopper_it_does_where_every_policy_multiplies_on_the_tensor_cores(
    cases: dict[str, Case], name: str, policy: Policy
) -> None:
    text = program(cases, name, Target.SM90A)
    assert (">> reduce(" in text) == name.startswith("large")
    checked = check(parse(text), cases[name][2].signature, Target.SM90A, policy)
    assert checked.stages[0].attributes["math"] != "f32" or not name.startswith("large")


def test_on_ampere_it_is_a_stage(cases: dict[str, Case]) -> None:
    text = program(cases, "large", Target.SM80)
    assert "= reduce(" in text
    assert check(parse(text), cases["large"][2].signature, Target.SM80, Policy.STRICT).outputs
