"""Export programs for a card and let KernelBench's own evaluation judge the files.

    python -m tests.gpu.export_check --kernelbench PATH/src [--arch sm_90a] [02_gemm_bias_relu ...]

Needs a card, nvcc and KernelBench's source folder. Exit status 1 where a file does not pass.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
from pathlib import Path

from kernels.problems.files import own_directory
from kernels.problems.inspect import inspect
from kernels.targets import Target
from kernels.translate import translate
from mucutlass_web.cli.main import main as mucutlass

PROBLEMS = ["02_gemm_bias_relu", "14_mlp", "17_softmax", "18_layer_norm", "23_conv2d_bias_relu"]


def judge(name: str, target: Target, folder: Path) -> bool:
    """Export one of our own problems' first programs and evaluate it; prints the verdict."""
    eval_kernel_against_ref = importlib.import_module("kernelbench.eval").eval_kernel_against_ref
    problem, program, out = own_directory() / f"{name}.py", folder / f"{name}.mu", folder / f"{name}.py"
    inspection = inspect(problem, "gpu")
    program.write_text(translate(name, inspection, target).program)
    if mucutlass(["export", str(program), "--problem", str(problem), "-o", str(out), "--arch", target.value]):
        return False
    # KernelBench knows no sizes: the reference gets the constants of the exported one.
    reference = problem.read_text() + "\nglobals().update(SIZES['gpu'])\n"
    result = eval_kernel_against_ref(
        reference, out.read_text(), num_correct_trials=5, num_perf_trials=50, measure_performance=True,
        build_dir=str(folder / "builds"),
    )  # fmt: skip
    passed = result is not None and result.compiled and result.correctness
    print(name, "passed" if passed else "FAILED", result)
    return bool(passed)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("problems", nargs="*", default=PROBLEMS)
    parser.add_argument("--kernelbench", type=Path, required=True)
    parser.add_argument("--arch", type=Target, default=Target.SM90A)
    options = parser.parse_args()
    sys.path.insert(0, str(options.kernelbench))
    with tempfile.TemporaryDirectory() as folder:
        verdicts = [judge(name, options.arch, Path(folder)) for name in options.problems]
    return 0 if all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
