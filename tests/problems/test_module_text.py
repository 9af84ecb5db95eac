"""The first Python candidate: the problem's module under its new name, for each of our own problems too."""

from __future__ import annotations

import ast

import pytest

from kernels.candidates import check_python
from kernels.problems.files import ProblemPath, find_problems, own_directory
from kernels.problems.module_text import module_text

SOURCE = '''"""Model of a é Model."""
import torch

SIZES = {"cpu": {"N": 2}}
N: int = 4  # Model
LIMIT = "Model"


@torch.jit.ignore
def helper(x):
    return x


class Model(torch.nn.Module):
    def __init__(self):
        é = "é"; super(Model, self).__init__()

    def forward(self, x):
        return helper(x)


def get_inputs():
    return [torch.randn(N)]


def get_init_inputs():
    return []
'''


def test_the_module_stays_and_what_makes_its_inputs_goes() -> None:
    text = module_text(SOURCE)
    assert text.startswith('"""Model of a é Model."""\nimport torch\n\nN: int = 4  # Model\nLIMIT = "Model"\n')
    assert "class ModelNew(torch.nn.Module):" in text
    assert 'é = "é"; super(ModelNew, self).__init__()' in text
    assert "@torch.jit.ignore\ndef helper(x):" in text
    assert not any(name in text for name in ("get_inputs", "get_init_inputs", "SIZES"))
    assert text.endswith("return helper(x)\n")


@pytest.mark.parametrize("found", find_problems(own_directory()), ids=lambda found: found.path.stem)
def test_each_own_problem_gives_a_candidate(found: ProblemPath) -> None:
    text = module_text(found.path.read_text(encoding="utf-8"))
    check_python(text)
    assert not [
        node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef) and node.name == "Model"
    ]
