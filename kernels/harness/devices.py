"""Where a child runs its calls: what differs between this machine's CPU and a CUDA card, and nothing else.

Runs only in child processes of the harness (torch at the top). Both devices answer the same calls, so the plan
runner, the timed loop and the reference are one piece of code.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

from kernels.harness.evaluation import FlushKind
from kernels.harness.l2 import Flush

Call = Callable[[], object]

_FLUSHES, _LEAST_FLUSHES, _LONG_FLUSH = 10, 2, 640 * 2**20
"""How many times L2's size a flush reads: so long that a module's forward of some Python lines has launched its kernel
before the flush is over. Of a large L2 less: beyond so many bytes twice its size is enough."""


def card_clock(flush: FlushKind) -> str:
    """How a card's calls are timed, in words."""
    how = "reading" if flush == "read" else "writing, whose lines the call writes back"
    return (
        f"CUDA events around each call, which follows a flush of L2 by {how} without a pause; before that the card "
        "idle and L2's persisting lines reset; host clock beside it"
    )


class Device(Protocol):
    """A place to run. ``time`` gives nanoseconds by the device's own clock and by the host's."""

    name: str
    torch_device: str
    clock: str

    def place(self, shared: Tensor) -> Tensor: ...
    def room(self, shared: Tensor) -> Tensor: ...
    def refresh(self, placed: Tensor, shared: Tensor) -> None: ...
    def publish(self, placed: Tensor, shared: Tensor) -> None: ...
    def stream(self) -> int: ...
    def synchronize(self) -> None: ...
    def before_timed_call(self) -> None: ...
    def flush(self) -> None: ...
    def time(self, call: Call) -> tuple[int, int]: ...
    def time_cold(self, call: Call) -> tuple[int, int]: ...
    def facts(self) -> dict[str, str]: ...


class HostDevice:
    """This machine's CPU: calls work on the shared memory itself, so nothing is copied."""

    name = "host"
    torch_device = "cpu"
    clock = "perf_counter_ns around each call; caches as the call before left them"

    def place(self, shared: Tensor) -> Tensor:
        """The tensor a call works on for this piece of shared memory: itself."""
        return shared

    def room(self, shared: Tensor) -> Tensor:
        """Where calls write what belongs to this piece of shared memory: there."""
        return shared

    def refresh(self, placed: Tensor, shared: Tensor) -> None:
        """Bring new shared contents to where calls read them: they are there."""

    def publish(self, placed: Tensor, shared: Tensor) -> None:
        """Bring what a call left to the shared memory; a copy only where it lies elsewhere."""
        if placed.data_ptr() != shared.data_ptr():
            shared.copy_(placed)

    def stream(self) -> int:
        """The stream handed to a launch; the host has none."""
        return 0

    def synchronize(self) -> None:
        """Wait for the device; a host call is over when it returns."""

    def before_timed_call(self) -> None:
        """Done outside the timed window. A buffer beyond the last-level cache would take longer than the call."""

    def flush(self) -> None:
        """A CPU's caches are not flushed."""

    def time(self, call: Call) -> tuple[int, int]:
        """Nanoseconds of one call."""
        began = time.perf_counter_ns()
        call()
        taken = time.perf_counter_ns() - began
        return taken, taken

    def time_cold(self, call: Call) -> tuple[int, int]:
        """As ``time``: a CPU's caches stay as they are."""
        return self.time(call)

    def facts(self) -> dict[str, str]:
        """What is worth keeping of how calls are prepared; nothing is done to a CPU."""
        return {}


class CudaDevice:
    """The card that is visible as device 0. Before each timed call, outside the window, L2 holds nothing of use, and
    with ``flush`` "read" nothing that the call would have to write back for others.

    Lines that a kernel asked L2 to keep would outlive the flush, so they are made ordinary ones first. The card is idle
    before the flush and still at work on it when the call's launches come: what a launch takes the host is then no
    part of the time unless the card has to wait for it, as in a program that runs.
    """

    name = "cuda"
    torch_device = "cuda"

    def __init__(self, flush: FlushKind = "read") -> None:
        self.clock = card_clock(flush)
        self._properties = torch.cuda.get_device_properties(0)
        cache_bytes = int(self._properties.L2_cache_size)
        flush_bytes = min(_FLUSHES * cache_bytes, max(_LEAST_FLUSHES * cache_bytes, _LONG_FLUSH))
        self._flush = Flush(max(flush_bytes, 2**20), writes=flush == "write")
        self._reset_persisting = _driver_function("cuCtxResetPersistingL2Cache")

    def place(self, shared: Tensor) -> Tensor:
        """A copy on the card."""
        return shared.to("cuda")

    def room(self, shared: Tensor) -> Tensor:
        """As much memory on the card; its contents come by ``refresh``."""
        return torch.empty_like(shared, device="cuda")

    def refresh(self, placed: Tensor, shared: Tensor) -> None:
        """Copy new contents to the same storage on the card."""
        placed.copy_(shared)

    def publish(self, placed: Tensor, shared: Tensor) -> None:
        """Copy from the card and wait for it."""
        shared.copy_(placed)

    def stream(self) -> int:
        """torch's current stream, so that launches and torch calls are in one order."""
        return int(torch.cuda.current_stream().cuda_stream)

    def synchronize(self) -> None:
        """Wait for all streams of the card; raises RuntimeError on a fault of an earlier launch."""
        torch.cuda.synchronize()

    def before_timed_call(self) -> None:
        """Reset L2's persisting lines, and wait until the card is idle."""
        self._reset_persisting()
        torch.cuda.synchronize()

    def flush(self) -> None:
        """Launch reads (or writes) of several times L2's size, and do not wait."""
        self._flush()

    def time(self, call: Call) -> tuple[int, int]:
        """Nanoseconds between two events, and on the host's clock until the whole card is idle again."""
        first = torch.cuda.Event(enable_timing=True)
        last = torch.cuda.Event(enable_timing=True)
        began = time.perf_counter_ns()
        first.record()
        call()
        last.record()
        torch.cuda.synchronize()
        host = time.perf_counter_ns() - began
        return int(first.elapsed_time(last) * 1e6), host

    def time_cold(self, call: Call) -> tuple[int, int]:
        """As ``time``, right behind a flush, whose own time is in neither figure."""
        ahead = torch.cuda.Event(enable_timing=True)
        first = torch.cuda.Event(enable_timing=True)
        last = torch.cuda.Event(enable_timing=True)
        began = time.perf_counter_ns()
        ahead.record()
        self.flush()
        first.record()
        call()
        last.record()
        torch.cuda.synchronize()
        host = time.perf_counter_ns() - began
        return int(first.elapsed_time(last) * 1e6), host - int(ahead.elapsed_time(first) * 1e6)

    def facts(self) -> dict[str, str]:
        """Whether the driver does reset persisting lines; some cards have none, and a part of a card may not."""
        code = self._reset_persisting()
        return {
            "persisting L2 lines": "reset before each call" if code == 0 else f"not reset (driver error {code})"
        }


class SharedCudaDevice(CudaDevice):
    """The card with the arena on it: calls work on the shared memory itself."""

    def place(self, shared: Tensor) -> Tensor:
        """The tensor itself."""
        return shared

    def room(self, shared: Tensor) -> Tensor:
        """The tensor itself."""
        return shared

    def refresh(self, placed: Tensor, shared: Tensor) -> None:
        """New contents are there: the supervisor has waited for what it wrote."""

    def publish(self, placed: Tensor, shared: Tensor) -> None:
        """Wait for whatever still writes there, and copy what lies elsewhere."""
        if placed.data_ptr() != shared.data_ptr():
            shared.copy_(placed)
        self.synchronize()


def _driver_function(name: str) -> Callable[[], int]:
    """A function of the CUDA driver without arguments, on the context that torch made current in this thread."""
    function = ctypes.CDLL("libcuda.so.1")[name]
    function.restype = ctypes.c_int
    function.argtypes = ()
    return function


def open_device(name: str, *, shared: bool = False, flush: FlushKind = "read") -> HostDevice | CudaDevice:
    """The device called "host" or "cuda"; ``shared`` where the arena lies on the card."""
    if name == "host":
        return HostDevice()
    return SharedCudaDevice(flush) if shared else CudaDevice(flush)
