"""How long a replay of 59 problems × 40 attempts over the grid of policies takes, reading of the logs included.

    python -m tests.bench.replay [--problems 59] [--attempts 40] [--times 5]

The histories are made up from a seed: as long as real ones, with failures and improvements, a token count each. They
are judged from records, as the library has them, and read back from JSON, as the database has them.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agent.pareto import GRID, Track, front, judge
from agent.steps import Answered, Ask, Asked, Candidate, Event, History, Measured, Started, Submitted, Usage
from kernels.dtypes import DType
from kernels.harness.evaluation import Outcome
from kernels.problems.inspection import Signature, TensorSpec
from kernels.records import from_json, to_json
from kernels.targets import Policy, Target

_TEXT = "program p(x: f32[M, K]) -> f32[M, K]\n" + "".join(f"  y{n} = map(relu(x))\n" for n in range(30))


def history(seed: int, attempts: int) -> History:
    """One problem's log: asks, answers with a program of 30 stages, results that get better by fits and starts."""
    chance = random.Random(seed)
    spec = TensorSpec("x", DType.F32, (512, 512))
    signature = Signature((spec,), (spec,) * 8, (spec,), {})
    events: list[Event] = [
        Started(f"own/{seed}", signature, Target.HOST, Policy.STRICT, _TEXT, 1e-3, 5e-4, "compute", 2)
    ]
    best = 30e-3
    for number in range(1, attempts + 1):
        candidate = Candidate(
            f"{_TEXT}# {number}", None, f"tile({number}, 8, 8)", "It should fit the cache better."
        )
        usage = Usage(1, 11_000, chance.randint(400, 3000), None, 4.0)
        events += [Asked(Ask(number, "expand", 1, 1)), Answered(number, (candidate,), usage=usage)]
        events.append(Submitted(number, candidate))
        time_s = max(1.1e-3, best * chance.uniform(0.85, 1.4)) if chance.random() > 0.25 else None
        best = min(best, time_s or best)
        outcome = Outcome.PASSED if time_s else Outcome.INCORRECT
        events.append(Measured(number, outcome, "", time_s, 25e-3 if time_s else None))
    return tuple(events)


def _seconds(times: int, call: Callable[[], Any]) -> list[float]:
    found = []
    for _ in range(times):
        began = time.perf_counter()
        call()
        found.append(time.perf_counter() - began)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="The speed of a replay.")
    parser.add_argument("--problems", type=int, default=59)
    parser.add_argument("--attempts", type=int, default=40)
    parser.add_argument("--times", type=int, default=5)
    options = parser.parse_args()
    histories = [history(seed, options.attempts) for seed in range(options.problems)]
    logs = [[to_json(event) for event in each] for each in histories]

    def judged(given: list[History]) -> Any:
        outlooks = judge([Track.of(each) for each in given])
        return outlooks, front(outlooks)

    def read() -> Any:
        return judged([tuple(from_json(form, Event) for form in log) for log in logs])  # type: ignore[arg-type]

    library, whole = _seconds(options.times, lambda: judged(histories)), _seconds(options.times, read)
    found = {
        "problems": options.problems,
        "attempts": options.attempts,
        "policies": len(GRID),
        "judge_s": {"median": statistics.median(library), "most": max(library)},
        "read_and_judge_s": {"median": statistics.median(whole), "most": max(whole)},
    }
    print(json.dumps(found, indent=1))
    target = Path("build/replay.json")
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
