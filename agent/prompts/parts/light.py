"""The speed of light: the report from the bounds, and where the run stands. Nothing with steering off."""

from __future__ import annotations

from agent.prompts.figures import ratio, time
from agent.prompts.fitting import Part
from agent.prompts.scene import Scene
from agent.prompts.text import Cut, block
from sol.gap.words import gap_words


def standing(scene: Scene) -> str:
    """The run's best time, what it is compared with, and how far it is from SOL."""
    now = scene.state.standing
    speedup = now.baseline_s / now.best_s if now.baseline_s and now.best_s else None
    if now.best is None:
        words = "No attempt has passed yet."
    else:
        words = f"Best so far: attempt {now.best}, {time(now.best_s)}; {ratio(speedup)} of torch eager's speed."
    if now.attempts:
        words += f" Attempts without improvement: {now.since_improvement}."
    if not scene.settings.steering:
        return words
    started = scene.started
    sol = f"SOL {time(started.sol_s)}, floor {time(started.floor_s)}, {started.bound_class}-bound"
    return f"{words} Gap to SOL: {ratio(scene.gap)} ({sol})." if scene.gap else f"{words} {sol}."


def _report_text(scene: Scene) -> str:
    result = scene.parent.result if scene.parent is not None else None
    gap = gap_words(result.gap) if result is not None and result.gap is not None else ""
    return "\n\n".join(part for part in (scene.started.sol_report, gap) if part)


def report(scene: Scene, most: int = 3_500, rank: int = 4) -> Part:
    """The SOL report, and what the gap of the attempt to start from is made of where that was told apart."""
    text = _report_text(scene) if scene.settings.steering else ""

    def render(room: int) -> Cut:
        return block("SOL report", text, room) if text else Cut("")

    return Part("SOL report", rank, most, render)
