"""The process that is profiled: it loads a candidate, calls it warm, and calls it once more with the profiler on.

``python -m kernels.profiling.target FOLDER`` reads ``request.json`` there and leaves ``target.json``: the card's
name, or what the candidate raised. Inputs are random numbers of the signature's shapes: counters ask how a call works,
not whether it is right, so there is no reference here and nothing is compared. Work at load (``@once``) is not
profiled.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
import time
from pathlib import Path
from typing import Any

REQUEST, ANSWER, OBJECTS = "request.json", "target.json", "objects"
WARMUP_CALLS = 3
_MOST_OBJECT_BYTES = 256 * 2**20
_PATIENCE_S = 10.0


def _tensor(torch: Any, spec: dict[str, Any], device: str) -> Any:
    """Random values: normal ones of a float type, zeros and ones of any other (they may be positions in a table)."""
    from kernels.dtypes import DType

    kind = DType(spec["dtype"])
    dtype, shape = getattr(torch, kind.torch_name), tuple(spec["shape"])
    if kind.is_float:
        return torch.randn(shape, device=device).to(dtype)
    return torch.randint(0, 2, shape, device=device).to(dtype)


def _tensors(torch: Any, specs: list[dict[str, Any]], device: str) -> dict[str, Any]:
    return {spec["name"]: _tensor(torch, spec, device) for spec in specs}


def _objects_of_module(folder: Path) -> None:
    """Keep what a module's extensions were loaded from: the sandbox that they lie in ends with this process."""
    lines = Path("/proc/self/maps").read_text("utf-8").splitlines()
    mapped = {Path(line.split(None, 5)[5]) for line in lines if line.endswith(".so") and "/" in line}
    ours = tuple(str(Path(place).resolve()) for place in (sys.prefix, sys.base_prefix, "/usr", "/lib", "/lib64"))
    kept = folder / OBJECTS
    kept.mkdir(exist_ok=True)
    room = _MOST_OBJECT_BYTES
    for index, path in enumerate(sorted(mapped)):
        if not str(path.resolve()).startswith(ours) and path.is_file() and path.stat().st_size <= room:
            shutil.copy(path, kept / f"{index}.so")
            room -= path.stat().st_size


def _runner(subject: dict[str, Any], device: Any, parameters: dict[str, Any]) -> Any:
    if subject["kind"] == "plan":
        from kernels.harness.plan_form import plan_from_form
        from kernels.harness.plan_runner import PlanRunner

        return PlanRunner(plan_from_form(subject["plan"]), subject["artifacts"], device, parameters)
    from kernels.harness.source_runner import SourceRunner

    return SourceRunner(subject, device, parameters)


def _call_profiled(folder: Path) -> dict[str, str]:
    import torch

    from kernels.harness.devices import open_device

    form = json.loads((folder / REQUEST).read_text("utf-8"))
    signature = form["signature"]
    device = open_device(form["device"])
    with torch.no_grad():
        parameters = _tensors(torch, signature["parameters"], device.torch_device)
        runner = _runner(form["subject"], device, parameters)
        runner.load()
        inputs = list(_tensors(torch, signature["inputs"], device.torch_device).values())
        outputs = list(_tensors(torch, signature["outputs"], device.torch_device).values())
        binding = runner.bind(inputs, outputs)
        for _ in range(WARMUP_CALLS):
            binding()
            binding.release()
        device.synchronize()
        with _profiler(torch, form["device"]):
            binding()
            device.synchronize()
    if form["subject"]["kind"] != "plan":
        _objects_of_module(folder)
    return {"card": torch.cuda.get_device_name(0) if form["device"] == "cuda" else ""}


def _profiler(torch: Any, device: str) -> Any:
    """Where the profiler looks: between cudaProfilerStart and cudaProfilerStop."""
    import contextlib

    return torch.cuda.profiler.profile() if device == "cuda" else contextlib.nullcontext()


def main(arguments: list[str]) -> None:
    """``target FOLDER``. Exit status 1 where the candidate raised."""
    folder = Path(arguments[0])
    answer: dict[str, str] = {}
    try:
        answer = _call_profiled(folder)
    except Exception as error:  # noqa: BLE001 -- whatever a candidate raises is the answer
        from kernels.harness.session import failure

        answer = {key: str(value) for key, value in failure(error).items()}
    (folder / ANSWER).write_text(json.dumps(answer), "utf-8")
    code = 1 if "error" in answer else 0
    # The profiler wants an ordinary end; threads and destructors of a candidate must not put it off for long.
    threading.Thread(target=_end_anyway, args=(code,), daemon=True).start()
    sys.exit(code)


def _end_anyway(code: int) -> None:
    time.sleep(_PATIENCE_S)
    os._exit(code)


if __name__ == "__main__":
    main(sys.argv[1:])
