"""Where an evaluation was measured. Reads what the system says; measures nothing. Runs only in the supervisor."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import torch

from kernels.harness.evaluation import Machine

_SIMD = ("avx2", "avx512f", "avx512_bf16", "avx512_fp16", "amx_bf16", "asimd", "sve")


def describe(device: str, child_facts: dict[str, str]) -> Machine:
    """The CPU, or the card beside it, with what the candidate's child told about its own process."""
    processor, facts = _processor()
    facts |= {
        "cores": str(len(os.sched_getaffinity(0))),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "torch": torch.__version__,
        **child_facts,
    }
    if device != "cuda":
        return Machine("cpu", processor, facts)
    card = torch.cuda.get_device_properties(0)
    facts |= {
        "cpu": processor,
        "cuda": str(torch.version.cuda),
        "capability": f"{card.major}.{card.minor}",
        "multiprocessors": str(card.multi_processor_count),
    }
    return Machine("cuda", str(card.name), facts)


def _processor() -> tuple[str, dict[str, str]]:
    fields: dict[str, str] = {}
    for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
        name, _, value = line.partition(":")
        fields.setdefault(name.strip(), value.strip())
    flags = (fields.get("flags") or fields.get("Features") or "").split()
    name = fields.get("model name") or platform.machine()
    return name, {"simd": " ".join(flag for flag in _SIMD if flag in flags)}
