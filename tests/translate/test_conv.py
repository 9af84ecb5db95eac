"""Convolutions as own stages with their tails, and whether the dominating operation is in an own stage."""

from __future__ import annotations

import pytest

from kernels.dsl import check, parse
from kernels.targets import Policy, Target
from kernels.translate import translate
from tests.problems.sources import problem
from tests.translate.comparing import Case, assert_same, inspected

IMAGES = "torch.randn(2, 4, 8, 7)"
PROBLEMS = {
    "tail": problem(
        "return torch.relu(self.c(x)) + self.s",
        init="self.c = nn.Conv2d(4, 6, 3)\nself.s = nn.Parameter(torch.randn(6, 1, 1))",
        inputs=IMAGES,
    ),
    "grouped": problem(
        "return self.c(x)",
        init="self.c = nn.Conv2d(4, 8, (3, 2), stride=(2, 1), padding=1, dilation=2, groups=2, bias=False)",
        inputs=IMAGES,
    ),
    "turned": problem(
        "return torch.tanh(self.c(x))",
        init="self.c = nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1)",
        inputs=IMAGES,
    ),
    "line": problem("return self.c(x).mean(-1)", init="self.c = nn.Conv1d(4, 6, 3)", inputs="torch.randn(2, 4, 9)"),
    "volume": problem(
        "return self.c(x)", init="self.c = nn.ConvTranspose3d(4, 3, 2)", inputs="torch.randn(1, 4, 3, 4, 5)"
    ),
    "channels_innermost": problem(
        "return torch.relu(self.c(x.permute(0, 3, 1, 2)))", init="self.c = nn.Conv2d(7, 6, 3)", inputs=IMAGES
    ),
    "one_pixel": problem(
        "return self.c(x)", init="self.c = nn.ConvTranspose2d(8, 4, 3)", inputs="torch.randn(2, 8, 1, 1)"
    ),
    "sorted": problem("return torch.sort(x, 1)[0] + x.sum()"),
    "sorted_product": problem("return torch.sort(self.l(x), 1)[0]", init="self.l = nn.Linear(8, 8)"),
    "doubles": problem(
        "return self.c(x)",
        init="self.c = nn.Conv2d(4, 6, 3, dtype=torch.float64)",
        inputs="torch.randn(2, 4, 8, 7, dtype=torch.float64)",
    ),
    "view": problem("return x.reshape(8, 4)"),
}
CONVOLUTIONS = ("tail", "grouped", "turned", "line", "volume", "channels_innermost", "one_pixel")


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Case]:
    return inspected(tmp_path_factory.mktemp("problems"), PROBLEMS)


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_the_program_computes_what_the_problem_does(cases: dict[str, Case], name: str) -> None:
    made = translate(name, cases[name][2], Target.HOST)
    assert made.library == ()
    assert_same(cases[name], made.program, Policy.STRICT)


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_the_program_checks_for_sm_90a(cases: dict[str, Case], name: str) -> None:
    made = translate(name, cases[name][2], Target.SM90A)
    assert made.dominant_in_own is True
    assert check(parse(made.program), cases[name][2].signature, Target.SM90A, Policy.TF32).outputs


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("tail", "y1 = conv2d(x, c.weight) >> bias(c.bias) >> relu() >> add(s)"),
        ("grouped", "y1 = conv2d(x, c.weight, stride=(2, 1), padding=1, groups=2, dilation=2)"),
        (
            "turned",
            "y1 = conv_transpose2d(x, c.weight, stride=2, padding=1, output_padding=1) >> bias(c.bias) >> tanh()",
        ),
        ("volume", "y1 = conv_transpose3d(x, c.weight) >> bias(c.bias)"),
        ("one_pixel", "y1 = conv_transpose2d(x, c.weight).layout(row_major) >> bias(c.bias)"),
    ],
)
def test_a_convolution_takes_its_bias_and_its_tail(cases: dict[str, Case], name: str, line: str) -> None:
    assert translate(name, cases[name][2], Target.HOST).program.splitlines()[1].strip() == line


@pytest.mark.parametrize(
    ("name", "expected"),
    [("tail", True), ("sorted", False), ("sorted_product", True), ("doubles", False), ("view", None)],
)
def test_it_says_whether_the_dominating_operation_is_in_an_own_stage(
    cases: dict[str, Case], name: str, expected: bool | None
) -> None:
    assert translate(name, cases[name][2], Target.HOST).dominant_in_own is expected
