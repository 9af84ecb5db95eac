"""The process that measures a card: ``python -m sol.bounds.cuda_child SECONDS_PER_PEAK`` prints ``name value`` lines.

Copies far beyond the L2 and inside it, and square products of each type by torch's library. Each rate is the best of
several bursts of queued work, timed by events on the card. It measures ceilings; no kernel of ours runs here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from kernels.harness.nvml import Card, NoFigure

_BURSTS = 8
_COPY_BYTES = 2**30
_PRODUCT = 8192
_STRICT_PRODUCT = 4096


def main(seconds_each: float) -> int:
    """Print every peak. Exit status 3 where torch sees no card."""
    import torch

    if not torch.cuda.is_available():
        print("torch sees no card", file=sys.stderr)
        return 3
    torch.cuda.set_device(0)
    properties = torch.cuda.get_device_properties(0)
    print(f"card {properties.name}")
    print(f"uuid GPU-{properties.uuid}")
    print(f"sms {properties.multi_processor_count}")
    print(f"memory_bytes {properties.total_memory}")
    print(f"l2_bytes {properties.L2_cache_size}")
    for name, rate in _copies(torch, seconds_each, int(properties.L2_cache_size)):
        print(f"{name} {rate:.6e}")
    for name, rate in _products(torch, seconds_each):
        print(f"{name} {rate:.6e}")
    clock = _clock_at_work(torch, f"GPU-{properties.uuid}")
    if clock is not None:
        print(f"clock_mhz {clock:g}")
    return 0


def _copies(torch: Any, seconds_each: float, cache_bytes: int) -> list[tuple[str, float]]:
    """Bytes read and written a second: of a copy, of reading alone, and of a copy inside the L2."""
    far = torch.ones(_COPY_BYTES // 4, device="cuda"), torch.empty(_COPY_BYTES // 4, device="cuda")
    found = [("copy_bytes_s", 2 * _COPY_BYTES / _best(torch, lambda: far[1].copy_(far[0]), seconds_each))]
    found.append(("read_bytes_s", _COPY_BYTES / _best(torch, lambda: far[0].sum(), seconds_each)))
    # Both halves of the copy fit a quarter of the cache: a Hopper card's L2 holds a line in both of its partitions.
    inside = max(cache_bytes // 8, 2**20)
    near = torch.ones(inside // 4, device="cuda"), torch.empty(inside // 4, device="cuda")
    # A copy this small takes a few microseconds: a graph of many leaves the launches out.
    graph = _graph(torch, lambda: near[1].copy_(near[0]))
    found.append(("cache_copy_bytes_s", _GRAPHED * 2 * inside / _best(torch, graph.replay, seconds_each)))
    return found


_GRAPHED = 200


def _graph(torch: Any, work: Callable[[], Any]) -> Any:
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(_GRAPHED):
            work()
    return graph


def _products(torch: Any, seconds_each: float) -> list[tuple[str, float]]:
    """FLOP a second of a square product: FP16, BF16, FP32 data as TF32 and as FP32."""
    found = []
    for name, dtype, tf32, size in (
        ("f16_flops", torch.float16, False, _PRODUCT),
        ("bf16_flops", torch.bfloat16, False, _PRODUCT),
        ("tf32_flops", torch.float32, True, _PRODUCT),
        ("f32_flops", torch.float32, False, _STRICT_PRODUCT),
    ):
        torch.backends.cuda.matmul.allow_tf32 = tf32
        found.append((name, 2 * size**3 / _best(torch, _product(torch, size, dtype), seconds_each)))
    return found


def _product(torch: Any, size: int, dtype: Any) -> Callable[[], Any]:
    a, b = (torch.randn(size, size, device="cuda").to(dtype) for _ in range(2))
    out = torch.empty_like(a)
    return lambda: torch.mm(a, b, out=out)


def _clock_at_work(torch: Any, uuid: str) -> float | None:
    """MHz of the multiprocessors while products are queued; None where NVML does not say."""
    work = _product(torch, _PRODUCT, torch.bfloat16)
    for _ in range(200):
        work()
    try:
        return Card(uuid).sm_clock()
    except NoFigure:
        return None
    finally:
        torch.cuda.synchronize()


def _best(torch: Any, work: Callable[[], Any], seconds_each: float) -> float:
    """Seconds of one call, the best of several bursts that together take about so long."""
    work()
    torch.cuda.synchronize()
    once = _burst(torch, work, 1)
    calls = max(1, min(200, int(seconds_each / _BURSTS / max(once, 1e-6))))
    return min(_burst(torch, work, calls) for _ in range(_BURSTS))


def _burst(torch: Any, work: Callable[[], Any], calls: int) -> float:
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(calls):
        work()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end)) * 1e-3 / calls


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1])))
