"""What keeps figures from being compared, in the sentences of both comparisons."""

from __future__ import annotations

from collections.abc import Sequence

from runs.machines import place_of
from runs.models import Run

Told = tuple[str, Sequence[str], str]
"""What may differ, what it is for each side, and what follows where it does."""


def sentences(told: Sequence[Told]) -> list[str]:
    """One sentence for each that differs."""
    return [
        f"The {name} differ ({'; '.join(dict.fromkeys(values))}): {so}."
        for name, values, so in told
        if len(set(values)) > 1
    ]


def circumstances(runs: Sequence[Run], devices: Sequence[str]) -> tuple[Told, ...]:
    """Under which circumstances each run measured; a device is empty where it is not known.

    Places are told where one name of a device stands for machines of several.
    """
    places = [place_of(run) for run in runs]
    shared = len(set(zip(devices, places, strict=True))) > len(set(devices))
    return (
        ("devices", [device or "not known" for device in devices],
         "a speedup is over that device’s own torch, and says nothing of another"),
        ("places of measurement", places if shared else (),
         "machines of one name may differ in clocks, memory and software"),
        ("policies", [run.policy for run in runs], "a lower precision is allowed to some and not to others"),
    )  # fmt: skip
