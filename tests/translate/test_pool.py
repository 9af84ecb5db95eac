"""Pools, borders and upsampling: which stages they become, what joins them, and that the programs compute the same."""

from __future__ import annotations

import pytest

from kernels.dsl import check, parse
from kernels.targets import Policy, Target
from kernels.translate import Translation, translate
from tests.problems.sources import problem
from tests.translate.comparing import Case, assert_same, inspected

IMAGE, ROW, VOLUME = "torch.randn(2, 4, 12, 14)", "torch.randn(2, 4, 50)", "torch.randn(2, 4, 6, 6, 6)"


def image(body: str, init: str = "pass") -> str:
    return problem(body, init=init, inputs=IMAGE)


PROBLEMS = {
    "max": image("return self.pool(x)", "self.pool = nn.MaxPool2d(3, 2, 1)"),
    "max_plain": image("return F.max_pool2d(x, 2).relu() * 2 + 1"),
    "max_values": image("return F.max_pool2d(x, 2, return_indices=True)[0]"),
    "max_row": problem("return F.max_pool1d(x, 8, 1, 4, 3)", inputs=ROW),
    "max_volume": problem("return F.max_pool3d(x, 3, 2, 1, 2, True)", inputs=VOLUME),
    "max_pairs": image("return F.max_pool2d(x, (2, 3), (1, 2), (1, 0))"),
    "avg_row": problem("return F.avg_pool1d(x, 8, 1, 4)", inputs=ROW),
    "avg": image("return F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False).tanh()"),
    "avg_volume": problem("return F.avg_pool3d(x, 2)", inputs=VOLUME),
    "alone": problem("return F.max_pool2d(x, 2)", inputs="torch.randn(4, 12, 14)"),
    "turned": problem("return F.avg_pool2d(x.permute(0, 3, 1, 2), 2) + 1", inputs="torch.randn(2, 8, 6, 5)"),
    "turned_shape": problem(
        "return F.avg_pool2d(x.permute(0, 3, 1, 2), 2).flatten(1)", inputs="torch.randn(2, 8, 6, 5)"
    ),
    "strided": image("return F.max_pool2d(x.transpose(2, 3), 2)"),
    "adaptive": image("return F.adaptive_avg_pool2d(x, (3, 7)).exp()"),
    "adaptive_max": image("return F.adaptive_max_pool2d(x, (3, 7))"),
    "adaptive_one": image("return F.adaptive_avg_pool2d(x, 1).flatten(1)"),
    "adaptive_max_one": problem("return F.adaptive_max_pool1d(x, 1)", inputs=ROW),
    "global": image("return F.avg_pool2d(x, (12, 14))"),
    "border": image("return F.pad(x, (1, 2, 0, 3), value=1.5).relu()"),
    "border_zeros": image("return F.max_pool2d(F.pad(x, (1, 1)), 2)"),
    "border_integers": problem("return F.pad(x, (1, 2), value=-1)", inputs="torch.randint(0, 9, (4, 8))"),
    "upsampled": image("return F.interpolate(x.relu(), scale_factor=2) + 1"),
    "with_bias": image("return F.max_pool2d(x, 2) + self.b", "self.b = nn.Parameter(torch.randn(4, 1, 1))"),
    "halves": image("return F.max_pool2d(x.half(), 2).float()"),
    "indices": image("v, i = F.max_pool2d(x, 2, return_indices=True)\nreturn v, i"),
    "divisor": image("return F.avg_pool2d(x, 2, divisor_override=3)"),
    "adaptive_uneven": image("return F.adaptive_avg_pool2d(x, (5, 3))"),
    "border_cut": image("return F.pad(x, (-1, 2))"),
    "upsampled_uneven": image("return F.interpolate(x, scale_factor=1.5)"),
}
LIBRARY = {"indices", "divisor", "adaptive_uneven", "border_cut", "upsampled_uneven"}
"""Problems that keep a torch stage."""

BODIES = {
    "max": ["y1 = max_pool2d(x, 3, stride=2, padding=1)"],
    "max_plain": ["y1 = max_pool2d(x, 2) >> relu() >> scale(2) >> add(1)"],
    "max_values": ["y1 = max_pool2d(x, 2)"],
    "max_row": ["y1 = max_pool1d(x, 8, stride=1, padding=4, dilation=3)"],
    "max_volume": ["y1 = max_pool3d(x, 3, stride=2, padding=1, dilation=2, ceil_mode=true)"],
    "max_pairs": ["y1 = max_pool2d(x, (2, 3), stride=(1, 2), padding=(1, 0))"],
    "avg_row": ["y1 = avg_pool1d(x, 8, stride=1, padding=4)"],
    "avg": ["y1 = avg_pool2d(x, 3, stride=2, padding=1, ceil_mode=true, count_include_pad=false) >> tanh()"],
    "alone": ["y1 = max_pool2d(x.reshape(1, 4, 12, 14), 2)"],
    "turned": ["y1 = avg_pool2d(x.permute(0, 3, 1, 2), 2) >> add(1)"],
    "strided": ["y1 = map(x.T)", "y2 = max_pool2d(y1, 2)"],
    "adaptive": ["y1 = avg_pool2d(x, (4, 2)) >> exp()"],
    "adaptive_max": ["y1 = max_pool2d(x, (4, 2))"],
    "adaptive_one": ["y1 = reduce(x, mean, dims=2, keepdim=true)"],
    "global": ["y1 = reduce(x, mean, dims=2, keepdim=true)"],
    "border": ["y1 = pad(x, (1, 2, 0, 3), value=1.5)", "y2 = map(relu(y1))"],
    "border_zeros": ["y1 = pad(x, (1, 1))", "y2 = max_pool2d(y1, 2)"],
    "with_bias": ["y1 = max_pool2d(x, 2) >> add(b)"],
}
"""The first lines of a program's body."""


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Case]:
    return inspected(tmp_path_factory.mktemp("pools"), PROBLEMS)


def translated(cases: dict[str, Case], name: str, target: Target = Target.HOST) -> Translation:
    return translate(name, cases[name][2], target)


def policy(name: str) -> Policy:
    return Policy.HALF if name == "halves" else Policy.STRICT


@pytest.mark.parametrize("name", sorted(PROBLEMS))
def test_the_program_computes_what_the_problem_does(cases: dict[str, Case], name: str) -> None:
    assert_same(cases[name], translated(cases, name).program, policy(name))


@pytest.mark.parametrize("name", sorted(BODIES))
def test_the_body_is_what_a_person_would_write(cases: dict[str, Case], name: str) -> None:
    lines = [line.strip() for line in translated(cases, name).program.splitlines()[1:]]
    assert lines[: len(BODIES[name])] == BODIES[name]


@pytest.mark.parametrize("name", sorted(set(PROBLEMS) - LIBRARY))
@pytest.mark.parametrize("target", [Target.HOST, Target.SM90A])
def test_pools_and_borders_need_no_library_and_check(cases: dict[str, Case], name: str, target: Target) -> None:
    translation = translated(cases, name, target)
    assert translation.library == ()
    assert check(parse(translation.program), cases[name][2].signature, target, policy(name)).stages


@pytest.mark.parametrize("name", sorted(LIBRARY))
def test_what_has_no_own_kernel_stays_with_the_library(cases: dict[str, Case], name: str) -> None:
    assert translated(cases, name).library
