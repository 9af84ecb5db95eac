"""What KernelBench's own static checker says of a text. Its file is read from a checkout, never part of this tree."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

FILE = Path("kernelbench") / "kernel_static_checker.py"
EVALUATION = "its evaluation needs a card (it asserts that CUDA is available), and was not run on this machine"


@dataclass(frozen=True, slots=True)
class Opinion:
    """``rejected`` by a strict check, ``warned`` by another one only; ``words`` are its own.

    ``beyond`` is a rejection for more than a kernel or a call of a compiler that it missed.
    """

    rejected: bool
    beyond: bool
    warned: bool
    words: tuple[str, ...]


class StaticChecker:
    """The checker with its own defaults, for the backend that a file's text shows and FP32."""

    def __init__(self, source: Path) -> None:
        """``source`` is the ``src`` folder of a checkout. FileNotFoundError where it holds no checker."""
        path = source.expanduser() / FILE
        self.digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
        self._validate: Callable[..., tuple[bool, list[str], list[str]]] = _module(path).validate_kernel_static

    def opinion(self, text: str) -> Opinion:
        """Of one Python file; it reads no other language."""
        backend = "triton" if "@triton" in text else "cuda"
        valid, errors, warnings = self._validate(text, backend=backend, precision="fp32")
        beyond = any(not error.startswith("Missing ") for error in errors)
        return Opinion(not valid, beyond, valid and bool(warnings), (*errors, *warnings))


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("kernel_static_checker", path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
