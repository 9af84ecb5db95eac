"""KernelBench's own evaluation of one file, in a process of its own. Imports nothing of this project.

    python kernelbench_child.py TASK.json RESULT.json

The task names KernelBench's source folder, a reference, a candidate and how many trials. What is called is its
``eval_kernel_against_ref``, then what ``scripts/run_and_check.py`` calls after it, ``measure_ref_program_time``.
Packages that KernelBench imports for other purposes (clients of model servers, a progress bar) and that are not
installed are replaced by empty ones. Its statistics function is watched, so that the single times are kept: the
statistics round to three digits; and when its timing function begins and ends, so that a clock can be read beside it.
Nothing else of it is changed.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import sys
import time
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

UNUSED = ("dotenv", "tqdm", "openai", "litellm", "requests", "datasets", "pydantic")


class _Model:
    """As much of pydantic's BaseModel as a record without validation needs."""

    def __init__(self, **given: Any) -> None:
        for kind in type(self).__mro__:
            for name in getattr(kind, "__annotations__", {}):
                if not hasattr(self, name) or isinstance(getattr(type(self), name, None), dict):
                    setattr(self, name, {})
        for name, value in given.items():
            setattr(self, name, value)


def _nothing(*given: Any, **named: Any) -> None:
    """Stands for a function that an evaluation never calls for its result."""


def stand_in(name: str) -> None:
    """An empty package under this name, unless it is installed."""
    if importlib.util.find_spec(name) is not None:
        return
    module = types.ModuleType(name)
    words = {"load_dotenv": _nothing, "tqdm": lambda items, **_: items, "OpenAI": object, "completion": _nothing,
             "load_dataset": _nothing, "BaseModel": _Model}  # fmt: skip
    for word, value in words.items():
        setattr(module, word, value)
    sys.modules[name] = module


def evaluate(task: dict[str, Any]) -> dict[str, Any]:
    """Import, evaluate, and time the reference as ``run_and_check`` does; every wall time in seconds."""
    began = time.monotonic()
    import torch

    sys.path.insert(0, task["kernelbench"])
    sys.path += task["more_paths"]
    for name in UNUSED:
        stand_in(name)
    if task["stand_in_for_a_card"]:
        _stand_in_for_a_card(torch)
    evaluation: Any = importlib.import_module("kernelbench.eval")
    timing: Any = importlib.import_module("kernelbench.timing")
    torch.backends.cudnn.allow_tf32 = task["tf32"]
    torch.cuda.synchronize()
    walls = {"import_s": time.monotonic() - began}
    reference, candidate = (Path(task[name]).read_text("utf-8") for name in ("reference", "candidate"))
    static = _static(candidate)
    device = torch.device("cpu" if task["stand_in_for_a_card"] else "cuda:0")
    times: list[list[float]] = []
    timing.get_timing_stats = _watched(timing.get_timing_stats, times)
    spans: list[tuple[float, float]] = []
    timing.time_execution_with_cuda_event = _spanned(timing.time_execution_with_cuda_event, spans)
    with _walled(walls, "evaluation_s"):
        result = evaluation.eval_kernel_against_ref(
            original_model_src=reference, custom_model_src=candidate, measure_performance=True,
            num_correct_trials=task["correct_trials"], num_perf_trials=task["perf_trials"],
            timing_method="cuda_event", build_dir=task["build_dir"], device=device,
        )  # fmt: skip
    answer = _verdict(result)
    answer |= {"candidate_ms": times[0] if times else None, "static": static}
    answer["candidate_span"] = spans[0] if times else None
    for compiled in (False, True) if task["compile"] else (False,):
        with _walled(walls, "compile_s" if compiled else "eager_s"):
            timing.measure_ref_program_time(
                "reference", reference, num_trials=task["perf_trials"], use_torch_compile=compiled, device=device
            )
        answer["compile_ms" if compiled else "eager_ms"] = times[-1] if times else None
    return {**answer, "walls": walls}


def _static(candidate: str) -> dict[str, list[str]]:
    """What the checker says that ``run_and_check`` asks first: errors, which end it there, and warnings."""
    checker: Any = importlib.import_module("kernelbench.kernel_static_checker")
    _, errors, warnings = checker.validate_kernel_static(candidate, backend="cuda", precision="fp32")
    return {"errors": list(errors), "warnings": list(warnings)}


def _verdict(result: Any) -> dict[str, Any]:
    if result is None:
        return {"compiled": None, "correct": None, "runtime_ms": None, "metadata": {}}
    metadata = {str(key): str(value)[:500] for key, value in result.metadata.items()}
    runtime = result.runtime if result.runtime > 0 else None
    return {
        "compiled": result.compiled, "correct": result.correctness, "runtime_ms": runtime, "metadata": metadata,
    }  # fmt: skip


def _watched(function: Any, times: list[list[float]]) -> Any:
    def watched(elapsed: list[float], *given: Any, **named: Any) -> Any:
        times.append(list(elapsed))
        return function(elapsed, *given, **named)

    return watched


def _spanned(function: Any, spans: list[tuple[float, float]]) -> Any:
    def spanned(*given: Any, **named: Any) -> Any:
        began = time.monotonic()
        found = function(*given, **named)
        spans.append((began, time.monotonic()))
        return found

    return spanned


@contextlib.contextmanager
def _walled(walls: dict[str, float], name: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    walls[name] = time.monotonic() - began


def _stand_in_for_a_card(torch: Any) -> None:
    """Answer what KernelBench asks of torch.cuda from the CPU. It tries this tool out; its times mean nothing."""

    class Event:
        def __init__(self, **_: Any) -> None:
            self.at = 0.0

        def record(self) -> None:
            self.at = time.perf_counter()

        def elapsed_time(self, other: Event) -> float:
            return (other.at - self.at) * 1e3

    cuda = torch.cuda
    cuda.is_available = lambda: True
    cuda.get_device_name = lambda *_, **__: "NVIDIA stand-in"
    cuda.Event = Event
    cuda.current_device = lambda: 0
    cuda.device = lambda *_: contextlib.nullcontext()
    for name in ("set_device", "synchronize", "empty_cache", "reset_peak_memory_stats", "manual_seed"):
        setattr(cuda, name, _nothing)


def main(task_file: str, result_file: str) -> None:
    """Write what came of it, an exception too: a candidate may do anything to this process."""
    task = json.loads(Path(task_file).read_text("utf-8"))
    began = time.monotonic()
    try:
        answer = evaluate(task)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the answer
        answer = {"error": f"{type(error).__name__}: {error}"[:1000]}
    answer["process_s"] = time.monotonic() - began
    Path(result_file).write_text(json.dumps(answer), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
