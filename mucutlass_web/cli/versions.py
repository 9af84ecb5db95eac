"""Which versions stand behind a result, as installed here; null where a package is not."""

from __future__ import annotations

import platform
from importlib import metadata

from kernels.harness.evaluation import Machine

_PACKAGES = {"mucutlass": "mucutlass-web", "torch": "torch", "cutlass": "nvidia-cutlass"}


def versions(machine: Machine | None) -> dict[str, str | None]:
    """By name. torch's and CUDA's are those of the process that judged, where one did."""
    found: dict[str, str | None] = {name: _installed(package) for name, package in _PACKAGES.items()}
    found["python"] = platform.python_version()
    found |= {"cuda": None, "driver": None}
    if machine is not None:
        found |= {name: machine.facts[name] for name in ("torch", "cuda", "driver") if name in machine.facts}
    return found


def _installed(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
