"""What code generation hands on: C++ units to compile, and the plan by which a child process runs them.

The plan is data, so that the process that runs a candidate needs torch and ctypes, and none of the compiler.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from kernels.dtypes import DType
from kernels.targets import Target


@dataclass(frozen=True, slots=True)
class LineLink:
    """Line ``cpp`` of a unit came from line ``mu`` of the program (both 1-based)."""

    cpp: int
    mu: int


@dataclass(frozen=True, slots=True)
class Header:
    """A file that a unit includes by its name, beside the unit while it is compiled."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Unit:
    """One translation unit: one stage's configuration, whatever its sizes.

    ``symbol`` names the ``extern "C"`` function and is made from a hash of ``source``'s configuration, so that two
    programs that share a stage share its shared object. The function's parameters are, in order: one
    ``const void*`` an input pointer, one ``void*`` a result, one ``int64_t`` a size, ``void* workspace``,
    ``void* stream``; it returns 0 or an error code. A ``hand_written`` unit is a person's or a model's text, compiled
    where it can read nothing of ours; its function takes arrays of pointers (``kernels.raw``).
    """

    symbol: str
    language: Literal["c++", "cuda"]
    source: str
    lines: tuple[LineLink, ...]
    stages: tuple[str, ...]
    headers: tuple[Header, ...] = ()
    hand_written: bool = False


@dataclass(frozen=True, slots=True)
class PlanValue:
    """A tensor at run time: ``storage`` owns the memory; shape, strides and offset are in elements."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    storage: str


@dataclass(frozen=True, slots=True)
class Launch:
    """Call ``symbol`` with the data pointers of ``pointers`` (read) and ``results`` (written) and the ``sizes``.

    With the ``abi`` "arrays" it takes two arrays of pointers instead, no sizes, and says itself how much workspace it
    needs (``kernels.raw``).
    """

    stage: str
    symbol: str
    pointers: tuple[str, ...]
    results: tuple[str, ...]
    sizes: tuple[int, ...]
    workspace_bytes: int
    once: bool
    kind: Literal["launch"] = "launch"
    abi: Literal["arguments", "arrays"] = "arguments"


@dataclass(frozen=True, slots=True)
class TorchCall:
    """Call a torch function; tensors in ``args`` are ``{"value": name}``, element types ``{"dtype": "f32"}``."""

    stage: str
    function: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    results: tuple[str, ...]
    once: bool
    kind: Literal["torch"] = "torch"


@dataclass(frozen=True, slots=True)
class Plan:
    """The order of work. Inputs come by position, parameters by ``state_dict`` name; ``outputs`` name values."""

    values: tuple[PlanValue, ...]
    inputs: tuple[str, ...]
    parameters: tuple[str, ...]
    steps: tuple[Launch | TorchCall, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Emission:
    """The generated code of one program for one target."""

    target: Target
    units: tuple[Unit, ...]
    plan: Plan


@dataclass(frozen=True, slots=True)
class StageCode:
    """What a target makes of one stage: its unit and how to call it. ``pointers`` and ``sizes`` fill a Launch."""

    unit: Unit
    pointers: tuple[str, ...]
    sizes: tuple[int, ...]
    workspace_bytes: int
