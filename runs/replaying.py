"""A finished run under other stop policies: its logs read lightly, judged by ``agent.pareto``, put together for a page.

Three queries whatever the run's size: of every event only the few fields that a stop rule or a cost needs are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.http import QueryDict

from agent.history import Ended
from agent.pareto import GRID, KEEPS, NAMED, Outlook, Policy, Spent, Track, front, judge, outlook_of, unit_of
from kernels.harness.evaluation import Outcome
from runs import figures
from runs.json_texts import JsonText, is_true
from runs.models import Event, Run, Trajectory
from runs.states import FINAL

_SAID = (
    ("number",), ("outcome",), ("time_s",), ("baseline_s",), ("flagged",), ("usage", "prompt_tokens"),
    ("usage", "completion_tokens"),
)  # fmt: skip
"""What is read of an answer or a result: paths within its record."""


@dataclass(frozen=True, slots=True)
class Stop:
    """One problem under one policy. ``kept`` is its retention, None where nothing ever passed."""

    trajectory: Trajectory
    stopped_at: int
    attempts: int
    paid: int
    whole: int
    kept: float | None
    best_s: float | None
    final_best_s: float | None

    @property
    def saving(self) -> float:
        """What is not paid, as a share of what was."""
        return 1 - self.paid / self.whole if self.whole else 0.0


@dataclass
class Replay:
    """A run's problems that began, in order, and the grid judged on them."""

    run: Run
    trajectories: list[Trajectory]
    tracks: list[Track]

    @property
    def final(self) -> bool:
        """Whether the run has ended, so that there is a whole to compare with."""
        return self.run.state in FINAL

    @property
    def attempts(self) -> int:
        """Attempts that ended."""
        return sum(track.final.attempts for track in self.tracks)

    @cached_property
    def unit(self) -> str:
        """What saving is counted in: tokens where every model call told them, else attempts."""
        return unit_of(self.tracks)

    @cached_property
    def outlooks(self) -> tuple[Outlook, ...]:
        """The grid and the named points, the grid's order first."""
        return judge(self.tracks, (*GRID, *(policy for policy in NAMED if policy not in GRID)))

    @cached_property
    def front(self) -> frozenset[Policy]:
        """Policies that no other beats."""
        return front(self.outlooks)

    @property
    def known(self) -> bool:
        """Whether anything passed, so that there is something to keep."""
        return any(each.retention is not None for each in self.outlooks)

    def suggested(self) -> Outlook:
        """The most efficient policy that keeps KEEPS; with none of those, the one that keeps most."""
        good = [each for each in self.outlooks if (each.retention or 0.0) >= KEEPS]
        if good:
            return max(good, key=lambda each: each.efficiency_gain or 0.0)
        return max(self.outlooks, key=lambda each: each.retention or 0.0)

    def chosen(self, policy: Policy | None) -> Outlook:
        """The outlook of a policy of the address, judged afresh where it is not of the grid; else the suggested one."""
        if policy is None:
            return self.suggested()
        return outlook_of(self.outlooks, policy) or judge(self.tracks, (policy,))[0]

    def stops(self, outlook: Outlook) -> list[Stop]:
        """Each problem under one policy."""
        return [
            _stop(trajectory, track, index, outlook)
            for trajectory, track, index in zip(self.trajectories, self.tracks, outlook.stops, strict=True)
        ]


def _stop(trajectory: Trajectory, track: Track, index: int, outlook: Outlook) -> Stop:
    return Stop(
        trajectory=trajectory,
        stopped_at=track.passed[index].attempts,
        attempts=track.final.attempts,
        paid=track.paid(index, outlook.unit),
        whole=track.paid(len(track.passed) - 1, outlook.unit),
        kept=track.kept(index),
        best_s=track.passed[index].best_s,
        final_best_s=track.final.best_s,
    )


def replay_of(run: Run) -> Replay:
    """Read a run's logs. Problems that never began, or have no ended attempt, have nothing to replay."""
    rows = {
        row.pk: row
        for row in Trajectory.objects.filter(run=run)
        .select_related("problem")
        .only("run_id", "problem__slug", "problem__name")
    }
    later = _later(run)
    found = [(rows[key], Track.read(problem, sol_s, later.get(key, []))) for key, problem, sol_s in _started(run)]
    found = [(row, track) for row, track in found if track.final.attempts]
    return Replay(run, [row for row, _ in found], [track for _, track in found])


def _started(run: Run) -> Iterator[tuple[int, str, float]]:
    """What a track needs of each problem's first event."""
    rows = Event.objects.filter(trajectory__run=run, kind="started").order_by("trajectory_id")
    said = rows.values_list("trajectory_id", JsonText("record", "problem"), JsonText("record", "sol_s"))
    return ((key, problem, float(sol_s)) for key, problem, sol_s in said)


def _later(run: Run) -> dict[int, list[Spent | Ended]]:
    """Each problem's answers and results in their order."""
    rows = Event.objects.filter(trajectory__run=run, kind__in=("answered", "measured"))
    said = rows.order_by("trajectory_id", "sequence").values_list(
        "trajectory_id", "kind", *(JsonText("record", *path) for path in _SAID)
    )
    found: dict[int, list[Spent | Ended]] = {}
    for key, kind, number, outcome, time_s, baseline_s, flagged, prompt, completion in said:
        log = found.setdefault(key, [])
        if kind == "answered":
            log.append(Spent.of(_number(prompt), _number(completion)))
        else:
            counts = outcome == Outcome.PASSED and not is_true(flagged)
            log.append(Ended(int(number), _seconds(time_s) if counts else None, _seconds(baseline_s)))
    return found


def _seconds(text: str | float | None) -> float | None:
    return None if text is None else float(text)


def _number(text: str | int | None) -> int | None:
    return None if text is None else int(text)


def policy_asked(get: QueryDict) -> Policy | None:
    """The policy in the address, ε in per cent, "off" for a rule that is off; None where it names none."""
    if "epsilon" not in get and "patience" not in get:
        return None
    epsilon, patience = _asked(get.get("epsilon", "off")), _asked(get.get("patience", "off"))
    if epsilon is not None and not 0 <= epsilon <= 1000:
        return None
    if patience is not None and (patience != int(patience) or not 2 <= patience <= 1000):
        return None
    return Policy(None if epsilon is None else epsilon / 100, None if patience is None else int(patience))


def _asked(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def query_of(policy: Policy) -> str:
    """The policy as the address and the launch form take it."""
    epsilon = "off" if policy.epsilon is None else f"{policy.epsilon * 100:g}"
    return f"epsilon={epsilon}&patience={'off' if policy.patience is None else policy.patience}"


def words_of(policy: Policy) -> str:
    """ε = 25 %, w = 16."""
    epsilon = "off" if policy.epsilon is None else f"{policy.epsilon * 100:g}{figures.THIN}%"
    return f"ε {epsilon}, w {'off' if policy.patience is None else policy.patience}"


def cost_words(count: int, unit: str) -> str:
    """1,234 attempts are written in full, tokens as 3.81 M."""
    return figures.scaled(count, "") if unit == "tokens" and count >= 1000 else f"{count:,}"


def table(seen: Replay) -> Iterator[list[Any]]:
    """The whole grid as lines of a file: one for all problems and one each. An empty rule is one that is off."""
    cost = (f"{seen.unit}_paid", f"{seen.unit}_whole")
    yield ["epsilon_percent", "patience", "problem", "stopped_at", "attempts", *cost, "saving", "retention",
           "efficiency_gain", "front"]  # fmt: skip
    for outlook in seen.outlooks:
        policy = outlook.policy
        rules = ["" if policy.epsilon is None else policy.epsilon * 100, policy.patience or ""]
        stops = seen.stops(outlook)
        yield [*rules, "all", sum(stop.stopped_at for stop in stops), seen.attempts, outlook.paid, outlook.whole,
               outlook.saving, _cell(outlook.retention), _cell(outlook.efficiency_gain),
               "yes" if policy in seen.front else "no"]  # fmt: skip
        for stop in stops:
            gain = stop.kept / (1 - stop.saving) if stop.kept is not None and stop.saving < 1 else None
            yield [*rules, stop.trajectory.problem.slug, stop.stopped_at, stop.attempts, stop.paid, stop.whole,
                   stop.saving, _cell(stop.kept), _cell(gain), ""]  # fmt: skip


def _cell(value: float | None) -> float | str:
    return "" if value is None else value
