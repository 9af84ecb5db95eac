"""Problems' inspections, and a translated program beside what the problem itself computes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import torch

from kernels.dsl import check, parse
from kernels.problems import load
from kernels.problems.inspect import inspect_many
from kernels.problems.inspection import Inspection
from kernels.targets import Policy, Target
from tests.translate.interpreter import Interpreter

Case: TypeAlias = "tuple[Path, str, Inspection]"


def inspected(folder: Path, texts: Mapping[str, str], own: Sequence[tuple[str, Path]] = ()) -> dict[str, Case]:
    """``texts`` by name, written to ``folder``, and our ``own`` problems in their sizes for a CPU."""
    names, paths, sizes = [], [], []
    for name, text in texts.items():
        path = folder / f"{name}.py"
        path.write_text(text)
        names.append(name)
        paths.append(path)
        sizes.append("default")
    for name, path in own:
        names.append(name)
        paths.append(path)
        sizes.append("cpu")
    made = {}
    for name, path, size, found in zip(names, paths, sizes, inspect_many(paths, sizes), strict=True):
        assert isinstance(found, Inspection), found
        made[name] = (path, size, found)
    return made


def assert_same(case: Case, program: str, policy: Policy) -> None:
    """The program, run by the interpreter, gives what the problem gives."""
    path, size, inspection = case
    checked = check(parse(program), inspection.signature, Target.HOST, policy)
    module = load.load_module(path, size)
    model = load.build_model(module, 7)
    arguments = load.build_inputs(module, 8)
    tensors = [value for value in arguments if isinstance(value, torch.Tensor)]
    with torch.no_grad():
        made = Interpreter(checked, [t.clone() for t in tensors], dict(model.state_dict())).run()
        expected, _ = torch.utils._pytree.tree_flatten(model(*arguments))
    assert len(made) == len(expected)
    for one, other in zip(made, expected, strict=True):
        assert one.dtype == other.dtype, program
        torch.testing.assert_close(one, other, rtol=2e-4, atol=2e-4, msg=lambda text: f"{text}\n{program}")
