"""The suite for the card is sound where there is none: every program checks, generates, and means what it says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernels.codegen import emit
from tests.gpu.case import Case
from tests.gpu.programs import CASES
from tests.gpu.run_suite import check_case, main, row

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_program_generates_code_and_its_reference_has_the_results_shape(case: Case) -> None:
    checked = check_case(case)
    emission = emit(checked)
    includes_cutlass = any("cutlass/cutlass.h" in unit.source for unit in emission.units)
    assert includes_cutlass == case.collective
    tensors = {
        name: torch.empty(shape, device="meta", dtype=torch.float64) for name, (_, shape) in case.tensors.items()
    }
    made = case.reference(torch.nn.functional, **tensors)
    results = made if isinstance(made, tuple) else (made,)
    assert [tuple(result.shape) for result in results] == [value.shape for value in checked.outputs]


def test_the_suite_covers_every_kind_of_code() -> None:
    texts = "\n".join(case.text for case in CASES.values())
    words = (
        "cooperative",
        "pingpong",
        "streamk",
        "cluster",
        "swizzle",
        "raster",
        "stages",
        "acc(f16)",
        "math(f32)",
        "softmax(",
        "layer_norm(",
        "rms_norm(",
        "reduce(",
        "warps(",
        "split(",
        "shared(",
    )
    assert [word for word in words if word not in texts] == []
    assert len(CASES) >= 40


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a card here, and the program would pass")
def test_a_failing_program_is_a_row_and_not_the_end(tmp_path: Path) -> None:
    (tmp_path / "cast_back.json").write_text(json.dumps({"plan": {}}), encoding="utf-8")
    report = tmp_path / "report.json"
    assert main(["--cache", str(tmp_path), "--only", "cast_back", "--json", str(report)]) == 1
    answer = json.loads(report.read_text(encoding="utf-8"))["cases"]["cast_back"]
    assert not answer["passed"]
    assert row("cast_back", answer).startswith("cast_back                        FAILED")
