"""What a worker's heartbeat reads of its machine: load and memory, and its card where it measures on one.

nvidia-smi is asked in a process of its own, as in ``cards``: the Celery parent must not touch CUDA.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import psutil

from kernels.childprocess import ChildLimits, Ending, run

_LIMITS = ChildLimits(seconds=10)
_FIELDS = (
    "name", "clocks.sm", "clocks.max.sm", "clocks.mem", "temperature.gpu", "power.draw", "power.limit",
    "memory.used", "memory.total", "utilization.gpu",
)  # fmt: skip
_MIB = 2**20

NO_NEED = "its queue needs no card"
NO_DRIVER = "no nvidia-smi on this machine"
NO_ANSWER = "nvidia-smi did not answer"
NO_CARD = "nvidia-smi names no card that this worker may use"


@dataclass(frozen=True, slots=True)
class CardReading:
    """A card at one moment: MHz, °C, W, bytes; ``busy`` is a fraction. None is what the driver does not tell."""

    name: str
    sm_mhz: float | None
    sm_max_mhz: float | None
    memory_mhz: float | None
    temperature_c: float | None
    power_w: float | None
    limit_w: float | None
    memory_used: float | None
    memory_total: float | None
    busy: float | None


@dataclass(frozen=True, slots=True)
class MachineReading:
    """A machine at one moment. ``why`` says why there is no card; ``load`` is of the last minute, memory in bytes."""

    at: str
    load: float | None
    memory_used: int
    memory_total: int
    card: CardReading | None
    why: str


def read_machine(queue: str) -> MachineReading:
    """Read it now. Takes some tens of milliseconds with a card, under one without."""
    card, why = read_card() if queue.startswith("cuda.") else (None, NO_NEED)
    memory = psutil.virtual_memory()
    return MachineReading(
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        load=_load(),
        memory_used=memory.total - memory.available,
        memory_total=memory.total,
        card=card,
        why=why,
    )


def read_card() -> tuple[CardReading | None, str]:
    """The worker's card, or the reason why there is none to read."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return None, NO_DRIVER
    asked = [program, f"--query-gpu={','.join(_FIELDS)}", "--format=csv,noheader,nounits", *_which()]
    result = run(asked, limits=_LIMITS)
    if result.ending is not Ending.EXITED or result.code != 0:
        return None, NO_ANSWER
    card = parse_card(result.stdout)
    return (card, "") if card is not None else (None, NO_CARD)


def _which() -> list[str]:
    """The first card that this process may use, as the driver is asked for it."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0].strip()
    return ["-i", visible] if visible else []


def parse_card(text: str) -> CardReading | None:
    """The first line of nvidia-smi's answer; None where it has none of the right shape."""
    lines = text.strip().splitlines()
    parts = [part.strip() for part in lines[0].split(",")] if lines else []
    if len(parts) != len(_FIELDS):
        return None
    numbers = [_number(part) for part in parts[1:]]
    sm, sm_max, memory, temperature, power, limit, used, total, busy = numbers
    return CardReading(
        parts[0], sm, sm_max, memory, temperature, power, limit,
        used * _MIB if used is not None else None,
        total * _MIB if total is not None else None,
        busy / 100 if busy is not None else None,
    )  # fmt: skip


def _number(text: str) -> float | None:
    """What the driver tells; ``[N/A]`` and its like are None."""
    try:
        return float(text)
    except ValueError:
        return None


def _load() -> float | None:
    try:
        return round(os.getloadavg()[0], 2)
    except OSError:
        return None


def processor() -> str:
    """The CPU's name, as Linux has it; empty where it does not say."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
