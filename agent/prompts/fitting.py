"""Parts of a prompt put into the room there is: the important ones first, and what did not fit by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from agent.prompts.text import Cut

Render: TypeAlias = Callable[[int], Cut]
"""From a number of characters to a text that is no longer, with what it leaves out."""

BETWEEN = "\n\n"


@dataclass(frozen=True, slots=True)
class Part:
    """One part. ``rank`` says who gets room first (0), ``most`` how much while others may still need it."""

    name: str
    rank: int
    most: int
    render: Render


def fit(parts: Sequence[Part], room: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The texts in the order given, with BETWEEN between them at most ``room`` characters, and what was left out.

    First each part has up to its ``most``, by rank; then what is left goes to those that had to be cut, by rank again.
    """
    cuts: dict[int, Cut] = {}
    by_rank = sorted(range(len(parts)), key=lambda index: (parts[index].rank, index))
    for index in by_rank:
        cuts[index] = parts[index].render(max(0, min(parts[index].most, room - len(BETWEEN))))
        room -= _taken(cuts[index])
    for index in by_rank:
        if cuts[index].left_out:
            room += _taken(cuts[index])
            cuts[index] = parts[index].render(max(0, room - len(BETWEEN)))
            room -= _taken(cuts[index])
    ordered = [cuts[index] for index in range(len(parts))]
    return tuple(cut.text for cut in ordered if cut.text), tuple(cut.left_out for cut in ordered if cut.left_out)


def _taken(cut: Cut) -> int:
    return len(cut.text) + len(BETWEEN) if cut.text else 0


def renditions(*texts: tuple[str, str]) -> Render:
    """The first of several versions of a text that fits, each with what it leaves out; the longest comes first."""

    def render(room: int) -> Cut:
        for text, left_out in texts:
            if len(text) <= room:
                return Cut(text, left_out)
        return Cut("", texts[-1][1])

    return render
