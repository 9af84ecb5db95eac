"""``mucutlass audit``: its lines, its exit status, and files that are none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kernels.harness.correctness import IncorrectReason
from kernels.harness.evaluation import Check, Evaluation, EvaluationRequest, Outcome
from kernels.problems.inspection import Inspection
from mucutlass_web.cli import audit as audit_module
from mucutlass_web.cli import auditing, evaluating
from mucutlass_web.cli.main import main
from tests.audit.corpus import FOLDER, SIGNATURES

CHEAT = FOLDER / "cheats" / "cache_pointer.py"
HONEST = FOLDER / "honest" / "conv3d_nn.py"
PROBLEM = FOLDER / "problems" / "linear.py"


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_line_a_file_with_evidence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", str(CHEAT), str(HONEST), "--json"]) == 0
    cheat, honest = lines(capsys)
    assert (cheat["file"], cheat["outcome"], honest["outcome"]) == (str(CHEAT), "severe", "clean")
    worst = max(cheat["flags"], key=lambda flag: (flag["severity"] == "severe", flag["confidence"]))
    assert set(worst) == {"detector", "trick", "severity", "confidence", "evidence"}
    assert worst["trick"] == "cache_by_pointer"
    assert worst["evidence"]["places"][0]["first"] > 1
    assert cheat["evaluation"] is None


def test_people_read_a_line_a_flag_the_gravest_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", str(CHEAT)]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == f"{CHEAT}: severe"
    assert shown[1].startswith("  severe    5 cache_by_pointer (90%)")


def test_the_problem_shows_what_is_the_reference_again(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Looked:
        signature = SIGNATURES["linear"]

    monkeypatch.setattr(audit_module, "inspect_problem", lambda *_: Looked)
    file = FOLDER / "cheats" / "resubmits.py"
    assert main(["audit", str(file), "--problem", str(PROBLEM), "--json"]) == 0
    (line,) = lines(capsys)
    assert "resubmits_reference" in {flag["trick"] for flag in line["flags"]}


BAD = {
    "nul.py": b"import torch\0\n",
    "latin.py": b"# \xff\xfe\n",
    "long.cu": b"x" * (5 * 2**20),
    "deep.py": b"x = " + b"(" * 3000 + b")" * 3000,
    "deep.mu": b"program p(x: f32[4]) -> f32[4]\n  y = map("
    + b"(" * 3000
    + b"x"
    + b")" * 3000
    + b")\n  return y\n",
    "syntax.mu": b"program",
    "empty.cpp": b"",
    "words.txt": b"hello",
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_is_none_is_refused_and_the_others_are_audited(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    (tmp_path / name).write_bytes(BAD[name])
    assert main(["audit", str(tmp_path / name), str(CHEAT), "--json"]) == 1
    bad, good = lines(capsys)
    assert (bad["outcome"], bad["flags"], good["outcome"]) == ("refused", [], "severe")
    assert bad["error"]


@pytest.mark.parametrize("path", ["/nowhere.py", "/dev/zero.py", "/proc/self"])
def test_what_cannot_be_read_is_refused(capsys: pytest.CaptureFixture[str], path: str) -> None:
    assert main(["audit", path]) == 1
    assert path in capsys.readouterr().err


def test_evaluating_needs_a_problem() -> None:
    with pytest.raises(SystemExit) as ended:
        main(["audit", str(CHEAT), "--evaluate"])
    assert ended.value.code == 2


def test_an_evaluation_adds_what_the_harness_found(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The harness itself is tested elsewhere; here its record is made up."""
    asked: list[EvaluationRequest] = []

    def evaluated(request: EvaluationRequest, **_: object) -> Evaluation:
        asked.append(request)
        check = Check("inputs unchanged", 1.0, 0.0, False, "round 1: the call changed its inputs")
        reason = IncorrectReason.INPUTS_CHANGED
        return Evaluation(Outcome.INCORRECT, "", (check,), None, (), None, (), None, None, 1.0, reason=reason)

    looked = Inspection("default", SIGNATURES["linear"], None, "not traced")
    monkeypatch.setenv("MUCUTLASS_BUILD_CACHE", str(tmp_path))
    monkeypatch.setattr(audit_module, "inspect_problem", lambda *_, **__: looked)
    monkeypatch.setattr(evaluating, "inspect_problem", lambda *_, **__: looked)
    monkeypatch.setattr(auditing, "evaluate", evaluated)
    assert main(["audit", str(HONEST), "--problem", str(PROBLEM), "--evaluate", "--json"]) == 0
    (line,) = lines(capsys)
    assert (line["outcome"], line["evaluation"]) == ("severe", "incorrect")
    assert ("checks", "input_mutation") in {(flag["detector"], flag["trick"]) for flag in line["flags"]}
    assert asked[0].device == "host"
