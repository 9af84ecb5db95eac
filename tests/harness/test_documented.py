"""The sources that docs/candidates.md shows are whole: each passes as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kernels.candidates import built, prepare
from kernels.codegen.emission import Emission
from kernels.harness import evaluate
from kernels.harness.evaluation import Outcome
from kernels.languages import Language
from kernels.targets import Policy, Target
from kernels.toolchain import Cache, available, build
from kernels.toolchain.report import BuildOutcome
from tests.harness.conftest import MakeRequest
from tests.harness.programs import SIGNATURE

TEXT = (Path(__file__).resolve().parent.parent.parent / "docs" / "candidates.md").read_text()
WHOLE = {
    Language.PY: re.findall(r"```python\n(.*?)```", TEXT, re.S)[0],
    Language.CPP: re.findall(r"```c\+\+\n(#include.*?)```", TEXT, re.S)[0],
    Language.CU: re.findall(r"```cuda\n(.*?)```", TEXT, re.S)[0],
}


@pytest.mark.parametrize("language", [Language.PY, Language.CPP])
def test_a_documented_source_passes(make_request: MakeRequest, tmp_path: Path, language: Language) -> None:
    store, artifacts = Cache(tmp_path / "cache"), {}
    prepared = prepare(WHOLE[language], language, SIGNATURE, Target.HOST, Policy.STRICT)
    if isinstance(prepared, Emission):
        report = build(prepared, cache=store)
        assert (report.outcome, report.units[0].warnings) == (BuildOutcome.BUILT, ()), report.units[0].log
        artifacts = {unit.symbol: store.path(unit.artifact) for unit in report.units if unit.artifact}
    evaluation = evaluate(make_request(candidate=built(prepared, artifacts)))
    assert (evaluation.outcome, evaluation.detail) == (Outcome.PASSED, "")


@pytest.mark.nvcc
@pytest.mark.skipif(available(Target.SM90A) is None, reason="there is no nvcc")
def test_the_documented_cuda_source_is_built(tmp_path: Path) -> None:
    prepared = prepare(WHOLE[Language.CU], Language.CU, SIGNATURE, Target.SM90A, Policy.STRICT)
    assert isinstance(prepared, Emission)
    report = build(prepared, cache=Cache(tmp_path / "cache"))
    assert report.outcome is BuildOutcome.BUILT, report.units[0].log
