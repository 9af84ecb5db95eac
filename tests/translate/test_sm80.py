"""First programs for Ampere cards: every stored problem has one that the checker takes and the generator writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernels import records
from kernels.codegen import emit
from kernels.dsl import check, parse
from kernels.problems.inspection import Inspection
from kernels.targets import Policy, Target
from kernels.translate import translate

DATA = Path(__file__).parents[1] / "problems/data"
NAMES = sorted(path.stem for path in DATA.glob("*.json"))


@pytest.mark.parametrize("policy", list(Policy))
@pytest.mark.parametrize("name", NAMES)
def test_a_stored_problem_has_a_program_with_code_for_each_own_stage(name: str, policy: Policy) -> None:
    inspection = records.loads((DATA / f"{name}.json").read_text(encoding="utf-8"), Inspection)
    translation = translate(name, inspection, Target.SM80)
    checked = check(parse(translation.program), inspection.signature, Target.SM80, policy)
    emission = emit(checked)
    assert {stage for unit in emission.units for stage in unit.stages} == set(translation.own)
    ways = {stage.attributes["math"] for stage in checked.stages if stage.op in ("gemm", "bmm")}
    assert ways <= ({"tf32x3", "f32"} if policy is Policy.STRICT else {"tf32"})
