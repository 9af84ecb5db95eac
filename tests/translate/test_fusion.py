"""What shares a stage and what does not, on small problems, and that the programs compute what the problems do."""

from __future__ import annotations

import pytest

from kernels.dsl import check, parse
from kernels.problems.files import find_problems, own_directory
from kernels.problems.inspection import Graph, Inspection, Node
from kernels.targets import Policy, Target
from kernels.translate import Translation, TranslationFailed, translate
from tests.problems.sources import problem
from tests.translate.comparing import Case, assert_same, inspected

LINEAR = "self.linear = nn.Linear(8, 16)"
CONV = "self.conv = nn.Conv2d(4, 6, 1)"
IMAGES = "torch.randn(2, 4, 5, 7)"

PROBLEMS = {
    "two_readers": problem("y = self.linear(x)\nreturn torch.relu(y), y * 2", init=LINEAR),
    "shared_tail": problem(
        "y = self.linear(x)\nreturn torch.softmax(torch.relu(y), 1) + torch.relu(y)", init=LINEAR
    ),
    "mish": problem("y = self.linear(x)\nreturn y * torch.tanh(F.softplus(y))", init=LINEAR),
    "reversed": problem("return 1.0 - 2.0 / (self.linear(x).exp() + 1.0)", init=LINEAR),
    "residual_scaled": problem(
        "return self.linear(x) + 0.5 * r",
        init=LINEAR,
        arguments="x, r",
        inputs="torch.randn(4, 8), torch.randn(4, 16)",
    ),
    "sequence": problem(
        "return F.gelu(self.linear(x)) + r",
        init=LINEAR,
        arguments="x, r",
        inputs="torch.randn(2, 3, 8), torch.randn(2, 3, 16)",
    ),
    "sequence_column": problem(
        "return self.linear(x) * m", init=LINEAR, arguments="x, m", inputs="torch.randn(2, 3, 8), torch.randn(3, 1)"
    ),
    "alpha_beta": problem(
        "return torch.addmm(c, a, b, beta=0.5, alpha=2.0)",
        arguments="a, b, c",
        inputs="torch.randn(4, 8), torch.randn(8, 6), torch.randn(4, 6)",
    ),
    "chained_transpose": problem(
        "return (a.T @ b).T", arguments="a, b", inputs="torch.randn(8, 4), torch.randn(8, 6)"
    ),
    "heads": problem(
        "q = self.linear(x).view(2, 3, 4, 4).transpose(1, 2)\nreturn (q @ q.transpose(-1, -2)).softmax(-1) @ q",
        init=LINEAR,
        inputs="torch.randn(2, 3, 8)",
    ),
    "masked": problem(
        "y = x @ x.transpose(1, 2)\nreturn y.masked_fill(m == 0, -1e9)",
        arguments="x, m",
        inputs="torch.randn(2, 4, 8), torch.ones(4, 4).tril()",
    ),
    "channels": problem(
        "return torch.relu(self.conv(x) * self.s)",
        init=CONV + "\nself.s = nn.Parameter(torch.randn(6, 1, 1))",
        inputs=IMAGES,
    ),
    "batch_norm": problem("return self.norm(x)", init="self.norm = nn.BatchNorm2d(4)", inputs=IMAGES),
    "pooled": problem("return F.max_pool2d(F.avg_pool2d(x, 2), 2)", inputs="torch.randn(2, 4, 8, 8)"),
    "transposed_conv": problem(
        "return self.conv(x)",
        init="self.conv = nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1)",
        inputs=IMAGES,
    ),
    "grouped_conv": problem(
        "return self.conv(x)",
        init="self.conv = nn.Conv2d(4, 8, 3, stride=2, dilation=2, padding=3, groups=2)",
        inputs=IMAGES,
    ),
    "strided": problem("return x[:, 1::2] + x[:, ::2]"),
    "split": problem("a, b = x.chunk(2, 1)\nreturn a * torch.sigmoid(b)"),
    "concatenated": problem("return torch.cat([x[:2], x[2:, :] * 2, x.flip(0)], 0)"),
    "argmax": problem("v, i = x.max(1)\nreturn i, v * 2"),
    "identity": problem("return x, x.T"),
    "lstm": problem(
        "return self.layer(x)[0]",
        init="self.layer = nn.LSTM(8, 5, 2, batch_first=True)",
        inputs="torch.randn(3, 6, 8)",
    ),
    "where": problem(
        "return torch.where(x > 0.5, x * 2, torch.zeros_like(x)).clamp(max=y)",
        arguments="x, y",
        inputs="torch.randn(4, 8), 1.5",
    ),
    "powers": problem("return x.abs().pow(1.5) + x ** 2 - x.abs() ** 0.5 + x ** 3"),
    "elu": problem("return F.elu(F.celu(F.selu(F.softplus(x, 2.0, 10.0)), 0.5), 1.3) + F.hardtanh(x, -0.2, 0.3)"),
    "unused": problem("return self.linear(x)", init=LINEAR + "\nself.spare = nn.Linear(3, 3)"),
    "integers": problem("return (x + 1) * 2 > 4", inputs="torch.randint(0, 5, (4, 8))"),
    "halves": problem("return torch.relu(x.half() @ x.half().T).float()"),
    "names": problem(
        "return acc + torch.relu(y1) + self.y2(acc)",
        arguments="acc, y1",
        init="self.y2 = nn.Linear(8, 8)",
        inputs="torch.randn(4, 8), torch.randn(4, 8)",
    ),
    "loss": problem(
        "return F.cross_entropy(x, t, label_smoothing=0.1)",
        arguments="x, t",
        inputs="torch.randn(4, 8), torch.randint(0, 8, (4,))",
    ),
}


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Case]:
    own = [(item.name, item.path) for item in find_problems(own_directory())]
    return inspected(tmp_path_factory.mktemp("problems"), PROBLEMS, own)


def translated(cases: dict[str, Case], name: str, target: Target = Target.HOST) -> Translation:
    return translate(name, cases[name][2], target)


def lines(cases: dict[str, Case], name: str) -> list[str]:
    return [line.strip() for line in translated(cases, name).program.splitlines()[1:]]


OWN = [item.name for item in find_problems(own_directory())]


@pytest.mark.parametrize("name", [*PROBLEMS, *OWN])
def test_the_program_computes_what_the_problem_does(cases: dict[str, Case], name: str) -> None:
    policy = Policy.HALF if name == "halves" else Policy.STRICT
    assert_same(cases[name], translated(cases, name).program, policy)


def test_a_product_with_two_readers_keeps_its_own_stage(cases: dict[str, Case]) -> None:
    assert lines(cases, "two_readers")[0] == "y1 = gemm(x, linear.weight.T) >> bias(linear.bias)"


def test_a_tail_ends_where_something_outside_reads_it(cases: dict[str, Case]) -> None:
    assert lines(cases, "shared_tail")[0] == "y1 = gemm(x, linear.weight.T) >> bias(linear.bias)"
    assert "= softmax(" in lines(cases, "shared_tail")[1]


def test_patterns_of_activations_get_their_name(cases: dict[str, Case]) -> None:
    assert lines(cases, "mish")[0].endswith(">> mish()")


def test_operands_on_the_left_use_the_reversed_links(cases: dict[str, Case]) -> None:
    assert lines(cases, "reversed")[0].endswith(">> exp() >> add(1) >> reciprocal() >> scale(2) >> rsub(1)")


def test_work_on_a_residual_goes_into_the_link(cases: dict[str, Case]) -> None:
    assert lines(cases, "residual_scaled")[0].endswith(">> add(r * 0.5)")


def test_a_tail_over_a_sequence_reads_its_operands_in_the_products_shape(cases: dict[str, Case]) -> None:
    assert lines(cases, "sequence")[0].endswith(">> gelu() >> add(r.reshape(6, 16))")


def test_an_operand_without_a_form_in_the_products_shape_ends_the_tail(cases: dict[str, Case]) -> None:
    assert lines(cases, "sequence_column")[1] == "y2 = map(y1.reshape(2, 3, 16) * m)"


def test_channel_parameters_enter_the_tail_of_a_pointwise_convolution(cases: dict[str, Case]) -> None:
    assert lines(cases, "channels")[0].endswith(">> mul(s.reshape(6, 1)) >> relu()")


def test_a_mask_becomes_one_and_zero(cases: dict[str, Case]) -> None:
    assert "torch." not in translated(cases, "masked").program


def test_unused_parameters_are_left_out(cases: dict[str, Case]) -> None:
    assert "spare" not in translated(cases, "unused").program


def test_inputs_with_words_of_the_language_are_renamed(cases: dict[str, Case]) -> None:
    head = translated(cases, "names").program.splitlines()[0]
    assert head.startswith("program names(acc_1: f32[4, 8], y1: f32[4, 8], y2.weight: f32[8, 8]")


def test_integer_work_goes_to_the_library(cases: dict[str, Case]) -> None:
    assert translated(cases, "integers").own == ()


@pytest.mark.parametrize("name", sorted(set(PROBLEMS) - {"halves", "integers"}))
def test_the_program_checks_for_sm_90a_too(cases: dict[str, Case], name: str) -> None:
    inspection = cases[name][2]
    program = translated(cases, name, Target.SM90A).program
    checked = check(parse(program), inspection.signature, Target.SM90A, Policy.TF32)
    assert checked.outputs


def test_it_says_why_there_is_no_program(cases: dict[str, Case]) -> None:
    whole = cases["unused"][2]
    untraced = Inspection("default", whole.signature, None, "DataDependent: item()")
    with pytest.raises(TranslationFailed, match=r"tracing failed \(DataDependent: item\(\)\)"):
        translate("p", untraced, Target.HOST)
    assert whole.graph is not None
    strange = Node("odd", "aten.odd.default", ({"ref": "x"},), {}, whole.graph.nodes[-1].results)
    graph = Graph((strange,), ({"ref": "odd"},), {})
    with pytest.raises(TranslationFailed, match=r"aten\.odd\.default"):
        translate("p", Inspection("default", whole.signature, graph, None), Target.HOST)
