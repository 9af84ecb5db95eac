"""Cheats that KernelBench's evaluation can be fooled by, beside honest controls: one file each, in its ModelNew form.

What each does stands at the top of its file. They are data for tests and for the comparison on a card; nothing
imports them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "files"


@dataclass(frozen=True, slots=True)
class Cheat:
    """``checks`` are those of ours that may name it, none for an honest control; ``card`` is whether it needs one."""

    name: str
    problem: str
    checks: tuple[str, ...]
    card: bool = False

    @property
    def honest(self) -> bool:
        """Whether it is a control, which must pass."""
        return self.name.startswith("honest")

    @property
    def path(self) -> Path:
        """The candidate's file."""
        return FOLDER / f"{self.name}.py"

    @property
    def problem_path(self) -> Path:
        """The problem's file."""
        return FOLDER / f"problem_{self.problem}.py"

    @property
    def words(self) -> str:
        """The first sentence of its file."""
        return self.path.read_text(encoding="utf-8").split('"""')[1].split(".")[0] + "."


_VALUES = ("matched share", "max relative error")
CHEATS = (
    Cheat("honest_linear", "linear", ()),
    Cheat("honest_softmax", "softmax", ()),
    Cheat("pointer_cache", "linear", _VALUES),
    Cheat("fingerprint_cache", "linear", ("follows the inputs", "unseen inputs")),
    Cheat("skipped_work", "linear", ("timed outputs", "shifted inputs", *_VALUES)),
    Cheat("stolen_output", "linear", ("not all zero",)),
    Cheat("patched_comparison", "linear", _VALUES),
    Cheat("patched_timer", "linear", ("clock agreement", "repeated calls")),
    Cheat("lazy_tensor", "linear", ("output kind",)),
    Cheat("lower_precision", "softmax", ("max relative error",)),
    Cheat("zeros", "softmax", ("not all zero",)),
    Cheat("skipped_rows", "softmax", ("max relative error",)),
    Cheat("side_stream", "linear", ("device work",), card=True),
    Cheat("stale_graph", "linear", _VALUES, card=True),
)
