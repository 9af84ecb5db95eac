"""Which baselines there are, which a device has by default, and what each does to torch."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

from kernels.dtypes import DType
from kernels.harness import evaluate
from kernels.harness.baselines import (
    BaselineKind,
    UnknownBaseline,
    default_baselines,
    parse_baselines,
    quick_baselines,
    why_absent,
)
from kernels.harness.evaluation import EAGER, Outcome
from kernels.problems.inspection import Signature, TensorSpec
from tests.harness.conftest import MakeRequest


def _signature(dtype: DType) -> Signature:
    spec = TensorSpec("x", dtype, (4, 4))
    return Signature((spec,), (), (spec,), {})


def test_eager_is_a_default_everywhere_and_a_search_leaves_out_what_is_slow_to_get_ready() -> None:
    assert default_baselines("host") == (BaselineKind.EAGER,)
    assert default_baselines("cuda") == (BaselineKind.EAGER, BaselineKind.TF32, BaselineKind.COMPILE)
    assert quick_baselines("cuda") == (BaselineKind.EAGER, BaselineKind.TF32)
    assert BaselineKind.EAGER.full_name == EAGER == "torch eager"
    assert len({kind.full_name for kind in BaselineKind}) == len(BaselineKind)


def test_names_are_read_in_any_order_and_with_commas() -> None:
    assert parse_baselines(["compile,eager"]) == (BaselineKind.EAGER, BaselineKind.COMPILE)
    assert parse_baselines(["tf32", "best"]) == (BaselineKind.TF32, BaselineKind.BEST)
    assert parse_baselines(["none"]) == ()


@pytest.mark.parametrize("names", [["eagre"], ["none", "eager"], ["torch.compile"]])
def test_an_unknown_name_is_refused_with_those_that_exist(names: list[str]) -> None:
    with pytest.raises(UnknownBaseline) as refused:
        parse_baselines(names)
    assert "eager, tf32, compile, best" in str(refused.value)


def test_tf32_means_nothing_on_a_cpu_nor_for_halves() -> None:
    assert "CPU" in why_absent(BaselineKind.TF32, "host", _signature(DType.F32))
    assert "f32" in why_absent(BaselineKind.TF32, "cuda", _signature(DType.F16))
    assert why_absent(BaselineKind.TF32, "cuda", _signature(DType.F32)) == ""
    assert why_absent(BaselineKind.EAGER, "host", _signature(DType.F16)) == ""


class TestSettings:
    """What a search for torch's best settings may try."""

    def test_a_strict_policy_allows_no_lower_precision(self) -> None:
        from kernels.harness.baseline_runner import settings_for

        found = settings_for("cuda", "strict", {1, 2})
        assert [(one.tf32, one.half) for one in found] == [(False, "")]

    def test_half_and_channels_last_multiply(self) -> None:
        from kernels.harness.baseline_runner import settings_for

        found = settings_for("cuda", "half", {1, 4})
        assert len(found) == 6
        assert {one.half for one in found} == {"", "float16"}
        assert sum(one.channels_last for one in found) == 3

    def test_a_cpu_has_no_tf32(self) -> None:
        from kernels.harness.baseline_runner import settings_for

        assert not any(one.tf32 for one in settings_for("host", "half", {4}))

    def test_a_model_under_half_and_channels_last_gives_what_it_gave_to_the_halves_precision(self) -> None:
        import torch

        from kernels.harness.baseline_runner import Setting, under

        torch.manual_seed(3)
        model = torch.nn.Conv2d(3, 5, 3).eval()
        x = torch.randn(2, 3, 8, 8)
        with torch.no_grad():
            plain = model(x)
            (result,) = under(Setting("both", channels_last=True, half="bfloat16"), model)(x)
        assert result.dtype == torch.float32
        assert result.shape == plain.shape
        assert not torch.equal(result, plain)
        assert torch.allclose(result, plain, atol=0.05)
        assert model.weight.dtype == torch.float32, "the model itself is left as it was"


class TestCompile:
    """The baseline ``compile``; torch's own compiler takes a quarter of a minute at the least, so mostly without it."""

    @pytest.fixture
    def compiled(self, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
        """What a stand-in for torch.compile was called with, once it is called."""
        import torch

        calls: list[tuple[Any, ...]] = []

        def compile_model(model: Any) -> Any:
            def call(*arguments: Any) -> Any:
                calls.append(arguments)
                return model(*arguments) + 1

            return call

        monkeypatch.setattr(torch, "compile", compile_model)
        return calls

    def _runner(self, problem: Path, bias: Any) -> Any:
        from kernels.harness.baseline_runner import BaselineRunner
        from kernels.harness.devices import HostDevice

        form = {"path": str(problem), "size": "default", "baseline": "compile", "policy": "strict"}
        runner = BaselineRunner(form, {}, HostDevice(), {"bias": bias})
        runner.load()
        return runner

    def test_compiling_is_done_once_before_any_call_and_the_compiled_model_is_what_is_called(
        self, problem: Path, compiled: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        import torch
        from torch._inductor import config

        monkeypatch.setattr(config, "compile_threads", 8)
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        for name in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "TRITON_HOME"):
            monkeypatch.setenv(name, "of this machine")
            monkeypatch.delenv(name)
        x, bias = torch.randn(64, 96), torch.randn(96)
        runner = self._runner(problem, bias)
        assert runner.prepare([x]) == "inductor, default mode"
        assert [len(arguments) for arguments in compiled] == [1, 1, 1]
        assert all(arguments[0] is x for arguments in compiled), "on inputs as those that will be timed"
        assert config.compile_threads == 1, "no pool of processes"
        assert Path(os.environ["TORCHINDUCTOR_CACHE_DIR"]).parent == tmp_path
        other = torch.randn(64, 96)
        binding = runner.bind([other], [torch.empty(64, 96)])
        with torch.no_grad():
            binding()
        (seen,) = binding.outputs()
        assert torch.equal(seen, torch.relu(other + bias) + 1)

    @pytest.mark.slow
    def test_on_this_machine_it_is_measured_beside_eager(self, make_request: MakeRequest) -> None:
        kinds = (BaselineKind.EAGER, BaselineKind.COMPILE)
        evaluation = evaluate(make_request("bias_relu", baselines=kinds))
        assert evaluation.outcome is Outcome.PASSED, evaluation.detail
        name = BaselineKind.COMPILE.full_name
        compiled = evaluation.baseline(name)
        assert compiled is not None, evaluation.absent
        assert compiled.settings.startswith("inductor, default mode (ready in ")
        assert compiled.agrees, compiled.agrees_note
        assert compiled.count == 12
        assert evaluation.speedup(name) is not None
        assert evaluation.speedup(EAGER) is not None
        assert evaluation.absent == {}
        assert evaluation.spent_s[name] > 0
