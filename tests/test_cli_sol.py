"""``mucutlass sol``: one line of JSON a problem, in order, failed ones too; and ``mucutlass peaks``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernels.problems.inspection import Inspection
from mucutlass_web.cli import peaks
from mucutlass_web.cli.main import main
from mucutlass_web.cli.sol import _InOrder
from sol.bounds import Device, card
from tests.problems.sources import GOOD, problem

ASKED = (
    "problem", "flops", "bytes", "floor_flops", "floor_bytes", "steering_bound_s", "floor_s", "bound_class",
    "unknown_ops",
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three problems, of which the second cannot be built."""
    level = tmp_path / "level1"
    level.mkdir()
    (level / "1_Product.py").write_text(problem("return x @ x.T", inputs="torch.randn(64, 32)"))
    (level / "2_Bad.py").write_text(problem("return x", init="raise ValueError('no such size')"))
    (level / "3_Scaled.py").write_text(problem("return x * 2", inputs="torch.randn(64, 32)"))
    return level


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_folder_gives_a_line_a_problem_in_order(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sol", str(folder), "--device", "h100", "--policy", "tf32", "--json", "--workers", "2"]) == 1
    first, bad, last = lines(capsys)
    assert [form["problem"] for form in (first, bad, last)] == ["L1/1", "L1/2", "L1/3"]
    assert all(name in form for form in (first, last) for name in ASKED)
    assert first["flops"] == first["matrix_flops"] == 2 * 64 * 64 * 32
    assert first["flops_by_type"] == {"matrix": {"f32": 2 * 64 * 64 * 32}, "vector": {}}
    assert first["bytes"] == 4 * (64 * 32 + 64 * 64)
    assert (first["level"], first["number"], first["name"]) == (1, 1, "1_Product")
    assert str(bad["error"]).startswith("problem-raised: ")
    assert "no such size" in str(bad["error"])
    assert last["bound_class"] == "memory"


def test_operations_come_on_request(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sol", str(folder / "1_Product.py"), "--device", "h100", "--json", "--ops"]) == 0
    ops = lines(capsys)[0]["ops"]
    assert isinstance(ops, list)
    assert [row["op"] for row in ops] == ["aten.permute.default", "aten.mm.default"]
    assert ops[1]["formula"] == "2·M·N·K = 2·64·64·32 = 262,144"
    assert main(["sol", str(folder / "1_Product.py"), "--device", "h100", "--ops"]) == 0
    assert "mm (matrix, f32): 2·M·N·K = 2·64·64·32 = 262,144" in capsys.readouterr().out


def test_files_and_folders_mix_and_an_unreadable_one_is_named(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = tmp_path / "good.py", tmp_path / "bad.py"
    good.write_text(GOOD)
    bad.write_text("class Model(:")
    assert main(["sol", str(bad), str(good), str(folder / "3_Scaled.py"), "--device", "a100", "--json"]) == 1
    found = lines(capsys)
    assert {str(form["problem"]): "error" in form for form in found} == {
        "bad": True,
        "good": False,
        "3_Scaled": False,
    }
    assert found[1]["size"] == "gpu"


def test_answers_wait_for_those_before_them() -> None:
    shown: list[int] = []
    in_order = _InOrder(lambda place, answer: shown.append(place))
    answer = Inspection("default", None, None, None)  # type: ignore[arg-type]
    for place in (2, 0, 3, 1):
        in_order(place, answer)
        assert shown == {2: [], 0: [0], 3: [0], 1: [0, 1, 2, 3]}[place]


def test_peaks_of_a_card_stand_beside_its_specification(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = card("h200")
    facts = {"clock_ghz": "1.455", "card": "h200-sxm"}
    measured = Device("NVIDIA H200", "cuda", {"bf16": 6.9e14}, told.vector_flops, 4.271e12, 7.9e12, 62914560,
                      "measured", "2026-01-01T00:00:00+00:00", facts)  # fmt: skip
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(peaks, "measure_card", lambda: measured)
    assert main(["peaks", "--device", "cuda"]) == 0
    text = capsys.readouterr().out
    assert "bf16: 690 TFLOP/s (specification 989.4 TFLOP/s)" in text
    assert "copy: 4.271 TB/s (specification 4.8 TB/s)" in text
    assert "cache: 7.9 TB/s within 62,914,560 B" in text
    assert "clock: 1.455 GHz under load" in text
    # What was measured is kept: the next call does not measure again.
    monkeypatch.setattr(peaks, "measure_card", lambda: pytest.fail("measured again"))
    assert peaks.device_named("cuda") == measured
