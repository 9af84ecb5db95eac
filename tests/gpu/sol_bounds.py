"""Bounds on a card: its measured peaks beside the specification, and plain kernels that no floor may accuse.

    python -m tests.gpu.sol_bounds --json FILE      # needs a card and torch; about a minute

Checked: no measured rate exceeds the specification at the highest clock; the L2 is faster than memory; library
products and copies run no faster than their floor, and the floor is at least 0.75 of their time. A floor holds at the
highest clock, which the card's power limit does not let a product keep: its share is taken from calls one after another
for a second, at the clock that was read meanwhile. A product with a short sum, mostly the writing of its result, need
only stay above its floor.
Exit status 1 where a case fails.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kernels.harness.nvml import Card
from kernels.problems.inspect import inspect_many
from kernels.problems.inspection import Inspection
from kernels.records import to_json
from kernels.targets import Policy
from sol.bounds import Bounds, Device, bound, count
from sol.bounds.cuda import measure_card
from sol.bounds.devices import specification

MEANS_SOMETHING = 0.75
_FLUSH_BYTES = 256 * 2**20
_CALLS = 60
_SETTLING_S, _STEADY_S, _READ_EVERY_S = 0.7, 1.0, 0.05
"""A card's power limit takes a while to set its clock, and NVML's reading of it to follow."""


@dataclass(frozen=True, slots=True)
class Case:
    """A reference in one line over ``a`` and ``b``, as text and as what runs; and the policy it is bounded under."""

    name: str
    result: str
    shapes: tuple[tuple[int, ...], ...]
    dtype: str
    policy: Policy
    run: Callable[..., Any]
    plain: bool = True

    def source(self) -> str:
        """The problem file."""
        names = ", ".join("ab"[: len(self.shapes)])
        made = ", ".join(f"torch.rand({shape}, dtype=torch.{self.dtype}) - 0.5" for shape in self.shapes)
        return (
            "import torch\n\n\nclass Model(torch.nn.Module):\n"
            f"    def forward(self, {names}):\n        return {self.result}\n\n\n"
            f"def get_inputs():\n    return [{made}]\n\n\ndef get_init_inputs():\n    return []\n"
        )


def _product(name: str, m: int, n: int, k: int, dtype: str, policy: Policy) -> Case:
    return Case(name, "a @ b", ((m, k), (k, n)), dtype, policy, lambda a, b: a @ b)


CASES = (
    _product("bf16_4096", 4096, 4096, 4096, "bfloat16", Policy.HALF),
    _product("f16_8192", 8192, 8192, 8192, "float16", Policy.HALF),
    _product("tf32_4096", 4096, 4096, 4096, "float32", Policy.TF32),
    _product("tf32_8192", 8192, 8192, 8192, "float32", Policy.TF32),
    replace(_product("tf32_small_k", 32768, 32768, 64, "float32", Policy.TF32), plain=False),
    Case("copy_1g", "a.clone()", ((2**28,),), "float32", Policy.TF32, lambda a: a.clone()),
    Case("scale_1g", "a * 3.0", ((2**28,),), "float32", Policy.TF32, lambda a: a * 3.0),
    Case("add_2g", "a + b", ((2**28,), (2**28,)), "float32", Policy.TF32, lambda a, b: a + b),
    Case("sum_rows", "a.sum(1)", ((32768, 16384),), "float32", Policy.TF32, lambda a: a.sum(1)),
)


def main() -> int:
    """Measure, compare, write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args()
    device = measure_card()
    results = _peaks(device) + _cases(device)
    form = {"device": to_json(device), "cases": results}
    options.json.write_text(json.dumps(form, indent=1, ensure_ascii=False), encoding="utf-8")
    for result in results:
        print("passed" if result["passed"] else "FAILED", result["case"], result["said"])
    return 0 if all(result["passed"] for result in results) else 1


def _peaks(device: Device) -> list[dict[str, Any]]:
    told = specification(device)
    if told is None:
        return [_result("specification", False, f"{device.name} is not in the table of cards")]
    scale = float(told.facts["max_clock_ghz"]) / float(told.facts["boost_clock_ghz"])
    found = [
        _result(f"rate_{name}", 0.3 * told.matrix_flops[name] < rate < 1.02 * scale * told.matrix_flops[name],
                f"{rate:.4g} FLOP/s of {scale * told.matrix_flops[name]:.4g} at the highest clock")
        for name, rate in device.matrix_flops.items()
    ]  # fmt: skip
    copied = f"{device.copy_bytes_s:.4g} B/s of {told.copy_bytes_s:.4g}"
    found.append(_result("copy", 0.7 * told.copy_bytes_s < device.copy_bytes_s <= told.copy_bytes_s, copied))
    inside = device.cache_bytes_s or 0.0
    cached = f"{inside:.4g} B/s, memory {device.copy_bytes_s:.4g}, limit {told.cache_bytes_s:.4g}"
    found.append(_result("cache", device.copy_bytes_s < inside <= (told.cache_bytes_s or 0.0), cached))
    sizes = f"{device.cache_bytes} B here, {told.cache_bytes} B in the table"
    found.append(_result("cache_size", (device.cache_bytes or 0) <= (told.cache_bytes or 0), sizes))
    sms = f"{device.facts['sms']} here, {told.facts['sms']} in the table"
    found.append(_result("sms", device.facts["sms"] == told.facts["sms"], sms))
    return found


def _result(case: str, passed: bool, said: str, **more: Any) -> dict[str, Any]:
    return {"case": case, "passed": passed, "said": said, **more}


def _cases(device: Device) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{case.name}.py" for case in CASES]
        for path, case in zip(paths, CASES, strict=True):
            path.write_text(case.source(), encoding="utf-8")
        looked = inspect_many(paths, "default")
    found = []
    for case, inspection in zip(CASES, looked, strict=True):
        if not isinstance(inspection, Inspection):
            found.append(_result(case.name, False, str(inspection)))
            continue
        bounds = bound(count(inspection), inspection, device, case.policy)
        found.append(_against(case, bounds, *_times(case)))
    return found


@dataclass(frozen=True, slots=True)
class Steady:
    """Seconds of a call among many in a row, and the highest clock over the one that was read meanwhile."""

    seconds: float
    slowdown: float


def _against(case: Case, bounds: Bounds, seconds: float, steady: Steady) -> dict[str, Any]:
    share = at_clock = bounds.floor_s / seconds
    said = f"{seconds * 1e6:.1f} µs, floor {bounds.floor_s * 1e6:.1f} µs, {share:.3f} of it"
    # Memory does not slow down with the SMs.
    if bounds.bound_class == "compute":
        at_clock = bounds.floor_s * steady.slowdown / steady.seconds
        said += f"; in a row {steady.seconds * 1e6:.1f} µs at 1/{steady.slowdown:.3f} of the clock, {at_clock:.3f}"
    right = share <= 1.0 and (at_clock >= MEANS_SOMETHING or not case.plain)
    return _result(case.name, right, said, seconds=seconds, floor_s=bounds.floor_s, steering_s=bounds.steering_s,
                   share=share, in_a_row=to_json(steady), share_at_clock=at_clock)  # fmt: skip


def _times(case: Case) -> tuple[float, Steady]:
    """Seconds of one call behind a flush of the L2, the median of many; and what one takes in a row of them."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = case.policy is not Policy.STRICT
    dtype = getattr(torch, case.dtype)
    tensors = [torch.rand(shape, device="cuda").to(dtype) - 0.5 for shape in case.shapes]
    call = lambda: case.run(*tensors)  # noqa: E731
    seconds = _median(call)
    return seconds, _in_a_row(call, seconds)


def _median(call: Callable[[], Any]) -> float:
    import torch

    from kernels.harness.l2 import Flush

    flush = Flush(_FLUSH_BYTES)
    for _ in range(5):
        call()
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(_CALLS)]
    for start, end in events:
        flush()
        start.record()
        call()
        end.record()
    torch.cuda.synchronize()
    return sorted(float(start.elapsed_time(end)) for start, end in events)[_CALLS // 2] * 1e-3


def _in_a_row(call: Callable[[], Any], seconds: float) -> Steady:
    import torch

    card = Card(f"GPU-{torch.cuda.get_device_properties(0).uuid}")
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    calls = max(int(_STEADY_S / seconds), 1)
    _launched(call, int(_SETTLING_S / seconds))
    start.record()
    clocks = _launched(call, calls, card)
    end.record()
    while not end.query():
        clocks.append(card.sm_clock())
        time.sleep(_READ_EVERY_S)
    taken = float(start.elapsed_time(end)) * 1e-3 / calls
    return Steady(taken, card.highest_sm_clock() / statistics.median(clocks))


def _launched(call: Callable[[], Any], calls: int, card: Card | None = None) -> list[float]:
    """The clocks read on the way: the queue is bounded, so launching takes about as long as the work."""
    clocks, last = [], time.monotonic()
    for _ in range(calls):
        call()
        if card is not None and time.monotonic() - last > _READ_EVERY_S:
            last = time.monotonic()
            clocks.append(card.sm_clock())
    return clocks


if __name__ == "__main__":
    sys.exit(main())
