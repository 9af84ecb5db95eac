"""What was tried: one line an attempt, as many as there is room for, the best and the latest first to stay."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agent.history import Attempt
from agent.prompts.figures import error_line, outcome, over_parent, ratio, time
from agent.prompts.fitting import Part
from agent.prompts.scene import Scene
from agent.prompts.text import Cut, block, inline, inside

_CHANGE = 90
_RANGES = 6
_NO_PARENT = "start"


def table(
    scene: Scene, attempts: Sequence[Attempt], name: str = "history", most: int = 9_000, rank: int = 4
) -> Part:
    """The attempts as a table."""

    def render(room: int) -> Cut:
        if not attempts:
            return Cut("")
        title = f"{name}, one attempt a line"
        heading = "attempt | from | change | outcome | time | over its parent"
        heading += " | gap to SOL" if scene.settings.steering else ""
        # Lines are made once: whichever fit are shown.
        lines = {attempt.number: _line(scene, attempt) for attempt in attempts}
        kept = _kept(scene, attempts, lines, inside(title, room) - len(heading))
        missing = [attempt.number for attempt in attempts if attempt.number not in kept]
        if not kept:
            return Cut("", f"{name}: all {len(attempts)} attempts")
        text = "\n".join([heading, *(lines[number] for number in sorted(kept))])
        cut = block(title, text, room)
        return Cut(cut.text, f"{name}: attempts {ranges(missing)}" if missing else cut.left_out)

    return Part(name, rank, most, render)


def ranges(numbers: Iterable[int]) -> str:
    """``2–17, 19``; of many ranges the first few and how many numbers follow."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    words = [f"{low}" if low == high else f"{low}–{high}" for low, high in found[:_RANGES]]
    rest = sum(high - low + 1 for low, high in found[_RANGES:])
    return ", ".join(words) + (f" and {rest} more" if rest else "")


def _kept(scene: Scene, attempts: Sequence[Attempt], lines: dict[int, str], room: int) -> set[int]:
    """Numbers of the attempts whose lines fit: the best, the parent, then from the latest back."""
    best = scene.state.standing.best
    parent = None if scene.parent is None else scene.parent.number
    kept: set[int] = set()
    for number in (best, parent, *(attempt.number for attempt in reversed(attempts))):
        if number is None or number in kept or number not in lines:
            continue
        room -= len(lines[number]) + 1
        if room < 0:
            break
        kept.add(number)
    return kept


def _line(scene: Scene, attempt: Attempt) -> str:
    candidate = attempt.candidate
    cells = [
        f"{attempt.number}",
        _NO_PARENT if candidate.parent is None else f"{candidate.parent}",
        inline(candidate.change, _CHANGE) or "—",
        outcome(attempt),
        time(attempt.time_s),
        ratio(over_parent(scene.state, attempt)),
    ]
    if scene.settings.steering:
        sol, time_s = scene.started.sol_s, attempt.time_s
        cells.append(ratio(time_s / sol if time_s is not None and sol > 0 else None))
    error = error_line(attempt)
    best = " | best" if attempt.number == scene.state.standing.best else ""
    return " | ".join(cells) + best + (f" | {error}" if error else "")
