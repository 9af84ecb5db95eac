"""The bounds over graphs that the inspector really wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernels.problems.inspection import Inspection
from kernels.records import loads
from kernels.targets import Policy
from sol.bounds import bound, card, count

RECORDS = sorted((Path(__file__).parent.parent / "problems" / "data").glob("*.json"))


def test_there_are_inspected_problems() -> None:
    assert len(RECORDS) >= 16


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_every_operation_is_known_and_both_bounds_stand(path: Path) -> None:
    problem = loads(path.read_text(encoding="utf-8"), Inspection)
    work = count(problem)
    assert work.unknown_ops == ()
    assert work.flops > 0
    signature = problem.signature
    assert work.output_bytes == sum(spec.bytes for spec in signature.outputs)
    # What a norm keeps for later, no result depends on.
    kept = ("running_mean", "running_var", "num_batches_tracked")
    read = [spec for spec in signature.parameters if not spec.name.endswith(kept)]
    assert work.input_bytes == sum(spec.bytes for spec in (*signature.inputs, *read))
    for policy in Policy:
        found = bound(work, problem, card("h100"), policy)
        assert 0 < found.floor_s <= found.steering_s
        assert found.steering_s == max(found.compute_s, found.memory_s)
