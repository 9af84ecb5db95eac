"""What a move is, and what it may look at. A move edits a program; it neither checks nor ranks itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from agent.steps import Started
from kernels.dsl.edit import set_knob
from kernels.dsl.ir import CheckedProgram, Stage
from kernels.dsl.simd import Simd
from kernels.dsl.syntax import Program

Edit: TypeAlias = Callable[[Program], Program]
Relieves: TypeAlias = Literal["compute", "memory", "both"]


@dataclass(frozen=True, slots=True)
class Move:
    """One idea.

    ``change`` is it in the language's words, ``hypothesis`` why, in a sentence with numbers. ``gain`` is the
    expected speedup of ``stage`` alone, the risks are multipliers of at least 1: that it does not work, and that it
    works and is no faster. ``relieves`` names the bound that it works against,
    ``tool`` the feedback tool whose advice it follows (or is empty), and ``urgency`` what its return counts for that.
    """

    stage: str
    change: str
    hypothesis: str
    gain: float
    implementation_risk: float
    performance_risk: float
    relieves: Relieves
    edit: Edit
    tool: str = ""
    urgency: float = 1.0

    @property
    def family(self) -> str:
        """The kind of change: the knob's name, or the first word of a structural change."""
        return family_of(self.change)


@dataclass(frozen=True, slots=True)
class Scene:
    """The parent program, checked, and where it runs. ``simd`` matters to the host target alone."""

    started: Started
    checked: CheckedProgram
    simd: Simd

    @property
    def program(self) -> Program:
        """The parent as a syntax tree."""
        return self.checked.program

    def stages(self, *ops: str) -> Iterator[Stage]:
        """The stages of these operations that are run at every call, in order."""
        return (stage for stage in self.checked.stages if stage.op in ops and not stage.once)


def family_of(change: str) -> str:
    """``y.tile(96, 512, 256)`` and ``tile(96, 512, 256)`` -> ``tile``; ``fuse y into h`` -> ``fuse``."""
    knob = re.match(r"(?:\S*\.)?([a-z]+)\(", change)
    return knob.group(1) if knob else change.partition(" ")[0]


def stageless(change: str) -> str:
    """A change without the name of its stage, which means nothing on another problem: ``y.tile(8)`` -> ``tile(8)``."""
    return re.sub(r"^[A-Za-z_]\w*\.(?=[a-z]+\()", "", change.strip())


def knob_move(
    stage: Stage,
    knob: str,
    args: tuple[int | str, ...],
    hypothesis: str,
    *,
    gain: float,
    relieves: Relieves,
    implementation_risk: float = 1.0,
    performance_risk: float = 1.2,
) -> Move:
    """A move that sets one knob of one stage."""
    name = stage.name
    return Move(
        stage=name,
        change=f"{name}.{knob}({', '.join(str(arg) for arg in args)})",
        hypothesis=hypothesis,
        gain=gain,
        implementation_risk=implementation_risk,
        performance_risk=performance_risk,
        relieves=relieves,
        edit=lambda program: set_knob(program, name, knob, args),
    )


def size(count: int) -> str:
    """Bytes for a reader: ``512 KiB``."""
    for unit, scale in (("MiB", 2**20), ("KiB", 2**10)):
        if count >= scale:
            return f"{count / scale:.3g} {unit}"
    return f"{count} B"
